"""The page: what was planned, how good it is, and where it came from."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import jinja2
import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from elkhound.experiments.report.charts import (
    gap_chart,
    pareto_chart,
    split_chart,
    time_unit,
    timeline_chart,
    use_chart,
)
from elkhound.experiments.report.remarks import remark
from elkhound.experiments.report.run import Run
from elkhound.experiments.report.swept import swept_axes, swept_chart
from elkhound.experiments.row_table import Line

COLUMNS = ("objective", "lower_bound", "gap", "simulated", "model_error", "energy",
           "latency", "edp", "simulated_latency", "height_bytes", "bytes_used",
           "cpu_seconds")  # fmt: skip
_PERCENT = ("gap", "model_error")
_CYCLES = ("objective", "lower_bound", "simulated")


def report_html(run: Run) -> str:
    """Return the page; it needs nothing else, neither network nor other files."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("elkhound.experiments.report", "."),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    varied = swept_axes(run.rows)
    shown = [n for n in COLUMNS if any(x.get(n) is not None for x in run.rows.lines)]
    return environment.get_template("page.html").render(
        title=run.problem.get("name", run.path.name),
        summary=_summary(run),
        contradictions=run.contradictions,
        varied=varied,
        columns=shown,
        lines=[_cells(line, shown, varied, run) for line in run.rows.lines],
        charts=_charts(run),
        timelines=_timelines(run),
        problem=run.problem,
        versions=run.versions,
        configuration=json.dumps(run.configuration, indent=1),
        plotly=get_plotlyjs(),
    )


def _summary(run: Run) -> str:
    """Return in a sentence what was found."""
    lines = run.rows.lines
    planned = [line for line in lines if line.get("objective") is not None]
    verified = sum(line.get("verified") is True for line in planned)
    text = f"{len(lines)} rows, {verified} of {len(planned)} plans verified"
    if run.problem and planned:
        best = min(planned, key=lambda line: line["objective"])
        text += f"; best: {best['method']}, {best['status']}"
        if best.get("gap") is not None:
            text += f", gap {100 * best['gap']:.2f} % to the best bound"
    failed = len(lines) - len(planned)
    return f"{text}; {failed} without a plan." if failed else f"{text}."


def _cells(
    line: Line, columns: Sequence[str], varied: Sequence[str], run: Run
) -> dict[str, Any]:
    verified = {True: "yes", False: "NO", None: "–"}[line.get("verified")]
    return {
        "varied": [_text(name, line.get(name), None) for name in varied],
        "method": line["method"],
        "status": line["status"],
        "verified": verified,
        "remark": remark(line, run.configuration),
        "values": [_text(name, line.get(name), run.clock_hz) for name in columns],
    }


def _text(name: str, value: Any, clock_hz: int | None) -> str:
    if value is None:
        return "–"
    if name in _PERCENT:
        return f"{100 * value:.2f} %"
    if name in _CYCLES and clock_hz is not None:
        scale, unit = time_unit(value, clock_hz)
        return f"{value:,} ({scale * value:.4g} {unit})"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _charts(run: Run) -> list[tuple[str, str]]:
    """Return title and markup of the charts over all rows."""
    timed = {m: s for m, s in run.scores.items() if "split" in s}
    axes = swept_axes(run.rows)
    found: list[tuple[str, go.Figure | None]] = [
        *(
            (
                f"Objective and gap against {axis}",
                swept_chart(run.rows.lines, axis, others),
            )
            for axis in axes
            for others in (tuple(other for other in axes if other != axis),)
        ),
        ("How far from optimal, at what cost", gap_chart(run.rows.lines)),
        ("Energy and latency", pareto_chart(run.rows.lines)),
        ("Where the time goes", split_chart(timed, run.clock_hz) if timed else None),
        ("Use of HBM, links and cores", use_chart(timed) if timed else None),
    ]
    return [(title, _markup(chart)) for title, chart in found if chart is not None]


def _timelines(run: Run) -> list[tuple[str, str]]:
    """Return method and chart of every simulated schedule, the fastest first."""
    timed = {m: s for m, s in run.scores.items() if "occupancy" in s}
    return [
        (method, _markup(timeline_chart(timed[method], run.clock_hz)))
        for method in sorted(timed, key=lambda method: timed[method]["makespan_cycles"])
    ]


def _markup(chart: go.Figure) -> str:
    text: str = chart.to_html(
        full_html=False,
        include_plotlyjs=False,
        config={
            "responsive": True,
            "scrollZoom": True,
            "displaylogo": False,
            "modeBarButtonsToRemove": ["lasso2d", "select2d", "autoScale2d"],
        },
    )
    return text
