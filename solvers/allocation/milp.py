"""Allocation as a multiple-choice knapsack through PuLP, on HiGHS or CBC."""

from __future__ import annotations

import math

from elkhound.model.allocation import (
    Allocation,
    AllocationProblem,
    chosen,
    pareto,
    total_cycles,
)
from elkhound.model.errors import ContradictionError
from elkhound.model.limits import Limits
from elkhound.model.result import Bound, BoundKind, OrderClass, Result, Status
from elkhound.solvers.allocation.warm_start import on_pareto_lists
from elkhound.solvers.backends import pulp
from elkhound.solvers.backends.stopwatch import Stopwatch

_ABSOLUTE_TOLERANCE = 1e-6
_RELATIVE_TOLERANCE = 1e-9


class Milp:
    """Minimise Σ t_ip x_ip with one option per item and Σ s_ip x_ip ≤ C.

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

        A plan is optimal only if ⌈dual bound − tolerance⌉ reaches its exact cycles.
        """
        watch = Stopwatch(limits.seconds)
        model = _Model(problem)
        model.take_one_option()
        model.keep_within_capacity()
        model.minimise_cycles()
        start = None
        if limits.warm_start is not None:
            start = on_pareto_lists(problem, limits.warm_start)
        answer = pulp.run(
            model.milp,
            limits,
            self._backend,
            seconds=watch.remaining_seconds,
            absolute_gap=0.9,
            start=None if start is None else model.values(start),
        )
        plan = _better(problem, start, model.plan(answer))
        objective = None
        status = answer.status
        bound = _integral(answer.bound)
        if plan is not None:
            objective = total_cycles(problem, plan)
            if bound is not None and bound > objective:
                raise ContradictionError(
                    f"{self.name}: its bound {bound} lies above a plan of "
                    f"{objective} cycles"
                )
            status = Status.OPTIMAL if bound == objective else Status.FEASIBLE
        elif status is not Status.INFEASIBLE:
            status = Status.UNKNOWN
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

    def take_one_option(self) -> None:
        """Require Σ_p x_ip = 1 for every item i."""
        for choices in self.x:
            self.milp.equal(((1, x) for x in choices.values()), 1)

    def keep_within_capacity(self) -> None:
        """Require Σ_ip s_ip x_ip ≤ C."""
        self.milp.at_most(
            (
                (item.options[p].size_bytes, x)
                for item, choices in zip(self.problem.items, self.x, strict=True)
                for p, x in choices.items()
            ),
            self.problem.capacity_bytes,
        )

    def minimise_cycles(self) -> None:
        """Minimise Σ_ip t_ip x_ip."""
        self.milp.minimise(
            (item.options[p].cycles, x)
            for item, choices in zip(self.problem.items, self.x, strict=True)
            for p, x in choices.items()
        )

    def values(self, plan: Allocation) -> dict[str, float]:
        """Return a plan as values of the variables."""
        return {
            x.name: float(p == option)
            for choices, option in zip(self.x, plan.options, strict=True)
            for p, x in choices.items()
        }

    def plan(self, answer: pulp.MilpAnswer) -> Allocation | None:
        """Read the options taken; None without a solution that fits exactly."""
        if not answer.values:
            return None
        plan = Allocation(tuple(_taken(choices, answer) for choices in self.x))
        taken = sum(option.size_bytes for option in chosen(self.problem, plan))
        return plan if taken <= self.problem.capacity_bytes else None


def _better(
    problem: AllocationProblem, start: Allocation | None, found: Allocation | None
) -> Allocation | None:
    """Return the plan with fewer cycles: a warm start is never lost."""
    plans = [plan for plan in (found, start) if plan is not None]
    return min(plans, key=lambda plan: total_cycles(problem, plan), default=None)


def _taken(choices: dict[int, pulp.Variable], answer: pulp.MilpAnswer) -> int:
    return max(choices, key=lambda p: answer.value(choices[p]))


def _integral(bound: float | None) -> int | None:
    """Return ⌈bound − tolerance⌉: the cycles are integers, the bound is a float."""
    if bound is None or not math.isfinite(bound):
        return None
    return math.ceil(bound - _ABSOLUTE_TOLERANCE - _RELATIVE_TOLERANCE * abs(bound))
