"""A plan replayed in the ticks of a solver's model: its horizon and its hint."""

from __future__ import annotations

from dataclasses import dataclass

from elkhound.model.schedule import Contention, Schedule, ScheduleProblem
from elkhound.solvers.schedule.amounts import Amounts


@dataclass(frozen=True, slots=True)
class Replay:
    """Earliest times of a plan, in ticks.

    Parameters
    ----------
    busy : tuple of bool
        b_i: whether a preload with link work is outstanding during E_i.
    duration, execute_end : tuple of int
        D_i and EE_i.
    preload_start, preload_end : mapping of int to int
        PS_j and PE_j.
    """

    busy: tuple[bool, ...]
    duration: tuple[int, ...]
    execute_end: tuple[int, ...]
    preload_start: dict[int, int]
    preload_end: dict[int, int]

    @property
    def makespan(self) -> int:
        """EE_{N−1}."""
        return self.execute_end[-1]


def replay(problem: ScheduleProblem, amounts: Amounts, plan: Schedule) -> Replay:
    """Return the earliest times of a legal plan; equal `timeline` in exact units."""
    count = len(problem.operators)
    busy = [False] * count
    charge = [0] * count
    batches: list[list[int]] = [[] for _ in range(count)]
    for j, gate in enumerate(plan.gates):
        if gate is None:
            continue
        batches[gate].append(j)
        if problem.operators[j].options[plan.options[j]].preload_link_cycles > 0:
            busy[gate:j] = [True] * (j - gate)
        if gate < j:
            charge[gate] += amounts.y[j][plan.options[j]]
    duration, execute_end = [], []
    preload_start: dict[int, int] = {}
    preload_end: dict[int, int] = {}
    hbm_free = done = 0
    for i, option in enumerate(plan.options):
        for j in batches[i]:
            preload_start[j] = max(hbm_free, done)
            hbm_free = preload_start[j] + amounts.h[j][plan.options[j]]
            preload_end[j] = hbm_free
        length = _duration(problem, amounts, i, option, busy[i], charge[i])
        done = max(done, preload_end.get(i, 0)) + length
        duration.append(length)
        execute_end.append(done)
    return Replay(
        tuple(busy), tuple(duration), tuple(execute_end), preload_start, preload_end
    )


def _duration(
    problem: ScheduleProblem,
    amounts: Amounts,
    i: int,
    option: int,
    busy: bool,
    charge: int,
) -> int:
    if problem.contention is Contention.STRETCH and busy:
        return amounts.s[i][option]
    if problem.contention is Contention.CHARGE:
        return max(amounts.t[i][option], amounts.x[i][option] + charge)
    return amounts.t[i][option]
