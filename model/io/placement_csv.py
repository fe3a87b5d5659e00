"""Placement problems and plans as MiniMalloc's CSV: id, lower, upper, size, offset.

A row is a buffer alive at the steps lower ≤ i < upper. The file holds no capacity.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from elkhound.model.errors import BadInputError, nearest
from elkhound.model.io.document import read_text, show
from elkhound.model.io.fields import LARGEST
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
    rows = _rows(str(path), read_text(path))
    _, header = next(rows, (1, []))
    columns = _column_places(str(path), header)
    buffers, offsets = [], []
    lines: dict[str, int] = {}
    for line, cells in rows:
        where = f"{path}:{line}"
        if len(cells) != len(header):
            _refuse(where, f"{len(cells)} values, must be {len(header)}")
        name = cells[columns["id"]]
        if not name:
            _refuse(where, "id is empty")
        if name in lines:
            _refuse(where, f"id {show(name)} stands in line {lines[name]} too")
        lines[name] = line
        values = {
            column: _count(where, column, cells[place])
            for column, place in columns.items()
            if column != "id"
        }
        lower, upper = values["lower"], values["upper"]
        if upper <= lower:
            _refuse(where, f"upper is {upper}, must be above lower = {lower}")
        buffers.append(Buffer(name, lower, upper, values["size"]))
        offsets.append(values.get(_OFFSET, 0))
    plan = Placement(tuple(offsets)) if _OFFSET in columns else None
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


def _rows(path: str, text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield line and cells of every row that is not blank."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        for cells in reader:
            stripped = [cell.strip() for cell in cells]
            if any(stripped):
                yield reader.line_num, stripped
    except csv.Error as error:
        _refuse(f"{path}:{max(reader.line_num, 1)}", f"is not CSV: {error}")


def _column_places(path: str, header: list[str]) -> dict[str, int]:
    """Return where each column stands; they may come in any order."""
    where = f"{path}:1"
    legal = [*_COLUMNS, _OFFSET]
    for column in header:
        if column not in legal:
            raise BadInputError(
                f"unknown column {show(column)}",
                code="bad-file",
                where=where,
                hint=nearest(column, legal),
            )
        if header.count(column) > 1:
            _refuse(where, f"column {column} stands twice")
    for column in _COLUMNS:
        if column not in header:
            _refuse(where, f"column {column} is missing, must be {','.join(_COLUMNS)}")
    return {column: place for place, column in enumerate(header)}


def _count(where: str, column: str, cell: str) -> int:
    legal = f"must be an integer from 0 to {LARGEST}"
    if not (cell.isascii() and cell.isdecimal() and len(cell) <= 20):
        _refuse(where, f"{column} is {show(cell)}, {legal}")
    if int(cell) > LARGEST:
        _refuse(where, f"{column} is {cell}, {legal}")
    return int(cell)


def _refuse(where: str, message: str) -> NoReturn:
    raise BadInputError(message, code="bad-file", where=where)
