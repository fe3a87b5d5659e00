"""Placement problems and plans as MiniMalloc's CSV: id, lower, upper, size, offset.

A row is a buffer alive at the steps lower ≤ i < upper. The file holds no capacity.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path

from elkhound.model.io.csv_table import CsvTable, refuse, whole_number
from elkhound.model.io.document import show
from elkhound.model.io.text import write_text
from elkhound.model.placement import Buffer, Placement, PlacementProblem

_COLUMNS = ("id", "lower", "upper", "size")
_OFFSET = "offset"


@dataclass(frozen=True, slots=True)
class PlacementCsv:
    """What a file holds: buffers, and the offset of each where it has that column."""

    buffers: tuple[Buffer, ...]
    plan: Placement | None = None


def read_placement_csv(path: str | Path) -> PlacementCsv:
    """Read buffers, and their offsets if the file has them.

    Raises
    ------
    BadInputError
        Names file and line, column, value and legal range.
    """
    table = CsvTable(path, _COLUMNS, (_OFFSET,))
    buffers, offsets = [], []
    places: dict[str, str] = {}
    for where, cells in table:
        name = cells.pop("id")
        if not name:
            refuse(where, "id is empty")
        if name in places:
            line = places[name].rpartition(":")[2]
            refuse(where, f"id {show(name)} stands in line {line} too")
        places[name] = where
        values = {
            column: whole_number(where, column, cell) for column, cell in cells.items()
        }
        lower, upper = values["lower"], values["upper"]
        if upper <= lower:
            refuse(where, f"upper is {upper}, must be above lower = {lower}")
        buffers.append(Buffer(name, lower, upper, values["size"]))
        offsets.append(values.get(_OFFSET, 0))
    plan = Placement(tuple(offsets)) if _OFFSET in table.columns else None
    return PlacementCsv(tuple(buffers), plan)


def write_placement_csv(
    path: str | Path, problem: PlacementProblem, plan: Placement | None = None
) -> None:
    """Write buffers, with offsets if there is a plan; `read_placement_csv` reads it."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS if plan is None else (*_COLUMNS, _OFFSET))
    for k, buffer in enumerate(problem.buffers):
        row = [buffer.name, buffer.start_step, buffer.end_step, buffer.size_bytes]
        writer.writerow(row if plan is None else [*row, plan.offsets[k]])
    write_text(path, text.getvalue())
