"""A run directory as the report reads it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elkhound.experiments.kept import file_name
from elkhound.experiments.row_table import RowTable, read_rows
from elkhound.experiments.run_dir import MARKER
from elkhound.model.errors import BadInputError


@dataclass(frozen=True, slots=True)
class Run:
    """What a comparison or a sweep left behind.

    Parameters
    ----------
    path : Path
        Its directory.
    configuration, versions : mapping
        What was asked for, and by which versions it was done.
    problem : mapping
        Name, chip, size and the like of the one problem compared; empty for sweeps.
    rows : RowTable
        Rows, with coordinates where something was varied.
    contradictions : tuple of str
        Answers that cannot all be right.
    scores : mapping of str to mapping
        What the simulator said of each method's plan, where it is kept.
    """

    path: Path
    configuration: Mapping[str, Any]
    versions: Mapping[str, str]
    problem: Mapping[str, Any]
    rows: RowTable
    contradictions: tuple[str, ...]
    scores: Mapping[str, Mapping[str, Any]]

    @property
    def clock_hz(self) -> int | None:
        """The chip's clock; None where there is no chip, or there are several."""
        found: int | None = self.problem.get("clock_hz")
        return found


def read_run(path: Path) -> Run:
    """Return the run in a directory that `compare`, `fuse` or `sweep` wrote.

    Raises
    ------
    BadInputError
        It is none, or a file of it cannot be read.
    """
    about = _json(path / MARKER, path)
    table = _json(path / "rows.json", path) if (path / "rows.json").exists() else {}
    rows = read_rows(path)
    methods = dict.fromkeys(str(line["method"]) for line in rows.lines)
    places = {m: path / "scores" / f"{file_name(m)}.json" for m in methods}
    return Run(
        path,
        about.get("configuration", {}),
        about.get("versions", {}),
        table.get("problem", {}),
        rows,
        tuple(table.get("contradictions", ())),
        {m: _json(place, path) for m, place in places.items() if place.exists()},
    )


def _json(place: Path, run: Path) -> dict[str, Any]:
    try:
        found = json.loads(place.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BadInputError(
            f"is no run directory: it has no {place.name}",
            code="no-run",
            where=str(run),
            hint="compare, fuse and sweep write them",
        ) from None
    except (OSError, ValueError) as error:
        raise BadInputError(
            f"cannot be read: {error}", code="bad-run", where=str(place)
        ) from error
    if not isinstance(found, dict):
        raise BadInputError("is no JSON object", code="bad-run", where=str(place))
    return found
