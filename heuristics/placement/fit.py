"""Best fit and first fit: buffers in a fixed order, each into a gap between others."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable

from elkhound.heuristics.outcome import placement_result
from elkhound.model.limits import Limits
from elkhound.model.placement import (
    Buffer,
    Placement,
    PlacementProblem,
    height_bytes,
    neighbours,
)
from elkhound.model.result import Result
from elkhound.model.stopwatch import Stopwatch

SortKey = Callable[[Buffer], tuple[int, ...]]
Gap = tuple[int, int]  # lowest free byte, first byte that is not


def _duration(buffer: Buffer) -> int:
    return buffer.end_step - buffer.start_step


ORDERS: dict[str, SortKey] = {
    "size": lambda b: (-b.size_bytes, -_duration(b)),
    "area": lambda b: (-b.size_bytes * _duration(b), -b.size_bytes),
    "start": lambda b: (b.start_step, -b.size_bytes),
    "duration": lambda b: (-_duration(b), -b.size_bytes),
}
"""Who is placed first: large ones, much size × time, early ones, long-lived ones."""


class _Fit(ABC):
    """Place buffers one by one; a rule chooses among the gaps.

    Parameters
    ----------
    order : str
        A key of `ORDERS`, or ``best``: all of them, the lowest height is kept.
    """

    name: str

    def __init__(self, order: str = "best") -> None:
        self.order = order

    def solve(
        self, problem: PlacementProblem, limits: Limits[Placement]
    ) -> Result[Placement]:
        """Return the placement; UNKNOWN where it is higher than the capacity."""
        clock = Stopwatch()
        plan = self.place(problem)
        return placement_result(self.name, problem, plan, limits, clock)

    def place(self, problem: PlacementProblem) -> Placement:
        """Return a placement without collisions, however high."""
        orders = list(ORDERS) if self.order == "best" else [self.order]
        near = neighbours(problem.buffers)
        plans = [self._in_order(problem, near, ORDERS[order]) for order in orders]
        return min(plans, key=lambda plan: height_bytes(problem, plan))

    def _in_order(
        self, problem: PlacementProblem, near: list[list[int]], key: SortKey
    ) -> Placement:
        buffers = problem.buffers
        placed: dict[int, Gap] = {}  # what each takes
        for k in sorted(range(len(buffers)), key=lambda k: key(buffers[k])):
            size = buffers[k].size_bytes
            taken = sorted(placed[other] for other in near[k] if other in placed)
            offset = self._choose(taken, size)
            placed[k] = offset, offset + size
        return Placement(tuple(placed[k][0] for k in range(len(buffers))))

    def _choose(self, taken: Iterable[Gap], size: int) -> int:
        """Return where `size` bytes go, given the occupied ranges in order."""
        gaps: list[Gap] = []
        free = 0
        for low, top in taken:
            if low - free >= size:
                gaps.append((free, low))
            free = max(free, top)
        return self.gap(gaps) if gaps else free

    @abstractmethod
    def gap(self, gaps: list[Gap]) -> int:
        """Return the offset among gaps that are large enough, the lowest first."""


class BestFit(_Fit):
    """Each buffer goes into the smallest gap that holds it, the lowest of equals."""

    name = "best-fit"

    def gap(self, gaps: list[Gap]) -> int:
        """Return the start of the smallest gap."""
        return min(gaps, key=lambda gap: gap[1] - gap[0])[0]


class FirstFit(_Fit):
    """Each buffer goes into the lowest gap that holds it."""

    name = "first-fit"

    def gap(self, gaps: list[Gap]) -> int:
        """Return the start of the lowest gap."""
        return gaps[0][0]
