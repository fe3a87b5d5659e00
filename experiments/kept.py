"""Where a run directory keeps the plans of its methods."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from elkhound.experiments.kinds import kind_of
from elkhound.experiments.rows import Row
from elkhound.experiments.table import Table


def file_name(text: str) -> str:
    """Return a method or model name as a file name.

    Examples
    --------
    >>> file_name("milp:order=free,backend=cbc")
    'milp-order-free-backend-cbc'
    """
    return re.sub(r"[^A-Za-z0-9._]+", "-", text).strip("-.") or "run"


def plan_path(run_dir: Path, table: Table, method: str) -> Path:
    """Return where the plan of a method is kept."""
    suffix = kind_of(table.problem).plan_suffix
    return run_dir / "plans" / f"{file_name(method)}{suffix}"


def rows_with_files(table: Table, run_dir: Path | None) -> tuple[Row, ...]:
    """Return the rows, which name the file of each placement that is kept."""
    if run_dir is None or kind_of(table.problem).name != "placement":
        return table.rows
    return tuple(
        replace(row, offsets_file=str(plan_path(run_dir, table, row.method)))
        if row.objective is not None
        else row
        for row in table.rows
    )
