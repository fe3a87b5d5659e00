"""What a method answers, and the contract all methods keep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from importlib.metadata import version
from typing import Generic, Protocol, TypeVar

from elkhound.model.limits import Limits
from elkhound.model.schedule import Contention

Problem = TypeVar("Problem", contravariant=True)
Plan = TypeVar("Plan")


class Status(StrEnum):
    """What is known when a method ends."""

    OPTIMAL = "optimal"  # proved, within the method's order class
    FEASIBLE = "feasible"  # a plan, no proof
    INFEASIBLE = "infeasible"  # proved to have no plan
    UNKNOWN = "unknown"  # neither plan nor proof


class BoundKind(StrEnum):
    """How a lower bound was obtained."""

    PROOF = "proof"
    RENEWAL = "renewal"
    ROOFLINE = "roofline"
    PATH = "path"
    LP = "lp"
    IDEAL = "ideal"


@dataclass(frozen=True, slots=True)
class OrderClass:
    """The preload orders a plan or a bound is about.

    Parameters
    ----------
    window : int or None
        P_j issued no earlier than gate j − window; None for free order. The
        identity order is `OrderClass.identity()`.
    """

    name: str
    window: int | None = None

    @classmethod
    def identity(cls) -> OrderClass:
        """Gates non-decreasing over the operators that have one."""
        return cls("identity")

    @classmethod
    def free(cls) -> OrderClass:
        """Any order."""
        return cls("free")

    @classmethod
    def windowed(cls, window: int) -> OrderClass:
        """Gates at least j − window."""
        return cls("window", window)

    def __str__(self) -> str:
        return f"window:{self.window}" if self.window is not None else self.name

    def contains(self, other: OrderClass) -> bool:
        """Whether every schedule of `other` belongs to this class.

        A bound that holds for this class then holds for plans of `other`.
        Identity lies in free, and so does every window; a wider window holds a
        narrower one. Identity and windows of finite width are not comparable: an
        identity schedule may issue a preload arbitrarily early.
        """
        if self == other or self.name == "free":
            return True
        if self.window is not None and other.window is not None:
            return self.window >= other.window
        return False


@dataclass(frozen=True, slots=True)
class Bound:
    """A proven lower bound on the objective, and what it is about.

    Parameters
    ----------
    value : int or float
        No plan of the class is below it; a float where the objective is one.
    kind : BoundKind
        How it was obtained.
    order : OrderClass
        The class of schedules it holds for.
    contention : Contention or None
        The rule it holds under; None where the problem has none.
    """

    value: int | float
    kind: BoundKind
    order: OrderClass
    contention: Contention | None = None


@dataclass(frozen=True, slots=True)
class Result(Generic[Plan]):
    """Everything a method knows at its end; None where it knows nothing.

    Parameters
    ----------
    method : str
        Name, with its variant.
    status : Status
        See `Status`; INFEASIBLE is said only with a proof.
    plan : Plan or None
        The best plan found.
    objective : int, float or None
        Its value in the problem's own unit.
    bound : Bound or None
        The best proven lower bound.
    order : OrderClass or None
        The class of schedules searched; None where the problem has no orders.
    rounding_error, thinning_error : int or float
        How much scaling sizes or thinning options may have cost the objective.
    seed : int
        Seed used.
    wall_seconds, cpu_seconds : float
        Time of this call, all threads for CPU.
    version : str
        The solver library and its version, or Elkhound and its own.
    statistics : mapping
        Counts of the search, by name.
    """

    method: str
    status: Status
    plan: Plan | None = None
    objective: int | float | None = None
    bound: Bound | None = None
    order: OrderClass | None = None
    rounding_error: int | float = 0
    thinning_error: int | float = 0
    seed: int = 0
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0
    version: str = ""
    statistics: Mapping[str, int | float | str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if (self.plan is None) != (self.objective is None):
            raise ValueError(f"{self.method}: plan and objective come together")
        has_plan = self.plan is not None
        if has_plan != (self.status in (Status.OPTIMAL, Status.FEASIBLE)):
            raise ValueError(
                f"{self.method}: status {self.status} "
                f"{'with' if has_plan else 'without'} a plan"
            )


def own_version() -> str:
    """Return what a method that needs no solver library says as its version."""
    return f"elkhound {version('elkhound')}"


class Method(Protocol[Problem, Plan]):
    """A solver, heuristic or bound: one call, one result type."""

    name: str

    def solve(self, problem: Problem, limits: Limits[Plan]) -> Result[Plan]:
        """Plan within the limits. Raises nothing for a problem without a plan."""
        ...
