"""Measured tiles as CSV: kind, the dimensions of all kinds, cycles."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from elkhound.model.io.csv_table import CsvTable, refuse, require_one_of, whole_number
from elkhound.model.io.document import show
from elkhound.model.io.text import write_text
from elkhound.model.tile_cost.fitted import Tiles
from elkhound.model.tile_cost.kinds import DIMENSIONS, TileKind

_NAMES = tuple(dict.fromkeys(name for own in DIMENSIONS.values() for name in own))
_REQUIRED = ("kind", "cycles")


def read_tiles(path: str | Path) -> dict[TileKind, Tiles]:
    """Read measured tiles; a tile measured several times counts with their mean.

    Columns are ``kind``, ``cycles`` and the dimensions of the kinds in the file, in
    any order; cells of dimensions that a kind does not have are empty.

    Raises
    ------
    BadInputError
        Names file and line, column, value and legal range.
    """
    measured: dict[TileKind, dict[tuple[int, ...], list[int]]] = {}
    table = CsvTable(path, _REQUIRED, _NAMES)
    for where, cells in table:
        require_one_of(where, "kind", cells["kind"], list(TileKind))
        kind = TileKind(cells["kind"])
        extents = _extents(where, kind, cells)
        cycles = whole_number(where, "cycles", cells["cycles"], least=1)
        measured.setdefault(kind, {}).setdefault(extents, []).append(cycles)
    if not measured:
        refuse(f"{path}:1", "no measured tile")
    return {kind: _tiles(kind, runs) for kind, runs in measured.items()}


def write_tiles(path: str | Path, samples: Iterable[Tiles]) -> None:
    """Write tiles so that `read_tiles` reads them."""
    text = io.StringIO()
    writer = csv.DictWriter(text, ["kind", *_NAMES, "cycles"], lineterminator="\n")
    writer.writeheader()
    for tiles in samples:
        names = DIMENSIONS[tiles.kind]
        for *extents, cycles in zip(
            *(c.tolist() for c in tiles.dimensions), tiles.cycles.tolist(), strict=True
        ):
            row = dict(zip(names, extents, strict=True))
            writer.writerow({"kind": tiles.kind, "cycles": cycles, **row})
    write_text(path, text.getvalue())


def _extents(where: str, kind: TileKind, cells: dict[str, str]) -> tuple[int, ...]:
    own = DIMENSIONS[kind]
    for name in _NAMES:
        if name not in own and cells.get(name):
            must = " and ".join(own)
            refuse(where, f"{name} is {show(cells[name])}, a {kind} has only {must}")
    return tuple(
        whole_number(where, name, cells.get(name, ""), least=1) for name in own
    )


def _tiles(kind: TileKind, runs: dict[tuple[int, ...], list[int]]) -> Tiles:
    """Return the tiles in ascending order, so that the order of rows plays no part."""
    ordered = sorted(runs)
    means = [-(-sum(runs[extents]) // len(runs[extents])) for extents in ordered]
    columns = np.array(ordered, dtype=np.int64).T
    return Tiles(kind, tuple(columns.copy()), np.array(means, dtype=np.int64))
