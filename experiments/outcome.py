"""What one method left behind in a comparison, before it becomes a row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from elkhound.experiments.kind import Judgement
from elkhound.model.errors import ElkhoundError
from elkhound.model.placement import Addresses
from elkhound.model.result import Bound, BoundKind, OrderClass, Result, Status
from elkhound.model.schedule import Contention


class SourcedBound(NamedTuple):
    """A lower bound, and which method or formula it comes from."""

    source: str
    bound: Bound


@dataclass(frozen=True, slots=True)
class Outcome:
    """A method's answer and what referee and simulator made of it.

    Parameters
    ----------
    method : str
        Name as the user wrote it.
    result : Result or None
        None if the method ended in `error`.
    error : ElkhoundError or None
        Why there is no result.
    judgement : Judgement or None
        The referee's; None without a plan.
    score : Score or None
        The simulator's; None without a verified plan.
    simulated_cycles : int or None
        The score's makespan.
    simulated_latency : float or None
        What the simulated accelerator takes for a mapping.
    refused_by_simulator : str
        Why the simulated chip cannot run the plan; empty if it can.
    addresses : Addresses or None
        Where the buffers of a schedule lie.
    note : str
        What else is to be said of the plan; empty if nothing.
    wall_seconds, cpu_seconds : float
        Time until `error`; a result knows its own.
    """

    method: str
    result: Result[Any] | None = None
    error: ElkhoundError | None = None
    judgement: Judgement | None = None
    score: Any = None
    simulated_cycles: int | None = None
    simulated_latency: float | None = None
    refused_by_simulator: str = ""
    addresses: Addresses | None = None
    note: str = ""
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0

    @property
    def plan(self) -> Any:
        """The method's plan; None without one."""
        return None if self.result is None else self.result.plan

    @property
    def verified(self) -> bool | None:
        """Whether the referee agrees with the method; None without a plan."""
        if self.judgement is None or self.result is None:
            return None
        return self.judgement.feasible and self.judgement.is_worth(
            self.result.objective
        )

    @property
    def verified_objective(self) -> int | float | None:
        """The referee's value of a plan that breaks no rule."""
        return None if self.judgement is None else self.judgement.objective

    def bounds(self, contention: str | None) -> list[SourcedBound]:
        """Return what the method proved: its bound, and its objective if optimal."""
        if self.result is None:
            return []
        proved = [] if self.result.bound is None else [self.result.bound]
        if self.result.status is Status.OPTIMAL and self.result.objective is not None:
            error = self.result.rounding_error + self.result.thinning_error
            rule = None if contention is None else Contention(contention)
            order = self.result.order or OrderClass.free()
            value = self.result.objective - error
            if not proved or proved[0].value < value:
                proved.append(Bound(value, BoundKind.PROOF, order, rule))
        return [SourcedBound(self.method, bound) for bound in proved]
