"""Schemas of CSV files: columns, types and units, as JSON schemas of their lines.

A file is an array of objects, one per line, column by column. A cell stands for what
its column's type says: a number, True or False, text, or JSON where the type is a
list; an empty cell for null.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from elkhound.experiments.rows import ALL_COLUMNS, KIND_COLUMNS, Row
from elkhound.model.io import noun_schema
from elkhound.model.tile_cost import DIMENSIONS, TileKind
from elkhound.model.tile_cost.links import Link


class Column(NamedTuple):
    """A column: JSON types of its cells, unit, what it says."""

    type: str | Sequence[str]
    unit: str | None = None
    description: str | None = None

    def schema(self) -> dict[str, Any]:
        """Return the schema of a cell."""
        said = {"type": self.type, "unit": self.unit, "description": self.description}
        return {key: value for key, value in said.items() if value is not None}


Columns: TypeAlias = Mapping[str, Column | Mapping[str, Any]]
WHOLE, NUMBER, TEXT, TRUTH = (
    [name, "null"] for name in ("integer", "number", "string", "boolean")
)
SCALAR = ["string", "number", "boolean", "null"]
COORDINATES = {
    r"^(bind|set|limits)\.": Column(SCALAR, description="what the grid varies")
}
_OBJECTIVE = "cycles; bytes of a placement; energy, latency or EDP of a mapping"
ROW_UNITS = {
    "objective": _OBJECTIVE,
    "lower_bound": _OBJECTIVE,
    "rounding_error": _OBJECTIVE,
    "simulated": "cycles; latency of a mapping",
    "wall_seconds": "s",
    "cpu_seconds": "s",
    "gap": "1",
    "model_error": "1",
    "simulated_cycles": "cycles",
    "bytes_used": "bytes",
    "height_bytes": "bytes",
    "energy": "J, or the accelerator's unit",
    "latency": "s, or the accelerator's unit",
    "edp": "energy · latency",
    "simulated_latency": "s, or the accelerator's unit",
}
_POINT = {
    "model": Column("string", None, "model or problem file"),
    "phase": Column(TEXT, None, "phase of a workload"),
    "chip": Column(TEXT, None, "chip"),
    "spill": Column(TEXT),
    "fuse": Column(TEXT),
    "tile_cost": Column(TEXT),
    "max_outstanding": Column(WHOLE, "preloads"),
    "thin": Column(NUMBER, "1", "ε of thinned options"),
}


def table_schema(
    description: str,
    columns: Columns,
    required: Sequence[str],
    patterns: Mapping[str, Column] | None = None,
) -> dict[str, Any]:
    """Return the schema of a file of these columns and no others.

    Parameters
    ----------
    required : sequence of str
        Columns that every file has.
    patterns : mapping or None
        Columns by a pattern of their names.
    """
    line: dict[str, Any] = {
        "type": "object",
        "properties": {
            name: column.schema() if isinstance(column, Column) else dict(column)
            for name, column in columns.items()
        },
        "required": list(required),
        "additionalProperties": False,
    }
    if patterns:
        line["patternProperties"] = {p: c.schema() for p, c in patterns.items()}
    return {"description": description, "type": "array", "items": line}


def row_cells() -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """Return the schemas of a row's columns, and the definitions they refer to."""
    schema = noun_schema(Row)
    cells: dict[str, dict[str, Any]] = {}
    for name, cell in schema["properties"].items():
        unit = ROW_UNITS.get(name)
        cells[name] = {
            **{key: value for key, value in cell.items() if key != "default"},
            **({} if unit is None else {"unit": unit}),
        }
    return cells, schema["$defs"]


def rows_table(required: Sequence[str]) -> dict[str, Any]:
    """Return the schema of rows with coordinates, as sweeps keep them."""
    cells, definitions = row_cells()
    table = table_schema(
        "Rows of a comparison, or of a sweep with its coordinates.",
        {**_POINT, **cells},
        required,
        COORDINATES,
    )
    return table | {"$defs": definitions}


def table_schemas() -> dict[str, dict[str, Any]]:
    """Return the schema of each kind of CSV file, by kind."""
    from elkhound.experiments.figures.columns import figure_table

    own = {name for names in KIND_COLUMNS.values() for name in names}
    common = [name for name in ALL_COLUMNS if name not in own]
    return {
        "rows-csv": rows_table(common),
        "figure-csv": figure_table(),
        "tiles-csv": _tiles(),
        "transfers-csv": _transfers(),
        "predictions-csv": _predictions(),
        "placement-csv": _placement(),
    }


def _tiles() -> dict[str, Any]:
    names = dict.fromkeys(name for own in DIMENSIONS.values() for name in own)
    columns: Columns = {
        "kind": {"enum": [str(kind) for kind in TileKind]},
        **{name: _extent() for name in names},
        "cycles": {"type": "integer", "minimum": 1, "unit": "cycles"},
    }
    return table_schema("Measured tiles.", columns, ("kind", "cycles"))


def _extent() -> dict[str, Any]:
    about = "empty where the kind does not have the dimension"
    return {"type": WHOLE, "minimum": 1, "unit": "elements", "description": about}


def _transfers() -> dict[str, Any]:
    columns: Columns = {
        "link": {"enum": [str(link) for link in Link]},
        "bytes": {"type": "integer", "minimum": 1, "unit": "bytes"},
        "cycles": {"type": "integer", "minimum": 1, "unit": "cycles"},
    }
    return table_schema("Measured transfers.", columns, list(columns))


def _predictions() -> dict[str, Any]:
    names = dict.fromkeys(name for own in DIMENSIONS.values() for name in own)
    columns: Columns = {
        "name": {"enum": [*map(str, TileKind), *map(str, Link)]},
        **{name: _extent() for name in names},
        "bytes": Column(WHOLE, "bytes", "of a transfer"),
        "cycles": Column("integer", "cycles", "true or measured"),
        "predicted": Column("number", "cycles"),
        "error": Column("number", "1", "predicted / cycles − 1"),
    }
    required = ("name", "cycles", "predicted", "error")
    return table_schema("Predictions of `elkhound tiles`.", columns, required)


def _placement() -> dict[str, Any]:
    whole = {"type": "integer", "minimum": 0}
    columns: Columns = {
        "id": {"type": "string", "minLength": 1},
        "lower": {**whole, "unit": "steps", "description": "first step alive"},
        "upper": {**whole, "unit": "steps", "description": "first step not alive"},
        "size": {**whole, "unit": "bytes"},
        "offset": {**whole, "unit": "bytes", "description": "of a plan"},
    }
    required = ("id", "lower", "upper", "size")
    return table_schema("Buffers in MiniMalloc's form.", columns, required)
