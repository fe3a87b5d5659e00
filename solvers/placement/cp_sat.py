"""Placement as rectangles that must not overlap, on CP-SAT."""

from __future__ import annotations

from dataclasses import dataclass

from ortools.sat.python import cp_model

from elkhound.model.limits import Limits
from elkhound.model.placement import (
    Placement,
    PlacementProblem,
    height_bytes,
    liveness_bytes,
)
from elkhound.model.result import Bound, BoundKind, OrderClass, Result, Status
from elkhound.model.stopwatch import Stopwatch
from elkhound.solvers.backends import cp_sat
from elkhound.solvers.backends.scaling import Unit, unit_for


class CpSat:
    """Give each buffer an offset y_j with y_j + s_j ≤ H ≤ C; minimise H if asked for.

    Sizes are divided by their greatest common divisor.
    """

    name = "cp-sat"

    def solve(
        self, problem: PlacementProblem, limits: Limits[Placement]
    ) -> Result[Placement]:
        """Return a placement, or the least height with proof, or what is known."""
        watch = Stopwatch(limits.seconds)
        least = liveness_bytes(problem.buffers)
        if least > problem.capacity_bytes:
            return self._result(limits, watch, Status.INFEASIBLE, least, {})
        model = _Model(problem, least)
        model.keep_apart()
        if problem.minimise:
            model.minimise_height()
            if limits.warm_start is not None:
                model.start_from(limits.warm_start)
        answer = cp_sat.run(model.cp, limits, watch.remaining_seconds)
        plan = model.plan(answer)
        least = model.bound(answer)
        status = answer.status
        objective = None
        if plan is not None:
            objective = height_bytes(problem, plan)
            proved = objective <= least
            status = Status.OPTIMAL if proved else Status.FEASIBLE
        elif status is Status.INFEASIBLE and not model.unit.exact:
            status = Status.UNKNOWN  # rounded sizes are a stricter problem
        return self._result(
            limits, watch, status, least, answer.statistics, plan, objective
        )

    def _result(
        self,
        limits: Limits[Placement],
        watch: Stopwatch,
        status: Status,
        least: int,
        statistics: dict[str, int | float | str],
        plan: Placement | None = None,
        objective: int | None = None,
    ) -> Result[Placement]:
        return Result(
            method=self.name,
            status=status,
            plan=plan,
            objective=objective,
            bound=Bound(least, BoundKind.PROOF, OrderClass.free()),
            seed=limits.seed,
            wall_seconds=watch.wall_seconds,
            cpu_seconds=watch.cpu_seconds,
            version=cp_sat.VERSION,
            statistics=statistics,
        )


@dataclass(frozen=True, slots=True)
class _Rectangle:
    """A buffer: its place in the problem, y_j, and the intervals it fills."""

    place: int
    offset: cp_model.IntVar
    time: cp_model.IntervalVar
    space: cp_model.IntervalVar
    size: int


class _Model:
    """The formulation; buffers of 0 bytes stay out and lie at 0."""

    def __init__(self, problem: PlacementProblem, least_bytes: int) -> None:
        self.problem = problem
        self.least_bytes = least_bytes
        self.cp = cp_model.CpModel()
        sizes = [b.size_bytes for b in problem.buffers]
        # no height above the sum of all sizes, as the model rounds them, is needed
        highest = min(problem.capacity_bytes, sum(sizes))
        self.unit: Unit = unit_for(sizes, 2 * highest)
        self.capacity = min(
            self.unit.down(problem.capacity_bytes), sum(map(self.unit.up, sizes))
        )
        self.height = self.cp.new_int_var(0, self.capacity, "height")
        self.rectangles = [self._rectangle(k) for k, size in enumerate(sizes) if size]

    def _rectangle(self, place: int) -> _Rectangle:
        """Fix a buffer in time; 0 ≤ y_j ≤ C − s_j."""
        buffer = self.problem.buffers[place]
        size = self.unit.up(buffer.size_bytes)
        offset = self.cp.new_int_var(0, max(0, self.capacity - size), f"y_{place}")
        time = self.cp.new_fixed_size_interval_var(
            buffer.start_step, buffer.end_step - buffer.start_step, f"t_{place}"
        )
        space = self.cp.new_fixed_size_interval_var(offset, size, f"s_{place}")
        return _Rectangle(place, offset, time, space, size)

    def keep_apart(self) -> None:
        """Require y_j + s_j ≤ y_k or y_k + s_k ≤ y_j for all j, k alive together."""
        self.cp.add_no_overlap_2d(
            [r.time for r in self.rectangles], [r.space for r in self.rectangles]
        )

    def minimise_height(self) -> None:
        """Minimise H, with y_j + s_j ≤ H and the liveness bound ≤ H."""
        for r in self.rectangles:
            self.cp.add(r.offset + r.size <= self.height)
        if self.unit.exact:
            self.cp.add(self.height >= self.unit.up(self.least_bytes))
        self.cp.minimize(self.height)

    def start_from(self, plan: Placement) -> None:
        """Hint a known placement."""
        for r in self.rectangles:
            self.cp.add_hint(r.offset, self.unit.down(plan.offsets[r.place]))
        self.cp.add_hint(self.height, self.unit.up(height_bytes(self.problem, plan)))

    def plan(self, answer: cp_sat.CpSatAnswer) -> Placement | None:
        """Read the offsets; None without a solution."""
        if not answer.solution:
            return None
        offsets = [0] * len(self.problem.buffers)
        for r in self.rectangles:
            offsets[r.place] = self.unit.size * answer.value(r.offset)
        return Placement(tuple(offsets))

    def bound(self, answer: cp_sat.CpSatAnswer) -> int:
        """Return the largest proved bound on the height in bytes."""
        proved = [self.least_bytes]
        if self.unit.exact and answer.bound is not None:
            proved.append(self.unit.size * answer.bound)
        if self.unit.exact and answer.status is Status.INFEASIBLE:
            proved.append(self.unit.size * (self.capacity + 1))
        return max(proved)
