"""How every heuristic answers: status, value and time, with the plan checked."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from elkhound.model.allocation import Allocation, AllocationProblem, total_cycles
from elkhound.model.limits import Limits
from elkhound.model.placement import (
    Placement,
    PlacementProblem,
    height_bytes,
    liveness_bytes,
)
from elkhound.model.result import (
    Bound,
    BoundKind,
    OrderClass,
    Result,
    Status,
    own_version,
)
from elkhound.model.schedule import Schedule, ScheduleProblem
from elkhound.model.stopwatch import Stopwatch
from elkhound.model.timing import fits, timeline

Counts = Mapping[str, int | float | str]


def schedule_result(
    method: str,
    problem: ScheduleProblem,
    plan: Schedule | None,
    limits: Limits[Schedule],
    clock: Stopwatch,
    statistics: Counts,
) -> Result[Schedule]:
    """Return the result of a heuristic that ended with this plan or without one.

    A schedule exists if and only if every operator alone fits (all g_j = j keeps
    nothing outstanding), so a missing plan is INFEASIBLE where one does not, and
    UNKNOWN else.
    """
    if plan is None:
        status = Status.UNKNOWN if problem.misfit is None else Status.INFEASIBLE
        return Result(
            method=method,
            status=status,
            seed=limits.seed,
            wall_seconds=clock.wall_seconds,
            cpu_seconds=clock.cpu_seconds,
            version=own_version(),
            statistics=statistics,
        )
    if not fits(problem, plan):
        raise RuntimeError(f"{method}: planned more than {problem.sram_bytes} B or K")
    return Result(
        method=method,
        status=Status.FEASIBLE,
        plan=plan,
        objective=timeline(problem, plan).makespan,
        order=order_class(plan),
        seed=limits.seed,
        wall_seconds=clock.wall_seconds,
        cpu_seconds=clock.cpu_seconds,
        version=own_version(),
        statistics=statistics,
    )


def order_class(plan: Schedule) -> OrderClass:
    """Return the narrowest of identity and free order that the gates belong to."""
    gates = [gate for gate in plan.gates if gate is not None]
    if all(first <= second for first, second in pairwise(gates)):
        return OrderClass.identity()
    return OrderClass.free()


def allocation_result(
    method: str,
    problem: AllocationProblem,
    plan: Allocation | None,
    limits: Limits[Allocation],
    clock: Stopwatch,
    statistics: Counts,
) -> Result[Allocation]:
    """Return the result of an allocator that finds a plan whenever one exists."""
    return Result(
        method=method,
        status=Status.INFEASIBLE if plan is None else Status.FEASIBLE,
        plan=plan,
        objective=(None if plan is None else total_cycles(problem, plan)),
        seed=limits.seed,
        wall_seconds=clock.wall_seconds,
        cpu_seconds=clock.cpu_seconds,
        version=own_version(),
        statistics=statistics,
    )


def placement_result(
    method: str,
    problem: PlacementProblem,
    plan: Placement,
    limits: Limits[Placement],
    clock: Stopwatch,
) -> Result[Placement]:
    """Return the result of a heuristic that places everything, perhaps too high.

    OPTIMAL where no step leaves room below: the height equals the liveness bound. Too
    high is UNKNOWN, as another placement may fit, and INFEASIBLE only where the
    liveness bound is above the capacity.
    """
    height, least = height_bytes(problem, plan), liveness_bytes(problem.buffers)
    fitting = height <= problem.capacity_bytes
    statistics: dict[str, int | float | str] = {"height_bytes": height}
    if fitting:
        status = Status.OPTIMAL if height == least else Status.FEASIBLE
    elif least > problem.capacity_bytes:
        status = Status.INFEASIBLE
    else:
        status = Status.UNKNOWN
        over = height - problem.capacity_bytes
        statistics["reason"] = (
            f"found none: its lowest height is {height} B, {over} B over"
        )
    return Result(
        method=method,
        status=status,
        plan=plan if fitting else None,
        objective=height if fitting else None,
        bound=Bound(least, BoundKind.PROOF, OrderClass.free()),
        seed=limits.seed,
        wall_seconds=clock.wall_seconds,
        cpu_seconds=clock.cpu_seconds,
        version=own_version(),
        statistics=statistics,
    )
