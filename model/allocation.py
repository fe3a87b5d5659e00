"""The allocation problem: how much SRAM each live operator gets (paper §4.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class AllocationOption:
    """A point on one item's trade-off of space against time."""

    size_bytes: int
    cycles: int

    def __post_init__(self) -> None:
        if self.size_bytes < 0:
            raise ValueError(f"bytes is {self.size_bytes}, must not be negative")
        if self.cycles < 0:
            raise ValueError(f"cycles is {self.cycles}, must not be negative")


@dataclass(frozen=True, slots=True)
class AllocationItem:
    """One live operator: the executing one, or a preloaded one."""

    name: str
    options: tuple[AllocationOption, ...]

    def __post_init__(self) -> None:
        if not self.options:
            raise ValueError(f"item {self.name}: has no options")


@dataclass(frozen=True, slots=True)
class AllocationProblem:
    """Choose one option of each item; minimise total cycles within the capacity."""

    capacity_bytes: int
    items: tuple[AllocationItem, ...]
    name: str = "allocation"

    def __post_init__(self) -> None:
        if self.capacity_bytes < 0:
            raise ValueError(
                f"capacity_bytes is {self.capacity_bytes}, must not be negative"
            )
        if not self.items:
            raise ValueError("items: at least one is needed")


@dataclass(frozen=True, slots=True)
class Allocation:
    """A plan: the index of the option each item takes."""

    options: tuple[int, ...]


class Allocator(Protocol):
    """Chooses sizes inside inductive scheduling; handed in by `experiments`."""

    name: str

    def allocate(self, problem: AllocationProblem) -> Allocation | None:
        """Return a choice that fits, or None if this allocator finds none."""
        ...


def pareto(item: AllocationItem) -> tuple[int, ...]:
    """Return the options no other is at least as good as, fastest and largest first.

    Cycles rise and bytes fall strictly along the list; of equal options the first
    one stays.

    Examples
    --------
    >>> points = ((0, 9), (5, 5), (5, 4), (7, 4))
    >>> pareto(AllocationItem("a", tuple(AllocationOption(*p) for p in points)))
    (2, 0)
    """
    options = item.options
    order = sorted(
        range(len(options)), key=lambda k: (options[k].size_bytes, options[k].cycles)
    )
    front = order[:1]
    for k in order[1:]:
        if options[k].cycles < options[front[-1]].cycles:
            front.append(k)
    return tuple(reversed(front))


def chosen(problem: AllocationProblem, plan: Allocation) -> list[AllocationOption]:
    """Return the option each item takes."""
    return [
        item.options[index]
        for item, index in zip(problem.items, plan.options, strict=True)
    ]


def total_cycles(problem: AllocationProblem, plan: Allocation) -> int:
    """Return what a plan is worth: the cycles of all options taken."""
    return sum(option.cycles for option in chosen(problem, plan))
