"""A method on fewer options, with what that may have cost."""

from __future__ import annotations

from dataclasses import replace

from elkhound.model.limits import Limits, Progress
from elkhound.model.result import Method, OrderClass, Result
from elkhound.model.schedule import Schedule, ScheduleProblem
from elkhound.model.stopwatch import Stopwatch
from elkhound.solvers.schedule.bounds import best_bounds
from elkhound.solvers.schedule.cover import Cover, cover
from elkhound.solvers.schedule.incumbent import Incumbent, better, evaluate, warm_start
from elkhound.solvers.schedule.report import report

LEAST_SECONDS = 1e-3  # no method takes a limit of 0


class Thinned:
    """Another method on a problem whose options are thinned (`cover`).

    Its plan is one of the whole problem, at its true value. An exact method works
    twice, half of the limits each: on options rounded up for the plan, on options
    rounded down for a bound that holds for all options.

    Parameters
    ----------
    method : Method
        Plans the thinned problems.
    permille : int
        ε: every option left out is, in all fields, at least 1 / (1 + ε) of a kept one.
    exact : bool
        Whether the method proves bounds.
    """

    def __init__(
        self, method: Method[ScheduleProblem, Schedule], permille: int, *, exact: bool
    ) -> None:
        self.name = method.name
        self.method = method
        self.permille = permille
        self.exact = exact

    def solve(
        self, problem: ScheduleProblem, limits: Limits[Schedule]
    ) -> Result[Schedule]:
        """Return the plan found on kept options, and a bound over all of them.

        `thinning_error` is objective − the best bound known: the most that leaving
        options out can have cost. OPTIMAL is said where that is 0.
        """
        if problem.misfit is not None:
            return self.method.solve(problem, limits)
        stopwatch = Stopwatch(limits.seconds)
        thin = cover(problem, self.permille)
        given = warm_start(problem, limits, OrderClass.free())
        share = _half(limits) if self.exact else limits
        found = self.method.solve(
            thin.up, _from(share, thin, given, lambda plan, _: limits.tell(plan))
        )
        order = found.order or OrderClass.free()
        best = None
        if found.plan is not None:
            best = evaluate(problem, thin.restore(found.plan))
        quick = [b for b in best_bounds(problem) if b.order.contains(order)]
        bound = max(quick, key=lambda b: b.value)
        if self.exact:
            best = better(best, warm_start(problem, limits, order))
            seconds = max(stopwatch.remaining_seconds, LEAST_SECONDS)
            share = replace(share, seconds=seconds)
            plan = None if best is None else best.value
            share = _from(share, thin, best, lambda _, bound: limits.tell(plan, bound))
            below = self.method.solve(thin.down, share).bound
            bound = max(below or bound, bound, key=lambda b: b.value)
        error = 0 if best is None else best.value - bound.value
        unsolved = replace(found, rounding_error=0, thinning_error=error)
        counts = {"options": _count(problem), "options_kept": _count(thin.up)}
        return report(
            unsolved,
            stopwatch,
            best,
            bound if self.exact else None,
            {**found.statistics, **counts},
        )


def _from(
    limits: Limits[Schedule],
    thin: Cover,
    start: Incumbent | None,
    progress: Progress,
) -> Limits[Schedule]:
    """Return limits that start from a plan of the whole problem, or from nothing.

    `progress` passes on what holds for the whole problem: plans of options rounded up,
    bounds of options rounded down.
    """
    plan = None if start is None else thin.translate(start.plan)
    return replace(limits, warm_start=plan, progress=progress)


def _count(problem: ScheduleProblem) -> int:
    return sum(len(operator.options) for operator in problem.operators)


def _half(limits: Limits[Schedule]) -> Limits[Schedule]:
    work = limits.deterministic_work
    return replace(
        limits,
        seconds=limits.seconds / 2,
        deterministic_work=None if work is None else work / 2,
    )
