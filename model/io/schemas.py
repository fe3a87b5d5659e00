"""JSON schemas of the files, from the models that check them."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from elkhound.model.io.accelerator_file import AcceleratorModel
from elkhound.model.io.chip_file import ChipModel
from elkhound.model.io.fields import FileModel
from elkhound.model.io.fusion_problem_file import FusionModel
from elkhound.model.io.fusion_workload_file import FusionWorkloadModel
from elkhound.model.io.grid_file import GridFileModel
from elkhound.model.io.mapping_file import MappingModel
from elkhound.model.io.pin_file import PinFileModel
from elkhound.model.io.plan_models import AllocationPlanModel, SchedulePlanModel
from elkhound.model.io.problem_models import (
    AllocationModel,
    PlacementModel,
    ScheduleModel,
)
from elkhound.model.io.program_models import ProgramModel

_MODELS: dict[str, type[FileModel]] = {
    "chip": ChipModel,
    "schedule": ScheduleModel,
    "allocation": AllocationModel,
    "placement": PlacementModel,
    "schedule-plan": SchedulePlanModel,
    "allocation-plan": AllocationPlanModel,
    "program": ProgramModel,
    "accelerator": AcceleratorModel,
    "fusion-workload": FusionWorkloadModel,
    "fusion": FusionModel,
    "mapping": MappingModel,
    "grid": GridFileModel,
    "pin": PinFileModel,
}


def json_schemas() -> dict[str, dict[str, Any]]:
    """Return the JSON schema of each kind of file, by kind."""
    return {kind: model.model_json_schema() for kind, model in _MODELS.items()}


def noun_schema(noun: type) -> dict[str, Any]:
    """Return the JSON schema of a noun that is written as it is, field by field."""
    return TypeAdapter(noun).json_schema()
