"""A link, as scores name it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Link:
    """A link, or links of a class of cores that all carry the same.

    Parameters
    ----------
    index : int
        As routes call it.
    kind : str
        What all links of its sort are called.
    place : str
        Which of them it is, or the first of a class.
    multiplicity : int
        How many it stands for.
    """

    index: int
    kind: str
    place: str
    multiplicity: int = 1
