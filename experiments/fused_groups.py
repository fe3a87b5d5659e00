"""Groups of operators that `--fuse` tried, and whether they run as one."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class FusedGroup:
    """Operators that are faster as one, and what became of them in plans.

    Parameters
    ----------
    name : str
        What they are called as one operator.
    operators : tuple of str
        In execution order.
    cycles : int or None
        The fastest option of the group, by itself; None if none fits.
    operators_cycles : int or None
        The same of its operators one by one, added up; None if one fits in no option.
    adopted : bool
        Whether they run as one operator of the problem that is planned.
    fused_plan_cycles, parted_plan_cycles : int or None
        The shortest plan of the heuristics with all groups of this kind fused, and
        parted; None if there is none. `adopted` says which of them was kept.
    """

    name: str
    operators: tuple[str, ...]
    cycles: int | None
    operators_cycles: int | None
    adopted: bool
    fused_plan_cycles: int | None
    parted_plan_cycles: int | None


Fusion = tuple[FusedGroup, ...]
"""What was tried; empty where no group is faster than its operators."""


def fused_document(groups: Fusion | None) -> list[dict[str, Any]] | None:
    """Return groups as JSON says them; None where fusion was not asked for."""
    return None if groups is None else [asdict(group) for group in groups]


def adopted(groups: Fusion | None) -> tuple[tuple[str, ...], ...] | None:
    """Return the operators of every group that runs as one, as rows say it."""
    if groups is None:
        return None
    return tuple(group.operators for group in groups if group.adopted)
