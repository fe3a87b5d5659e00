"""CSV files as lines of cells; what is wrong with one is said by line."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NoReturn

from elkhound.model.errors import BadInputError, nearest
from elkhound.model.io.document import read_text, show
from elkhound.model.io.fields import LARGEST


class CsvTable:
    """A CSV file with a header; its columns may come in any order.

    Parameters
    ----------
    path : str or Path
        The file.
    required, optional : sequence of str
        Columns that must be there, and that may.

    Raises
    ------
    BadInputError
        Names file and line, what stands there, and what may.
    """

    def __init__(
        self, path: str | Path, required: Sequence[str], optional: Sequence[str]
    ) -> None:
        self.path = str(path)
        self._rows = _lines(self.path, read_text(path))
        _, self._header = next(self._rows, (1, []))
        self.columns = self._places(required, optional)

    def __iter__(self) -> Iterator[tuple[str, dict[str, str]]]:
        """Yield the place of every row that is not blank, and its cells by column."""
        for line, cells in self._rows:
            where = f"{self.path}:{line}"
            if len(cells) != len(self._header):
                refuse(where, f"{len(cells)} values, must be {len(self._header)}")
            yield where, {name: cells[place] for name, place in self.columns.items()}

    def _places(
        self, required: Sequence[str], optional: Sequence[str]
    ) -> dict[str, int]:
        where = f"{self.path}:1"
        legal = [*required, *optional]
        for column in self._header:
            require_one_of(where, "column", column, legal)
            if self._header.count(column) > 1:
                refuse(where, f"column {column} stands twice")
        for column in required:
            if column not in self._header:
                must = ",".join(required)
                refuse(where, f"column {column} is missing, must be {must}")
        return {column: place for place, column in enumerate(self._header)}


def whole_number(where: str, column: str, cell: str, least: int = 0) -> int:
    """Return the number in a cell, from `least` to `LARGEST`."""
    legal = f"must be an integer from {least} to {LARGEST}"
    if not (cell.isascii() and cell.isdecimal() and len(cell) <= 20):
        refuse(where, f"{column} is {show(cell)}, {legal}")
    if not least <= int(cell) <= LARGEST:
        refuse(where, f"{column} is {cell}, {legal}")
    return int(cell)


def require_one_of(where: str, what: str, cell: str, legal: Sequence[str]) -> None:
    """Refuse a word that is none of the legal ones, with the nearest of them."""
    if cell not in legal:
        raise BadInputError(
            f"unknown {what} {show(cell)}",
            code="bad-file",
            where=where,
            hint=nearest(cell, list(legal)),
        )


def refuse(where: str, message: str) -> NoReturn:
    """Refuse a file for what stands at a place."""
    raise BadInputError(message, code="bad-file", where=where)


def _lines(path: str, text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield line and cells of every row that is not blank."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        for cells in reader:
            stripped = [cell.strip() for cell in cells]
            if any(stripped):
                yield reader.line_num, stripped
    except csv.Error as error:
        refuse(f"{path}:{max(reader.line_num, 1)}", f"is not CSV: {error}")
