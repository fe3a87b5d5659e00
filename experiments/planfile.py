"""A plan file of any kind together with the problem it is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from elkhound.model.allocation import AllocationProblem
from elkhound.model.chip import Chip


@dataclass(frozen=True, slots=True)
class ReadPlan:
    """A plan that can be judged and simulated."""

    plan: Any
    problem: Any
    chip: Chip | None = None


def read_any_plan(plan: str, problem: str | None) -> ReadPlan:
    """Read a plan, and its problem from the plan file or from the file beside it.

    Raises
    ------
    BadInputError
        If a file is wrong, neither holds the problem, or both do and differ.
    """
    from elkhound.model.io import read_allocation_plan, read_plan, read_problem
    from elkhound.model.io.document import read_document

    beside: Any = None if problem is None else read_problem(problem)
    kind = read_document(plan).at(("kind",))
    if isinstance(beside, AllocationProblem) or kind == "allocation-plan":
        allocation = read_allocation_plan(plan, beside)
        return ReadPlan(allocation.plan, allocation.problem)
    schedule = read_plan(plan, beside)
    return ReadPlan(schedule.plan, schedule.problem, schedule.chip)
