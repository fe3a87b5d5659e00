"""Exact schedules by CP-SAT, over the gate model."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from elkhound.model.errors import BadInputError, ContradictionError
from elkhound.model.limits import Limits
from elkhound.model.result import Bound, BoundKind, Method, OrderClass, Result, Status
from elkhound.model.schedule import Schedule, ScheduleProblem
from elkhound.model.stopwatch import OutOfTime, Stopwatch
from elkhound.solvers.backends import cp_sat
from elkhound.solvers.backends.cp_sat import CpSatAnswer
from elkhound.solvers.schedule.amounts import Amounts, amounts_of
from elkhound.solvers.schedule.gate_model import GateModel
from elkhound.solvers.schedule.hint import add_hint
from elkhound.solvers.schedule.incumbent import (
    Incumbent,
    better,
    evaluate,
    one_by_one,
    warm_start,
)
from elkhound.solvers.schedule.minima import minima_of
from elkhound.solvers.schedule.path import path_bound
from elkhound.solvers.schedule.reduce import Reduced, reduce
from elkhound.solvers.schedule.replay import replay
from elkhound.solvers.schedule.report import report, told_in_cycles

FREE = OrderClass.free()

_BOUND_TOLERANCE = 1e-6  # a bound is an integer up to its conversion to float


class CpSat:
    """Solves the gate model; the default exact method.

    Parameters
    ----------
    order : OrderClass
        Preload orders that are searched.
    """

    name = "cp-sat"

    def __init__(self, order: OrderClass = FREE) -> None:
        self.order = order

    def solve(
        self, problem: ScheduleProblem, limits: Limits[Schedule]
    ) -> Result[Schedule]:
        """Return the best schedule found within the limits, and a proven bound.

        A warm start of the order class, or else the plan that overlaps nothing, sets
        the horizon and the hint, and is never lost: the answer is no worse. OPTIMAL is
        said only where no size was rounded.
        """
        stopwatch = Stopwatch(limits.seconds)
        start = warm_start(problem, limits, self.order)
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
            start = start or one_by_one(problem)
            reduced = reduce(problem, start.value)
            amounts = amounts_of(reduced.problem)
            model = self._build(problem, reduced, amounts, start, stopwatch)
            stopwatch.check()
        except OutOfTime:
            statistics = {"stopped": "while building the model"}
            return report(unsolved, stopwatch, start, statistics=statistics)
        # A single way of search has been seen to creep: with the linear relaxation
        # along long times, without it far above a plan that others prove at once.
        answer = cp_sat.run(
            model.model,
            limits,
            stopwatch.remaining_seconds,
            in_turns=True,
            progress=told_in_cycles(
                limits,
                start,
                amounts.cycles_unit.size,
                partial(self.bound, problem, amounts),
            ),
        )
        found = None
        if answer.solution:
            found = read_plan(problem, reduced, amounts, model, answer)
        if answer.status is Status.INFEASIBLE and amounts.exact:
            # There is no misfit, and the start fits.
            raise ContradictionError(
                f"{self.name}: CP-SAT calls a problem infeasible that has a plan"
            )
        best = better(start, found) or start
        error = amounts.rounding_error(problem)
        if not amounts.exact:  # how many plans larger sizes shut out is not known
            error = best.value - path_bound(minima_of(reduced.problem))
        unsolved = replace(unsolved, rounding_error=error)
        return report(
            unsolved,
            stopwatch,
            best,
            self.bound(problem, amounts, answer.bound),
            with_size(answer.statistics, reduced),
        )

    def with_gates(self, gates: Mapping[int, int]) -> Method[ScheduleProblem, Schedule]:
        """Return the method on schedules with these gates, by operator index."""
        from elkhound.solvers.schedule.gated import GatedCpSat

        return GatedCpSat(self.order, gates)

    def export(self, problem: ScheduleProblem, path: Path) -> Amounts:
        """Write the model and its hint as a CpModelProto; every operator must fit.

        Text if the name ends in `txt`, else binary. Returns the units of its numbers.
        """
        start = one_by_one(problem)
        reduced = reduce(problem, start.value)
        amounts = amounts_of(reduced.problem)
        model = self._build(problem, reduced, amounts, start, Stopwatch(math.inf))
        if not model.model.export_to_file(str(path)):
            raise BadInputError("cannot be written", code="unusable", where=str(path))
        return amounts

    def _build(
        self,
        problem: ScheduleProblem,
        reduced: Reduced,
        amounts: Amounts,
        start: Incumbent,
        stopwatch: Stopwatch,
    ) -> GateModel:
        if not amounts.exact:
            horizon = amounts.serial_horizon()
            return GateModel(reduced.problem, amounts, self.order, horizon, stopwatch)
        plan = reduced.translate(problem, start.plan)
        times = replay(reduced.problem, amounts, plan)
        model = GateModel(
            reduced.problem, amounts, self.order, times.makespan, stopwatch
        )
        add_hint(model, plan, times)
        return model

    def bound(
        self, problem: ScheduleProblem, amounts: Amounts, bound: float | None
    ) -> Bound | None:
        """Return the solver's bound in cycles; None if sizes were rounded up.

        With larger sizes the model is stricter than the problem, and its bound is
        none. With longer durations it errs by the rounding error at most.
        """
        if bound is None or not amounts.exact:
            return None
        cycles = math.ceil(bound - _BOUND_TOLERANCE) * amounts.cycles_unit.size
        value = cycles - amounts.rounding_error(problem)
        return Bound(value, BoundKind.PROOF, self.order, problem.contention)


def read_plan(
    problem: ScheduleProblem,
    reduced: Reduced,
    amounts: Amounts,
    model: GateModel,
    answer: CpSatAnswer,
) -> Incumbent:
    """Read the plan back and hold the solver to its word.

    Raises
    ------
    ContradictionError
        If the plan takes longer than the solver says, or another time than a proven
        optimum in exact units.
    """
    found = evaluate(problem, reduced.restore(model.read(answer.solution)))
    claimed = (answer.objective or 0) * amounts.cycles_unit.size
    proved = answer.status is Status.OPTIMAL and amounts.cycles_unit.exact
    if found.value > claimed or (proved and found.value != claimed):
        raise ContradictionError(
            f"cp-sat: the solver says {claimed} cycles, its plan takes {found.value}"
        )
    return found


def with_size(
    statistics: Mapping[str, int | float | str], reduced: Reduced
) -> dict[str, int | float | str]:
    """Return statistics with the number of options that reduction left."""
    options = sum(len(kept) for kept in reduced.kept)
    return {**statistics, "options_after_reduction": options}
