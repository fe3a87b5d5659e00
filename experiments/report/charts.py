"""Charts of the report, that can be zoomed; colours are those of the figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from elkhound.experiments.plots.gantt import LABELS, LOOKS
from elkhound.experiments.plots.style import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    SKY,
    VERMILION,
    mark_of,
)
from elkhound.experiments.row_table import Line

HBM, CORES = "HBM", "cores"
PATTERNS = {"distribute": "/", "wait": "."}
SPLIT = {
    "preload_only": ("preload only", GREEN),
    "execute_only": ("execute only", BLUE),
    "overlapped": ("overlapped", SKY),
    "contention": ("contention", VERMILION),
    "idle": ("idle", GREY),
}
SYMBOLS = {
    "v": "triangle-down",
    "^": "triangle-up",
    "s": "square",
    "D": "diamond",
    "P": "cross",
    "X": "x",
    "*": "star",
    "h": "hexagon",
    "o": "circle",
}
Score = Mapping[str, Any]
Bar = tuple[str, float, float, str]
"""Lane, start, length, and what it is."""


def time_unit(longest_cycles: int, clock_hz: int | None) -> tuple[float, str]:
    """Return what to multiply cycles by, and the unit that gives.

    Examples
    --------
    >>> time_unit(2_000_000, 1_000_000_000)
    (1e-06, 'ms')
    >>> time_unit(50, None)
    (1.0, 'cycles')
    """
    if clock_hz is None:
        return 1.0, "cycles"
    milliseconds = 1e3 * longest_cycles / clock_hz >= 1
    return (1e3 / clock_hz, "ms") if milliseconds else (1e6 / clock_hz, "µs")


def timeline_chart(score: Score, clock_hz: int | None) -> go.Figure:
    """Return the Gantt chart of a plan above its SRAM over time, on one axis."""
    scale, unit = time_unit(score["makespan_cycles"], clock_hz)
    chart = make_subplots(
        rows=2,
        cols=1,
        shared_xaxes=True,
        vertical_spacing=0.06,
        row_heights=[0.4, 0.6],
    )
    for kind, bars in _bars(score).items():
        chart.add_trace(_bar_trace(kind, bars, scale, unit), row=1, col=1)
    for trace in _occupancy(score, scale):
        chart.add_trace(trace, row=2, col=1)
    capacity = score["sram_bytes"] / 1024
    chart.add_hline(y=capacity, line={"dash": "dash", "width": 1}, row=2, col=1)
    chart.update_yaxes(categoryarray=[CORES, HBM], row=1, col=1)
    chart.update_yaxes(title="SRAM per core (KiB)", rangemode="tozero", row=2, col=1)
    chart.update_xaxes(title=f"time ({unit})", row=2, col=1)
    chart.update_layout(barmode="overlay", height=430, **look())
    return chart


def look() -> dict[str, Any]:
    """Return the layout of every chart: legend below, as the tools are on top."""
    return {
        "template": "plotly_white",
        "margin": {"l": 70, "r": 20, "t": 36, "b": 50},
        "legend": {
            "orientation": "h",
            "yref": "container",
            "y": 0,
            "yanchor": "bottom",
            "x": 0,
        },
        "font": {"size": 12},
    }


def _bars(score: Score) -> dict[str, list[Bar]]:
    """Return what every operator does, by kind."""
    bars: dict[str, list[Bar]] = {}

    def add(kind: str, lane: str, start: int, end: int, name: str) -> None:
        if end > start:
            bars.setdefault(kind, []).append((lane, start, end - start, name))

    for operator in score["operators"]:
        name = operator["name"]
        if operator["preload_start_cycle"] is not None:
            start, end = operator["preload_start_cycle"], operator["preload_end_cycle"]
            add("preload", HBM, start, end, name)
        issue, start = operator["execute_issue_cycle"], operator["execute_start_cycle"]
        add("wait", CORES, issue, start, name)
        for kind, begin, finish in operator["phases"]:
            add(kind, CORES, begin, finish, name)
    return bars


def _bar_trace(kind: str, bars: Sequence[Bar], scale: float, unit: str) -> go.Bar:
    lanes, starts, lengths, names = zip(*bars, strict=True)
    looks: Mapping[Any, Mapping[str, Any]] = LOOKS
    labels: Mapping[Any, str] = LABELS
    return go.Bar(
        orientation="h",
        y=lanes,
        base=[scale * start for start in starts],
        x=[scale * length for length in lengths],
        customdata=names,
        name=labels[kind],
        marker={
            "color": looks[kind]["facecolor"],
            "line": {"width": 0},
            "pattern": {"shape": PATTERNS.get(kind, "")},
        },
        hovertemplate=f"%{{customdata}}<br>{labels[kind]}: %{{x:.4g}} {unit} from "
        f"%{{base:.6g}}<extra></extra>",
    )


def _occupancy(score: Score, scale: float) -> list[go.Scatter]:
    steps = score["occupancy"]
    times = [scale * step[0] for step in steps]
    parts = (("executing", BLUE), ("preloaded", GREEN), ("resident", ORANGE))
    return [
        go.Scatter(
            x=times,
            y=[step[part] / 1024 for step in steps],
            name=f"{name} bytes",
            stackgroup="sram",
            mode="lines",
            line={"shape": "hv", "width": 0.5, "color": color},
        )
        for part, (name, color) in enumerate(parts, start=1)
    ]


def split_chart(scores: Mapping[str, Score], clock_hz: int | None) -> go.Figure:
    """Return where the simulated time of every plan goes."""
    longest = max(score["makespan_cycles"] for score in scores.values())
    scale, unit = time_unit(longest, clock_hz)
    methods = list(scores)
    chart = go.Figure(
        [
            go.Bar(
                x=methods,
                y=[scale * scores[method]["split"][part] for method in methods],
                name=name,
                marker={"color": color},
            )
            for part, (name, color) in SPLIT.items()
        ]
    )
    chart.update_layout(
        barmode="stack", yaxis_title=f"simulated time ({unit})", height=360, **look()
    )
    return chart


def use_chart(scores: Mapping[str, Score]) -> go.Figure:
    """Return how much of HBM, links and cores every plan uses."""
    methods = list(scores)
    uses = (
        ("hbm_utilisation", "HBM", GREEN, ""),
        ("link_utilisation", "links", ORANGE, "/"),
        ("compute_utilisation", "cores computing", BLUE, "x"),
    )
    chart = go.Figure(
        [
            go.Bar(
                x=methods,
                y=[_percent(scores[method].get(field)) for method in methods],
                name=name,
                marker={"color": color, "pattern": {"shape": shape}},
            )
            for field, name, color, shape in uses
        ]
    )
    chart.update_layout(
        barmode="group", yaxis_title="used (% of simulated time)", height=360, **look()
    )
    return chart


def _percent(part: float | None) -> float | None:
    return None if part is None else 100 * part


def gap_chart(lines: Sequence[Line]) -> go.Figure | None:
    """Return gap against CPU time, or None where no gap is known."""
    known = [line for line in lines if line.get("gap") is not None]
    if not known:
        return None
    chart = _by_method(
        known,
        x=lambda line: max(1e-3, line["cpu_seconds"]),
        y=lambda line: 100 * line["gap"],
    )
    chart.update_layout(
        xaxis={"type": "log", "title": "CPU time (s), at least 0.001"},
        yaxis={"title": "gap to the best bound (%)", "rangemode": "tozero"},
        height=360,
        **look(),
    )
    return chart


def pareto_chart(lines: Sequence[Line]) -> go.Figure | None:
    """Return energy against latency of fused mappings, or None without any."""
    known = [line for line in lines if line.get("energy") and line.get("latency")]
    if not known:
        return None
    chart = _by_method(
        known, x=lambda line: line["latency"], y=lambda line: line["energy"]
    )
    chart.update_layout(
        xaxis_title="latency (s, or the accelerator's unit)",
        yaxis_title="energy (J, or the accelerator's unit)",
        height=360,
        **look(),
    )
    return chart


def _by_method(lines: Sequence[Line], x: Any, y: Any) -> go.Figure:
    chart = go.Figure()
    for method in dict.fromkeys(str(line["method"]) for line in lines):
        mine = [line for line in lines if line["method"] == method]
        mark = mark_of(method)
        chart.add_trace(
            go.Scatter(
                x=[x(line) for line in mine],
                y=[y(line) for line in mine],
                mode="markers",
                name=method,
                marker={
                    "color": mark.color,
                    "symbol": SYMBOLS.get(mark.marker, "pentagon"),
                    "size": 10,
                    "line": {"width": 0.8, "color": "black"},
                },
            )
        )
    return chart
