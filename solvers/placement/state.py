"""Lower bounds on offsets after some placements, pushed up until nothing moves.

For every unplaced buffer j, `low[j]` is the least offset it can have; for every clique
t, `floor[t]` is the least `low` of its unplaced members, and

    load[t] = floor[t] + Σ sizes of its unplaced members ≤ C

or the state has no completion. Every bound carries its reason, a bit mask over
cliques: the placements and delays of buffers alive in one of them brought it about.
"""

from __future__ import annotations

from functools import reduce
from operator import or_

from elkhound.solvers.placement.cliques import Cliques

PLACED = 1 << 62
"""Above every offset: `low` and `top` of a placed buffer, which no minimum takes."""

_Snapshot = tuple[
    list[int], list[int], list[int], list[int], list[int], list[int], list[int]
]


class State:
    """What is placed, what is delayed, and the bounds that follow.

    Parameters
    ----------
    cliques : Cliques
        The buffers.
    capacity : int
        C, in units.
    failures : list of int
        Counts, per clique, how often it was too full; shared with later states.
    """

    def __init__(self, cliques: Cliques, capacity: int, failures: list[int]) -> None:
        self.cliques = cliques
        self.capacity = capacity
        self.failures = failures
        sizes = cliques.size
        self.offset = [0] * len(sizes)
        self.low = [0] * len(sizes)
        self.top = list(sizes)  # low + size
        self.low_why = [0] * len(sizes)
        self.floor = [0] * len(cliques.members)
        self.floor_why = [0] * len(cliques.members)
        self.load = [sum(sizes[j] for j in members) for members in cliques.members]
        self.waiting: list[int] = []  # delayed: must rest on an unplaced buffer
        self._support = [0] * len(sizes)  # an unplaced one that a delayed one rests on

    def save(self) -> _Snapshot:
        """Return a copy of what placing and delaying change, to `restore` once."""
        return (
            self.low[:],
            self.top[:],
            self.low_why[:],
            self.floor[:],
            self.floor_why[:],
            self.load[:],
            self.waiting,
        )

    def restore(self, saved: _Snapshot) -> None:
        """Go back; the copy is used up."""
        (
            self.low,
            self.top,
            self.low_why,
            self.floor,
            self.floor_why,
            self.load,
            self.waiting,
        ) = saved

    def place(self, i: int) -> int:
        """Put a buffer at its lowest offset; return 0, or the reason of a failure.

        Complete together with `delay` if no other unplaced buffer of the part lies
        lower: those alive with it then go above it.
        """
        cliques, low, top, low_why = self.cliques, self.low, self.top, self.low_why
        floor, floor_why, load = self.floor, self.floor_why, self.load
        first, last, size = cliques.first, cliques.last, cliques.size
        here = low[i]
        above = here + size[i]
        mine = cliques.range_mask[i]
        self.offset[i] = here
        low[i] = top[i] = PLACED
        low_why[i] = 0
        for t in range(first[i], last[i]):
            load[t] += here - floor[t]
            floor[t] = above
            floor_why[t] = mine
            if load[t] > self.capacity:
                self.failures[t] += 1
                return mine
        stale = set(range(first[i], last[i]))
        for j in cliques.conflicts[i]:
            before = low[j]
            if before < above:
                low[j] = above
                top[j] = above + size[j]
                low_why[j] = mine
                if top[j] > self.capacity:
                    return mine
                for t in range(first[j], last[j]):
                    if floor[t] == before:
                        stale.add(t)
        if self.waiting:  # what is alive with i may rest on it now
            conflicts = cliques.conflicts[i]
            self.waiting = [j for j in self.waiting if j != i and j not in conflicts]
        return self._propagate(stale)

    def delay(self, buffers: list[int]) -> int:
        """Forbid buffers their lowest offset; return 0, or the reason of a failure.

        In a placement in which nothing can be pushed down, each then rests on a
        buffer that is not placed yet.
        """
        self.waiting = self.waiting + buffers
        for j in buffers:
            self._support[j] = j  # no support: top_j > low_j
        return self._propagate(set())

    def why_delayed(self, j: int) -> int:
        """Return the reason that a delayed buffer lies where it rests."""
        cliques = self.cliques
        why = cliques.range_mask[j] | self.low_why[j]
        pick = cliques.of_conflicts[j]
        if pick is not None:
            why = reduce(or_, pick(self.low_why), why)
        return reduce(or_, self.floor_why[cliques.first[j] : cliques.last[j]], why)

    def _propagate(self, stale: set[int]) -> int:
        """Raise floors of stale cliques, then delayed buffers, to a fixed point.

        floor_t ≥ min {low_j : j unplaced in t};
        low_j ≥ min {low_k + size_k : k unplaced, alive with j}  for delayed j.
        """
        low, low_why, top = self.low, self.low_why, self.top
        floor, load = self.floor, self.load
        of_clique, support = self.cliques.of_clique, self._support
        while True:
            while stale:
                t = stale.pop()
                least = min(of_clique[t](low))
                if floor[t] < least < PLACED:
                    load[t] += least - floor[t]
                    floor[t] = least
                    why = reduce(or_, of_clique[t](low_why), 1 << t)
                    self.floor_why[t] = why
                    if load[t] > self.capacity:
                        self.failures[t] += 1
                        return why
            for j in self.waiting:
                if top[support[j]] > low[j]:
                    why = self._rest(j, stale)
                    if why:
                        return why
            if not stale:
                return 0

    def _rest(self, j: int, stale: set[int]) -> int:
        """Raise a delayed buffer onto the lowest unplaced one it can rest on."""
        cliques, low, floor = self.cliques, self.low, self.floor
        pick = cliques.of_conflicts[j]
        if pick is None:
            return self.why_delayed(j)
        tops = pick(self.top)
        least = min(tops)
        self._support[j] = cliques.conflicts[j][
            tops.index(least) % len(cliques.conflicts[j])
        ]
        before = low[j]
        if least <= before:
            return 0
        why = self.why_delayed(j)
        if least + cliques.size[j] > self.capacity:
            return why
        low[j] = least
        self.top[j] = least + cliques.size[j]
        self.low_why[j] = why
        for t in range(cliques.first[j], cliques.last[j]):
            if floor[t] == before:
                stale.add(t)
        return 0
