"""How one step's SRAM is shared, asked of an allocator once per question (§4.3)."""

from __future__ import annotations

from collections.abc import Sequence

from elkhound.heuristics.schedule.fronts import Front, Fronts
from elkhound.model.allocation import Allocation, AllocationProblem, Allocator
from elkhound.model.schedule import ScheduleProblem


class Shares:
    """Asks the allocator, and remembers its answers to equal questions.

    An answer depends on the trade-offs and the room alone, so that inductions over
    other preload orders of the same problem may share one of these.

    Parameters
    ----------
    allocator : Allocator
        Shares the SRAM at every step.
    """

    def __init__(self, problem: ScheduleProblem, allocator: Allocator) -> None:
        self.problem = problem
        self.fronts = Fronts(problem)
        self.allocator_calls = 0
        self.memo_hits = 0
        self._allocator = allocator
        self._memo: dict[tuple[int, int, tuple[int, ...]], Allocation | None] = {}

    def room_bytes(self, i: int) -> int:
        """Return what E_i and the preloads beside it may take."""
        return self.problem.sram_bytes - self.problem.operators[i].resident_bytes

    def share(self, i: int, preloads: Sequence[Front]) -> tuple[int, ...] | None:
        """Return E_i's option, then one for each preload; None if nothing fits."""
        execute = self.fronts.execute(i)
        room_bytes = self.room_bytes(i)
        key = (execute.number, room_bytes, tuple(front.number for front in preloads))
        fronts = (execute, *preloads)
        if key in self._memo:
            self.memo_hits += 1
        else:
            self.allocator_calls += 1
            items = tuple(front.item for front in fronts)
            self._memo[key] = self._allocator.allocate(
                AllocationProblem(room_bytes, items)
            )
        allocation = self._memo[key]
        if allocation is None:
            return None
        chosen = zip(fronts, allocation.options, strict=True)
        return tuple(front.options[k] for front, k in chosen)
