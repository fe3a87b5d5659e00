"""The kinds of problems that can be compared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from elkhound.experiments import methods
from elkhound.experiments.fusion_kind import FusionKind
from elkhound.experiments.kind import Judgement, Kind
from elkhound.model.allocation import Allocation, AllocationProblem
from elkhound.model.chip import Chip
from elkhound.model.errors import InfeasibleError
from elkhound.model.fusion.problem import FusionProblem
from elkhound.model.placement import (
    Addresses,
    Placement,
    PlacementProblem,
    liveness_bytes,
)
from elkhound.model.program import Execute, Program, Task, program_of
from elkhound.model.result import Bound, BoundKind, OrderClass
from elkhound.model.schedule import Schedule, ScheduleOption, ScheduleProblem
from elkhound.model.units import in_kib


class ScheduleKind(Kind[ScheduleProblem, Schedule]):
    """Schedules: gates and options."""

    name = "schedule"
    registry = methods.SCHEDULE
    default_methods = methods.SCHEDULE_DEFAULTS

    def require_feasible(self, problem: ScheduleProblem) -> None:
        """Check that every operator fits alone, which is enough for a plan."""
        misfit = problem.misfit
        if misfit is None:
            return
        enough = max(operator.least_bytes for operator in problem.operators)
        raise InfeasibleError(
            f"operator {misfit.name}: its smallest option needs "
            f"{misfit.least_bytes} B{in_kib(misfit.least_bytes)} per core, "
            f"{problem.sram_bytes} B{in_kib(problem.sram_bytes)} are usable; "
            "the smallest capacity that works for all operators is "
            f"{enough} B{in_kib(enough)}",
            code="sram-too-small",
            where=problem.name,
            needed_bytes=misfit.least_bytes,
            available_bytes=problem.sram_bytes,
            smallest_capacity_bytes=enough,
        )

    def judge(self, problem: ScheduleProblem, plan: Schedule) -> Judgement:
        """Judge gates, options, SRAM and times."""
        from elkhound.model.referee import judge

        verdict = judge(problem, plan)

        def belongs_to(order: OrderClass | None) -> bool:
            return order is None or verdict.belongs_to(order)

        return Judgement(
            verdict.objective, verdict.violations, belongs_to, verdict.order
        )

    def program(
        self, problem: ScheduleProblem, plan: Schedule, chip: Chip | None
    ) -> Program:
        """Sort preloads by (g_j, j) between the executes."""
        return program_of(problem, plan, chip)

    def bounds(self, problem: ScheduleProblem) -> tuple[Bound, ...]:
        """Return roofline, path and the other quick bounds."""
        from elkhound.solvers.schedule.bounds import best_bounds

        return tuple(best_bounds(problem))

    def write_plan(
        self,
        path: Path,
        problem: ScheduleProblem,
        plan: Schedule,
        chip: Chip | None,
        addresses: Addresses | None = None,
    ) -> None:
        """Write gates, options, what each means on the chip, and addresses."""
        from elkhound.model.io import write_plan

        write_plan(path, problem, plan, chip=chip, addresses=addresses)

    def contention(self, problem: ScheduleProblem) -> str | None:
        """Return the problem's rule."""
        return str(problem.contention)


class AllocationKind(Kind[AllocationProblem, Allocation]):
    """Allocations: one option per item within the capacity."""

    name = "allocation"
    registry = methods.ALLOCATION
    default_methods = methods.ALLOCATION_DEFAULTS

    def require_feasible(self, problem: AllocationProblem) -> None:
        """Check that the smallest options fit together."""
        smallest = [min(o.size_bytes for o in i.options) for i in problem.items]
        need = sum(smallest)
        if need <= problem.capacity_bytes:
            return
        largest = problem.items[smallest.index(max(smallest))]
        raise InfeasibleError(
            f"the smallest options of all items need {need} B (item {largest.name} "
            f"alone {max(smallest)} B), {problem.capacity_bytes} B are there; the "
            f"smallest capacity that works is {need} B",
            code="capacity-too-small",
            where=problem.name,
            needed_bytes=need,
            available_bytes=problem.capacity_bytes,
            smallest_capacity_bytes=need,
        )

    def judge(self, problem: AllocationProblem, plan: Allocation) -> Judgement:
        """Add up bytes and cycles."""
        from elkhound.model.referee import judge_allocation

        verdict = judge_allocation(problem, plan)
        return Judgement(
            verdict.objective,
            verdict.violations,
            lambda order: True,
            bytes_used=verdict.size_bytes,
        )

    def program(
        self, problem: AllocationProblem, plan: Allocation, chip: Chip | None
    ) -> Program:
        """Return the abstract step the allocation stands for.

        The first item executes beside the space of the others; their cycles are the
        distribution it waits for (paper §4.3).
        """
        first, *others = (
            item.options[choice]
            for item, choice in zip(problem.items, plan.options, strict=True)
        )
        distribute = sum(option.cycles for option in others)
        step = ScheduleOption(
            execute_plan=0,
            execute_bytes=first.size_bytes,
            preload_bytes=0,
            preload_cycles=0,
            preload_link_cycles=0,
            execute_cycles=distribute + first.cycles,
            execute_link_cycles=distribute,
            distribute_cycles=distribute,
            compute_cycles=first.cycles,
            exchange_cycles=0,
        )
        beside = sum(option.size_bytes for option in others)
        task = Task(problem.items[0].name, step, beside)
        return Program((Execute(0),), (task,), problem.capacity_bytes, chip)

    def bounds(self, problem: AllocationProblem) -> tuple[Bound, ...]:
        """Return none: the knapsack DP is quick enough."""
        return ()

    def write_plan(
        self,
        path: Path,
        problem: AllocationProblem,
        plan: Allocation,
        chip: Chip | None,
        addresses: Addresses | None = None,
    ) -> None:
        """Write the option of each item."""
        from elkhound.model.io import write_allocation_plan

        write_allocation_plan(path, problem, plan)

    def contention(self, problem: AllocationProblem) -> str | None:
        """Return None: an allocation has no contention rule."""
        return None


class PlacementKind(Kind[PlacementProblem, Placement]):
    """Placements: an offset per buffer."""

    name = "placement"
    registry = methods.PLACEMENT
    default_methods = methods.PLACEMENT_DEFAULTS
    plan_suffix = ".csv"

    def require_feasible(self, problem: PlacementProblem) -> None:
        """Check that the buffers alive at one step fit together.

        A placement need not exist even so; the least capacity is not known.
        """
        need = liveness_bytes(problem.buffers)
        if need <= problem.capacity_bytes:
            return
        raise InfeasibleError(
            f"the buffers alive at one step need {need} B, {problem.capacity_bytes} B "
            f"are there; no capacity below {need} B works",
            code="capacity-too-small",
            where=problem.name,
            needed_bytes=need,
            available_bytes=problem.capacity_bytes,
        )

    def judge(self, problem: PlacementProblem, plan: Placement) -> Judgement:
        """Hold every pair of buffers against each other."""
        from elkhound.model.referee import judge_placement

        verdict = judge_placement(problem, plan)
        return Judgement(
            verdict.objective,
            verdict.violations,
            lambda order: True,
            height_bytes=verdict.height_bytes,
        )

    def program(
        self, problem: PlacementProblem, plan: Placement, chip: Chip | None
    ) -> None:
        """Return None: addresses alone take no time."""
        return

    def bounds(self, problem: PlacementProblem) -> tuple[Bound, ...]:
        """Return liveness: the most bytes alive at one step."""
        least = liveness_bytes(problem.buffers)
        return (Bound(least, BoundKind.PROOF, OrderClass.free()),)

    def write_plan(
        self,
        path: Path,
        problem: PlacementProblem,
        plan: Placement,
        chip: Chip | None,
        addresses: Addresses | None = None,
    ) -> None:
        """Write buffers and offsets as CSV."""
        from elkhound.model.io import write_placement_csv

        write_placement_csv(path, problem, plan)

    def contention(self, problem: PlacementProblem) -> str | None:
        """Return None: a placement has no contention rule."""
        return None


KINDS: dict[str, Kind[Any, Any]] = {
    kind.name: kind
    for kind in (ScheduleKind(), AllocationKind(), PlacementKind(), FusionKind())
}


def kind_of(problem: object) -> Kind[Any, Any]:
    """Return the kind a problem is of."""
    if isinstance(problem, ScheduleProblem):
        return KINDS["schedule"]
    if isinstance(problem, AllocationProblem):
        return KINDS["allocation"]
    if isinstance(problem, PlacementProblem):
        return KINDS["placement"]
    if isinstance(problem, FusionProblem):
        return KINDS["fusion"]
    raise TypeError(f"{type(problem).__name__} is no problem that can be compared")


def called(problem: Any) -> str:
    """Return what a problem is in a sentence: `an allocation problem`."""
    name = kind_of(problem).name
    article = "an" if name[0] in "aeiou" else "a"
    return f"{article} {name} problem"
