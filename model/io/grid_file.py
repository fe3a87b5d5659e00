"""Grid files: what a sweep varies, in YAML or JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BeforeValidator, Discriminator, Field, StringConstraints, Tag

from elkhound.model.errors import BadInputError
from elkhound.model.grid import Grid, Values
from elkhound.model.io.document import Document, KeyPath, read_document
from elkhound.model.io.fields import (
    LARGEST,
    Count,
    FileModel,
    Name,
    Positive,
    whole,
)
from elkhound.model.io.validate import validated

_LONGEST_PATH = 4096
_MOST_SECONDS = 10**9

Item = TypeVar("Item")


def _form(value: Any) -> str:
    return "list" if isinstance(value, list) else "one"


OneOrMore = Annotated[
    Annotated[Item, Tag("one")]
    | Annotated[list[Item], Field(min_length=1), Tag("list")],
    Discriminator(_form),
]
FileName = Annotated[str, StringConstraints(min_length=1, max_length=_LONGEST_PATH)]
Seconds = Annotated[float, Field(gt=0, le=_MOST_SECONDS)]
ChipValue = bool | Annotated[int, BeforeValidator(whole)] | float | Name
"""Of any field of a chip, whose own range the chip's file knows."""


class GridLimitsModel(FileModel):
    """What each method may use."""

    seconds: OneOrMore[Seconds] = Field(default=60.0, description="wall-clock limit")
    deterministic_work: OneOrMore[Annotated[float, Field(gt=0, le=LARGEST)] | None] = (
        Field(default=None, description="limit in the method's own repeatable unit")
    )
    memory_bytes: OneOrMore[Positive | None] = Field(
        default=None, description="of the methods that can keep it"
    )
    seed: OneOrMore[Count] = 0
    workers: OneOrMore[Annotated[int, Field(ge=1, le=256)]] = Field(
        default=1, description="threads a solver may use; 1 makes CP-SAT repeatable"
    )
    relative_gap: OneOrMore[Annotated[float, Field(ge=0, le=0.999999)]] = Field(
        default=0.0, description="stop an exact method at this gap"
    )


class PointLimitsModel(FileModel):
    """What each point may use in all, import and simulation included."""

    seconds: Seconds | None = None
    memory_bytes: Positive | None = None


class GridModel(FileModel):
    """Axes of a sweep; a value stands for a list of one."""

    model: OneOrMore[FileName] = Field(
        description="ONNX file, workload or problem file"
    )
    methods: OneOrMore[Name] = Field(description="with variants behind the name")
    bind: dict[Name, OneOrMore[Positive]] = Field(
        default_factory=dict, description="values of the model's symbols"
    )
    chip: OneOrMore[FileName] | None = Field(None, description="preset or file")
    set: dict[Name, OneOrMore[ChipValue]] = Field(
        default_factory=dict,
        description="values of chip fields, by key path: hbm.bytes_per_second",
    )
    phase: OneOrMore[Name] | None = Field(None, description="of a workload")
    patterns: OneOrMore[bool] | None = Field(
        None, description="whether an ONNX file's composites are recognised"
    )
    spill: OneOrMore[Literal["none", "auto"]] | None = None
    fuse: OneOrMore[Literal["none", "pareto-join", "exact"]] | None = None
    tile_cost: OneOrMore[FileName] | None = Field(
        None, description="device, tree, or a file of measured tiles"
    )
    contention: OneOrMore[Literal["none", "stretch", "charge"]] | None = None
    max_outstanding: OneOrMore[Count | None] | None = Field(
        None, description="preloads outstanding at once; null for no limit"
    )
    thin: OneOrMore[Annotated[float, Field(ge=0.001, le=1)] | None] = Field(
        default=None, description="thin options by this share; null for all options"
    )
    weight: list[str] | None = Field(None, description="inputs to stream from HBM")
    activation: list[str] | None = Field(None, description="inputs to keep on chip")
    branch: dict[str, Literal["then", "else"]] | None = None
    trip: dict[str, Count] | None = None
    unknown: FileName | None = Field(None, description="error, zero or a file")
    strict: bool | None = None
    limits: GridLimitsModel = GridLimitsModel()
    point_limits: PointLimitsModel = PointLimitsModel()


class GridFileModel(FileModel):
    """A grid file."""

    grid: GridModel


@dataclass(frozen=True, slots=True)
class GridFile:
    """A grid, and where its values stand.

    Parameters
    ----------
    grid : Grid
        What is varied.
    document : Document
        The file.
    """

    grid: Grid
    document: Document

    def refusal(self, error: BadInputError, *keys: str | int) -> BadInputError:
        """Return an error as one about the value under a key path of the grid."""
        path: KeyPath = ("grid", *keys)
        spelt = _spelt(keys)
        about = "" if error.where.startswith("--") or not error.where else error.where
        message = ": ".join(filter(None, (spelt, about, error.message)))
        return BadInputError(
            message,
            code=error.code,
            where=self.document.where(path),
            hint=error.hint,
        )


def load_grid(path: str | Path) -> GridFile:
    """Read a grid file.

    Raises
    ------
    BadInputError
        A key or value is wrong: named with file, line and nearest legal key.
    """
    return grid_of(read_document(path))


def grid_of(document: Document) -> GridFile:
    """Return the grid of a document; `load_grid` says what is refused."""
    model = validated(document, GridFileModel).grid
    reading = (
        "phase", "patterns", "spill", "fuse", "tile_cost", "contention",
        "max_outstanding",
    )  # fmt: skip
    fixed = ("weight", "activation", "branch", "trip", "unknown", "strict")
    given = model.model_fields_set
    grid = Grid(
        models=tuple(_values(model.model)),
        methods=tuple(_values(model.methods)),
        chips=() if model.chip is None else tuple(_values(model.chip)),
        reading=tuple(
            (name, _values(getattr(model, name))) for name in reading if name in given
        ),
        fixed=tuple((name, getattr(model, name)) for name in fixed if name in given),
        bind=_axes(model.bind),
        changes=_axes(model.set),
        thin=_values(model.thin),
        limits=tuple(
            (name, _values(getattr(model.limits, name)))
            for name in GridLimitsModel.model_fields
        ),
        point_seconds=model.point_limits.seconds,
        point_memory_bytes=model.point_limits.memory_bytes,
    )
    return GridFile(grid, document)


def _values(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else (value,)


def _axes(values: Mapping[str, Any]) -> tuple[tuple[str, Values], ...]:
    return tuple((name, _values(value)) for name, value in values.items())


def _spelt(keys: KeyPath) -> str:
    """Return set.hbm.bytes_per_second or methods[2]."""
    text = ""
    for key in keys:
        text += f"[{key}]" if isinstance(key, int) else f".{key}" if text else key
    return text
