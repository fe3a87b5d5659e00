"""Fewer options: each stands for all within a factor 1 + ε above it or below.

Thinning a front to a grid of ratio 1 + ε keeps an option a cell, and parts neighbours
wherever a line of the grid runs between them. A cover gives the same promise with about
half the options (docs/options.md).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from elkhound.model.schedule import (
    Schedule,
    ScheduleOperator,
    ScheduleOption,
    ScheduleProblem,
)
from elkhound.solvers.schedule.reduce import Reduced, reduce

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Group:
    """Options that one of them stands for.

    Parameters
    ----------
    kept : int
        Index of the option that stands for the group, not always a member.
    members : tuple of int
        In every field the kept option is at most 1 + ε times each of these.
    """

    kept: int
    members: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Cover:
    """A problem with few options, rounded up and down.

    Parameters
    ----------
    problem : ScheduleProblem
        The whole problem.
    up : ScheduleProblem
        Options of the problem itself, one a group: its plans are plans.
    down : ScheduleProblem
        In place of each group, the minima of its members: no plan of the problem is
        better than the optimum, and none of these options need exist.
    """

    problem: ScheduleProblem
    up: ScheduleProblem
    down: ScheduleProblem
    _left: Reduced
    _groups: tuple[tuple[Group, ...], ...]

    def restore(self, plan: Schedule) -> Schedule:
        """Return a plan of `up` with the option indices of the problem."""
        kept = zip(self._groups, plan.options, strict=True)
        options = tuple(groups[choice].kept for groups, choice in kept)
        return self._left.restore(Schedule(plan.gates, options))

    def translate(self, plan: Schedule) -> Schedule:
        """Return a plan of the problem in groups: indices of both `up` and `down`.

        A plan that fits, fits into `down`, and need not fit into `up`.
        """
        left = self._left.translate(self.problem, plan)
        options = []
        for groups, choice in zip(self._groups, left.options, strict=True):
            members = (choice in group.members for group in groups)
            options.append(list(members).index(True))
        return Schedule(plan.gates, tuple(options))


def cover(problem: ScheduleProblem, permille: int) -> Cover:
    """Return few options that stand for all, ε = permille / 1000.

    Fields: execute and preload bytes, h, Y, t and X. Options that no plan needs go
    first. Then the option goes on being kept that stands for most of those for which
    none stands yet, from the smallest one on: with it, what fits stays so.

    A plan of the problem that fits into C / (1 + ε) bytes turns into one of `up` that
    fits into C, with every duration at most 1 + ε times as long.
    """
    left = reduce(problem)
    known: dict[bytes, tuple[Group, ...]] = {}
    found = []
    for operator in left.problem.operators:
        fields = _fields(operator)
        key = fields.tobytes()
        if key not in known:
            known[key] = _groups(fields, permille)
        found.append(known[key])
    pairs = list(zip(left.problem.operators, found, strict=True))
    up = tuple(
        replace(o, options=tuple(o.options[group.kept] for group in groups))
        for o, groups in pairs
    )
    down = tuple(
        replace(o, options=tuple(_least(o, k, g) for k, g in enumerate(groups)))
        for o, groups in pairs
    )
    return Cover(
        problem,
        replace(problem, operators=up),
        replace(problem, operators=down),
        left,
        tuple(found),
    )


def _groups(fields: IntArray, permille: int) -> tuple[Group, ...]:
    stands_for = np.ones((len(fields), len(fields)), dtype=np.bool_)
    for values in fields.T:
        most = values + values * permille // 1000
        stands_for &= values[:, None] <= most[None, :]
    counts = stands_for.sum(axis=1)
    waiting = np.ones(len(fields), dtype=np.bool_)
    kept = int(np.maximum(fields[:, 0], fields[:, 1]).argmin())
    groups = []
    while True:
        members = np.flatnonzero(stands_for[kept] & waiting)
        groups.append(Group(kept, tuple(members.tolist())))
        waiting[members] = False
        if not waiting.any():
            return tuple(sorted(groups, key=lambda group: group.kept))
        counts = counts - stands_for[:, members].sum(axis=1)
        kept = int(counts.argmax())


def _fields(operator: ScheduleOperator) -> IntArray:
    return np.array([_values(option) for option in operator.options], dtype=np.int64)


def _values(option: ScheduleOption) -> tuple[int, ...]:
    return (
        option.execute_bytes,
        option.preload_bytes,
        option.preload_cycles,
        option.preload_link_cycles,
        option.execute_cycles,
        option.execute_link_cycles,
    )


def _least(operator: ScheduleOperator, number: int, group: Group) -> ScheduleOption:
    """Return the option of the members' minima; X ≤ t and Y ≤ h hold for those too.

    A field that is 0 in some member is 0 in the kept option, so it streams if they do.
    """
    members = [_values(operator.options[place]) for place in group.members]
    return ScheduleOption(number, *map(min, zip(*members, strict=True)))
