"""Allocation as a multiple-choice knapsack through PuLP, on HiGHS or CBC."""

from __future__ import annotations

import math

from elkhound.model.allocation import (
    Allocation,
    AllocationItem,
    AllocationProblem,
    chosen,
    pareto,
    total_cycles,
)
from elkhound.model.errors import ContradictionError
from elkhound.model.limits import Limits
from elkhound.model.result import Bound, BoundKind, OrderClass, Result, Status
from elkhound.model.stopwatch import Stopwatch
from elkhound.solvers.allocation.warm_start import better, on_pareto_lists
from elkhound.solvers.backends import pulp
from elkhound.solvers.backends.scaling import unit_for

_ABSOLUTE_TOLERANCE = 1e-6
_RELATIVE_TOLERANCE = 1e-9


class Milp:
    """Minimise Σ t_ip x_ip with one option per item and Σ s_ip x_ip ≤ C.

    Bytes and cycles are counted above each item's least; the sum of bytes is exact at
    any size, cycles are counted in granules where their sum could reach 2^31.

    Parameters
    ----------
    backend : str
        `highs` or `cbc`.
    """

    def __init__(self, backend: str = pulp.DEFAULT) -> None:
        self.name = "milp" if backend == pulp.DEFAULT else f"milp:backend={backend}"
        self._backend = backend

    def solve(
        self, problem: AllocationProblem, limits: Limits[Allocation]
    ) -> Result[Allocation]:
        """Return the optimum with proof, or what is known at the limit.

        A plan is optimal only if ⌈dual bound − tolerance⌉ reaches its exact cycles. A
        warm start is no start for the solver, only the least the answer is worth.
        """
        watch = Stopwatch(limits.seconds)
        if _least_bytes(problem) > problem.capacity_bytes:
            return Result(
                method=self.name,
                status=Status.INFEASIBLE,
                seed=limits.seed,
                wall_seconds=watch.wall_seconds,
                cpu_seconds=watch.cpu_seconds,
                version=pulp.versions()[self._backend],
            )
        model = _Model(problem)
        model.take_one_option()
        model.keep_within_capacity()
        model.minimise_cycles()
        answer = pulp.run(
            model.milp,
            limits,
            self._backend,
            seconds=watch.remaining_seconds,
            absolute_gap=0.9,
        )
        if answer.status is Status.INFEASIBLE:
            raise ContradictionError(
                f"{self.name}: calls a problem infeasible whose smallest options fit"
            )
        plan = model.plan(answer)
        if limits.warm_start is not None:
            start = on_pareto_lists(problem, limits.warm_start)
            plan = better(problem, start, plan)
        objective = None
        status = Status.UNKNOWN
        bound = model.bound(answer)
        if plan is not None:
            objective = total_cycles(problem, plan)
            if bound is not None and bound > objective:
                raise ContradictionError(
                    f"{self.name}: its bound {bound} lies above a plan of "
                    f"{objective} cycles"
                )
            status = Status.OPTIMAL if bound == objective else Status.FEASIBLE
        return Result(
            method=self.name,
            status=status,
            plan=plan,
            objective=objective,
            bound=(
                None
                if bound is None
                else Bound(bound, BoundKind.PROOF, OrderClass.free())
            ),
            rounding_error=model.rounded_cycles,
            seed=limits.seed,
            wall_seconds=watch.wall_seconds,
            cpu_seconds=watch.cpu_seconds,
            version=answer.version,
            statistics=answer.statistics,
        )


class _Model:
    """The formulation: x_ip = 1 if item i takes option p of its Pareto list."""

    def __init__(self, problem: AllocationProblem) -> None:
        self.problem = problem
        self.milp = pulp.Model("allocation")
        self.x = [
            {p: self.milp.binary(f"x_{i}_{p}") for p in pareto(item)}
            for i, item in enumerate(problem.items)
        ]
        self.above = [
            [o.cycles - min(q.cycles for q in item.options) for o in item.options]
            for item in problem.items
        ]
        self.unit = unit_for(
            [self.above[i][p] for i, choices in enumerate(self.x) for p in choices],
            sum(
                max(self.above[i][p] for p in choices)
                for i, choices in enumerate(self.x)
            ),
        )

    @property
    def rounded_cycles(self) -> int:
        """What granules may cost: less than one for each item."""
        return 0 if self.unit.exact else len(self.x) * (self.unit.size - 1)

    def take_one_option(self) -> None:
        """Require Σ_p x_ip = 1 for every item i."""
        for choices in self.x:
            self.milp.equal(((1, x) for x in choices.values()), 1)

    def keep_within_capacity(self) -> None:
        """Require Σ_ip s_ip x_ip ≤ C."""
        self.milp.fit(
            (
                (item.options[p].size_bytes - _least(item), x)
                for item, choices in zip(self.problem.items, self.x, strict=True)
                for p, x in choices.items()
            ),
            self.problem.capacity_bytes - _least_bytes(self.problem),
        )

    def minimise_cycles(self) -> None:
        """Minimise Σ_ip t_ip x_ip."""
        self.milp.minimise(
            (self.unit.up(above[p]), x)
            for above, choices in zip(self.above, self.x, strict=True)
            for p, x in choices.items()
        )

    def bound(self, answer: pulp.MilpAnswer) -> int | None:
        """Return ⌈dual bound − tolerance⌉ in cycles, less what rounding up added."""
        granules = _integral(answer.bound)
        if granules is None:
            return None
        least = sum(min(o.cycles for o in item.options) for item in self.problem.items)
        return least + max(0, granules * self.unit.size - self.rounded_cycles)

    def plan(self, answer: pulp.MilpAnswer) -> Allocation | None:
        """Read the options taken; None without a solution that fits exactly."""
        if not answer.values:
            return None
        plan = Allocation(tuple(_taken(choices, answer) for choices in self.x))
        taken = sum(option.size_bytes for option in chosen(self.problem, plan))
        return plan if taken <= self.problem.capacity_bytes else None


def _least(item: AllocationItem) -> int:
    return min(option.size_bytes for option in item.options)


def _least_bytes(problem: AllocationProblem) -> int:
    return sum(_least(item) for item in problem.items)


def _taken(choices: dict[int, pulp.Variable], answer: pulp.MilpAnswer) -> int:
    return max(choices, key=lambda p: answer.value(choices[p]))


def _integral(bound: float | None) -> int | None:
    """Return ⌈bound − tolerance⌉: the cycles are integers, the bound is a float."""
    if bound is None or not math.isfinite(bound):
        return None
    return math.ceil(bound - _ABSOLUTE_TOLERANCE - _RELATIVE_TOLERANCE * abs(bound))
