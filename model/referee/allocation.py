"""The referee of allocations: adds up bytes and cycles."""

from __future__ import annotations

from dataclasses import dataclass

from elkhound.model.allocation import Allocation, AllocationProblem


@dataclass(frozen=True, slots=True)
class AllocationVerdict:
    """What an allocation is worth, or why it is none.

    Parameters
    ----------
    objective : int or None
        Total cycles; None if anything is violated.
    violations : tuple of str
        One line per broken rule.
    size_bytes : int or None
        Bytes taken by all items; None if the plan's numbers mean nothing.
    """

    objective: int | None
    violations: tuple[str, ...]
    size_bytes: int | None = None

    @property
    def feasible(self) -> bool:
        """Whether no rule is broken."""
        return not self.violations


def judge_allocation(problem: AllocationProblem, plan: Allocation) -> AllocationVerdict:
    """Decide whether one option of each item is taken and all of them fit."""
    if len(plan.options) != len(problem.items):
        line = f"plan: {len(plan.options)} options for {len(problem.items)} items"
        return AllocationVerdict(None, (line,))
    lines = []
    for item, index in zip(problem.items, plan.options, strict=True):
        last = len(item.options) - 1
        if not 0 <= index <= last:
            lines.append(f"item {item.name}: option {index}, must be 0 … {last}")
    if lines:
        return AllocationVerdict(None, tuple(lines))
    size_bytes = cycles = 0
    for item, index in zip(problem.items, plan.options, strict=True):
        size_bytes += item.options[index].size_bytes
        cycles += item.options[index].cycles
    over = size_bytes - problem.capacity_bytes
    if over > 0:
        line = (
            f"allocation: {size_bytes} B needed of {problem.capacity_bytes} B: "
            f"{over} B over"
        )
        return AllocationVerdict(None, (line,), size_bytes)
    return AllocationVerdict(cycles, (), size_bytes)
