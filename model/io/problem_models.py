"""The shape of problem files, as pydantic models."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from elkhound.model.io.fields import Count, FileModel, Name, Positive


class OptionModel(FileModel):
    """One way to execute an operator; the symbols are those of the mathematics.

    The three phases distribute, compute and exchange are given all or not at all.
    """

    execute_plan: Count | None = Field(
        None, description="same number: same execute plan; each its own if absent"
    )
    execute_bytes: Count = Field(
        description="e: per core while it executes, preloaded data included"
    )
    preload_bytes: Count = Field(
        description="p: per core from the issue of its preload to its execute"
    )
    preload_cycles: Count = Field(description="h: length of the preload")
    preload_link_cycles: Count = Field(
        description="Y: links busy in the preload, at most preload_cycles"
    )
    execute_cycles: Count = Field(description="t: length of the execute, undisturbed")
    execute_link_cycles: Count = Field(
        description="X: links busy in the execute, at most execute_cycles"
    )
    distribute_cycles: Count | None = None
    compute_cycles: Count | None = None
    exchange_cycles: Count | None = None


class OperatorModel(FileModel):
    """One operator, with its options or the number of a shared set of them."""

    name: Name
    layer: Count | None = None
    resident_bytes: Count = Field(
        0, description="per core: data of other operators kept while this one executes"
    )
    options: list[OptionModel] | None = Field(None, min_length=1)
    option_set: Count | None = Field(None, description="index into option_sets")


class ScheduleModel(FileModel):
    """A schedule problem."""

    kind: Literal["schedule"]
    name: Name | None = None
    sram_bytes: Positive = Field(description="usable per core")
    max_outstanding: Count | None = Field(
        None, description="K: most preloads waiting at a time; no limit if absent"
    )
    contention: Literal["none", "stretch", "charge"] = Field(
        "stretch", description="how outstanding preloads lengthen an execute"
    )
    link_stretch_permille: Count = Field(
        1000, description="1000 σ: permille of X that `stretch` adds"
    )
    option_sets: list[list[OptionModel]] = Field(
        [], description="lists of options that several operators share"
    )
    operators: list[OperatorModel] = Field(min_length=1)


class AllocationOptionModel(FileModel):
    """A size and the cycles it costs."""

    bytes: Count
    cycles: Count


class ItemModel(FileModel):
    """One live operator."""

    name: Name
    options: list[AllocationOptionModel] = Field(min_length=1)


class AllocationModel(FileModel):
    """An allocation problem."""

    kind: Literal["allocation"]
    name: Name | None = None
    capacity_bytes: Count
    items: list[ItemModel] = Field(min_length=1)


class BufferModel(FileModel):
    """Bytes that stay at one address for a while."""

    name: Name
    start_step: Count
    end_step: Positive = Field(description="first step at which it is gone")
    size_bytes: Count


class PlacementModel(FileModel):
    """A placement problem."""

    kind: Literal["placement"]
    name: Name | None = None
    capacity_bytes: Count
    minimise: bool = Field(False, description="whether the least height is asked for")
    buffers: list[BufferModel]
