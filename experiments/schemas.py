"""JSON schemas of every kind of file, and of what `--json` prints, for `schema`."""

from __future__ import annotations

from typing import Any

from elkhound.experiments import options_shapes, output_shapes, score_shapes
from elkhound.experiments.min_capacity import MinCapacity
from elkhound.experiments.rows import Row
from elkhound.experiments.table_schemas import rows_table, table_schemas
from elkhound.model.io import json_schemas, noun_schema
from elkhound.model.onnx_import.unknown import OperatorsModel

_OUTPUTS: dict[str, Any] = {
    "import-output": output_shapes.ImportOutput,
    "options-output": options_shapes.OptionsOutput,
    "min-capacity-output": MinCapacity,
    "evaluate-output": score_shapes.EvaluateOutput,
    "simulate-output": score_shapes.SimulateOutput,
    "generate-output": output_shapes.GenerateOutput,
    "figures-output": output_shapes.FiguresOutput,
    "report-output": output_shapes.ReportOutput,
    "export-output": output_shapes.ExportOutput,
    "chips-output": output_shapes.ChipsOutput,
    "workloads-output": output_shapes.WorkloadsOutput,
    "methods-output": output_shapes.MethodsOutput,
    "doctor-output": output_shapes.DoctorOutput,
    "tiles-output": output_shapes.TilesOutput,
}


def file_schemas() -> dict[str, dict[str, Any]]:
    """Return the JSON schema of each kind of file and output, by kind."""
    return {
        **json_schemas(),
        "operators": OperatorsModel.model_json_schema(),
        "rows": _rows_schema(),
        **table_schemas(),
        **{kind: _closed(noun_schema(shape)) for kind, shape in _OUTPUTS.items()},
        "sweep-output": _sweep_schema(),
        "rows-output": _chosen_rows_schema(),
        "error-output": _closed(noun_schema(output_shapes.ErrorOutput)),
    }


def _closed(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema in which no object has other properties than those it names."""
    for part in (schema, *schema.get("$defs", {}).values()):
        if "properties" in part:
            part["additionalProperties"] = False
    return schema


def _rows_schema() -> dict[str, Any]:
    """Return the schema of `table_document`: rows.json, and what `--json` prints."""
    row = noun_schema(Row)
    row["description"] = str(row["description"]).partition("\n")[0]
    row["additionalProperties"] = False
    properties = {
        "problem": {"type": "object"},
        "rows": {"type": "array", "items": row},
        "contradictions": {"type": "array", "items": {"type": "string"}},
        "run_dir": {"type": ["string", "null"]},
    }
    ended = _object("What a comparison ends with.", properties, row.pop("$defs"))
    return {"title": "Rows", **ended}


def _sweep_schema() -> dict[str, Any]:
    """Return the schema of what `sweep` prints."""
    rows = rows_table(("method", "status"))
    counts = ("points", "reused", "computed", "failed", "missing")
    properties = {
        **{name: {"type": "integer", "minimum": 0} for name in counts},
        "rows": rows,
        "contradictions": {"type": "array", "items": {"type": "string"}},
        "run_dir": {"type": "string"},
    }
    return _object("What a sweep ends with.", properties, rows.pop("$defs"))


def _chosen_rows_schema() -> dict[str, Any]:
    """Return the schema of what `rows` prints: rows, or where they were written."""
    rows = rows_table(())
    definitions = rows.pop("$defs")
    written = {"output": {"type": "string"}, "count": {"type": "integer"}}
    return {
        "description": "What `rows` prints.",
        "$defs": definitions,
        "anyOf": [
            _object("Chosen rows.", {"rows": rows}),
            _object("With --output, the file.", written),
        ],
    }


def _object(
    description: str,
    properties: dict[str, Any],
    definitions: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the schema of an object that has all of these properties and no others."""
    schema = {
        "description": description,
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    return schema if definitions is None else {"$defs": definitions, **schema}
