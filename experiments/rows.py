"""The row of results: one schema for every kind of problem."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from elkhound.model.result import Bound, Status

# Columns that only one kind of problem has; all others are common.
KIND_COLUMNS: dict[str, tuple[str, ...]] = {
    "schedule": ("simulated_cycles", "fused"),
    "allocation": ("bytes_used",),
    "placement": ("height_bytes", "offsets_file"),
    "fusion": (
        "energy",
        "latency",
        "edp",
        "simulated_latency",
        "pmappings",
        "pareto_points",
        "mapping",
    ),
}


@dataclass(frozen=True, slots=True)
class Row:
    """What one method is worth on one problem; None where nothing is known.

    Parameters
    ----------
    kind : str
        Kind of problem.
    method : str
        Name, with its variant, as the user wrote it.
    status : Status
        What the method knows at its end.
    objective : int, float or None
        Its plan's value as the method reports it; of a front, the least EDP.
    lower_bound : int, float or None
        With a plan, the largest bound known that holds for the method's class of
        schedules: what `gap` is measured against. Without one, the bound the method
        itself proved.
    bound_kind : str
        How `lower_bound` was obtained; ``none`` without one.
    order : str or None
        The class of schedules searched.
    contention : str or None
        The rule the objective is counted under.
    gap : float or None
        (objective − lower_bound) / objective.
    rounding_error : int or float
        What scaling sizes or thinning options may have cost the objective.
    simulated : int, float or None
        Cycles, or latency of a mapping, of the plan on the simulated chip.
    model_error : float or None
        simulated / objective − 1.
    verified : bool or None
        Whether the referee finds the plan feasible and worth `objective`.
    wall_seconds, cpu_seconds : float
        Time of the method alone.
    seed : int
        Seed used.
    version : str
        The solver library and its version, or Elkhound and its own.
    reason : str
        Why there is no plan, or why it cannot be trusted; empty otherwise.
    simulated_cycles : int or None
        `simulated` again, for schedules.
    fused : tuple of tuple of str or None
        Operators of each group that runs as one; None where fusion was not asked for.
    bytes_used : int or None
        Bytes an allocation takes.
    height_bytes : int or None
        Top of a placement's highest buffer, as the referee computes it.
    offsets_file : str or None
        Where a placement is kept, as CSV.
    energy, latency, edp : float or None
        Of a mapping, as the referee computes them, in the accelerator's units.
    simulated_latency : float or None
        `simulated` again, for mappings.
    pmappings : int or None
        Partial mappings that the method chose among.
    pareto_points : tuple of dict or None
        Energy and latency of every mapping found: one, or a front by rising latency.
    mapping : str or None
        The mapping as text.
    """

    kind: str
    method: str
    status: Status
    objective: int | float | None
    lower_bound: int | float | None
    bound_kind: str
    order: str | None
    contention: str | None
    gap: float | None
    rounding_error: int | float
    simulated: int | float | None
    model_error: float | None
    verified: bool | None
    wall_seconds: float
    cpu_seconds: float
    seed: int
    version: str
    reason: str = ""
    simulated_cycles: int | None = None
    fused: tuple[tuple[str, ...], ...] | None = None
    bytes_used: int | None = None
    height_bytes: int | None = None
    offsets_file: str | None = None
    energy: float | None = None
    latency: float | None = None
    edp: float | None = None
    simulated_latency: float | None = None
    pmappings: int | None = None
    pareto_points: tuple[dict[str, float], ...] | None = None
    mapping: str | None = None

    def document(self) -> dict[str, object]:
        """Return the row as JSON knows it: the columns of its kind."""
        return {name: getattr(self, name) for name in columns(self.kind)}


_LISTS = ("fused", "pareto_points")  # JSON in a cell of CSV
ALL_COLUMNS = tuple(f.name for f in fields(Row))


def row_from(document: Mapping[str, Any]) -> Row:
    """Return the row that `Row.document` was written from; other keys are ignored."""
    known = {f.name: document[f.name] for f in fields(Row) if f.name in document}
    return Row(**{**known, "status": Status(document["status"])})


def columns(kind: str) -> tuple[str, ...]:
    """Return the names of a kind's columns, in order."""
    foreign = {
        name for other, names in KIND_COLUMNS.items() if other != kind for name in names
    }
    return tuple(f.name for f in fields(Row) if f.name not in foreign)


def csv_text(kind: str, rows: Iterable[Row]) -> str:
    """Return rows as CSV, unknown values empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns(kind), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        cells = row.document()
        for name in _LISTS:
            if cells.get(name) is not None:
                cells[name] = json.dumps(cells[name])
        writer.writerow(cells)
    return text.getvalue()


def gap(objective: int | float | None, bound: Bound | None) -> float | None:
    """Return (objective − L) / objective; None without a plan or a bound.

    A plan of 0 cycles cannot be improved: its gap is 0.
    """
    if objective is None or bound is None:
        return None
    if objective == 0:
        return 0.0
    return (objective - bound.value) / objective


def model_error(
    simulated: int | float | None, objective: int | float | None
) -> float | None:
    """Return simulated / objective − 1; None where either is missing or 0."""
    if simulated is None or not objective:
        return None
    return simulated / objective - 1
