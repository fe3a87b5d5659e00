"""Basic: what compilers for these chips do, one preload ahead (paper §6.1)."""

from __future__ import annotations

from elkhound.heuristics.outcome import schedule_result
from elkhound.heuristics.schedule.shapes import fastest_first, shape_numbers
from elkhound.model.limits import Limits
from elkhound.model.result import Result
from elkhound.model.schedule import Schedule, ScheduleProblem
from elkhound.model.stopwatch import Stopwatch


class Basic:
    """Preload one operator ahead, and execute as fast as fits beside that preload.

    P_j is gated at the execute of the previous operator that has a preload, the first
    one at the start. From the last operator to the first, E_i takes the fastest option
    that fits beside the preload outstanding; where none does, that preload waits until
    E_i has ended.
    """

    name = "basic"

    def solve(
        self, problem: ScheduleProblem, limits: Limits[Schedule]
    ) -> Result[Schedule]:
        """Return the one plan of this rule; it exists if any plan does."""
        clock = Stopwatch()
        plan = _plan(problem) if problem.misfit is None else None
        postponed = 0
        if plan is not None:
            gates = zip(plan.gates, _one_ahead(problem), strict=True)
            postponed = sum(gate != wanted for gate, wanted in gates)
        statistics = {"postponed": postponed}
        return schedule_result(self.name, problem, plan, limits, clock, statistics)


def _plan(problem: ScheduleProblem) -> Schedule:
    gates = _one_ahead(problem)
    shapes = shape_numbers(problem)
    ranked = {i: fastest_first(problem.operators[i].options) for i in set(shapes)}
    options = [0] * len(shapes)
    ahead, ahead_gate, ahead_bytes = None, 0, 0  # the next operator with a preload
    for i in reversed(range(len(shapes))):
        operator = problem.operators[i]
        room_bytes = problem.sram_bytes - operator.resident_bytes
        sizes = [(operator.options[k].own_bytes, k) for k in ranked[shapes[i]]]
        fitting = [k for size_bytes, k in sizes if size_bytes <= room_bytes]
        beside = fitting
        if ahead is not None and ahead_gate <= i:
            left_bytes = room_bytes - ahead_bytes
            beside = [k for size_bytes, k in sizes if size_bytes <= left_bytes]
            if not beside:
                gates[ahead] = ahead_gate = i + 1
        options[i] = (beside or fitting)[0]
        gate = gates[i]
        if gate is not None:
            ahead, ahead_gate = i, gate
            ahead_bytes = operator.options[options[i]].preload_bytes
    return Schedule(tuple(gates), tuple(options))


def _one_ahead(problem: ScheduleProblem) -> list[int | None]:
    """Return every preload's gate: the previous operator that has one, or the start."""
    gates: list[int | None] = [None] * len(problem.operators)
    previous = 0
    for j in problem.streaming:
        gates[j] = j if problem.max_outstanding == 0 else previous
        previous = j
    return gates
