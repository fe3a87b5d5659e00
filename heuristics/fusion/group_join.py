"""Pareto join of operators that run as one (FFM's join, over compute-shift plans).

Plans of two members are compatible where they have the same row: the same cores then
hold the same tiles of what one hands to the other, chunk by chunk. Members are joined
one at a time. On the way a plan or a combination is left out where another of its row
dominates it, and where it cannot beat an *incumbent*, a complete combination of a few
plans of a row: what the other members take at least, row by row, is added first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from elkhound.model.options.front import first_of_equal, pareto_rows
from elkhound.model.options.fused.plans import MemberPlans
from elkhound.model.options.spatial import expand
from elkhound.model.tile_cost.tile import Integers

HELD, PEAK, CYCLES, EXCHANGE = range(4)
MOST_INCUMBENTS = 128


@dataclass(frozen=True, slots=True)
class Combinations:
    """Members joined so far; entry i of every array belongs to combination i.

    Parameters
    ----------
    row : array
        Ascending.
    criteria : array
        Held and peak bytes, compute + exchange, exchange.
    plans : array
        A column of plan indices per member.
    """

    row: Integers
    criteria: Integers
    plans: Integers

    def take(self, chosen: Integers) -> Combinations:
        """Return some of the combinations."""
        return Combinations(self.row[chosen], self.criteria[chosen], self.plans[chosen])


@dataclass(frozen=True, slots=True)
class ParetoJoin:
    """Joins members' plans row by row, pruning on the way."""

    name: str = "pareto-join"

    def keep(self, plans: MemberPlans) -> Integers:
        """Return the plans that no balanced one of their row dominates.

        Held bytes add up, peaks take the maximum, cycles add up: a plan that another
        of its row dominates is in no combination that the other does not improve.
        """
        return _sieved(plans.row, _criteria(plans))

    def combine(self, members: Sequence[MemberPlans], capacity_bytes: int) -> Integers:
        """Return the combinations on the front; see `Join`."""
        listed = [_listed(member) for member in members]
        least = [_least(member) for member in listed]
        incumbents = _incumbents(listed, capacity_bytes)
        able = [
            _able(
                member,
                _bound((*least[:place], *least[place + 1 :])),
                incumbents,
                capacity_bytes,
            )
            for place, member in enumerate(listed)
        ]
        chain = able[0]
        for place, member in enumerate(able[1:], start=1):
            chain = _joined(chain, member)
            bound = _bound((np.zeros_like(least[0]), *least[place + 1 :]))
            chain = _able(chain, bound, incumbents, capacity_bytes)
            chain = chain.take(_sieved(chain.row, chain.criteria))
        return chain.plans[pareto_rows(objectives_of(chain.criteria))]


def objectives_of(criteria: Integers) -> Integers:
    """Return execute_bytes, cycles after distribution, and exchange."""
    held, peak, cycles, exchange = criteria.T
    return np.column_stack([held + peak, cycles, exchange])


def _criteria(plans: MemberPlans) -> Integers:
    return np.column_stack(
        [
            plans.held_bytes,
            plans.peak_bytes,
            plans.compute_cycles + plans.exchange_cycles,
            plans.exchange_cycles,
        ]
    )


def _listed(plans: MemberPlans) -> Combinations:
    indices = np.arange(len(plans), dtype=np.int64)
    return Combinations(plans.row, _criteria(plans), indices[:, None])


def _together(mine: Integers, theirs: Integers) -> Integers:
    """Return the criteria of two parts together: sums, but the larger of the peaks."""
    both = mine + theirs
    both[:, PEAK] = np.maximum(mine[:, PEAK], theirs[:, PEAK])
    return both


def _least(member: Combinations) -> Integers:
    """Return, by row, the least of each criterion among a member's plans.

    Every row has a plan of every member: without rotation there is one.
    """
    starts = np.flatnonzero(np.diff(member.row, prepend=-1))
    return np.minimum.reduceat(member.criteria, starts, axis=0)


def _bound(least: Sequence[Integers]) -> Integers:
    """Return, by row, what members take together at least."""
    total = least[0]
    for other in least[1:]:
        total = _together(total, other)
    return total


def _incumbents(members: list[Combinations], capacity_bytes: int) -> Integers:
    """Return the front of combinations of each row's few plans, thinned."""
    few = [member.take(_knees(member.row, member.criteria)) for member in members]
    chain = few[0]
    for member in few[1:]:
        chain = _joined(chain, member)
    found = objectives_of(chain.criteria)
    found = found[found[:, 0] <= capacity_bytes]
    found = found[pareto_rows(found)]
    found = found[first_of_equal(found)]
    places = np.linspace(0, len(found) - 1, min(len(found), MOST_INCUMBENTS))
    return found[np.unique(places.astype(np.int64))]


def _knees(row: Integers, criteria: Integers) -> Integers:
    """Return the best of each row under two balances, ascending."""
    best = [_best(row, criteria, weights) for weights in ((4, 4, 1, 0), (1, 1, 4, 0))]
    return np.unique(np.concatenate(best))


def _best(row: Integers, criteria: Integers, weights: tuple[int, ...]) -> Integers:
    """Return the first entry of every row that has its least weighted sum."""
    score = np.zeros(len(row))
    for column, weight in zip(criteria.T, weights, strict=True):
        score += column * (weight / (1 + column.mean()))
    starts = np.flatnonzero(np.diff(row, prepend=-1))
    least = np.minimum.reduceat(score, starts)
    order = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(row)))
    hits = np.flatnonzero(score == least[order])
    return hits[np.unique(order[hits], return_index=True)[1]]


def _sieved(row: Integers, criteria: Integers) -> Integers:
    """Return the entries that none of a few of their row dominates, ascending."""
    kept = np.arange(len(row), dtype=np.int64)
    for weights in (
        (1, 1, 1, 1),
        (4, 1, 1, 1),
        (1, 4, 1, 1),
        (1, 1, 4, 1),
        (1, 1, 1, 4),
        (0, 0, 1, 0),
        (1, 1, 0, 0),
    ):
        if not len(kept):
            break
        own, here = row[kept], criteria[kept]
        best = _best(own, here, weights)
        starts = np.flatnonzero(np.diff(own, prepend=-1))
        knee = here[np.repeat(best, np.diff(starts, append=len(own)))]
        kept = kept[~_dominated(here, knee)]
    return kept


def _dominated(points: Integers, by: Integers) -> np.ndarray:
    """Whether each point is nowhere smaller than its opponent, and somewhere larger."""
    beaten = np.ones(len(points), dtype=np.bool_)
    larger = np.zeros(len(points), dtype=np.bool_)
    for column, other in zip(points.T, by.T, strict=True):
        beaten &= column >= other
        larger |= column > other
    return beaten & larger


def _joined(chain: Combinations, member: Combinations) -> Combinations:
    """Return every combination with every plan of its row."""
    start = np.searchsorted(member.row, chain.row, side="left")
    end = np.searchsorted(member.row, chain.row, side="right")
    left, place = expand(end - start)
    right = start[left] + place
    return Combinations(
        chain.row[left],
        _together(chain.criteria[left], member.criteria[right]),
        np.column_stack([chain.plans[left], member.plans[right]]),
    )


def _able(
    chain: Combinations, bound: Integers, incumbents: Integers, capacity_bytes: int
) -> Combinations:
    """Return what may still fit, and end where no incumbent dominates it."""
    least = objectives_of(_together(chain.criteria, bound[chain.row]))
    able = np.flatnonzero(least[:, 0] <= capacity_bytes)
    for incumbent in incumbents:
        here = least[able]
        able = able[~_dominated(here, np.broadcast_to(incumbent, here.shape))]
    return chain.take(able)
