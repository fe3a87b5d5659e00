"""The shape of program files, as pydantic models."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from elkhound.model.io.chip_file import ChipModel
from elkhound.model.io.fields import Count, FileModel, Positive
from elkhound.model.io.plan_models import AddressModel, OptionPayloadModel


class TaskModel(FileModel):
    """What one operator does on every core; its number is its place."""

    name: str
    resident_bytes: Count
    execute_plan: Count
    execute_bytes: Count
    preload_bytes: Count
    preload_cycles: Count
    preload_link_cycles: Count
    execute_cycles: Count
    execute_link_cycles: Count
    distribute_cycles: Count | None = None
    compute_cycles: Count | None = None
    exchange_cycles: Count | None = None
    payload: OptionPayloadModel | None = None


class InstructionModel(FileModel):
    """One line of the host's program."""

    do: Literal["preload_async", "execute"]
    op: Count = Field(description="number of the task")


class ProgramModel(FileModel):
    """A device program."""

    kind: Literal["program"]
    sram_bytes: Positive
    chip: ChipModel | None = None
    tasks: list[TaskModel] = Field(min_length=1)
    addresses: list[AddressModel] | None = None
    instructions: list[InstructionModel]
