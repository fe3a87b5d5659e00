"""What a comparison asks of each kind of problem."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from elkhound.experiments import methods
from elkhound.model.chip import Chip
from elkhound.model.placement import Addresses
from elkhound.model.program import Program
from elkhound.model.result import Bound, OrderClass

Problem = TypeVar("Problem")
Plan = TypeVar("Plan")


@dataclass(frozen=True, slots=True)
class Judgement:
    """The referee's answer, the same for all kinds.

    Parameters
    ----------
    objective : int, float or None
        The plan's value; None if it breaks a rule.
    violations : tuple of str
        One line per broken rule.
    belongs_to : callable
        Whether the plan is of an order class; always true without orders.
    order : OrderClass or None
        The narrowest class it is of; None without orders.
    bytes_used : int or None
        Bytes of an allocation.
    height_bytes : int or None
        Top of a placement's highest buffer.
    tolerance : float
        Relative difference at which two values count as one: 0 for integers, above
        it where floats are added in different orders.
    """

    objective: int | float | None
    violations: tuple[str, ...]
    belongs_to: Callable[[OrderClass | None], bool]
    order: OrderClass | None = None
    bytes_used: int | None = None
    height_bytes: int | None = None
    tolerance: float = 0.0

    @property
    def feasible(self) -> bool:
        """Whether no rule is broken."""
        return not self.violations

    def is_worth(self, value: float | None) -> bool:
        """Whether the plan has this value."""
        if self.objective is None or value is None:
            return False
        return math.isclose(self.objective, value, rel_tol=self.tolerance)

    def is_below(self, value: float) -> bool:
        """Whether the plan has less than this value."""
        if self.objective is None:
            return False
        return self.objective < value and not self.is_worth(value)


class Kind(ABC, Generic[Problem, Plan]):
    """One kind of problem: its methods, its referee, its simulation."""

    name: str
    registry: Mapping[str, methods.Entry]
    default_methods: tuple[str, ...]
    plan_suffix = ".json"

    @abstractmethod
    def require_feasible(self, problem: Problem) -> None:
        """Raise InfeasibleError, with the numbers, where no plan can exist.

        BadInputError where no plan can be better than another.
        """

    @abstractmethod
    def judge(self, problem: Problem, plan: Plan) -> Judgement:
        """Let the referee decide what a plan is worth."""

    def judge_result(self, problem: Problem, result: Any) -> Judgement:
        """Let the referee decide what a result with a plan is worth."""
        return self.judge(problem, result.plan)

    @abstractmethod
    def program(
        self, problem: Problem, plan: Plan, chip: Chip | None
    ) -> Program | None:
        """Return the device program that the simulator runs for a plan, if any."""

    def simulated_latency(self, problem: Problem, plan: Plan) -> float | None:
        """Return what a plan that is no program takes; None for one that is."""
        return None

    @abstractmethod
    def bounds(self, problem: Problem) -> tuple[Bound, ...]:
        """Return lower bounds that no method has to be run for."""

    @abstractmethod
    def write_plan(
        self,
        path: Path,
        problem: Problem,
        plan: Plan,
        chip: Chip | None,
        addresses: Addresses | None = None,
    ) -> None:
        """Write a plan file that holds its problem; only schedules have addresses."""

    @abstractmethod
    def contention(self, problem: Problem) -> str | None:
        """Return the name of the contention rule, where the kind has one."""

    def columns(self, problem: Problem, result: Any) -> dict[str, Any]:
        """Return what a row says of a result, beyond the columns of all kinds."""
        return {}

    def exports(self, problem: Problem, result: Any) -> dict[str, str]:
        """Return further files to keep with a plan: text by what follows the name."""
        return {}

    def contradictions(self, outcomes: Sequence[Any]) -> tuple[str, ...]:
        """Return answers that cannot all be right, beyond those of all kinds."""
        return ()
