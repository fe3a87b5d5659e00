"""How far from optimal each method is known to be, against what it costs to run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from elkhound.experiments.plots.style import (
    BLACK,
    GREY,
    LIGHT_GREY,
    house_style,
    mark_of,
    new_figure,
    save,
)
from elkhound.experiments.plots.values import Row, broken, number


def plot_gap_runtime(path_stem: Path, rows: Sequence[Row]) -> tuple[Path, Path]:
    """Write the chart as SVG and PNG; return the two paths.

    A plan without a bound that holds for it has a hollow marker at "unknown"; rows
    without a plan or a time are named below the axis.

    Parameters
    ----------
    path_stem : Path
        Where to write, without the suffix.
    rows : sequence of mapping
        Result rows with ``method, objective, gap, cpu_seconds``.
    """
    return save(gap_runtime_figure(rows), path_stem)


def gap_runtime_figure(rows: Sequence[Row]) -> Figure:
    """Return the chart; the parameter is that of `plot_gap_runtime`."""
    shown = [row for row in rows if _missing(row) is None]
    with house_style():
        figure = new_figure(3.2)
        axes = figure.subplots()
        gaps = [gap for row in shown if (gap := number(row, "gap")) is not None]
        top = max(1.0, 100 * max(gaps, default=0.0))
        unknown_at = 1.15 * top if len(gaps) < len(shown) else None
        for row in shown:
            _draw_point(axes, row, unknown_at)
        axes.set_xscale("log")
        _draw_y_axis(axes, top, unknown_at)
        axes.axhline(0, color=BLACK, linewidth=0.6)
        axes.set_xlabel(_x_label(rows))
        axes.set_ylabel("gap to the lower bound (%)")
        figure.legend(handles=_legend(shown, unknown_at), loc="outside right upper")
    return figure


def _missing(row: Row) -> str | None:
    """Return why a row has no point, or None if it has one."""
    if number(row, "objective") is None:
        return "no plan"
    seconds = number(row, "cpu_seconds")
    return "no time measured" if seconds is None or seconds <= 0 else None


def _draw_y_axis(axes: Axes, top: float, unknown_at: float | None) -> None:
    """Let the scale end at the largest gap; above it, a place for unknown ones."""
    ticks = [t for t in MaxNLocator(6).tick_values(0, top) if 0 <= t <= top]
    labels = [f"{tick:g}" for tick in ticks]
    for tick in ticks:
        axes.axhline(tick, color=LIGHT_GREY, linewidth=0.4, zorder=0)
    if unknown_at is not None:
        axes.axhline(unknown_at, color=GREY, linewidth=0.6, linestyle=":", zorder=0)
        ticks.append(unknown_at)
        labels.append("unknown")
    axes.set_yticks(ticks, labels)
    axes.set_ylim(-0.05 * top, 1.08 * (unknown_at or top))


def _draw_point(axes: Axes, row: Row, unknown_at: float | None) -> None:
    gap, seconds = number(row, "gap"), number(row, "cpu_seconds")
    mark = mark_of(str(row["method"]))
    (point,) = axes.plot(
        np.array([seconds], dtype=float),
        np.array([unknown_at if gap is None else 100 * gap], dtype=float),
        linestyle="none",
        marker=mark.marker,
        markersize=7,
        markerfacecolor=mark.color if gap is not None else "white",
        markeredgecolor=mark.color if gap is None else BLACK,
        markeredgewidth=1.4 if gap is None else 0.6,
        clip_on=False,
        zorder=3,
    )
    point.set_gid(str(row["method"]))


def _legend(shown: Sequence[Row], unknown_at: float | None) -> list[Line2D]:
    handles = []
    for method in dict.fromkeys(str(row["method"]) for row in shown):
        mark = mark_of(method)
        handle = Line2D([], [], linestyle="none", marker=mark.marker)
        handle.set_label(broken(method).replace(",", ",\n"))
        handle.set(color=mark.color, markeredgecolor=BLACK, markeredgewidth=0.6)
        handles.append(handle)
    if unknown_at is not None:
        hollow = Line2D([], [], linestyle="none", marker="o", label="hollow: no bound")
        hollow.set(markerfacecolor="white", markeredgecolor=BLACK)
        handles.append(hollow)
    return handles


def _x_label(rows: Sequence[Row]) -> str:
    notes = [f"{row['method']} ({reason})" for row in rows if (reason := _missing(row))]
    label = "CPU time (s)"
    return f"{label}\nnot shown: {', '.join(notes)}" if notes else label
