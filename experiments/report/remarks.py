"""What is to be said of a row: why its plan, or its status, is what it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from elkhound.experiments.kinds import KINDS
from elkhound.experiments.methods import Role, variant
from elkhound.experiments.row_table import Line
from elkhound.model.errors import BadInputError
from elkhound.model.result import Status


def remark(line: Line, configuration: Mapping[str, Any]) -> str:
    """Return the row's reason, or why an exact method has not proved its plan.

    Parameters
    ----------
    line : mapping
        The row.
    configuration : mapping
        Of the run: its limits are what such a method stopped at.
    """
    said = [str(line.get("reason") or "")]
    if line["status"] == Status.FEASIBLE and _is_exact(line):
        said.insert(0, _unproved(line, configuration))
    return "; ".join(filter(None, said))


def _is_exact(line: Line) -> bool:
    try:
        found = variant(str(line["method"]), KINDS[str(line["kind"])].registry)
    except (BadInputError, KeyError):
        return False  # of a package that is not installed here
    return found.entry.role is Role.EXACT


def _unproved(line: Line, configuration: Mapping[str, Any]) -> str:
    """Say which limit an exact method met before its bound met its plan."""
    limits = configuration.get("limits") or {}
    seconds, wall = _limit(line, limits, "seconds"), line.get("wall_seconds")
    gap, asked = line.get("gap"), _limit(line, limits, "relative_gap")
    if asked and gap is not None and gap <= asked:
        return f"stopped at the gap asked for, {100 * asked:g} %"
    if seconds is not None and wall is not None and wall >= 0.95 * seconds:
        return f"stopped at the time limit of {seconds:g} s before a proof"
    spent = "" if wall is None else f" after {wall:.3g} s"
    return f"stopped{spent} before a proof"


def _limit(line: Line, limits: Mapping[str, Any], name: str) -> float | None:
    """Return a limit of the row: one that was swept, else the run's."""
    value = line.get(f"limits.{name}", limits.get(name))
    return value if isinstance(value, int | float) else None
