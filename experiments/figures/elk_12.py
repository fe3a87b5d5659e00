"""Elk figure 12: how well the cost model predicts tiles and transfers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from elkhound.experiments.figures.figure import Figure, Line
from elkhound.experiments.figures.measures import Computed
from elkhound.experiments.plots.tile_accuracy import tile_accuracy_figure
from elkhound.experiments.source import DEFAULT_CHIP
from elkhound.experiments.tile_accuracy import Accuracy

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


def pieces(quick: bool) -> Sequence[Mapping[str, Any]]:
    """Return the one report; quick: fewer tiles are predicted."""
    return [{"chip": DEFAULT_CHIP, "count": 200 if quick else 1000}]


def predictions(chip: str, count: int) -> Iterator[Line]:
    """Yield every prediction of a tile or transfer that was not fitted to."""
    from elkhound.experiments.tile_report import tile_report
    from elkhound.model.io import load_chip

    report = tile_report(load_chip(chip), "device", None, count=count)
    for accuracy in (*report.tiles, *(line for line, _ in report.links)):
        for k in range(len(accuracy.cycles)):
            yield {
                "name": accuracy.name,
                "fitted": accuracy.fitted,
                "leaves": accuracy.leaves,
                **accuracy.entry(k),
            }


def _accuracies(lines: Sequence[Line]) -> list[Accuracy]:
    by_name: dict[str, list[Line]] = {}
    for line in lines:
        by_name.setdefault(line["name"], []).append(line)
    return [
        Accuracy(
            name,
            {},
            np.array([line["cycles"] for line in own], dtype=np.int64),
            np.array([line["predicted"] for line in own], dtype=np.float64),
            own[0]["fitted"],
            own[0]["leaves"],
        )
        for name, own in by_name.items()
    ]


def draw(lines: Sequence[Line]) -> Drawing:
    """Draw a panel per kind of tile, and per link."""
    return tile_accuracy_figure(_accuracies(lines))


def found(lines: Sequence[Line]) -> str:
    """Return the mean error of every kind."""
    parts = [f"{a.name} {100 * a.mape:.2f}" for a in _accuracies(lines)]
    return f"Mean absolute error in %: {', '.join(parts)}."


FIGURE = Figure(
    name="elk-12",
    title="Elk figure 12: predicted against true cycles of tiles and transfers",
    said="Linear trees predict tiles and transfers of the IPU accurately.",
    measure=Computed("tile-predictions", pieces, predictions),
    draw=draw,
    found=found,
    why=(
        "The paper measures an IPU; there is none here, so what is true are formulas "
        "of its core and links. Trees follow them; `elkhound tiles --tile-cost FILE` "
        "draws the same of measured tiles."
    ),
    quick_cpu_seconds=3,
)
