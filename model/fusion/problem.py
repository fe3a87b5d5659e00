"""The fusion problem, a plan for it, and what a method answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from elkhound.model.fusion.accelerator import Accelerator
from elkhound.model.fusion.mapping import LoopTree
from elkhound.model.fusion.mapspace import WHOLE_SPACE, Mapspace, Objective
from elkhound.model.fusion.workload import FusionWorkload
from elkhound.model.limits import Limits
from elkhound.model.result import Bound, BoundKind, OrderClass, Status


@dataclass(frozen=True, slots=True)
class FusionProblem:
    """Map a workload onto an accelerator as well as can be.

    Parameters
    ----------
    workload, accelerator
        What is mapped onto what.
    objective : Objective
        What is minimised; a front is every trade of energy against latency.
    mapspace : Mapspace
        The mappings that count.
    """

    workload: FusionWorkload
    accelerator: Accelerator
    objective: Objective = Objective.ENERGY
    mapspace: Mapspace = WHOLE_SPACE

    @property
    def name(self) -> str:
        """What is mapped onto what, in words."""
        return f"{self.workload.name} on {self.accelerator.name}"


@dataclass(frozen=True, slots=True)
class FusionPlan:
    """A mapping with what it costs.

    Parameters
    ----------
    tree : LoopTree
        The mapping.
    energy, latency : float
        In the accelerator's units.
    """

    tree: LoopTree
    energy: float
    latency: float

    @property
    def edp(self) -> float:
        """Energy–delay product."""
        return self.energy * self.latency

    def value(self, objective: Objective) -> float:
        """Return what an objective makes of it; a front is summarised by its EDP."""
        match objective:
            case Objective.ENERGY:
                return self.energy
            case Objective.LATENCY:
                return self.latency
            case _:
                return self.edp


@dataclass(frozen=True, slots=True)
class Improvement:
    """When a search came across a better mapping than before.

    Parameters
    ----------
    evaluations : int
        Partial mappings priced until then.
    cpu_seconds : float
        Of the call until then, partial mappings included.
    objective : float
        The mapping's value.
    """

    evaluations: int
    cpu_seconds: float
    objective: float


@dataclass(frozen=True, slots=True)
class FusionResult:
    """What `Result` is to the integer problems; None where nothing is known.

    Parameters
    ----------
    method : str
        Name, with its variant.
    status : Status
        OPTIMAL and INFEASIBLE are said only with a proof over the whole mapspace.
    plan : FusionPlan or None
        The best plan found; of a front, the point of least EDP.
    objective : float or None
        Its value in the accelerator's units.
    lower_bound : float or None
        No mapping of the mapspace is below it.
    front : tuple of FusionPlan
        Energy against latency, by rising latency, where the objective asks for it.
    rounding_error : float
        How much counting costs in whole units may have cost the objective.
    seed : int
        Seed used.
    wall_seconds, cpu_seconds : float
        Time of this call, partial mappings included.
    version : str
        The solver library and its version, or Elkhound and its own.
    statistics : mapping
        Counts of the search, by name.
    curve : tuple of Improvement
        How a search that stops anywhere came to its plan, each better than the last.
    """

    method: str
    status: Status
    plan: FusionPlan | None = None
    objective: float | None = None
    lower_bound: float | None = None
    front: tuple[FusionPlan, ...] = ()
    rounding_error: float = 0.0
    seed: int = 0
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0
    version: str = ""
    statistics: Mapping[str, int | float | str] = field(default_factory=dict)
    curve: tuple[Improvement, ...] = ()

    def __post_init__(self) -> None:
        if (self.plan is None) != (self.objective is None):
            raise ValueError(f"{self.method}: plan and objective come together")
        has_plan = self.plan is not None
        if has_plan != (self.status in (Status.OPTIMAL, Status.FEASIBLE)):
            raise ValueError(
                f"{self.method}: status {self.status} "
                f"{'with' if has_plan else 'without'} a plan"
            )

    @property
    def bound(self) -> Bound | None:
        """The lower bound as other problems have it."""
        if self.lower_bound is None:
            return None
        return Bound(self.lower_bound, BoundKind.PROOF, OrderClass.free())

    @property
    def order(self) -> None:
        """None: einsums run in the order of the workload."""
        return

    @property
    def thinning_error(self) -> float:
        """0: no partial mapping is left out."""
        return 0.0


class FusionMethod(Protocol):
    """A solver or heuristic of the fusion problem."""

    name: str

    def solve(self, problem: FusionProblem, limits: Limits[FusionPlan]) -> FusionResult:
        """Map within the limits. A workload without a mapping is INFEASIBLE."""
        ...
