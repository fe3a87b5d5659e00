"""Elk's own planners: inductive scheduling with an allocator at every step (§4)."""

from __future__ import annotations

from elkhound.heuristics.outcome import schedule_result
from elkhound.heuristics.schedule.inductive import Induction
from elkhound.heuristics.schedule.preload_order import OrderSearch
from elkhound.heuristics.schedule.shares import Shares
from elkhound.model.allocation import Allocator
from elkhound.model.limits import Limits
from elkhound.model.result import Result
from elkhound.model.schedule import Schedule, ScheduleProblem
from elkhound.model.stopwatch import Stopwatch


class ElkDyn:
    """Elk without preload reordering: the induction in execution order.

    Parameters
    ----------
    allocator : Allocator
        The paper's is Δ-efficiency (`delta`); another makes a variant.
    """

    def __init__(self, allocator: Allocator) -> None:
        self.name = _name("elk-dyn", allocator)
        self._allocator = allocator

    def solve(
        self, problem: ScheduleProblem, limits: Limits[Schedule]
    ) -> Result[Schedule]:
        """Return the plan; its makespan is evaluated forwards.

        `deterministic_work` counts allocator calls. Where it or the time runs out,
        the operators not yet passed get no overlap.
        """
        clock = Stopwatch()
        shares = Shares(problem, self._allocator)
        induction = Induction(shares, may_go_on=_Budget(limits, clock).allows)
        plan = induction.run() if problem.misfit is None else None
        statistics = {
            "allocator_calls": shares.allocator_calls,
            "memo_hits": shares.memo_hits,
        }
        if plan is not None:
            statistics["backward_cycles"] = induction.cycles
        return schedule_result(self.name, problem, plan, limits, clock, statistics)


class ElkFull:
    """Elk with preload reordering: the induction in every promising order (§4.4).

    Execution order is the first of them, so the plan is never worse than Elk-Dyn's.

    Parameters
    ----------
    allocator : Allocator
        The paper's is Δ-efficiency (`delta`); another makes a variant.
    """

    def __init__(self, allocator: Allocator) -> None:
        self.name = _name("elk-full", allocator)
        self._allocator = allocator

    def solve(
        self, problem: ScheduleProblem, limits: Limits[Schedule]
    ) -> Result[Schedule]:
        """Return the best plan of all orders tried, evaluated forwards.

        `deterministic_work` counts allocator calls. Where it or the time runs out, no
        further order is tried.
        """
        clock = Stopwatch()
        budget = _Budget(limits, clock)
        search = OrderSearch(problem, self._allocator, budget.allows)
        if problem.misfit is None:
            search.run()
        statistics = {
            "allocator_calls": search.allocator_calls,
            "memo_hits": search.memo_hits,
            "orders_tried": search.orders_tried,
            "branches_cut": search.branches_cut,
            "edit_distance": search.edit_distance,
        }
        return schedule_result(
            self.name, problem, search.plan, limits, clock, statistics
        )


class _Budget:
    """Whether the limits leave anything to do."""

    def __init__(self, limits: Limits[Schedule], clock: Stopwatch) -> None:
        self._limits = limits
        self._clock = clock

    def allows(self, calls: int) -> bool:
        """Whether time is left after so many allocator calls, and calls are."""
        work = self._limits.deterministic_work
        within_work = work is None or calls < work
        return within_work and self._clock.wall_seconds < self._limits.seconds


def _name(method: str, allocator: Allocator) -> str:
    if allocator.name == "delta":
        return method
    return f"{method}:allocator={allocator.name}"
