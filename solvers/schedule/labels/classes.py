"""Preload states clustered into classes; an execute plan is chosen when it runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt

from elkhound.model.schedule import (
    Contention,
    ScheduleOperator,
    ScheduleOption,
    ScheduleProblem,
)
from elkhound.solvers.schedule.reduce import stretched_cycles

IntArray = npt.NDArray[np.int64]


class Rounding(Enum):
    """Which way the members of a class are rounded."""

    UP = "up"  # a plan in classes is a plan
    DOWN = "down"  # the optimum in classes is a lower bound


@dataclass(frozen=True, slots=True)
class Thinning:
    """How coarse classes are.

    Parameters
    ----------
    bytes : int
        P of the members of a class differs by at most this, unless they are merged for
        lack of gain.
    cycles : int
        So does h. And a class makes the execute faster, or preloads faster, than every
        smaller class does by more than this.
    at_any_room : bool
        Whether it is enough to execute faster somewhere, in variants that need less
        room than those of smaller classes by more than `bytes`. False looks at the
        fastest variants alone: fewer classes.
    """

    bytes: int
    cycles: int
    at_any_room: bool = False


@dataclass(frozen=True, slots=True)
class PreloadClass:
    """Preload states that a label does not tell apart.

    Parameters
    ----------
    preload_bytes, preload_cycles, link_cycles : int
        P, h and Y. Y is 0 or 1 under ``stretch``, which asks for its sign only, and 0
        under ``none``.
    own_bytes : array
        max(execute, preload) bytes of the execute variants, ascending.
    fastest_t, fastest_s : array
        Least t, and least t + ⌈σX⌉ (t under other rules than ``stretch``), over the
        variants up to here.
    t, x : array
        t and X of each variant.
    """

    preload_bytes: int
    preload_cycles: int
    link_cycles: int
    own_bytes: IntArray
    fastest_t: IntArray
    fastest_s: IntArray
    t: IntArray
    x: IntArray

    def charged(self, room_bytes: IntArray, batch_cycles: IntArray) -> IntArray:
        """Return by label the least max(t, X + ΣY) over the variants that fit."""
        least = np.full(len(room_bytes), np.iinfo(np.int64).max, dtype=np.int64)
        for size, t, x in zip(self.own_bytes, self.t, self.x, strict=True):
            cycles = np.maximum(t, x + batch_cycles)
            least = np.where(size <= room_bytes, np.minimum(least, cycles), least)
        return least


@dataclass(frozen=True, slots=True)
class Classes:
    """A problem in classes: by operator, the classes of its preload states.

    Parameters
    ----------
    problem : ScheduleProblem
        Whose options were classed; all of them fit.
    operators : tuple of tuple of PreloadClass
        One class, with P = h = Y = 0, for an operator that streams nothing.
    exact : bool
        Whether no class holds different states, so that nothing is rounded.
    """

    problem: ScheduleProblem
    operators: tuple[tuple[PreloadClass, ...], ...]
    exact: bool


def exact_classes(problem: ScheduleProblem) -> Classes:
    """Return one class for each distinct (P, h, Y)."""
    return _classes(problem, _Exact(problem))


def thinned_classes(
    problem: ScheduleProblem, thinning: Thinning, rounding: Rounding
) -> Classes:
    """Return few classes, rounded one way.

    States are sorted by P and grouped within the tolerances. A group that gains too
    little over the smaller groups, in its fastest execute or at any room, and in h and
    Y, is no class.
    *Up* drops it; a class then has the P, h and Y of its largest member, and every
    variant whose preload fits into those. *Down* merges it into the next smaller class,
    which has the minima of all its members and all their variants.
    """
    return _classes(problem, _Thinned(problem, thinning, rounding))


def most_classes(problem: ScheduleProblem) -> int:
    """Return how many exact classes the operator with most of them has."""
    return max(
        len({state_of(problem.contention, o) for o in operator.options})
        for operator in problem.operators
    )


def _classes(problem: ScheduleProblem, make: _Exact | _Thinned) -> Classes:
    known: dict[tuple[ScheduleOption, ...], tuple[PreloadClass, ...]] = {}
    by_identity: dict[tuple[int, ...], tuple[PreloadClass, ...]] = {}
    operators = []
    for operator in problem.operators:
        # Layers share their options: compare addresses before values.
        address = tuple(map(id, operator.options))
        if address not in by_identity:
            if operator.options not in known:
                known[operator.options] = make(operator)
            by_identity[address] = known[operator.options]
        operators.append(by_identity[address])
    return Classes(problem, tuple(operators), isinstance(make, _Exact))


class _Exact:
    def __init__(self, problem: ScheduleProblem) -> None:
        self.problem = problem

    def __call__(self, operator: ScheduleOperator) -> tuple[PreloadClass, ...]:
        rule = self.problem.contention
        states = sorted({state_of(rule, o) for o in operator.options})
        return tuple(
            _preload_class(
                self.problem,
                state,
                [o for o in operator.options if state_of(rule, o) == state],
            )
            for state in states
        )


class _Thinned:
    def __init__(
        self, problem: ScheduleProblem, thinning: Thinning, rounding: Rounding
    ) -> None:
        self.problem = problem
        self.thinning = thinning
        self.rounding = rounding

    def __call__(self, operator: ScheduleOperator) -> tuple[PreloadClass, ...]:
        groups = self._groups(operator)
        if self.rounding is Rounding.DOWN:
            return tuple(
                _preload_class(self.problem, self._corner(min, group), group)
                for group in groups
            )
        classes = []
        for group in groups:
            corner = self._corner(max, group)
            within = [
                o
                for o in operator.options
                if all(a <= b for a, b in zip(self._state(o), corner, strict=True))
            ]
            classes.append(_preload_class(self.problem, corner, within))
        return tuple(classes)

    def _groups(self, operator: ScheduleOperator) -> list[list[ScheduleOption]]:
        """Return members by class; *up* leaves out what gains too little."""
        options = sorted(operator.options, key=self._state)
        raw: list[list[ScheduleOption]] = []
        for option in options:
            if raw and self._near(raw[-1], option):
                raw[-1].append(option)
            else:
                raw.append([option])
        kept: list[list[ScheduleOption]] = []
        smaller = np.zeros((0, 5), dtype=np.int64)  # variants of the classes kept
        for group in raw:
            _, most_h, most_y = self._corner(max, group)
            _, least_h, least_y = self._corner(min, group)
            variants = self._variants(group)
            wanted = _with(variants, least_h, least_y)
            if not self._covered(wanted, smaller):
                kept.append(list(group))
                rows = _with(variants, most_h, most_y)
                smaller = np.concatenate((smaller, rows))
            elif self.rounding is Rounding.DOWN:
                kept[-1].extend(group)
        return kept

    def _variants(self, group: Sequence[ScheduleOption]) -> IntArray:
        """Return own bytes, t and s of each.

        Where room does not matter, one row stands for all: no bytes, least t and s.
        """
        rows = np.array(
            [
                (o.own_bytes, o.execute_cycles, stretched_cycles(self.problem, o))
                for o in group
            ],
            dtype=np.int64,
        )
        if self.thinning.at_any_room:
            return rows
        return np.array([(0, rows[:, 1].min(), rows[:, 2].min())], dtype=np.int64)

    def _covered(self, variants: IntArray, smaller: IntArray) -> bool:
        """Whether smaller classes do nearly as well as each of the variants."""
        cycles = self.thinning.cycles
        # Under `stretch` Y is 0 or 1, and either matters.
        link_cycles = cycles if self.problem.contention is Contention.CHARGE else 0
        slack = np.array((self.thinning.bytes, cycles, cycles, cycles, link_cycles))
        near = smaller[None] <= (variants + slack)[:, None]
        return bool(near.all(axis=2).any(axis=1).all())

    def _near(self, group: Sequence[ScheduleOption], option: ScheduleOption) -> bool:
        h = [o.preload_cycles for o in (*group, option)]
        spread_bytes = option.preload_bytes - group[0].preload_bytes
        return (
            spread_bytes <= self.thinning.bytes
            and max(h) - min(h) <= self.thinning.cycles
        )

    def _corner(
        self,
        pick: Callable[[Sequence[int]], int],
        group: Sequence[ScheduleOption],
    ) -> tuple[int, int, int]:
        preload_bytes, cycles, link_cycles = zip(*map(self._state, group), strict=True)
        return pick(preload_bytes), pick(cycles), pick(link_cycles)

    def _state(self, option: ScheduleOption) -> tuple[int, int, int]:
        return state_of(self.problem.contention, option)


def _with(variants: IntArray, preload_cycles: int, link_cycles: int) -> IntArray:
    """Return rows of own bytes, t, s, h and Y."""
    state = np.array((preload_cycles, link_cycles), dtype=np.int64)
    return np.hstack((variants, np.broadcast_to(state, (len(variants), 2))))


def state_of(rule: Contention, option: ScheduleOption) -> tuple[int, int, int]:
    """Return (P, h, Y) as far as the rule sees Y."""
    link_cycles = option.preload_link_cycles
    if rule is Contention.NONE:
        link_cycles = 0
    elif rule is Contention.STRETCH:
        link_cycles = int(link_cycles > 0)
    return option.preload_bytes, option.preload_cycles, link_cycles


def _preload_class(
    problem: ScheduleProblem,
    state: tuple[int, int, int],
    members: Sequence[ScheduleOption],
) -> PreloadClass:
    ranked = sorted(members, key=lambda option: option.own_bytes)
    stretch = problem.contention is Contention.STRETCH
    t = np.array([o.execute_cycles for o in ranked], dtype=np.int64)
    x = np.array([o.execute_link_cycles for o in ranked], dtype=np.int64)
    s = t
    if stretch:
        s = np.array([stretched_cycles(problem, o) for o in ranked], dtype=np.int64)
    return PreloadClass(
        *state,
        own_bytes=np.array([o.own_bytes for o in ranked], dtype=np.int64),
        fastest_t=np.minimum.accumulate(t),
        fastest_s=np.minimum.accumulate(s),
        t=t,
        x=x,
    )
