"""Δ-hull-fill: Δ-efficiency over convex hulls, then spend what is left over."""

from __future__ import annotations

from elkhound.heuristics.allocation.delta import descend
from elkhound.heuristics.outcome import allocation_result
from elkhound.model.allocation import (
    Allocation,
    AllocationItem,
    AllocationProblem,
    pareto,
)
from elkhound.model.limits import Limits
from elkhound.model.result import Result
from elkhound.model.stopwatch import Stopwatch


class DeltaHullFill:
    """Descend by Δ on the lower convex hulls, then take the best upgrades that fit.

    The hull makes Δ fall along every item's list, so no step hides a better one
    behind it; the descent is then the linear relaxation rounded down. The last step
    may free more than was missing: the upgrade that saves the most cycles within the
    bytes left is taken (ties: fewer bytes, lowest index), until none fits.
    """

    name = "delta-hull-fill"

    def allocate(self, problem: AllocationProblem) -> Allocation | None:
        """Return the choice, or None if even the smallest options do not fit."""
        allocation, _, _ = self._choose(problem)
        return allocation

    def solve(
        self, problem: AllocationProblem, limits: Limits[Allocation]
    ) -> Result[Allocation]:
        """Return the choice; INFEASIBLE if the smallest options do not fit."""
        clock = Stopwatch()
        plan, steps, upgrades = self._choose(problem)
        statistics = {"steps": steps, "upgrades": upgrades}
        return allocation_result(self.name, problem, plan, limits, clock, statistics)

    def _choose(self, problem: AllocationProblem) -> tuple[Allocation | None, int, int]:
        fronts = [pareto(item) for item in problem.items]
        hulls = [
            hull(item, front) for item, front in zip(problem.items, fronts, strict=True)
        ]
        reached, steps = descend(problem, hulls)
        if reached is None:
            return None, steps, 0
        taken = [places[here] for places, here in zip(hulls, reached, strict=True)]
        upgrades = _fill(problem, fronts, taken)
        return Allocation(tuple(taken)), steps, upgrades


def hull(item: AllocationItem, front: tuple[int, ...]) -> tuple[int, ...]:
    """Return the options of a Pareto list that lie on its lower convex hull."""
    kept: list[int] = []
    for k in front:
        while len(kept) > 1 and not _convex(item, kept[-2], kept[-1], k):
            kept.pop()
        kept.append(k)
    return tuple(kept)


def _convex(item: AllocationItem, first: int, middle: int, last: int) -> bool:
    """Whether Δ falls strictly from the step to `middle` to the step after it."""
    a, b, c = (item.options[k] for k in (first, middle, last))
    before = (a.size_bytes - b.size_bytes) * (c.cycles - b.cycles)
    after = (b.size_bytes - c.size_bytes) * (b.cycles - a.cycles)
    return before > after


def _fill(
    problem: AllocationProblem, fronts: list[tuple[int, ...]], taken: list[int]
) -> int:
    """Upgrade `taken` in place while anything fits; return how often."""
    items = problem.items
    left_bytes = problem.capacity_bytes - sum(
        item.options[k].size_bytes for item, k in zip(items, taken, strict=True)
    )
    upgrades = 0
    while True:
        fitting = []
        for i, (item, front) in enumerate(zip(items, fronts, strict=True)):
            now = item.options[taken[i]]
            for k in front:
                option = item.options[k]
                more_bytes = option.size_bytes - now.size_bytes
                if option.cycles < now.cycles and more_bytes <= left_bytes:
                    fitting.append((option.cycles - now.cycles, more_bytes, i, k))
                    break
        if not fitting:
            return upgrades
        _, more_bytes, i, k = min(fitting)
        taken[i] = k
        left_bytes -= more_bytes
        upgrades += 1
