"""Timeloop's mapper as the FFM paper ran it: partial mappings at random."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from elkhound.heuristics.fusion.anytime import AnytimeSearch, Judge
from elkhound.heuristics.fusion.choices import Choices


@dataclass(frozen=True, slots=True)
class Timeloop(AnytimeSearch):
    """Random sampling (paper §7.2).

    Every mapping is drawn anew, einsum by einsum, among the partial mappings that fit
    those before.
    """

    name: str = "timeloop"

    def walk(self, choices: Choices, judge: Judge, random: Random) -> None:
        """Draw mappings."""
        while not judge.is_over:
            judge.price(choices.drawn(random))
