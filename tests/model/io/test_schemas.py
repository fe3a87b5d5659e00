from __future__ import annotations

import json

from elkhound.model.io import json_schemas


def test_there_is_a_schema_of_every_file() -> None:
    assert list(json_schemas()) == [
        "chip",
        "schedule",
        "allocation",
        "placement",
        "schedule-plan",
        "allocation-plan",
        "program",
        "accelerator",
        "fusion-workload",
        "fusion",
        "mapping",
        "grid",
        "pin",
    ]


def test_schemas_are_plain_json_and_refuse_unknown_keys() -> None:
    schemas = json.loads(json.dumps(json_schemas()))
    assert all(schema["additionalProperties"] is False for schema in schemas.values())


def test_schemas_state_legal_ranges() -> None:
    sram = json_schemas()["schedule"]["properties"]["sram_bytes"]
    assert (sram["type"], sram["minimum"], sram["maximum"]) == ("integer", 1, 10**15)
