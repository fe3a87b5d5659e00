"""The device program of a schedule (paper §4.5, figure 15)."""

from __future__ import annotations

from dataclasses import dataclass

from elkhound.model.chip import Chip
from elkhound.model.placement import Addresses
from elkhound.model.schedule import Schedule, ScheduleOption, ScheduleProblem


@dataclass(frozen=True, slots=True)
class PreloadAsync:
    """Ask HBM for the operator's data; goes on at once."""

    operator: int


@dataclass(frozen=True, slots=True)
class Execute:
    """Wait for the done tag, distribute, compute and exchange; blocks."""

    operator: int


Instruction = PreloadAsync | Execute


@dataclass(frozen=True, slots=True)
class Task:
    """What one operator does on every core.

    Parameters
    ----------
    name : str
        The operator's name.
    option : ScheduleOption
        Cycles of each phase and bytes per core.
    resident_bytes : int
        Activations held beside it.
    """

    name: str
    option: ScheduleOption
    resident_bytes: int


@dataclass(frozen=True, slots=True)
class Program:
    """What the host issues, in order.

    Parameters
    ----------
    instructions : tuple of Instruction
        One Execute per operator in execution order, one PreloadAsync per operator
        that streams.
    tasks : tuple of Task
        By operator index.
    sram_bytes : int
        Usable bytes per core.
    chip : Chip or None
        The chip it was planned for; None for a problem file's abstract chip.
    addresses : Addresses or None
        Where the buffers lie on every core; None if they were not placed.
    """

    instructions: tuple[Instruction, ...]
    tasks: tuple[Task, ...]
    sram_bytes: int
    chip: Chip | None = None
    addresses: Addresses | None = None


def program_of(
    problem: ScheduleProblem,
    plan: Schedule,
    chip: Chip | None = None,
    addresses: Addresses | None = None,
) -> Program:
    """Return the program a schedule stands for: preloads sorted by (g_j, j)."""
    batches: list[list[int]] = [[] for _ in problem.operators]
    for j, gate in enumerate(plan.gates):
        if gate is not None:
            batches[gate].append(j)
    instructions: list[Instruction] = []
    for i, batch in enumerate(batches):
        instructions += [PreloadAsync(j) for j in batch]
        instructions.append(Execute(i))
    tasks = tuple(
        Task(operator.name, operator.options[choice], operator.resident_bytes)
        for operator, choice in zip(problem.operators, plan.options, strict=True)
    )
    return Program(tuple(instructions), tasks, problem.sram_bytes, chip, addresses)
