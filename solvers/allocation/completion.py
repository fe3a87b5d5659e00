"""What is still to pay at least: the linear relaxation over the items not yet chosen.

The relaxation of the multiple-choice knapsack starts with the smallest option of each
item and buys segments of the lower convex hulls, most cycles saved per byte first;
only the last one is bought in part.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elkhound.model.allocation import AllocationItem, AllocationProblem, pareto

Integers = NDArray[Any]
"""Exact integers: int64 where nothing can overflow, Python's own otherwise."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A step up an item's hull: the option it leads to, its price and its worth."""

    item: int
    option: int
    width_bytes: int
    saved_cycles: int


@dataclass(frozen=True, slots=True)
class Completion:
    """The relaxation of the items from one index on.

    Parameters
    ----------
    least_bytes, most_cycles : int
        All of them at their smallest.
    segments : tuple of Segment
        In the order they are bought.
    bought_bytes, saved_cycles : array
        Totals of the first k segments, for k = 0 … all.
    """

    least_bytes: int
    most_cycles: int
    segments: tuple[Segment, ...]
    bought_bytes: Integers
    saved_cycles: Integers

    def whole_segments(self, room_bytes: Integers) -> Integers:
        """Return how many segments fit whole into the room above `least_bytes`."""
        return np.searchsorted(self.bought_bytes, room_bytes, side="right") - 1

    def rounded_down(self, whole: Integers) -> Integers:
        """Return the cycles of a choice that fits: the whole segments only."""
        return self.most_cycles - self.saved_cycles[whole]

    def bound(self, room_bytes: Integers, whole: Integers) -> Integers:
        """Return ⌈value of the relaxation⌉, in exact integers."""
        after = np.minimum(whole + 1, len(self.segments))
        width_bytes = self.bought_bytes[after] - self.bought_bytes[whole]
        gain_cycles = self.saved_cycles[after] - self.saved_cycles[whole]
        part_bytes = room_bytes - self.bought_bytes[whole]
        last = after == whole
        gained = gain_cycles * part_bytes // np.where(last, 1, width_bytes)
        return self.rounded_down(whole) - np.where(last, 0, gained)

    def choice(self, whole: int) -> dict[int, int]:
        """Return the option that each item with bought segments ends at."""
        return {s.item: s.option for s in self.segments[:whole]}


def completions(
    problem: AllocationProblem, exact: type[np.int64] | type[object]
) -> list[Completion]:
    """Return the relaxation of items i … n − 1 for i = 0 … n.

    Parameters
    ----------
    exact : type
        Element type of the arrays, from `integer_type`.
    """
    items = problem.items
    steps = [s for i, item in enumerate(items) for s in _segments(i, item)]
    steps.sort(key=lambda s: -Fraction(s.saved_cycles, s.width_bytes))
    least = [item.options[pareto(item)[-1]] for item in items]
    tables = []
    for first in range(len(items) + 1):
        later = tuple(s for s in steps if s.item >= first)
        tables.append(
            Completion(
                least_bytes=sum(o.size_bytes for o in least[first:]),
                most_cycles=sum(o.cycles for o in least[first:]),
                segments=later,
                bought_bytes=_totals([s.width_bytes for s in later], exact),
                saved_cycles=_totals([s.saved_cycles for s in later], exact),
            )
        )
    return tables


def integer_type(problem: AllocationProblem) -> type[np.int64] | type[object]:
    """Return int64 if no sum, nor any bytes × cycles, can leave it; else object."""
    most_bytes = sum(max(o.size_bytes for o in i.options) for i in problem.items)
    most_cycles = sum(max(o.cycles for o in i.options) for i in problem.items)
    largest = max(most_bytes, problem.capacity_bytes, 1) * max(most_cycles, 1)
    return np.int64 if largest < 2**62 else object


def _segments(index: int, item: AllocationItem) -> list[Segment]:
    """Return the steps up the lower convex hull of an item's Pareto list."""
    options = item.options
    corners: list[int] = []
    for k in reversed(pareto(item)):
        while len(corners) > 1:
            a, b, c = options[corners[-2]], options[corners[-1]], options[k]
            here = (a.cycles - b.cycles) * (c.size_bytes - b.size_bytes)
            then = (b.cycles - c.cycles) * (b.size_bytes - a.size_bytes)
            if here > then:
                break
            corners.pop()
        corners.append(k)
    return [
        Segment(
            index,
            upper,
            options[upper].size_bytes - options[lower].size_bytes,
            options[lower].cycles - options[upper].cycles,
        )
        for lower, upper in pairwise(corners)
    ]


def _totals(amounts: list[int], exact: type[np.int64] | type[object]) -> Integers:
    totals = [0]
    for amount in amounts:
        totals.append(totals[-1] + amount)
    return np.array(totals, dtype=exact)
