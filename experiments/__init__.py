"""Experiments: compare methods, sweep grids, keep runs, draw; the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from elkhound.experiments.comparison import compare
    from elkhound.experiments.grid import grid_points
    from elkhound.experiments.points import Point, PointLimits, point, subject
    from elkhound.experiments.records import Record
    from elkhound.experiments.row_table import RowTable, read_rows
    from elkhound.experiments.rows import Row
    from elkhound.experiments.source import ModelFlags
    from elkhound.experiments.store import Store
    from elkhound.experiments.sweeping import Swept, sweep
    from elkhound.experiments.table import Interrupted, Table

__all__ = [
    "Interrupted",
    "ModelFlags",
    "Point",
    "PointLimits",
    "Record",
    "Row",
    "RowTable",
    "Store",
    "Swept",
    "Table",
    "compare",
    "grid_points",
    "point",
    "read_rows",
    "subject",
    "sweep",
]

_HOMES = {
    "Interrupted": "table",
    "ModelFlags": "source",
    "Point": "points",
    "PointLimits": "points",
    "Record": "records",
    "Row": "rows",
    "RowTable": "row_table",
    "Store": "store",
    "Swept": "sweeping",
    "Table": "table",
    "compare": "comparison",
    "grid_points": "grid",
    "point": "points",
    "read_rows": "row_table",
    "subject": "points",
    "sweep": "sweeping",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used; the command line starts fast."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    home = import_module(f"elkhound.experiments.{_HOMES[name]}")
    return getattr(home, name)
