"""How a value is spread over many problems, by method and group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from elkhound.experiments.plots.style import (
    BLACK,
    GREY,
    house_style,
    mark_of,
    new_figure,
)
from elkhound.experiments.plots.values import broken

Groups = Mapping[str, Mapping[str, Sequence[float]]]
"""Group to method to values."""
MOST_UPRIGHT = 5  # groups whose names fit side by side


def distributions_figure(
    panels: Mapping[str, Groups], *, label: str, columns: int = 2
) -> Figure:
    """Return the chart: a marker at the mean, bars from 5 to 95 % and to the extremes.

    There is a legend unless every group has one method, and names it.

    Parameters
    ----------
    panels : mapping of str to groups
        In order. A method without values in a group is left out there.
    label : str
        What the values are, with their unit.
    columns : int
        Panels side by side.
    """
    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    methods = list(
        dict.fromkeys(
            m for groups in panels.values() for g in groups.values() for m in g
        )
    )
    with house_style():
        figure = new_figure(1.0 + 1.9 * rows)
        every = figure.subplots(rows, columns, squeeze=False)
        for axes in every.flat[len(panels) :]:
            axes.set_axis_off()
        for axes, (title, groups) in zip(every.flat, panels.items(), strict=False):
            _draw_groups(axes, groups, methods)
            axes.set_title(title)
        figure.supylabel(label, fontsize=8)
        if any(len(g) > 1 for groups in panels.values() for g in groups.values()):
            figure.legend(
                handles=[_handle(method) for method in methods],
                loc="outside upper center",
                ncols=min(6, len(methods)),
            )
    return figure


def _draw_groups(axes: Axes, groups: Groups, methods: Sequence[str]) -> None:
    width = 0.8 / max(1, *(len(values) for values in groups.values()))
    for k, values_of in enumerate(groups.values()):
        shown = [method for method in methods if values_of.get(method)]
        for place, method in enumerate(shown):
            x = k + (place - (len(shown) - 1) / 2) * width
            _draw_values(axes, x, method, values_of[method])
    axes.axhline(0, color=BLACK, linewidth=0.6, zorder=0)
    axes.set_xticks(range(len(groups)), list(groups))
    if len(groups) > MOST_UPRIGHT:
        axes.tick_params(axis="x", labelrotation=30)
    axes.set_xlim(-0.6, len(groups) - 0.4)
    axes.grid(axis="y")


def _draw_values(axes: Axes, x: float, method: str, values: Sequence[float]) -> None:
    mark = mark_of(method)
    low, inner_low, inner_high, high = np.quantile(values, (0, 0.05, 0.95, 1))
    axes.vlines(x, low, high, color=GREY, linewidth=0.6, zorder=1)
    axes.vlines(x, inner_low, inner_high, color=mark.color, linewidth=2, zorder=2)
    axes.plot(
        [x],
        [mean(values)],
        linestyle="none",
        marker=mark.marker,
        markersize=5,
        color=mark.color,
        markeredgecolor=BLACK,
        markeredgewidth=0.6,
        zorder=3,
    )


def _handle(method: str) -> Line2D:
    mark = mark_of(method)
    handle = Line2D([], [], linestyle="none", marker=mark.marker, color=mark.color)
    handle.set(markeredgecolor=BLACK, markeredgewidth=0.6)
    handle.set_label(broken(method))
    return handle
