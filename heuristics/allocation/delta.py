"""Δ-efficiency: the paper's allocation of SRAM (§4.3, figure 11)."""

from __future__ import annotations

import heapq

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


class DeltaEfficiency:
    """Start with the fastest options; give up space where it costs the least time.

    While the items do not fit, the one with the largest

        Δ = bytes freed / cycles added

    takes the next smaller option of its Pareto list; ties go to the lowest index.
    """

    name = "delta"

    def allocate(self, problem: AllocationProblem) -> Allocation | None:
        """Return the greedy choice, or None if even the smallest options do not fit."""
        allocation, _ = self._descend(problem)
        return allocation

    def solve(
        self, problem: AllocationProblem, limits: Limits[Allocation]
    ) -> Result[Allocation]:
        """Return the greedy choice; INFEASIBLE if the smallest options do not fit."""
        clock = Stopwatch()
        plan, steps = self._descend(problem)
        return allocation_result(
            self.name, problem, plan, limits, clock, {"steps": steps}
        )

    def _descend(self, problem: AllocationProblem) -> tuple[Allocation | None, int]:
        fronts = [pareto(item) for item in problem.items]
        reached, steps = descend(problem, fronts)
        if reached is None:
            return None, steps
        taken = zip(fronts, reached, strict=True)
        return Allocation(tuple(front[place] for front, place in taken)), steps


def descend(
    problem: AllocationProblem, lists: list[tuple[int, ...]]
) -> tuple[list[int] | None, int]:
    """Walk down the items' lists by largest Δ until all fit.

    Parameters
    ----------
    lists : list of tuple of int
        Per item, options with bytes falling and cycles rising, to be taken in turn.

    Returns
    -------
    tuple
        The place reached in each list, or None if the ends do not fit; the steps.
    """
    items = problem.items
    scale_bits = 2 * max(
        items[k].options[ends[-1]].cycles.bit_length() for k, ends in enumerate(lists)
    )
    excess_bytes = -problem.capacity_bytes
    best = []
    for k, places in enumerate(lists):
        excess_bytes += items[k].options[places[0]].size_bytes
        if len(places) > 1:
            best.append((-_delta(items[k], places, 1, scale_bits), k))
    heapq.heapify(best)
    reached = [0] * len(items)
    steps = 0
    while excess_bytes > 0:
        if not best:
            return None, steps
        _, k = best[0]
        options, places = items[k].options, lists[k]
        here = reached[k] = reached[k] + 1
        excess_bytes -= options[places[here - 1]].size_bytes
        excess_bytes += options[places[here]].size_bytes
        steps += 1
        if here + 1 < len(places):
            delta = _delta(items[k], places, here + 1, scale_bits)
            heapq.heapreplace(best, (-delta, k))
        else:
            heapq.heappop(best)
    return reached, steps


def _delta(
    item: AllocationItem, places: tuple[int, ...], to: int, scale_bits: int
) -> int:
    """Return ⌊2^b · Δ⌋ of the step from place `to` − 1; it orders like Δ itself.

    Two different Δ with denominators below 2^(b/2) lie at least 2^−b apart.
    """
    larger, smaller = item.options[places[to - 1]], item.options[places[to]]
    freed_bytes = larger.size_bytes - smaller.size_bytes
    return (freed_bytes << scale_bits) // (smaller.cycles - larger.cycles)
