"""Charts of a sweep: objective and gap of every method against what was varied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from itertools import cycle
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from elkhound.experiments.plots.style import GREY, mark_of
from elkhound.experiments.report.charts import SYMBOLS, look
from elkhound.experiments.row_table import Line, RowTable
from elkhound.experiments.rows import Row

MOST_LINES = 40  # of one chart that can still be told apart
_SWEPT_COLUMNS = ("contention", "seed")  # of rows, and axes of grids
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
_WIDE = 8  # largest over smallest value of an axis that is drawn logarithmically
_PANELS = (("objective", "objective", 1.0), ("gap", "gap to the best bound (%)", 100.0))


def swept_axes(rows: RowTable) -> tuple[str, ...]:
    """Return the coordinates of a sweep that have more than one value."""
    columns = {field.name for field in fields(Row)}.difference(_SWEPT_COLUMNS)
    return tuple(name for name in rows.varied if name not in columns)


def swept_chart(lines: Sequence[Line], axis: str, others: Sequence[str]) -> go.Figure:
    """Return objective and gap against one axis, a line per method.

    Parameters
    ----------
    lines : sequence of mapping
        Rows with coordinates.
    axis : str
        The coordinate along x.
    others : sequence of str
        Coordinates that vary too: a line for every combination, dashed apart.
    """
    planned = [
        line
        for line in lines
        if line.get("objective") is not None and line.get(axis) is not None
    ]
    panels = [p for p in _PANELS if any(x.get(p[0]) is not None for x in planned)]
    chart = make_subplots(
        rows=max(1, len(panels)), cols=1, shared_xaxes=True, vertical_spacing=0.08
    )
    traced = _traced(planned, others)
    shown = dict(list(traced.items())[:MOST_LINES])
    dashes = dict(zip(_places(shown), cycle(_DASHES), strict=False))
    named: set[str] = set()
    for row, (column, title, scale) in enumerate(panels, start=1):
        for (method, where), mine in shown.items():
            known = [line for line in mine if line.get(column) is not None]
            trace = _trace(method, known, axis, dashes[where])
            trace.update(y=[scale * line[column] for line in known])
            trace.update(showlegend=row == 1 and method not in named)
            named.add(method)
            chart.add_trace(trace, row=row, col=1)
        unit = _unit(planned) if column == "objective" else ""
        chart.update_yaxes(title=title + unit, rangemode="tozero", row=row, col=1)
    if others:
        chart.add_traces([_sample(where, dash) for where, dash in dashes.items()])
    left_out = len(traced) - len(shown)
    note = f"; the first {len(shown)} of {len(traced)} lines" if left_out else ""
    chart.update_xaxes(**_scale([line[axis] for line in planned]))
    chart.update_xaxes(title=axis + note, row=max(1, len(panels)), col=1)
    chart.update_layout(height=240 + 180 * len(panels), **look())
    return chart


Where = tuple[tuple[str, Any], ...]


def _traced(
    lines: Sequence[Line], others: Sequence[str]
) -> dict[tuple[str, Where], list[Line]]:
    """Return the rows of every line of the chart."""
    traced: dict[tuple[str, Where], list[Line]] = {}
    for line in lines:
        where = tuple((name, line.get(name)) for name in others)
        traced.setdefault((str(line["method"]), where), []).append(line)
    return traced


def _places(traced: Mapping[tuple[str, Where], object]) -> list[Where]:
    return list(dict.fromkeys(where for _, where in traced))


def _sample(where: Where, dash: str) -> go.Scatter:
    """Return an entry of the legend that tells what a dash means."""
    parts = (
        f"{key}={value:g}" if _is_number(value) else f"{key}={value}"
        for key, value in where
    )
    return go.Scatter(
        x=[None],
        y=[None],
        mode="lines",
        name=", ".join(parts),
        line={"color": GREY, "dash": dash, "width": 1.5},
    )


def _trace(method: str, lines: list[Line], axis: str, dash: str) -> go.Scatter:
    mark = mark_of(method)
    lines.sort(key=lambda line: _place(line[axis]))
    return go.Scatter(
        x=[_place(line[axis]) for line in lines],
        mode="lines+markers",
        name=method,
        legendgroup=method,
        line={"color": mark.color, "dash": dash, "width": 1.5},
        marker={
            "color": mark.color,
            "symbol": SYMBOLS.get(mark.marker, "pentagon"),
            "size": 8,
            "line": {"width": 0.8, "color": "black"},
        },
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _place(value: Any) -> Any:
    return value if _is_number(value) else str(value)


def _unit(lines: Sequence[Line]) -> str:
    """Return the unit of objectives, where all rows have the same known one."""
    kinds = {line.get("kind") for line in lines}
    return " (cycles)" if kinds == {"schedule"} else ""


def _scale(values: Sequence[Any]) -> dict[str, Any]:
    """Return a category axis for words, a logarithmic one for a long range."""
    places = [_place(value) for value in values]
    if any(isinstance(place, str) for place in places):
        return {"type": "category"}
    if places and min(places) > 0 and max(places) >= _WIDE * min(places):
        return {"type": "log"}
    return {"type": "linear"}
