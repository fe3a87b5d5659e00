"""Problem files: problems of all kinds as JSON or YAML."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any, NoReturn

from elkhound.model.allocation import (
    AllocationItem,
    AllocationOption,
    AllocationProblem,
)
from elkhound.model.errors import nearest
from elkhound.model.fusion.problem import FusionProblem
from elkhound.model.io.document import Document, KeyPath, read_document, show
from elkhound.model.io.fusion_problem_file import (
    fusion_problem_document,
    fusion_problem_from,
)
from elkhound.model.io.problem_models import (
    AllocationModel,
    OperatorModel,
    OptionModel,
    PlacementModel,
    ScheduleModel,
)
from elkhound.model.io.text import as_text, name_of, write_text
from elkhound.model.io.validate import built, validated
from elkhound.model.placement import Buffer, PlacementProblem
from elkhound.model.schedule import (
    Contention,
    ScheduleOperator,
    ScheduleOption,
    ScheduleProblem,
)

Problem = ScheduleProblem | AllocationProblem | PlacementProblem | FusionProblem
_KINDS = ("schedule", "allocation", "placement", "fusion")
_OPTION_KEYS = (
    "execute_plan",
    "execute_bytes",
    "preload_bytes",
    "preload_cycles",
    "preload_link_cycles",
    "execute_cycles",
    "execute_link_cycles",
    "distribute_cycles",
    "compute_cycles",
    "exchange_cycles",
)
_OPTION_VALUES = attrgetter(*_OPTION_KEYS)


def read_problem(path: str | Path) -> Problem:
    """Return the problem of a JSON or YAML file; its `kind` says which.

    A problem without a name is called after its file.

    Raises
    ------
    BadInputError
        Names file and line, key, value, and legal range or nearest legal key.
    """
    document = read_document(path)
    kind = document.at(("kind",))
    if kind == "schedule":
        return schedule_from(document)
    if kind == "allocation":
        return allocation_from(document)
    if kind == "fusion":
        return fusion_problem_from(document)
    if kind != "placement":
        _refuse_kind(document, kind)
    return placement_from(document)


def write_problem(path: str | Path, problem: Problem) -> None:
    """Write a problem; `read_problem` returns an equal one.

    Payloads of options are not part of a problem file: they go with plans.
    """
    write_text(path, as_text(problem_document(problem)))


def _refuse_kind(document: Document, kind: object) -> NoReturn:
    shown = "kind is missing" if kind is None else f"kind is {show(kind)}"
    hint = ""
    if kind in ("schedule-plan", "allocation-plan"):
        hint = "this is a plan, a problem is expected"
    elif isinstance(kind, str):
        hint = nearest(kind, list(_KINDS))
    legal = f"{', '.join(_KINDS[:-1])} or {_KINDS[-1]}"
    document.refuse(f"{shown}, must be {legal}", ("kind",), hint=hint, code="kind")


def schedule_from(document: Document) -> ScheduleProblem:
    """Return the schedule problem a document describes."""
    model = validated(document, ScheduleModel)
    sets = [
        _options(document, ("option_sets", index), options)
        for index, options in enumerate(model.option_sets)
    ]
    operators = tuple(
        _operator(document, index, operator, sets)
        for index, operator in enumerate(model.operators)
    )
    _refuse_repeated_names(document, "operators", [o.name for o in operators])
    return ScheduleProblem(
        sram_bytes=model.sram_bytes,
        operators=operators,
        contention=Contention(model.contention),
        link_stretch_permille=model.link_stretch_permille,
        max_outstanding=model.max_outstanding,
        name=model.name or name_of(document.path),
    )


def allocation_from(document: Document) -> AllocationProblem:
    """Return the allocation problem a document describes."""
    model = validated(document, AllocationModel)
    _refuse_repeated_names(document, "items", [item.name for item in model.items])
    items = tuple(
        AllocationItem(
            item.name,
            tuple(AllocationOption(o.bytes, o.cycles) for o in item.options),
        )
        for item in model.items
    )
    return AllocationProblem(
        capacity_bytes=model.capacity_bytes,
        items=items,
        name=model.name or name_of(document.path),
    )


def placement_from(document: Document) -> PlacementProblem:
    """Return the placement problem a document describes."""
    model = validated(document, PlacementModel)
    _refuse_repeated_names(document, "buffers", [b.name for b in model.buffers])
    buffers = tuple(
        built(document, ("buffers", index), partial(Buffer, **dict(buffer)))
        for index, buffer in enumerate(model.buffers)
    )
    return PlacementProblem(
        capacity_bytes=model.capacity_bytes,
        buffers=buffers,
        minimise=model.minimise,
        name=model.name or name_of(document.path),
    )


def problem_document(problem: Problem) -> dict[str, object]:
    """Return a problem as its file holds it.

    Lists of options that several operators share are written once, in
    `option_sets`.
    """
    if isinstance(problem, AllocationProblem):
        return {
            "kind": "allocation",
            "name": problem.name,
            "capacity_bytes": problem.capacity_bytes,
            "items": [_item_document(item) for item in problem.items],
        }
    if isinstance(problem, PlacementProblem):
        return {
            "kind": "placement",
            "name": problem.name,
            "capacity_bytes": problem.capacity_bytes,
            "minimise": problem.minimise,
            "buffers": [asdict(buffer) for buffer in problem.buffers],
        }
    if isinstance(problem, FusionProblem):
        return fusion_problem_document(problem)
    header: dict[str, object] = {
        "kind": "schedule",
        "name": problem.name,
        "sram_bytes": problem.sram_bytes,
        "max_outstanding": problem.max_outstanding,
        "contention": str(problem.contention),
        "link_stretch_permille": problem.link_stretch_permille,
    }
    numbers, distinct = distinct_option_lists(problem)
    shared = len(distinct) < len(numbers)
    if shared:
        header["option_sets"] = distinct
    header["operators"] = [
        _operator_document(
            operator,
            {"option_set": number} if shared else {"options": distinct[number]},
        )
        for operator, number in zip(problem.operators, numbers, strict=True)
    ]
    return header


def distinct_option_lists(
    problem: ScheduleProblem,
) -> tuple[list[int], list[list[dict[str, int]]]]:
    """Return each operator's number of option list, and the lists written out.

    A whole model has a few dozen distinct operators, so files and hashes are made
    once for each.
    """
    by_identity: dict[int, int] = {}
    by_value: dict[tuple[tuple[int | None, ...], ...], int] = {}
    numbers = []
    for operator in problem.operators:
        number = by_identity.get(id(operator.options))
        if number is None:
            values = tuple(map(_OPTION_VALUES, operator.options))
            number = by_value.setdefault(values, len(by_value))
            by_identity[id(operator.options)] = number
        numbers.append(number)
    return numbers, [[_option_document(v) for v in values] for values in by_value]


def _option_document(values: tuple[int | None, ...]) -> dict[str, int]:
    pairs = zip(_OPTION_KEYS, values, strict=True)
    return {key: value for key, value in pairs if value is not None}


def _operator_document(
    operator: ScheduleOperator, options: dict[str, object]
) -> dict[str, object]:
    return {
        "name": operator.name,
        "layer": operator.layer,
        "resident_bytes": operator.resident_bytes,
        **options,
    }


def _item_document(item: AllocationItem) -> dict[str, object]:
    options = [{"bytes": o.size_bytes, "cycles": o.cycles} for o in item.options]
    return {"name": item.name, "options": options}


def _options(
    document: Document, place: KeyPath, models: Sequence[OptionModel]
) -> tuple[ScheduleOption, ...]:
    given = [m.execute_plan for m in models if m.execute_plan is not None]
    own = itertools.count(max(given, default=-1) + 1)
    options = []
    for index, model in enumerate(models):
        fields: dict[str, Any] = dict(model)
        if model.execute_plan is None:
            fields["execute_plan"] = next(own)
        make = partial(ScheduleOption, **fields)
        options.append(built(document, (*place, index), make, anonymous=True))
    return tuple(options)


def _operator(
    document: Document,
    index: int,
    model: OperatorModel,
    sets: Sequence[tuple[ScheduleOption, ...]],
) -> ScheduleOperator:
    place = ("operators", index)
    if (model.options is None) == (model.option_set is None):
        amount = "both" if model.options is not None else "none"
        document.refuse(
            f"{document.spell(place)} has {amount} of options and option_set, must "
            "have one",
            place,
        )
    if model.options is not None:
        options = _options(document, (*place, "options"), model.options)
    else:
        number = model.option_set or 0
        if number >= len(sets):
            document.refuse(
                f"{document.spell((*place, 'option_set'))} is {number}, must be below "
                f"{len(sets)}, the number of option_sets",
                (*place, "option_set"),
            )
        options = sets[number]
    make = partial(
        ScheduleOperator, model.name, options, model.resident_bytes, model.layer
    )
    return built(document, place, make)


def _refuse_repeated_names(document: Document, key: str, names: list[str]) -> None:
    first: dict[str, int] = {}
    for index, name in enumerate(names):
        if first.setdefault(name, index) != index:
            document.refuse(
                f"{key}[{index}].name is {show(name)}, the name of {key}"
                f"[{first[name]}] already; names must differ",
                (key, index, "name"),
            )
