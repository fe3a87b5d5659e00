"""A figure: what is measured for it, how it is drawn, and what is said of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from elkhound.experiments.store import Store
from elkhound.experiments.sweeping import SweepObserver

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

Line = Mapping[str, Any]
"""A line of a figure's CSV."""


@dataclass(frozen=True, slots=True)
class Bench:
    """Where and how figures are measured.

    Parameters
    ----------
    store : Store
        Finished points, shared by all figures.
    pieces : Path
        Directory of what is measured in other ways than by points.
    quick : bool
        Whether grids are reduced.
    jobs : int
        Points that run at a time.
    observer : SweepObserver or None
        Hears of every finished point.
    """

    store: Store
    pieces: Path
    quick: bool
    jobs: int = 1
    observer: SweepObserver | None = None


@dataclass(frozen=True, slots=True)
class Measured:
    """What a figure is drawn from.

    Parameters
    ----------
    lines : tuple of Line
        The CSV.
    reused, computed : int
        Points or pieces that were kept from before, and those measured now.
    failed : tuple of str
        Points that came to no answer, with the reason.
    contradictions : tuple of str
        Answers that cannot all be right.
    """

    lines: tuple[Line, ...]
    reused: int = 0
    computed: int = 0
    failed: tuple[str, ...] = ()
    contradictions: tuple[str, ...] = ()


class Measure(Protocol):
    """How the lines of a figure come about."""

    def configuration(self, quick: bool) -> Any:
        """Return what is measured, as JSON types."""

    def measured(self, bench: Bench) -> Measured:
        """Measure what is not kept yet, and return all lines."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of a paper, or a study of ours.

    Parameters
    ----------
    name : str
        As on the command line: ``elk-17``.
    title : str
        What it shows.
    said : str
        What the paper says of it; of a study of ours, what it asks.
    measure : Measure
        Grids, and how their points become lines.
    draw : callable
        Lines to drawing.
    found : callable
        Lines to what they say, as sentences with numbers computed from them.
    why : str
        Why paper and measurement differ, or what the result rests on.
    quick_cpu_seconds : int or None
        Measured for ``--quick``, after the figures before it, whose points it may
        share; None where nobody has measured it.
    """

    name: str
    title: str
    said: str
    measure: Measure
    draw: Callable[[Sequence[Line]], Drawing]
    found: Callable[[Sequence[Line]], str]
    why: str
    quick_cpu_seconds: int | None
