"""Quick lower bounds on every schedule, by kind and order class."""

from __future__ import annotations

from elkhound.model.result import Bound, BoundKind, OrderClass
from elkhound.model.schedule import ScheduleProblem
from elkhound.solvers.schedule.ideal import Ideal, ideal_bound
from elkhound.solvers.schedule.minima import minima_of
from elkhound.solvers.schedule.path import path_bound, roofline_bound
from elkhound.solvers.schedule.reduce import reduce
from elkhound.solvers.schedule.renewal import renewal_bound

__all__ = ["Ideal", "best_bounds"]


def best_bounds(problem: ScheduleProblem) -> tuple[Bound, ...]:
    """Return roofline, path and Ideal bounds, and the renewal bounds of two classes.

    All hold under the problem's contention rule. Those of class `free` hold for every
    schedule; the identity renewal bound, which sees more of the SRAM, for identity
    order only. Empty for a problem without a plan.
    """
    if problem.misfit is not None:
        return ()
    problem = reduce(problem).problem
    minima = minima_of(problem)
    free, identity = OrderClass.free(), OrderClass.identity()
    found = [
        (roofline_bound(minima), BoundKind.ROOFLINE, free),
        (path_bound(minima), BoundKind.PATH, free),
        (ideal_bound(problem), BoundKind.IDEAL, free),
        (renewal_bound(problem, minima, free), BoundKind.RENEWAL, free),
        (renewal_bound(problem, minima, identity), BoundKind.RENEWAL, identity),
    ]
    rule = problem.contention
    return tuple(Bound(value, kind, order, rule) for value, kind, order in found)
