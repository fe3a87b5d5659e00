"""Plan files: a schedule or an allocation with the problem it is for."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from elkhound.model.allocation import Allocation, AllocationProblem
from elkhound.model.chip import Chip
from elkhound.model.errors import BadInputError
from elkhound.model.io.address_list import address_documents, addresses_from
from elkhound.model.io.chip_file import chip_document, chip_from
from elkhound.model.io.document import Document, read_document, show
from elkhound.model.io.payload import payload_document, with_payloads
from elkhound.model.io.plan_models import (
    AllocationPlanModel,
    ProblemReference,
    SchedulePlanModel,
)
from elkhound.model.io.problem_file import (
    Problem,
    allocation_from,
    problem_document,
    read_problem,
    schedule_from,
)
from elkhound.model.io.problem_hash import problem_hash
from elkhound.model.io.text import as_text, write_text
from elkhound.model.io.validate import validated
from elkhound.model.placement import Addresses
from elkhound.model.schedule import Schedule, ScheduleProblem

AnyProblem = TypeVar("AnyProblem", ScheduleProblem, AllocationProblem)


@dataclass(frozen=True, slots=True)
class PlanFile:
    """A schedule and what it is for.

    Parameters
    ----------
    plan : Schedule
        The gates and options.
    problem : ScheduleProblem
        Its problem; the options that the plan takes carry their payload, where the
        file has it.
    chip : Chip or None
        The chip it was planned for; None for a problem file's abstract chip.
    addresses : Addresses or None
        Where its buffers lie, as the file says.
    """

    plan: Schedule
    problem: ScheduleProblem
    chip: Chip | None = None
    addresses: Addresses | None = None


@dataclass(frozen=True, slots=True)
class AllocationPlanFile:
    """An allocation and its problem."""

    plan: Allocation
    problem: AllocationProblem


def write_plan(
    path: str | Path,
    problem: ScheduleProblem,
    plan: Schedule,
    *,
    chip: Chip | None = None,
    addresses: Addresses | None = None,
    problem_path: str | Path | None = None,
) -> None:
    """Write a schedule with its problem, or with a reference to the problem's file.

    Parameters
    ----------
    path : str or Path
        Where to.
    problem : ScheduleProblem
        What the plan is for.
    plan : Schedule
        The plan.
    chip : Chip or None
        The chip it was planned for, so that it can be simulated.
    addresses : Addresses or None
        Where its buffers lie.
    problem_path : str, Path or None
        A file that holds the problem: only its relative path and the hash are
        written. None: the problem is written into the plan.
    """
    payload = [
        payload_document(choice, operator.options[choice])
        for operator, choice in zip(problem.operators, plan.options, strict=True)
    ]
    document: dict[str, object] = {
        "kind": "schedule-plan",
        "gates": list(plan.gates),
        "options": list(plan.options),
    }
    if any(item is not None for item in payload):
        document["payload"] = payload
    if chip is not None:
        document["chip"] = chip_document(chip)
    if addresses is not None:
        document["addresses"] = address_documents(addresses)
    document["problem"] = _problem_part(path, problem, problem_path)
    write_text(path, as_text(document))


def read_plan(path: str | Path, problem: ScheduleProblem | None = None) -> PlanFile:
    """Read a schedule and check that its gates and options exist.

    Parameters
    ----------
    path : str or Path
        The plan file.
    problem : ScheduleProblem or None
        The problem, for files that hold gates and options alone. Where the file
        names or holds a problem too, both must have the same hash.

    Raises
    ------
    BadInputError
        The file is wrong in itself or does not fit its problem; names the operator,
        the value and its legal range.
    """
    document = read_document(path)
    model = validated(document, SchedulePlanModel)
    own = None
    if isinstance(model.problem, ProblemReference):
        own = _referred(document, model.problem, ScheduleProblem)
    elif model.problem is not None:
        own = schedule_from(document.part("problem"))
    whole = _one_problem(document, own, problem, ScheduleProblem)
    plan = Schedule(tuple(model.gates), tuple(model.options))
    counts = [(o.name, len(o.options)) for o in whole.operators]
    _check_options(document, "operator", counts, plan.options)
    _check_gates(document, whole, plan)
    if model.payload is not None:
        whole = with_payloads(document, whole, plan, model.payload)
    chip = None if model.chip is None else chip_from(document.part("chip"))
    addresses = None
    if model.addresses is not None:
        addresses = addresses_from(document, ("addresses",), model.addresses)
    return PlanFile(plan, whole, chip, addresses)


def write_allocation_plan(
    path: str | Path,
    problem: AllocationProblem,
    plan: Allocation,
    *,
    problem_path: str | Path | None = None,
) -> None:
    """Write an allocation; parameters as for `write_plan`."""
    document = {
        "kind": "allocation-plan",
        "options": list(plan.options),
        "problem": _problem_part(path, problem, problem_path),
    }
    write_text(path, as_text(document))


def read_allocation_plan(
    path: str | Path, problem: AllocationProblem | None = None
) -> AllocationPlanFile:
    """Read an allocation; parameters and errors as for `read_plan`."""
    document = read_document(path)
    model = validated(document, AllocationPlanModel)
    own = None
    if isinstance(model.problem, ProblemReference):
        own = _referred(document, model.problem, AllocationProblem)
    elif model.problem is not None:
        own = allocation_from(document.part("problem"))
    whole = _one_problem(document, own, problem, AllocationProblem)
    plan = Allocation(tuple(model.options))
    counts = [(item.name, len(item.options)) for item in whole.items]
    _check_options(document, "item", counts, plan.options)
    return AllocationPlanFile(plan, whole)


def _problem_part(
    path: str | Path, problem: Problem, problem_path: str | Path | None
) -> dict[str, object]:
    if problem_path is None:
        return problem_document(problem)
    try:
        shown = os.path.relpath(problem_path, Path(path).parent)
    except ValueError:  # another drive
        shown = str(problem_path)
    return {"path": Path(shown).as_posix(), "hash": problem_hash(problem)}


def _referred(
    document: Document, reference: ProblemReference, kind: type[AnyProblem]
) -> AnyProblem:
    """Return the problem of the file a plan refers to, if it is still the same."""
    try:
        problem = read_problem(Path(document.path).parent / reference.path)
    except BadInputError as error:
        document.refuse(f"problem.path: {error}", ("problem", "path"), code=error.code)
    if not isinstance(problem, kind):
        document.refuse(
            f"problem.path is {show(reference.path)}, a problem of another kind",
            ("problem", "path"),
        )
    found = problem_hash(problem)
    if found != reference.hash:
        document.refuse(
            f"problem.hash is {reference.hash}, but {reference.path} has {found}: "
            "the problem has changed since the plan was made",
            ("problem", "hash"),
            code="other-problem",
        )
    return problem


def _one_problem(
    document: Document,
    own: AnyProblem | None,
    given: AnyProblem | None,
    kind: type[AnyProblem],
) -> AnyProblem:
    """Return the problem given beside the file, else the file's own."""
    problem = own if given is None else given
    if problem is None:
        document.refuse(
            "the plan names no problem; give the problem file beside it",
            code="no-problem",
        )
    if not isinstance(problem, kind):
        document.refuse(
            f"the plan is for another kind of problem than {show(problem.name)}",
            code="other-problem",
        )
    if own is not None and problem_hash(own) != problem_hash(problem):
        document.refuse(
            f"the plan is for another problem than {show(problem.name)}: "
            f"hash {problem_hash(own)}, not {problem_hash(problem)}",
            ("problem",),
            code="other-problem",
        )
    return problem


def _check_options(
    document: Document,
    part: str,
    counts: Sequence[tuple[str, int]],
    options: tuple[int, ...],
) -> None:
    if len(options) != len(counts):
        document.refuse(
            f"options has {len(options)} entries, must have {len(counts)}, one for "
            f"each {part} of the problem",
            ("options",),
        )
    for index, (choice, (name, count)) in enumerate(zip(options, counts, strict=True)):
        if choice >= count:
            document.refuse(
                f"{part} {name}: option is {choice}, must be from 0 to {count - 1}",
                ("options", index),
            )


def _check_gates(document: Document, problem: ScheduleProblem, plan: Schedule) -> None:
    count = len(problem.operators)
    if len(plan.gates) != count:
        document.refuse(
            f"gates has {len(plan.gates)} entries, must have {count}, one for each "
            "operator of the problem",
            ("gates",),
        )
    for index, (gate, operator) in enumerate(
        zip(plan.gates, problem.operators, strict=True)
    ):
        place = ("gates", index)
        if not operator.streams and gate is not None:
            document.refuse(
                f"operator {operator.name}: gate is {gate}, must be null, as it "
                "streams nothing",
                place,
            )
        if operator.streams and gate is None:
            document.refuse(
                f"operator {operator.name}: gate is null, must be from 0 to {index}, "
                "as it streams",
                place,
            )
        if gate is not None and gate > index:
            document.refuse(
                f"operator {operator.name}: gate is {gate}, must be from 0 to {index}",
                place,
            )
