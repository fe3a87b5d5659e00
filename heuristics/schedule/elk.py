"""Elk's own planners: inductive scheduling with an allocator at every step (§4)."""

from __future__ import annotations

from elkhound.heuristics.outcome import Clock, schedule_result
from elkhound.heuristics.schedule.inductive import Induction
from elkhound.model.allocation import Allocator
from elkhound.model.limits import Limits
from elkhound.model.result import Result
from elkhound.model.schedule import Schedule, ScheduleProblem


class ElkDyn:
    """Elk without preload reordering: the induction in execution order.

    Parameters
    ----------
    allocator : Allocator
        The paper's is Δ-efficiency (`delta`); another makes a variant.
    """

    def __init__(self, allocator: Allocator) -> None:
        self.name = "elk-dyn"
        if allocator.name != "delta":
            self.name += f":allocator={allocator.name}"
        self._allocator = allocator

    def solve(
        self, problem: ScheduleProblem, limits: Limits[Schedule]
    ) -> Result[Schedule]:
        """Return the plan; its makespan is evaluated forwards.

        `deterministic_work` counts allocator calls. Where it or the time runs out,
        the operators not yet passed get no overlap.
        """
        clock = Clock()

        def may_go_on(calls: int) -> bool:
            work = limits.deterministic_work
            within_work = work is None or calls < work
            return within_work and clock.wall_seconds < limits.seconds

        induction = Induction(problem, self._allocator, may_go_on)
        plan = induction.run() if problem.misfit is None else None
        statistics: dict[str, int | float | str] = {
            "allocator_calls": induction.allocator_calls,
            "memo_hits": induction.memo_hits,
        }
        if plan is not None:
            statistics["backward_cycles"] = induction.cycles
        return schedule_result(self.name, problem, plan, limits, clock, statistics)
