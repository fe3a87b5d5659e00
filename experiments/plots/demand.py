"""Demand over time as steps, a panel per case (paper figures 6 to 8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure

from elkhound.experiments.plots.style import (
    BLACK,
    SKY,
    VERMILION,
    house_style,
    new_figure,
)


@dataclass(frozen=True, slots=True)
class Step:
    """A demand from `start` to `end`."""

    start: float
    end: float
    demand: float


def demand_figure(
    panels: Mapping[str, Sequence[Step]],
    *,
    x_label: str,
    y_label: str,
    limit: float,
    limit_label: str,
) -> Figure:
    """Return the chart: panels one above the other, with what the chip has as a line.

    Parameters
    ----------
    panels : mapping
        Title to steps, in order of time.
    limit : float
        What there is, in the unit of demands.
    """
    with house_style():
        figure = new_figure(0.8 + 1.15 * len(panels))
        every = figure.subplots(len(panels), 1, sharex=True, sharey=True, squeeze=False)
        for axes, (title, steps) in zip(every[:, 0], panels.items(), strict=True):
            edges = [steps[0].start, *(step.end for step in steps)]
            patch = axes.stairs(
                [step.demand for step in steps], edges,
                fill=True, facecolor=SKY, edgecolor=BLACK, linewidth=0.5,
            )  # fmt: skip
            patch.set_gid(title)
            line = axes.axhline(
                limit, color=VERMILION, linestyle="--", linewidth=1, label=limit_label
            )
            axes.set_title(title)
            axes.grid(axis="y")
        axes.set_ylim(bottom=0)
        axes.set_xlim(left=0)
        axes.set_xlabel(x_label)
        figure.supylabel(y_label, fontsize=8)
        figure.legend(handles=[line], loc="outside upper right")
    return figure
