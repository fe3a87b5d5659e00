"""Exact schedules with some gates given, by CP-SAT over the gate model."""

from __future__ import annotations

from collections.abc import Mapping

from elkhound.model.limits import Limits
from elkhound.model.result import OrderClass, Result, Status
from elkhound.model.schedule import Schedule, ScheduleProblem
from elkhound.model.stopwatch import OutOfTime, Stopwatch
from elkhound.solvers.backends import cp_sat
from elkhound.solvers.schedule.amounts import amounts_of
from elkhound.solvers.schedule.cp_sat import CpSat, read_plan, with_size
from elkhound.solvers.schedule.gate_model import GateModel
from elkhound.solvers.schedule.incumbent import better, warm_start
from elkhound.solvers.schedule.reduce import reduce
from elkhound.solvers.schedule.report import report


class GatedCpSat:
    """Solves the gate model with some gates fixed.

    Unlike in `CpSat` no plan is known before, and there need not be any: the horizon is
    that of everything one by one.

    Parameters
    ----------
    order : OrderClass
        Preload orders that are searched.
    gates : mapping of int to int
        Gates by operator index.
    """

    name = "cp-sat"

    def __init__(self, order: OrderClass, gates: Mapping[int, int]) -> None:
        self.order = order
        self.gates = gates

    def solve(
        self, problem: ScheduleProblem, limits: Limits[Schedule]
    ) -> Result[Schedule]:
        """Return the best schedule with these gates; bound and proof are about them."""
        stopwatch = Stopwatch(limits.seconds)
        start = warm_start(problem, limits, self.order)
        if start is not None and not self._keeps(start.plan):
            start = None
        unsolved: Result[Schedule] = Result(
            f"{self.name}:order={self.order}",
            Status.UNKNOWN,
            order=self.order,
            seed=limits.seed,
            version=cp_sat.VERSION,
        )
        if problem.misfit is not None:
            return report(unsolved, stopwatch, infeasible=True)
        try:
            reduced = reduce(problem)
            amounts = amounts_of(reduced.problem)
            horizon = amounts.serial_horizon()
            model = GateModel(reduced.problem, amounts, self.order, horizon, stopwatch)
            model.fix_gates(self.gates)
            stopwatch.check()
        except OutOfTime:
            statistics = {"stopped": "while building the model"}
            return report(unsolved, stopwatch, start, statistics=statistics)
        answer = cp_sat.run(
            model.model,
            limits,
            stopwatch.remaining_seconds,
            in_turns=True,
        )
        if answer.status is Status.INFEASIBLE and amounts.exact:
            return report(unsolved, stopwatch, infeasible=True)
        found = None
        if answer.solution:
            found = read_plan(problem, reduced, amounts, model, answer)
        bound = CpSat(self.order).bound(problem, amounts, answer.bound)
        best = better(start, found)
        return report(
            unsolved, stopwatch, best, bound, with_size(answer.statistics, reduced)
        )

    def _keeps(self, plan: Schedule) -> bool:
        return all(plan.gates[j] == gate for j, gate in self.gates.items())
