"""Allocation as a multiple-choice knapsack on CP-SAT."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ortools.sat.python import cp_model

from elkhound.model.allocation import (
    Allocation,
    AllocationItem,
    AllocationProblem,
    pareto,
    total_cycles,
)
from elkhound.model.limits import Limits
from elkhound.model.result import Bound, BoundKind, OrderClass, Result, Status
from elkhound.model.stopwatch import Stopwatch
from elkhound.solvers.allocation.warm_start import better, on_pareto_lists
from elkhound.solvers.backends import cp_sat
from elkhound.solvers.backends.levels import Expression, Levels
from elkhound.solvers.backends.scaling import ACTIVITY_LIMIT, unit_for


class CpSat:
    """Minimise Σ t_ip x_ip with one option per item and Σ s_ip x_ip ≤ C.

    Bytes and cycles are counted above each item's least, in granules where the sums
    would reach 2^31; granules that are not exact cost the proof, not the plan.
    """

    name = "cp-sat"

    def solve(
        self, problem: AllocationProblem, limits: Limits[Allocation]
    ) -> Result[Allocation]:
        """Return the optimum with proof, or what is known at the limit."""
        watch = Stopwatch(limits.seconds)
        model = _Model(problem)
        model.take_one_option()
        model.keep_within_capacity()
        model.minimise_cycles()
        start = None
        if limits.warm_start is not None:
            start = on_pareto_lists(problem, limits.warm_start)
        if start is not None:
            model.start_from(start)
        answer = cp_sat.run(model.cp, limits, watch.remaining_seconds)
        plan = better(problem, start, model.plan(answer))
        objective = bound = None
        status = answer.status
        if plan is not None:
            objective = total_cycles(problem, plan)
            bound = model.bound(answer)
            proved = bound is not None and bound >= objective
            status = Status.OPTIMAL if proved else Status.FEASIBLE
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
            rounding_error=0 if objective is None else model.rounding_error(objective),
            seed=limits.seed,
            wall_seconds=watch.wall_seconds,
            cpu_seconds=watch.cpu_seconds,
            version=cp_sat.VERSION,
            statistics=answer.statistics,
        )


@dataclass(frozen=True, slots=True)
class _Choice:
    """Option p of an item: its literal x_ip, and s_ip, t_ip above the item's least."""

    option: int
    x: cp_model.IntVar
    bytes_above: int
    cycles_above: int


class _Model:
    """The formulation: x_ip = 1 if item i takes option p of its Pareto list."""

    def __init__(self, problem: AllocationProblem) -> None:
        self.cp = cp_model.CpModel()
        self.items = [self._choices(item) for item in problem.items]
        self.least_cycles = sum(
            min(o.cycles for o in item.options) for item in problem.items
        )
        self.room_bytes = problem.capacity_bytes - sum(
            min(o.size_bytes for o in item.options) for item in problem.items
        )
        flat = [choice for choices in self.items for choice in choices]
        self.byte_unit = unit_for(
            [choice.bytes_above for choice in flat],
            sum(max(c.bytes_above for c in choices) for choices in self.items),
        )
        self.cycle_unit = unit_for(
            [choice.cycles_above for choice in flat],
            sum(max(c.cycles_above for c in choices) for choices in self.items),
        )

    def _choices(self, item: AllocationItem) -> list[_Choice]:
        front = pareto(item)
        least_cycles = item.options[front[0]].cycles
        least_bytes = item.options[front[-1]].size_bytes
        return [
            _Choice(
                p,
                self.cp.new_bool_var(f"{item.name}_{p}"),
                item.options[p].size_bytes - least_bytes,
                item.options[p].cycles - least_cycles,
            )
            for p in front
        ]

    def take_one_option(self) -> None:
        """Require Σ_p x_ip = 1 for every item i."""
        for choices in self.items:
            self.cp.add_exactly_one(choice.x for choice in choices)

    def keep_within_capacity(self) -> None:
        """Require Σ_ip s_ip x_ip ≤ C; no room for the smallest contradicts Σ ≥ 0."""
        units = self.byte_unit
        above = self._total(lambda choice: units.up(choice.bytes_above))
        self.cp.add(above <= max(units.down(self.room_bytes), -1))

    def minimise_cycles(self) -> None:
        """Minimise Σ_ip t_ip x_ip."""
        units = self.cycle_unit
        self.cp.minimize(self._total(lambda choice: units.up(choice.cycles_above)))

    def _total(self, amount: Callable[[_Choice], int]) -> Expression:
        """Return Σ_ip amount_ip x_ip, in steps where the plain sum could overflow."""
        amounts = [[amount(choice) for choice in choices] for choices in self.items]
        if sum(map(sum, amounts)) < ACTIVITY_LIMIT:
            return sum(
                value * choice.x
                for values, choices in zip(amounts, self.items, strict=True)
                for value, choice in zip(values, choices, strict=True)
            )
        return sum(
            Levels(
                self.cp, f"item{i}", values, [choice.x for choice in choices]
            ).amount()
            for i, (values, choices) in enumerate(zip(amounts, self.items, strict=True))
        )

    def start_from(self, plan: Allocation) -> None:
        """Hint a known plan."""
        for choices, option in zip(self.items, plan.options, strict=True):
            for choice in choices:
                self.cp.add_hint(choice.x, choice.option == option)

    def plan(self, answer: cp_sat.CpSatAnswer) -> Allocation | None:
        """Read the options taken; None without a solution."""
        if not answer.solution:
            return None
        return Allocation(
            tuple(
                next(c.option for c in choices if answer.value(c.x))
                for choices in self.items
            )
        )

    def bound(self, answer: cp_sat.CpSatAnswer) -> int | None:
        """Return the bound in cycles; None if rounded sizes made the model stricter.

        Rounding up adds less than a unit to each item's cycles.
        """
        if answer.bound is None or not self.byte_unit.exact:
            return None
        scaled = answer.bound * self.cycle_unit.size
        return self.least_cycles + max(0, scaled - self._rounded_cycles())

    def rounding_error(self, objective: int) -> int:
        """Return how many cycles granules may have cost the plan."""
        if not self.byte_unit.exact:
            return objective - self.least_cycles
        return self._rounded_cycles()

    def _rounded_cycles(self) -> int:
        if self.cycle_unit.exact:
            return 0
        return len(self.items) * (self.cycle_unit.size - 1)
