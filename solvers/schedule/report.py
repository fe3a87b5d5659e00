"""Turns what a search found into a truthful result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from elkhound.model.errors import ContradictionError
from elkhound.model.limits import Limits, Progress
from elkhound.model.result import Bound, Result, Status
from elkhound.model.schedule import Schedule
from elkhound.model.stopwatch import Stopwatch
from elkhound.solvers.schedule.incumbent import Incumbent


def report(
    unsolved: Result[Schedule],
    stopwatch: Stopwatch,
    best: Incumbent | None = None,
    bound: Bound | None = None,
    statistics: Mapping[str, int | float | str] | None = None,
    *,
    infeasible: bool = False,
) -> Result[Schedule]:
    """Fill in a result: OPTIMAL exactly where the bound reaches the plan.

    Parameters
    ----------
    unsolved : Result
        Method, order, seed, version and rounding error.
    stopwatch : Stopwatch
        Of the whole call.
    best : Incumbent or None
        The best plan of the order class, if any.
    bound : Bound or None
        Proven for that class.
    statistics : mapping or None
        Counts of the search.
    infeasible : bool
        Whether it is proved that there is no plan.

    Raises
    ------
    ContradictionError
        If the bound lies above the plan.
    """
    status = Status.INFEASIBLE if infeasible else Status.UNKNOWN
    if best is not None:
        status = Status.FEASIBLE
        if bound is not None and bound.value > best.value:
            raise ContradictionError(
                f"{unsolved.method}: its bound {bound.value} lies above a plan of "
                f"{best.value} cycles"
            )
        if bound is not None and bound.value == best.value:
            status = Status.OPTIMAL
    return replace(
        unsolved,
        status=status,
        plan=best.plan if best else None,
        objective=best.value if best else None,
        bound=bound,
        wall_seconds=stopwatch.wall_seconds,
        cpu_seconds=stopwatch.cpu_seconds,
        statistics=dict(statistics or {}),
    )


def told_in_cycles(
    limits: Limits[Schedule],
    start: Incumbent,
    unit_cycles: int,
    bound_of: Callable[[float | None], Bound | None],
) -> Progress | None:
    """Tell of the start, and return what passes a solver's news on in cycles.

    None if nobody listens.

    Parameters
    ----------
    limits : Limits
        Who is told.
    start : Incumbent
        Known already; the solver's plan counts once it is better.
    unit_cycles : int
        Cycles per unit of the model's objective.
    bound_of : callable
        What the solver's bound is worth in cycles.
    """
    limits.tell(start.value)
    if limits.progress is None:
        return None

    def tell(objective: float | None, bound: float | None) -> None:
        best = start.value
        if objective is not None:
            best = min(best, round(objective * unit_cycles))
        proved = bound_of(bound)
        limits.tell(best, None if proved is None else proved.value)

    return tell
