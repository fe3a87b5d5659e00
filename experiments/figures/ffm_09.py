"""FFM figure 9: effort until near the optimum, against the number of einsums."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from elkhound.experiments.figures.figure import Figure, Line
from elkhound.experiments.figures.mapper_race import (
    SEARCHES,
    first_within,
    race,
    runs,
    typical,
)
from elkhound.experiments.figures.measures import Computed
from elkhound.experiments.plots.search_curves import search_scaling_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

NEAR = 0.05


def pieces(quick: bool) -> list[dict[str, Any]]:
    """Return a race per length of chain; quick: shorter chains, fewer seeds."""
    return [
        {
            "workload": "chain",
            "bind": {"einsums": einsums},
            "accelerator": "edge",
            "objective": "edp",
            "evaluations": 50_000 if quick else 500_000,
            "seeds": 3 if quick else 10,
        }
        for einsums in ((2, 4, 8, 16) if quick else (2, 4, 8, 16, 32))
    ]


def _by_length(lines: Sequence[Line]) -> dict[int, list[Line]]:
    found: dict[int, list[Line]] = {}
    for line in lines:
        found.setdefault(line["bind.einsums"], []).append(line)
    return found


def _reached(lines: Sequence[Line], column: str) -> dict[str, dict[int, float | None]]:
    """Return by method and length when most runs are near; None: they are not."""
    return {
        method: {
            length: typical(
                [first_within(r, NEAR, column) for r in runs(own).get(method, [])]
            )
            for length, own in _by_length(lines).items()
        }
        for method in SEARCHES
    }


def _joins(lines: Sequence[Line]) -> dict[int, float | None]:
    return {
        line["bind.einsums"]: line["cpu_seconds"]
        for line in lines
        if line["method"] == "pareto-join"
    }


def draw(lines: Sequence[Line]) -> Drawing:
    """Draw partial mappings priced, and seconds, against the number of einsums."""
    return search_scaling_figure(
        _reached(lines, "evaluations"),
        {"pareto-join": _joins(lines)} | _reached(lines, "cpu_seconds"),
        NEAR,
    )


def found(lines: Sequence[Line]) -> str:
    """Return the join's times, and what each search priced until it was near."""
    joins = _joins(lines)
    parts = [
        "the join takes "
        + ", ".join(f"{seconds:.3g} CPU s for {n}" for n, seconds in joins.items())
        + " einsums"
    ]
    for method, by_length in _reached(lines, "evaluations").items():
        said = [
            f"{'never' if value is None else f'{value:,.0f}'} ({length})"
            for length, value in by_length.items()
        ]
        parts.append(f"{method} is within 5 % after {', '.join(said)}")
    return (
        "; ".join(parts) + " partial mappings priced (number of einsums; medians over "
        f"seeds, at most {lines[0]['evaluations_limit']:,})."
    )


FIGURE = Figure(
    name="ffm-9",
    title="FFM figure 9: effort until within 5 % of the least EDP of chains of matmuls",
    said=(
        "FFM's time is linear in the number of einsums up to 64; the baselines' grows "
        "exponentially, and they time out at 1,000 times FFM's."
    ),
    measure=Computed("ffm-9", pieces, race),
    draw=draw,
    found=found,
    why=(
        "The paper's chains on another accelerator (edge, whose partial mappings are "
        "all there in seconds); equal einsums share their generation, so that the "
        "join's time grows less than linearly at first. Random sampling is lost as in "
        "the paper. SET and TileFlow are not, at these lengths: they move among the "
        "Pareto-optimal partial mappings of the join, and price those from memory. "
        "SET cools over all the evaluations it may use, so it ends late by design."
    ),
    quick_cpu_seconds=40,
)
