"""Fusion problems as files: workload, accelerator, objective and space in one."""

from __future__ import annotations

from dataclasses import asdict
from typing import Literal

from pydantic import Field

from elkhound.model.fusion.mapspace import Mapspace, Objective, Tiles
from elkhound.model.fusion.problem import FusionProblem
from elkhound.model.io.accelerator_file import (
    AcceleratorModel,
    accelerator_document,
    accelerator_from,
)
from elkhound.model.io.document import Document
from elkhound.model.io.fields import Count, FileModel
from elkhound.model.io.fusion_workload_file import (
    FusionWorkloadModel,
    fusion_workload_document,
    fusion_workload_from,
)
from elkhound.model.io.validate import validated


class MapspaceModel(FileModel):
    """Which mappings count."""

    fuse: bool = Field(
        default=True, description="whether intermediates may skip main memory"
    )
    max_fused_loops: Count | None = Field(
        default=None,
        description="most that one einsum shares with others; no limit if absent",
    )
    max_fused_loops_per_rank: Count = Field(
        default=1, description="most of them over one rank"
    )
    ordered_loops: bool = Field(
        default=False,
        description="also fused loops in orders that the paper's space lacks",
    )
    tiles: Literal["divisors", "even", "any"] = Field(
        default="divisors",
        description="tiles that divide what they cut; also the smallest of every "
        "number of steps; or of any size",
    )


class FusionModel(FileModel):
    """A fusion problem, such as `fuse` keeps in its run directory."""

    kind: Literal["fusion"]
    objective: Literal["energy", "latency", "edp", "front"] = Field(
        "energy", description="what is least; front: every trade of energy for latency"
    )
    mapspace: MapspaceModel = Field(MapspaceModel())
    workload: FusionWorkloadModel
    accelerator: AcceleratorModel


def fusion_problem_from(document: Document) -> FusionProblem:
    """Return the fusion problem a document describes."""
    model = validated(document, FusionModel)
    return FusionProblem(
        fusion_workload_from(document.part("workload")),
        accelerator_from(document.part("accelerator")),
        Objective(model.objective),
        Mapspace(
            **{**model.mapspace.model_dump(), "tiles": Tiles(model.mapspace.tiles)}
        ),
    )


def fusion_problem_document(problem: FusionProblem) -> dict[str, object]:
    """Return a problem as its file holds it; `fusion_problem_from` reads it back."""
    return {
        "kind": "fusion",
        "objective": str(problem.objective),
        "mapspace": asdict(problem.mapspace) | {"tiles": str(problem.mapspace.tiles)},
        "workload": fusion_workload_document(problem.workload),
        "accelerator": accelerator_document(problem.accelerator),
    }
