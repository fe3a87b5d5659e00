"""Removes options and gates that no optimal schedule needs, before a model is built."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from elkhound.model.earliest import earliest_in_order
from elkhound.model.result import OrderClass
from elkhound.model.schedule import (
    Contention,
    Schedule,
    ScheduleOption,
    ScheduleProblem,
)
from elkhound.model.units import stretched

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Reduced:
    """A problem with fewer options and the same optimum.

    Parameters
    ----------
    problem : ScheduleProblem
        What is left; every option fits into SRAM beside `resident_bytes`.
    kept : tuple of tuple of int
        By operator, the original index of every option left.
    """

    problem: ScheduleProblem
    kept: tuple[tuple[int, ...], ...]

    def restore(self, plan: Schedule) -> Schedule:
        """Return the plan with the option indices of the original problem."""
        options = tuple(
            kept[index] for kept, index in zip(self.kept, plan.options, strict=True)
        )
        return Schedule(plan.gates, options)

    def translate(self, original: ScheduleProblem, plan: Schedule) -> Schedule:
        """Return a plan of the reduced problem that is no worse than `plan`.

        Every option is replaced by one left that dominates it; the gates stay.
        """
        options = []
        for i, index in enumerate(plan.options):
            given = _key(original, original.operators[i].options[index])
            left = self.problem.operators[i].options
            options.append(
                next(
                    q
                    for q, option in enumerate(left)
                    if all(
                        a <= b
                        for a, b in zip(_key(original, option), given, strict=True)
                    )
                )
            )
        return Schedule(plan.gates, tuple(options))


def stretched_cycles(problem: ScheduleProblem, option: ScheduleOption) -> int:
    """Return t + ⌈σX⌉."""
    return stretched(
        option.execute_cycles,
        option.execute_link_cycles,
        problem.link_stretch_permille,
    )


def reduce(problem: ScheduleProblem, horizon: int | None = None) -> Reduced:
    """Drop options that do not fit, are dominated, or are too slow for the horizon.

    Option a dominates b if it is no larger in everything the rule looks at:
    max(execute, preload) bytes, preload bytes, h, and

    * ``none``: t
    * ``stretch``: t, t + ⌈σX⌉ and whether Y > 0
    * ``charge``: t, X and Y.

    Times and SRAM of a plan are monotone in each, so b can be replaced by a. Of equal
    options the first is kept. There must be no misfit.

    Parameters
    ----------
    horizon : int or None
        Makespan of a known plan: options with which every plan takes longer go, see
        `_in_time`. None keeps them.
    """
    fronts: dict[bytes, tuple[int, ...]] = {}
    operators, kept = [], []
    for operator in problem.operators:
        keys = np.array([_key(problem, o) for o in operator.options], dtype=np.int64)
        room = problem.sram_bytes - operator.resident_bytes
        fitting = np.flatnonzero(keys[:, 0] <= room)
        signature = keys[fitting].tobytes() + fitting.tobytes()
        if signature not in fronts:
            front = fitting[_minimal_rows(keys[fitting])]
            fronts[signature] = tuple(int(index) for index in front)
        indices = fronts[signature]
        kept.append(indices)
        options = tuple(operator.options[index] for index in indices)
        operators.append(replace(operator, options=options))
    reduced = Reduced(replace(problem, operators=tuple(operators)), tuple(kept))
    return reduced if horizon is None else _in_time(reduced, horizon)


def _in_time(reduced: Reduced, horizon: int) -> Reduced:
    """Drop option q of operator i if no plan with it ends by the horizon.

    P_0 … P_m are over before E_m starts, and E_m … E_{N−1} follow one another: with the
    least h and t, path_m = Σ_{j≤m} h_j + Σ_{k≥m} t_k is a lower bound in any order.
    Option q adds t_iq − t_i to the paths m ≤ i and h_iq − h_i to the paths m ≥ i.
    """
    operators = reduced.problem.operators
    t = [min(o.execute_cycles for o in p.options) for p in operators]
    h = [min(o.preload_cycles for o in p.options) for p in operators]
    suffix_t = list(accumulate(reversed(t)))[::-1]
    paths = [p + s for p, s in zip(accumulate(h), suffix_t, strict=True)]
    up_to = list(accumulate(paths, max))
    from_on = list(accumulate(reversed(paths), max))[::-1]
    left, kept = [], []
    for i, operator in enumerate(operators):
        places = []
        for q, option in enumerate(operator.options):
            longer = option.execute_cycles - t[i]
            later = option.preload_cycles - h[i]
            least = (up_to[i] + longer, from_on[i] + later, paths[i] + longer + later)
            if max(least) <= horizon:
                places.append(q)
        options = tuple(operator.options[q] for q in places)
        left.append(replace(operator, options=options))
        kept.append(tuple(reduced.kept[i][q] for q in places))
    return Reduced(replace(reduced.problem, operators=tuple(left)), tuple(kept))


def _key(problem: ScheduleProblem, option: ScheduleOption) -> tuple[int, ...]:
    common = (option.own_bytes, option.preload_bytes, option.preload_cycles)
    if problem.contention is Contention.NONE:
        return (*common, option.execute_cycles)
    if problem.contention is Contention.STRETCH:
        return (
            *common,
            option.execute_cycles,
            stretched_cycles(problem, option),
            int(option.preload_link_cycles > 0),
        )
    return (
        *common,
        option.execute_cycles,
        option.execute_link_cycles,
        option.preload_link_cycles,
    )


def _minimal_rows(rows: IntArray) -> IntArray:
    """Return indices, ascending, of the rows that no other row is ≤ everywhere."""
    order = np.lexsort((np.arange(len(rows)), *rows.T[::-1]))
    front = np.empty_like(rows)
    chosen: list[int] = []
    for index in order:  # only an earlier row can dominate a later one
        row = rows[index]
        size = len(chosen)
        if size and bool(np.any(np.all(front[:size] <= row, axis=1))):
            continue
        front[size] = row
        chosen.append(int(index))
    return np.sort(np.array(chosen, dtype=np.int64))


def earliest_gates(
    problem: ScheduleProblem, order: OrderClass
) -> tuple[int | None, ...]:
    """Return a lower bound on every gate, from SRAM, K and the order class.

    P_j gated at g is outstanding during executes g … j − 1. Each must then have room
    for its smallest option beside the smallest of P_j; in identity order every
    preload in between is outstanding too.
    """
    least_own = [operator.least_bytes for operator in problem.operators]
    least_preload = [
        min(option.preload_bytes for option in operator.options)
        for operator in problem.operators
    ]
    if order == OrderClass.identity():
        whole = problem.sram_bytes
        return earliest_in_order(problem, least_own, least_preload, whole)
    window = len(least_own) if order.window is None else order.window
    gates: list[int | None] = []
    # Steps with less room than any later one: rising in both, so the last that has
    # less than P_j takes is found by bisection.
    steps: list[int] = []
    rooms: list[int] = []
    for j, operator in enumerate(problem.operators):
        if operator.streams:
            tight = bisect_left(rooms, least_preload[j])
            free_from = steps[tight - 1] + 1 if tight else 0
            alone = problem.max_outstanding == 0
            gates.append(j if alone else max(free_from, j - window))
        else:
            gates.append(None)
        room = problem.sram_bytes - least_own[j]
        while rooms and rooms[-1] >= room:
            rooms.pop()
            steps.pop()
        rooms.append(room)
        steps.append(j)
    return tuple(gates)
