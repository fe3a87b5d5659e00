"""The table of fused mappings, and what JSON says of their problem."""

from __future__ import annotations

from typing import Any

from elkhound.experiments.rows import Row
from elkhound.model.fusion.mapspace import Objective
from elkhound.model.fusion.problem import FusionProblem

HEADINGS = (
    "method",
    "status",
    "energy",
    "latency",
    "EDP",
    "bound",
    "gap",
    "points",
    "pmappings",
    "wall s",
    "CPU s",
)


def fusion_summary(problem: FusionProblem) -> dict[str, Any]:
    """Return what a fusion problem is, for `--json`."""
    energy_unit, latency_unit = problem.accelerator.units
    return {
        "workload": problem.workload.name,
        "accelerator": problem.accelerator.name,
        "objective": str(problem.objective),
        "einsums": len(problem.workload.einsums),
        "fuse": problem.mapspace.fuse,
        "max_fused_loops": problem.mapspace.max_fused_loops,
        "max_fused_loops_per_rank": problem.mapspace.max_fused_loops_per_rank,
        "ordered_loops": problem.mapspace.ordered_loops,
        "tiles": str(problem.mapspace.tiles),
        "energy_unit": energy_unit or None,
        "latency_unit": latency_unit,
    }


def fusion_title(problem: FusionProblem) -> str:
    """Return the line above the table."""
    energy_unit, latency_unit = problem.accelerator.units
    units = f"energy in {energy_unit}, " if energy_unit else ""
    return (
        f"{problem.name}: {len(problem.workload.einsums)} einsums, {_asked(problem)}, "
        f"{units}latency in {latency_unit}"
    )


def _asked(problem: FusionProblem) -> str:
    if problem.objective is Objective.FRONT:
        return "energy against latency"
    return f"least {problem.objective}"


def fusion_cells(row: Row) -> tuple[str, ...]:
    """Return the cells of a row under `HEADINGS`."""
    points = row.pareto_points
    return (
        row.method,
        str(row.status),
        amount(row.energy),
        amount(row.latency),
        amount(row.edp),
        amount(row.lower_bound),
        "–" if row.gap is None else f"{100 * row.gap:.2g} %",
        "–" if points is None else str(len(points)),
        "–" if row.pmappings is None else str(row.pmappings),
        f"{row.wall_seconds:.2f}",
        f"{row.cpu_seconds:.2f}",
    )


def amount(value: float | None) -> str:
    """Return an energy or a latency with nine digits.

    Examples
    --------
    >>> amount(30474240.0), amount(0.4892429461234)
    ('30474240', '0.489242946')
    """
    if value is None:
        return "–"
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.9g}"
