"""What a method may use."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

Plan = TypeVar("Plan")


class Progress(Protocol):
    """Who wants to know how far a search is; called from any thread."""

    def __call__(self, objective: float | None, bound: float | None) -> None:
        """Hear the best objective and the best bound so far; None for none yet."""


@dataclass(frozen=True, slots=True)
class Limits(Generic[Plan]):
    """Bounds on one call of a method.

    Parameters
    ----------
    seconds : float
        Wall-clock limit.
    deterministic_work : float or None
        Limit in the method's own repeatable unit (CP-SAT deterministic time,
        plans, labels, evaluations); None for no limit.
    memory_bytes : int or None
        Limit on resident memory where the method can keep it.
    seed : int
        Seed of everything random.
    workers : int
        Threads a solver may use; 1 makes CP-SAT repeatable.
    relative_gap : float
        Stop when (objective − bound) / objective is at most this.
    warm_start : Plan or None
        A plan to start from; `experiments` hands it in.
    progress : Progress or None
        Told of better plans and bounds while the method runs.
    """

    seconds: float = 60.0
    deterministic_work: float | None = None
    memory_bytes: int | None = None
    seed: int = 0
    workers: int = 2
    relative_gap: float = 0.0
    warm_start: Plan | None = None
    progress: Progress | None = None

    def __post_init__(self) -> None:
        if not (math.isfinite(self.seconds) and self.seconds > 0):
            raise ValueError(f"time limit is {self.seconds}, must be above 0 seconds")
        if self.workers < 1:
            raise ValueError(f"workers is {self.workers}, must be at least 1")
        if not 0 <= self.relative_gap < 1:
            raise ValueError(f"gap is {self.relative_gap}, must be in [0, 1)")
        if self.seed < 0:
            raise ValueError(f"seed is {self.seed}, must not be negative")

    def tell(self, objective: float | None, bound: float | None = None) -> None:
        """Tell whoever wants to know of the best objective and bound so far."""
        if self.progress is not None:
            self.progress(objective, bound)
