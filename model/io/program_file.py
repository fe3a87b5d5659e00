"""Device programs as text, one line per instruction (paper, figure 15), and as JSON."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from elkhound.model.io.address_list import address_documents, addresses_from
from elkhound.model.io.chip_file import chip_document, chip_from
from elkhound.model.io.document import Document, read_document, read_text
from elkhound.model.io.payload import option_payload_document, payload_from
from elkhound.model.io.program_lines import document_of_text, text_of_document
from elkhound.model.io.program_models import ProgramModel, TaskModel
from elkhound.model.io.text import as_text, write_text
from elkhound.model.io.validate import built, validated
from elkhound.model.program import (
    Execute,
    Instruction,
    PreloadAsync,
    Program,
    Task,
)
from elkhound.model.schedule import ScheduleOption

_NUMBERS = (
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


def write_program(path: str | Path, program: Program) -> None:
    """Write a program: JSON if the file is called so, else text."""
    is_json = Path(path).suffix.lower() == ".json"
    document = program_document(program)
    write_text(path, as_text(document) if is_json else text_of_document(document))


def program_text(program: Program) -> str:
    """Return the text of a program."""
    return text_of_document(program_document(program))


def program_document(program: Program) -> dict[str, object]:
    """Return a program as its JSON file holds it."""
    document: dict[str, object] = {"kind": "program", "sram_bytes": program.sram_bytes}
    if program.chip is not None:
        document["chip"] = chip_document(program.chip)
    document["tasks"] = [_task_document(task) for task in program.tasks]
    if program.addresses is not None:
        document["addresses"] = address_documents(program.addresses)
    document["instructions"] = [
        {
            "do": "preload_async" if isinstance(i, PreloadAsync) else "execute",
            "op": i.operator,
        }
        for i in program.instructions
    ]
    return document


def read_program(path: str | Path) -> Program:
    """Read a program in either form, and check that a host could issue it.

    Raises
    ------
    BadInputError
        Names file and line, and the instruction, key or value at fault.
    """
    if Path(path).suffix.lower() == ".json":
        document = read_document(path)
    else:
        document = document_of_text(str(path), read_text(path))
    model = validated(document, ProgramModel)
    tasks = tuple(_task(document, k, task) for k, task in enumerate(model.tasks))
    instructions = tuple(
        PreloadAsync(i.op) if i.do == "preload_async" else Execute(i.op)
        for i in model.instructions
    )
    _check_order(document, tasks, instructions)
    addresses = None
    if model.addresses is not None:
        addresses = addresses_from(document, ("addresses",), model.addresses)
    chip = None if model.chip is None else chip_from(document.part("chip"))
    return Program(instructions, tasks, model.sram_bytes, chip, addresses)


def _task_document(task: Task) -> dict[str, object]:
    numbers = {key: getattr(task.option, key) for key in _NUMBERS}
    document: dict[str, object] = {
        "name": task.name,
        "resident_bytes": task.resident_bytes,
        **{key: value for key, value in numbers.items() if value is not None},
    }
    if task.option.payload is not None:
        document["payload"] = option_payload_document(task.option.payload)
    return document


def _task(document: Document, index: int, model: TaskModel) -> Task:
    fields = {key: getattr(model, key) for key in _NUMBERS}
    payload = None if model.payload is None else payload_from(model.payload)
    make = partial(ScheduleOption, **fields, payload=payload)
    option = built(document, ("tasks", index), make, anonymous=True)
    return Task(model.name, option, model.resident_bytes)


def _check_order(
    document: Document, tasks: tuple[Task, ...], instructions: tuple[Instruction, ...]
) -> None:
    """Refuse a program whose executes are out of order or would wait for ever."""
    preloaded: set[int] = set()
    executed = 0
    for index, instruction in enumerate(instructions):
        place = ("instructions", index)
        k = instruction.operator
        if k >= len(tasks):
            document.refuse(
                f"instruction {index}: op is {k}, must be from 0 to {len(tasks) - 1}",
                place,
            )
        if isinstance(instruction, PreloadAsync):
            if not tasks[k].option.streams:
                document.refuse(f"preload_async(op={k}): it streams nothing", place)
            if k in preloaded:
                document.refuse(f"preload_async(op={k}): it is preloaded twice", place)
            if k < executed:
                document.refuse(
                    f"preload_async(op={k}): stands after its execute", place
                )
            preloaded.add(k)
            continue
        if k != executed:
            document.refuse(f"execute(op={k}): execute(op={executed}) is next", place)
        if tasks[k].option.streams and k not in preloaded:
            document.refuse(
                f"execute(op={k}): waits for a preload that was not issued", place
            )
        executed += 1
    if executed < len(tasks):
        document.refuse(
            f"execute(op={executed}) is missing: there are {len(tasks)} tasks",
            ("instructions",),
        )
