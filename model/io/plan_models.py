"""The shape of plan files, as pydantic models."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from elkhound.model.io.chip_file import ChipModel
from elkhound.model.io.fields import Count, FileModel, Name, Positive
from elkhound.model.io.problem_models import AllocationModel, ScheduleModel


class ProblemReference(FileModel):
    """A problem in a file of its own."""

    path: str = Field(description="relative to the plan's folder")
    hash: Name = Field(description="sha256 of the problem's mathematics")


class TensorModel(FileModel):
    """Rotation and preload state of one tensor."""

    tensor: str = Field(description="as the model calls it, however long")
    rotation: dict[Name, Positive] = Field(default_factory=dict)
    preload_share: Positive = 1


class OptionPayloadModel(FileModel):
    """What an option means on the chip."""

    splits: dict[Name, Positive]
    sizes: dict[Name, Positive] = Field(
        default_factory=dict, description="size of every dimension in splits"
    )
    tensors: list[TensorModel]
    cores_used: Positive
    steps: Positive
    syncs: Count
    hbm_bytes: Count
    exchange_bytes: Count
    distribute_bytes: Count
    members: list[MemberModel] = Field(
        default_factory=list, description="the operators of a fused one, in order"
    )
    chunks: Positive = Field(
        1, description="how many times the members run on a part of their tiles"
    )


class MemberModel(OptionPayloadModel):
    """What one operator does inside a fused one, all chunks together."""

    name: str = Field(description="as the model calls it")
    compute_cycles: Count
    exchange_cycles: Count


class PayloadModel(OptionPayloadModel):
    """What the chosen option of one operator means on the chip."""

    option: Count = Field(description="the option it describes, by index")
    execute_bytes: Count
    preload_bytes: Count
    distribute_cycles: Count | None = None
    compute_cycles: Count | None = None
    exchange_cycles: Count | None = None


class AddressModel(FileModel):
    """A buffer and where it lies."""

    name: str = Field(description="P., W. or R. and what the model calls it")
    start_step: Count
    end_step: Positive = Field(description="first step at which it is gone")
    size_bytes: Count
    offset: Count = Field(description="lowest byte")


def _form(problem: Any) -> str:
    return "reference" if isinstance(problem, dict) and "path" in problem else "whole"


class SchedulePlanModel(FileModel):
    """A schedule plan."""

    kind: Literal["schedule-plan"] = "schedule-plan"
    gates: list[Count | None] = Field(
        description="executes issued before each preload; null where nothing streams"
    )
    options: list[Count] = Field(description="index of each operator's option")
    problem: (
        Annotated[
            Annotated[ScheduleModel, Tag("whole")]
            | Annotated[ProblemReference, Tag("reference")],
            Discriminator(_form),
        ]
        | None
    ) = None
    payload: list[PayloadModel | None] | None = None
    chip: ChipModel | None = Field(None, description="the chip it was planned for")
    addresses: list[AddressModel] | None = Field(
        None, description="P. preloads, W. work space, R. activations held"
    )


class AllocationPlanModel(FileModel):
    """An allocation plan."""

    kind: Literal["allocation-plan"] = "allocation-plan"
    options: list[Count] = Field(description="index of each item's option")
    problem: (
        Annotated[
            Annotated[AllocationModel, Tag("whole")]
            | Annotated[ProblemReference, Tag("reference")],
            Discriminator(_form),
        ]
        | None
    ) = None
