"""Planned against simulated time of each method, with the lower bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from elkhound.experiments.plots.style import (
    BLACK,
    GREY,
    house_style,
    mark_of,
    new_figure,
    save,
)
from elkhound.experiments.plots.time_axis import TimeAxis, time_axis
from elkhound.experiments.plots.values import Row, best_bounds, broken, number

BAR_HEIGHT = 0.38
LABEL_BOX = {"facecolor": "white", "linewidth": 0, "pad": 0.6}
_LINE_STYLES = ("-", "--", ":", "-.")


def plot_comparison(
    path_stem: Path, rows: Sequence[Row], *, clock_hz: int | None = None
) -> tuple[Path, Path]:
    """Write the chart as SVG and PNG; return the two paths.

    Parameters
    ----------
    path_stem : Path
        Where to write, without the suffix.
    rows : sequence of mapping
        Result rows of one problem with ``method, objective, simulated, lower_bound,
        order``; None where a method has nothing.
    clock_hz : int or None
        Clock of the chip; None shows cycles.
    """
    return save(comparison_figure(rows, clock_hz=clock_hz), path_stem)


def comparison_figure(rows: Sequence[Row], *, clock_hz: int | None = None) -> Figure:
    """Return the chart; the parameters are those of `plot_comparison`."""
    bounds = best_bounds(rows)
    values = [number(row, key) for row in rows for key in ("objective", "simulated")]
    known = [value for value in (*values, *bounds.values()) if value is not None]
    time = time_axis(max(known, default=0.0), clock_hz)
    with house_style():
        figure = new_figure(1.1 + 0.36 * len(rows))
        axes = figure.subplots()
        for place, row in enumerate(rows):
            _draw_bars(axes, place, row, time)
        lines = _draw_bounds(axes, bounds, time)
        axes.set_yticks(range(len(rows)), [_tick_label(row) for row in rows])
        axes.tick_params(axis="y", length=0)
        axes.set_ylim(len(rows) - 0.4, -0.6)  # the first method on top
        axes.set_xlim(0, 1.1 * time(max(known, default=1.0)))
        axes.set_xlabel(f"{_quantity(rows)} ({time.unit})")
        axes.grid(axis="x")
        handles = [*_bar_handles(rows), *lines]
        figure.legend(handles=handles, loc="outside upper center", ncols=len(handles))
    return figure


def _draw_bars(axes: Axes, place: int, row: Row, time: TimeAxis) -> None:
    color = mark_of(str(row["method"])).color
    for side, key in ((-1, "objective"), (1, "simulated")):
        value = number(row, key)
        if value is None:
            continue
        hollow = key == "simulated"
        bars = axes.barh(
            place + side * BAR_HEIGHT / 2,
            time(value),
            BAR_HEIGHT,
            facecolor="white" if hollow else color,
            edgecolor=color if hollow else BLACK,
            hatch="////" if hollow else None,
            linewidth=0.5,
        )
        bars[0].set_gid(f"{row['method']} {key}")
        text = f"{time(value):#.3g}".rstrip(".")
        axes.bar_label(bars, [text], fontsize=6.5, padding=2, bbox=LABEL_BOX, zorder=4)


def _draw_bounds(
    axes: Axes, bounds: Mapping[str, float], time: TimeAxis
) -> list[Line2D]:
    return [
        axes.axvline(
            time(bound),
            color=BLACK,
            linewidth=1.0,
            linestyle=style,
            label=_bound_label(order),
        )
        for (order, bound), style in zip(
            sorted(bounds.items()), cycle(_LINE_STYLES), strict=False
        )
    ]


def _bar_handles(rows: Sequence[Row]) -> list[Patch]:
    """Return legend entries of the two kinds of bar; colours stand for methods."""
    rules = {str(row["contention"]) for row in rows if row.get("contention")}
    planned = f"planned, {rules.pop()} rule" if len(rules) == 1 else "planned"
    edge: dict[str, Any] = {"edgecolor": BLACK, "linewidth": 0.5}
    return [
        Patch(facecolor=GREY, label=planned, **edge),
        Patch(facecolor="white", hatch="////", label="simulated", **edge),
    ]


def _quantity(rows: Sequence[Row]) -> str:
    kinds = {row.get("kind", "schedule") for row in rows}
    return "makespan" if kinds == {"schedule"} else "total time"


def _bound_label(order: str) -> str:
    names = {"free": "any order", "": "any plan"}
    return f"lower bound, {names.get(order, f'{order} order')}"


def _tick_label(row: Row) -> str:
    if number(row, "objective") is not None:
        return broken(str(row["method"]))
    note = "bound only" if number(row, "lower_bound") is not None else "no plan"
    return f"{row['method']} ({note})"
