"""Predicted against true cycles of tiles and transfers, a panel per kind and link."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from elkhound.experiments.plots.style import (
    BLACK,
    BLUE,
    VERMILION,
    house_style,
    new_figure,
    save,
)

if TYPE_CHECKING:
    from elkhound.experiments.tile_accuracy import Accuracy

COLUMNS = 4
PANEL_INCHES = 1.75


def plot_tile_accuracy(
    path_stem: Path, accuracies: Sequence[Accuracy]
) -> tuple[Path, Path]:
    """Write the chart as SVG and PNG; return the two paths.

    Parameters
    ----------
    path_stem : Path
        Where to write, without the suffix.
    accuracies : sequence of Accuracy
        Kinds of tiles, then links; a panel each, all cycles on logarithmic axes.
    """
    return save(tile_accuracy_figure(accuracies), path_stem)


def tile_accuracy_figure(accuracies: Sequence[Accuracy]) -> Figure:
    """Return the chart; the parameter is that of `plot_tile_accuracy`."""
    rows = -(-len(accuracies) // COLUMNS)
    with house_style():
        figure = new_figure(0.4 + PANEL_INCHES * rows)
        panels = figure.subplots(rows, COLUMNS, squeeze=False)
        for axes, accuracy in zip(panels.flat, accuracies, strict=False):
            _draw(axes, accuracy)
        for axes in panels.flat[len(accuracies) :]:
            axes.set_axis_off()
        figure.supxlabel("true cycles", fontsize=8)
        figure.supylabel("predicted cycles", fontsize=8)
    return figure


def _draw(axes: Axes, accuracy: Accuracy) -> None:
    cycles, predicted = accuracy.cycles, accuracy.predicted
    ends = np.array([cycles.min(), cycles.max()], dtype=float)
    axes.plot(ends, ends, color=BLACK, linewidth=0.6)
    (points,) = axes.plot(
        cycles,
        predicted,
        linestyle="none",
        marker="o",
        markersize=1.8,
        markerfacecolor=BLUE,
        markeredgewidth=0,
        alpha=0.5,
    )
    points.set_gid(accuracy.name)
    points.set_rasterized(True)
    worst = accuracy.worst
    axes.plot(
        cycles[worst : worst + 1],
        predicted[worst : worst + 1],
        linestyle="none",
        marker="x",
        markersize=5,
        markeredgecolor=VERMILION,
        markeredgewidth=1.2,
    )
    axes.set_xscale("log")
    axes.set_yscale("log")
    r2 = "" if accuracy.r2 is None else f", R² {accuracy.r2:.4f}"
    axes.set_title(
        f"{accuracy.name}{r2}\nMAPE {accuracy.mape:.2%}, "
        f"worst {accuracy.errors[worst]:+.1%}",
        fontsize=7,
    )
    axes.tick_params(labelsize=6)
