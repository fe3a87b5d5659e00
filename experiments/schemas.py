"""JSON schemas of every kind of file, for `elkhound schema`."""

from __future__ import annotations

from typing import Any

from elkhound.experiments.rows import Row
from elkhound.model.io import json_schemas, noun_schema
from elkhound.model.onnx_import.unknown import OperatorsModel


def file_schemas() -> dict[str, dict[str, Any]]:
    """Return the JSON schema of each kind of file, by kind."""
    return {
        **json_schemas(),
        "operators": OperatorsModel.model_json_schema(),
        "rows": _rows_schema(),
    }


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
    return {
        "title": "Rows",
        "description": "What a comparison ends with.",
        "type": "object",
        "$defs": row.pop("$defs"),
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
