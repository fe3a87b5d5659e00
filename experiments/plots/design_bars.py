"""Bars of several designs side by side, planned and simulated (paper figure 17)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from elkhound.experiments.plots.style import BLACK, house_style, mark_of, new_figure

_GAP = 0.9  # between groups, in bars


@dataclass(frozen=True, slots=True)
class Bar:
    """One design in one group.

    Parameters
    ----------
    design : str
        Gives colour and hatch.
    planned : float or None
        The bar; None writes `note` in its place.
    simulated : float or None
        The diamond; None leaves it out.
    note : str
        Why there is no bar.
    """

    design: str
    planned: float | None
    simulated: float | None = None
    note: str = "no plan"


Groups = Mapping[str, Sequence[Bar]]


def design_bars_figure(
    panels: Mapping[str, Groups], *, label: str, group_label: str = "", columns: int = 2
) -> Figure:
    """Return the chart.

    Parameters
    ----------
    panels : mapping
        Title to group to bars, in order.
    label : str
        What bars are, with its unit.
    group_label : str
        What groups are; empty for nothing.
    columns : int
        Panels side by side.
    """
    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    with house_style():
        figure = new_figure(0.7 + 1.9 * rows)
        every = figure.subplots(rows, columns, squeeze=False)
        for axes, (title, groups) in zip(every.flat, panels.items(), strict=False):
            _draw(axes, groups)
            axes.set_title(title)
        for axes in every.flat[len(panels) :]:
            axes.set_axis_off()
        if rows == 1:
            every[0, 0].set_ylabel(label)
        else:  # one label for all: a long one does not fit beside each
            figure.supylabel(label, fontsize=8)
        if group_label:
            figure.supxlabel(group_label, fontsize=8)
        bars = [bar for groups in panels.values() for g in groups.values() for bar in g]
        handles = design_handles(dict.fromkeys(bar.design for bar in bars))
        if any(bar.simulated is not None for bar in bars):
            handles.append(simulated_handle())
        figure.legend(handles=handles, loc="outside upper center", ncols=len(handles))
    return figure


def design_handles(designs: Mapping[str, object]) -> list[Patch | Line2D]:
    """Return a legend's patch of every design."""
    return [
        Patch(
            facecolor=mark_of(design).color,
            hatch=mark_of(design).hatch,
            edgecolor=BLACK,
            linewidth=0.5,
            label=f"{design} (bound)" if design == "ideal" else design,
        )
        for design in designs
    ]


def simulated_handle() -> Line2D:
    """Return a legend's entry of simulated times."""
    return Line2D([], [], label="simulated", **_DIAMOND)


_DIAMOND: dict[str, Any] = {
    "linestyle": "none",
    "marker": "D",
    "markersize": 3.6,
    "markerfacecolor": "white",
    "markeredgecolor": BLACK,
    "markeredgewidth": 0.9,
}


def _draw(axes: Axes, groups: Groups) -> None:
    start, centres = 0.0, []
    for name, bars in groups.items():
        for k, bar in enumerate(bars):
            _draw_bar(axes, start + k, bar, f"{name} {bar.design}")
        centres.append(start + (len(bars) - 1) / 2)
        start += len(bars) + _GAP
    axes.set_xticks(centres, list(groups))
    axes.tick_params(axis="x", length=0)
    axes.set_ylim(bottom=0)
    axes.margins(x=0.02)
    axes.grid(axis="y")


def _draw_bar(axes: Axes, place: float, bar: Bar, gid: str) -> None:
    look = mark_of(bar.design)
    if bar.planned is None:
        axes.annotate(
            bar.note, (place, 0), xytext=(0, 3), textcoords="offset points",
            rotation=90, ha="center", va="bottom", fontsize=6,
        )  # fmt: skip
        axes.bar(place, 0, 0.9)  # keeps its place
        return
    (drawn,) = axes.bar(
        place, bar.planned, 0.9,
        facecolor=look.color, hatch=look.hatch, edgecolor=BLACK, linewidth=0.5,
    )  # fmt: skip
    drawn.set_gid(gid)
    if bar.simulated is not None:
        axes.plot([place], [bar.simulated], zorder=4, **_DIAMOND)
