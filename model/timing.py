"""Times and SRAM of a schedule, as the planning methods compute them.

The referee (`elkhound.model.referee`) computes the same from the definition, without
this code.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

from elkhound.model.schedule import (
    Contention,
    Schedule,
    ScheduleOption,
    ScheduleProblem,
)
from elkhound.model.units import stretched


@dataclass(frozen=True, slots=True)
class Timeline:
    """Earliest start and end cycles of every preload and execute.

    Parameters
    ----------
    preload_start, preload_end : tuple of (int or None)
        PS_j and PE_j; None for operators that stream nothing.
    execute_start, execute_end : tuple of int
        ES_i and EE_i.
    """

    preload_start: tuple[int | None, ...]
    preload_end: tuple[int | None, ...]
    execute_start: tuple[int, ...]
    execute_end: tuple[int, ...]

    @property
    def makespan(self) -> int:
        """EE_{N−1}."""
        return self.execute_end[-1]


def chosen(problem: ScheduleProblem, plan: Schedule) -> list[ScheduleOption]:
    """Return the option each operator takes."""
    return [
        operator.options[index]
        for operator, index in zip(problem.operators, plan.options, strict=True)
    ]


def execute_durations(problem: ScheduleProblem, plan: Schedule) -> list[int]:
    """Return D_i of every operator under the problem's contention rule."""
    options = chosen(problem, plan)
    count = len(options)
    if problem.contention is Contention.NONE:
        return [option.execute_cycles for option in options]
    # Σ over outstanding j (g_j ≤ i < j) of 1, by differences; Σ of Y issued at i.
    change = [0] * (count + 1)
    issued = [0] * count
    for j, gate in enumerate(plan.gates):
        link_cycles = options[j].preload_link_cycles
        if gate is None or gate == j or link_cycles == 0:
            continue
        change[gate] += 1
        change[j] -= 1
        issued[gate] += link_cycles
    durations = []
    outstanding = 0
    for i, option in enumerate(options):
        outstanding += change[i]
        if problem.contention is Contention.CHARGE:
            loaded = option.execute_link_cycles + issued[i]
            durations.append(max(option.execute_cycles, loaded))
        elif outstanding:
            durations.append(
                stretched(
                    option.execute_cycles,
                    option.execute_link_cycles,
                    problem.link_stretch_permille,
                )
            )
        else:
            durations.append(option.execute_cycles)
    return durations


def timeline(problem: ScheduleProblem, plan: Schedule) -> Timeline:
    """Return earliest times of a plan; gates and option indices must be legal."""
    options = chosen(problem, plan)
    durations = execute_durations(problem, plan)
    count = len(options)
    batches: list[list[int]] = [[] for _ in range(count)]
    for j, gate in enumerate(plan.gates):
        if gate is not None:
            batches[gate].append(j)
    preload_start: list[int | None] = [None] * count
    preload_end: list[int | None] = [None] * count
    execute_start, execute_end = [0] * count, [0] * count
    hbm_free = done = 0
    for i, batch in enumerate(batches):
        for j in batch:
            start = max(hbm_free, done)
            hbm_free = start + options[j].preload_cycles
            preload_start[j], preload_end[j] = start, hbm_free
        execute_start[i] = max(done, preload_end[i] or 0)
        done = execute_end[i] = execute_start[i] + durations[i]
    return Timeline(
        tuple(preload_start),
        tuple(preload_end),
        tuple(execute_start),
        tuple(execute_end),
    )


def outstanding_bytes(problem: ScheduleProblem, plan: Schedule) -> list[int]:
    """Return Σ preload_bytes over j > i with g_j ≤ i, for every i."""
    options = chosen(problem, plan)
    change = [0] * (len(options) + 1)
    for j, gate in enumerate(plan.gates):
        if gate is not None:
            change[gate] += options[j].preload_bytes
            change[j] -= options[j].preload_bytes
    running, bytes_at = 0, []
    for i in range(len(options)):
        running += change[i]
        bytes_at.append(running)
    return bytes_at


def fits(problem: ScheduleProblem, plan: Schedule) -> bool:
    """Whether the plan respects SRAM (reserve at issue) and the limit K."""
    options = chosen(problem, plan)
    for option, operator, waiting in zip(
        options, problem.operators, outstanding_bytes(problem, plan), strict=True
    ):
        own = max(option.execute_bytes, option.preload_bytes)
        if own + operator.resident_bytes + waiting > problem.sram_bytes:
            return False
    limit = problem.max_outstanding
    return limit is None or max(outstanding_counts(plan)) <= limit


def outstanding_counts(plan: Schedule) -> list[int]:
    """Return how many j > i have g_j ≤ i, for every i."""
    change = [0] * (len(plan.gates) + 1)
    for j, gate in enumerate(plan.gates):
        if gate is not None:
            change[gate] += 1
            change[j] -= 1
    return list(accumulate(change[:-1]))
