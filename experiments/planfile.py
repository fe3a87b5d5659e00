"""A plan file of any kind together with the problem it is about."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elkhound.model.allocation import AllocationProblem
from elkhound.model.chip import Chip
from elkhound.model.errors import BadInputError
from elkhound.model.fusion.problem import FusionProblem
from elkhound.model.placement import Addresses, PlacementProblem


@dataclass(frozen=True, slots=True)
class ReadPlan:
    """A plan that can be judged and simulated."""

    plan: Any
    problem: Any
    chip: Chip | None = None
    addresses: Addresses | None = None


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
    if isinstance(beside, FusionProblem):
        raise BadInputError(
            "is a fusion problem, whose plans are mappings",
            code="wrong-kind",
            where=str(problem),
            hint="give --mapping, --workload and --accelerator",
        )
    if Path(plan).suffix.lower() == ".csv" or isinstance(beside, PlacementProblem):
        return _read_placement(plan, beside)
    kind = read_document(plan).at(("kind",))
    if isinstance(beside, AllocationProblem) or kind == "allocation-plan":
        allocation = read_allocation_plan(plan, beside)
        return ReadPlan(allocation.plan, allocation.problem)
    schedule = read_plan(plan, beside)
    return ReadPlan(schedule.plan, schedule.problem, schedule.chip, schedule.addresses)


def _read_placement(plan: str, problem: Any) -> ReadPlan:
    """Read offsets; their capacity stands in the problem file only."""
    from elkhound.model.io import read_placement_csv

    read = read_placement_csv(plan)
    if read.plan is None:
        raise BadInputError(
            "column offset is missing", code="bad-file", where=f"{plan}:1"
        )
    if not isinstance(problem, PlacementProblem):
        raise BadInputError(
            "offsets need a placement problem beside them",
            code="no-problem",
            where=plan,
            hint="elkhound evaluate PROBLEM.json --plan FILE.csv",
        )
    if read.buffers != problem.buffers:
        raise BadInputError(
            f"the plan is for other buffers than {problem.name}",
            code="other-problem",
            where=plan,
        )
    return ReadPlan(read.plan, problem)
