"""Columns of figures' rows.csv: type and unit of each, whichever figure has it."""

from __future__ import annotations

from typing import Any

from elkhound.experiments.table_schemas import (
    COORDINATES,
    NUMBER,
    SCALAR,
    TEXT,
    TRUTH,
    WHOLE,
    Column,
    table_schema,
)

_RATE, _ENERGY, _TIME = "bytes/s", "J", "s"
_WHAT = {
    name: Column(TEXT)
    for name in (
        "model",
        "phase",
        "spill",
        "chip",
        "operator",
        "workload",
        "accelerator",
        "method",
        "status",
        "bound_kind",
        "contention",
        "order",
        "reason",
    )
}
_DESIGNS = {
    "objective": Column(
        SCALAR, "cycles", "of a mapping, what is least: energy, latency or edp"
    ),
    "lower_bound": Column(NUMBER, "cycles"),
    "gap": Column(NUMBER, "1", "to the lower bound; of a search, to the optimum"),
    "simulated": Column(NUMBER, "cycles"),
    "model_error": Column(NUMBER, "1"),
    "verified": Column(TRUTH),
    "cpu_seconds": Column(NUMBER, "s"),
    "clock_hz": Column(WHOLE, "Hz"),
    "planned_ms": Column(NUMBER, "ms", "of Ideal, its bound"),
    "simulated_ms": Column(NUMBER, "ms"),
    "hbm_bytes": Column(WHOLE, "bytes"),
    "hbm_utilisation": Column(NUMBER, "1"),
    "link_utilisation": Column(NUMBER, "1"),
    "compute_utilisation": Column(NUMBER, "1"),
    "preload_only_cycles": Column(WHOLE, "cycles"),
    "execute_only_cycles": Column(WHOLE, "cycles"),
    "overlapped_cycles": Column(WHOLE, "cycles"),
    "contention_cycles": Column(WHOLE, "cycles"),
    "idle_cycles": Column(WHOLE, "cycles"),
    "tflops": Column(NUMBER, "TFLOP/s"),
    "operators": Column(WHOLE),
    "options_cpu_seconds": Column(NUMBER, "s"),
    "plan_cpu_seconds": Column(NUMBER, "s"),
}
_DEMANDS = {
    "state": Column(TEXT, None, "preload state of all operators"),
    "execute_bytes": Column(WHOLE, "bytes"),
    "cycles": Column(WHOLE, "cycles"),
    "time_us": Column(NUMBER, "µs"),
    "start_us": Column(NUMBER, "µs"),
    "end_us": Column(NUMBER, "µs"),
    "execute_us": Column(NUMBER, "µs"),
    "preload_us": Column(NUMBER, "µs"),
    "preload_space_bytes": Column(WHOLE, "bytes"),
    "preload_bytes": Column(WHOLE, "bytes", "per core"),
    "inter_core_bytes": Column(WHOLE, "bytes", "per core"),
    "inter_core_bytes_per_second": Column(NUMBER, _RATE, "per core"),
    "total_bytes_per_second": Column(NUMBER, _RATE, "per core"),
    "link_bytes_per_second": Column(NUMBER, _RATE, "per core"),
    "demand_bytes_per_second": Column(NUMBER, _RATE),
    "hbm_bytes_per_second": Column(NUMBER, _RATE),
}
_TILES = {
    "name": Column(TEXT, None, "kind of tile, or link"),
    "fitted": Column(WHOLE, "tiles"),
    "leaves": Column(WHOLE),
    "predicted": Column(NUMBER, "cycles"),
    "error": Column(NUMBER, "1", "predicted / cycles − 1"),
}
_MAPPINGS = {
    "energy": Column(NUMBER, _ENERGY),
    "latency": Column(NUMBER, _TIME),
    "edp": Column(NUMBER, "J·s"),
    "main_memory": Column(TEXT),
    "mapping": Column(TEXT, None, "LoopTree"),
    "value": Column(NUMBER, None, "of the objective"),
    "evaluations": Column(WHOLE, "partial mappings"),
    "evaluations_limit": Column(WHOLE, "partial mappings"),
    "seconds_a_pmapping": Column(NUMBER, "s"),
    "generation_cpu_seconds": Column(NUMBER, "s"),
    "priced_seconds": Column(NUMBER, "s"),
}
_PROBLEMS = {
    "family": Column(TEXT),
    "size": Column(WHOLE, "operators"),
    "seed": Column(WHOLE),
    "plans": Column(WHOLE, "execute plans"),
    "states": Column(WHOLE, "preload states"),
    "max_outstanding": Column(WHOLE, "preloads"),
    "thinned": Column(WHOLE, "‰"),
    "room": Column(NUMBER, "1"),
    "hbm_share": Column(NUMBER, "1"),
    "link_share": Column(NUMBER, "1"),
    "free_bound": Column(NUMBER, "cycles"),
    "free_gap": Column(NUMBER, "1"),
}
_BY_PART = {
    r"^part\.": Column(NUMBER, _ENERGY, "of a part of the accelerator"),
    r"^main\.": Column(NUMBER, _ENERGY, "of a tensor in main memory"),
    r"^place\.": Column(TEXT, None, "the memory that first holds a tensor"),
}


def figure_table() -> dict[str, Any]:
    """Return the schema of the rows.csv of any figure."""
    return table_schema(
        "Rows of a figure; each figure has the columns that it is drawn from.",
        {
            **_WHAT,
            **_DESIGNS,
            **_DEMANDS,
            **_TILES,
            **_MAPPINGS,
            **_PROBLEMS,
            "elkhound": Column("string", None, "version that measured"),
        },
        ("elkhound",),
        COORDINATES | _BY_PART,
    )
