"""Exact schedules by mixed-integer programming, over the phase model."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from pathlib import Path

from elkhound.model.errors import ContradictionError
from elkhound.model.limits import Limits
from elkhound.model.result import Bound, BoundKind, OrderClass, Result, Status
from elkhound.model.schedule import Schedule, ScheduleProblem
from elkhound.model.stopwatch import OutOfTime, Stopwatch
from elkhound.model.timing import fits
from elkhound.solvers.backends import pulp
from elkhound.solvers.backends.pulp import MilpAnswer
from elkhound.solvers.schedule.amounts import Amounts, amounts_of
from elkhound.solvers.schedule.incumbent import (
    Incumbent,
    belongs,
    better,
    evaluate,
    one_by_one,
    warm_start,
)
from elkhound.solvers.schedule.phase_model import PhaseModel
from elkhound.solvers.schedule.reduce import Reduced, reduce
from elkhound.solvers.schedule.report import report, told_in_cycles

FREE = OrderClass.free()

# Makespans are whole ticks: a solver may stop within half of one.
_ABSOLUTE_GAP = 0.5
_BOUND_TOLERANCE = 1e-4
_RELATIVE_TOLERANCE = 1e-9
# How far a float solver's objective may lie below the plan it stands for.
_HONESTY = 1e-5


class Milp:
    """Solves the phase model with a MILP solver through PuLP.

    Parameters
    ----------
    order : OrderClass
        Preload orders that are searched.
    backend : str
        `highs` or `cbc`.
    """

    name = "milp"

    def __init__(self, order: OrderClass = FREE, backend: str = pulp.DEFAULT) -> None:
        self.order = order
        self.backend = backend

    def solve(
        self, problem: ScheduleProblem, limits: Limits[Schedule]
    ) -> Result[Schedule]:
        """Return the best schedule found within the limits, and a proven bound.

        OPTIMAL only if ⌈dual bound − tolerance⌉ reaches the plan's makespan computed
        in integers, which it cannot where durations were rounded. A warm start of the
        order class, or else the plan that overlaps nothing, is never lost.
        """
        pulp.require(self.backend)
        stopwatch = Stopwatch(limits.seconds)
        start = warm_start(problem, limits, self.order)
        unsolved: Result[Schedule] = Result(
            f"{self.name}:order={self.order},backend={self.backend}",
            Status.UNKNOWN,
            order=self.order,
            seed=limits.seed,
            version=pulp.versions()[self.backend],
        )
        if problem.misfit is not None:
            return report(unsolved, stopwatch, infeasible=True)
        start = start or one_by_one(problem)
        reduced = reduce(problem, start.value)
        amounts = amounts_of(reduced.problem, for_floats=True)
        try:
            phases = PhaseModel(reduced.problem, amounts, self.order, stopwatch)
            if amounts.cycles_unit.exact:
                phases.end_by(start.value // amounts.cycles_unit.size)
            stopwatch.check()
        except OutOfTime:
            return report(
                unsolved, stopwatch, start, statistics={"stopped": "while building"}
            )
        answer = pulp.run(
            phases.model,
            limits,
            self.backend,
            seconds=stopwatch.remaining_seconds,
            absolute_gap=_ABSOLUTE_GAP,
            progress=told_in_cycles(
                limits,
                start,
                amounts.cycles_unit.size,
                partial(self._bound, problem, amounts),
            ),
        )
        error = amounts.rounding_error(problem)
        unsolved = replace(unsolved, version=answer.version, rounding_error=error)
        if answer.status is Status.INFEASIBLE:
            raise ContradictionError(
                f"{unsolved.method}: calls a problem infeasible in which every "
                "operator fits by itself"
            )
        found = self._read(problem, reduced, amounts, phases, answer)
        statistics: dict[str, int | float | str] = {
            **answer.statistics,
            "options_after_reduction": sum(len(kept) for kept in reduced.kept),
        }
        if answer.values and found is None:
            statistics["rejected"] = "the incumbent fits only within float tolerance"
        bound = self._bound(problem, amounts, answer.bound)
        return report(unsolved, stopwatch, better(start, found), bound, statistics)

    def export(self, problem: ScheduleProblem, path: Path) -> Amounts:
        """Write the model as `.lp` or `.mps`; every operator must fit.

        Returns the units of its numbers.
        """
        reduced = reduce(problem)
        amounts = amounts_of(reduced.problem, for_floats=True)
        phases = PhaseModel(reduced.problem, amounts, self.order, Stopwatch(math.inf))
        phases.model.write(path)
        return amounts

    def _read(
        self,
        problem: ScheduleProblem,
        reduced: Reduced,
        amounts: Amounts,
        phases: PhaseModel,
        answer: MilpAnswer,
    ) -> Incumbent | None:
        """Read the plan back, re-evaluate it, and hold the solver to its word."""
        if not answer.values or answer.objective is None:
            return None
        plan = reduced.restore(phases.read(answer))
        if not fits(problem, plan) or not belongs(plan, self.order):
            return None
        found = evaluate(problem, plan)
        claimed = answer.objective * amounts.cycles_unit.size
        tolerance = amounts.cycles_unit.size * 0.5 + _HONESTY * abs(claimed)
        if found.value > claimed + tolerance:
            raise ContradictionError(
                f"{self.name}: the solver says {claimed:.1f} cycles, its plan takes "
                f"{found.value}"
            )
        return found

    def _bound(
        self, problem: ScheduleProblem, amounts: Amounts, bound: float | None
    ) -> Bound | None:
        """Return ⌈dual bound − tolerance⌉ in cycles, less the rounding error."""
        if bound is None:
            return None
        tolerance = _BOUND_TOLERANCE + _RELATIVE_TOLERANCE * abs(bound)
        ticks = max(0, math.ceil(bound - tolerance))
        error = amounts.rounding_error(problem)
        value = max(0, ticks * amounts.cycles_unit.size - error)
        return Bound(value, BoundKind.PROOF, self.order, problem.contention)
