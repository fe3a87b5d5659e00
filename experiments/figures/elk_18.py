"""Elk figure 18: where time goes, and how well HBM, links and cores are used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import mean
from typing import TYPE_CHECKING, Any

from elkhound.experiments.figures.designs import (
    DESIGNS,
    LLMS,
    cells,
    design_line,
    simulated_or_bound,
)
from elkhound.experiments.figures.figure import Figure, Line
from elkhound.experiments.figures.measures import Finished, Swept
from elkhound.experiments.plots.use_of_chip import use_of_chip_figure
from elkhound.experiments.source import read_graph

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

PLANS = DESIGNS[:-1]


def configure(quick: bool) -> list[dict[str, Any]]:
    """Return the grid, part of figure 17's; quick: two layers instead of all."""
    bind: dict[str, Any] = {"batch": 32, "seq": 2048}
    if quick:
        bind["layers"] = 2
    return [{"model": list(LLMS), "bind": bind, "methods": list(DESIGNS)}]


def lines_of(finished: Finished) -> Iterator[Line]:
    """Yield lines with the rate at which a design computes, and Ideal's use of HBM."""
    lines: list[Line] = []
    for point, record in finished:
        graph = read_graph(point.subject.model, point.subject.flags).graph
        line: Line = design_line(point, record)
        time_ms = simulated_or_bound(line)
        flops = 2 * sum(operator.einsum.macs for operator in graph.operators)
        rate = None if time_ms is None else flops / time_ms / 1e9
        hbm = None if point.subject.chip is None else point.subject.chip.hbm
        capacity = None if hbm is None else hbm.bytes_per_second
        lines.append({**line, "tflops": rate, "hbm_bytes_per_second": capacity})
    for cell in cells(lines, "model").values():
        moved = [line["hbm_bytes"] for line in cell if line["hbm_bytes"] is not None]
        for line in cell:
            is_ideal = line["method"] == "ideal" and line["planned_ms"]
            yield _with_hbm_use(line, moved[0]) if moved and is_ideal else line


def _with_hbm_use(ideal: Line, hbm_bytes: int) -> Line:
    """Return Ideal's line with the use of HBM that its bound would be."""
    could = ideal["hbm_bytes_per_second"] * ideal["planned_ms"] / 1e3
    return {**ideal, "hbm_bytes": hbm_bytes, "hbm_utilisation": hbm_bytes / could}


def draw(lines: Sequence[Line]) -> Drawing:
    """Draw the split of simulated time, and the use of HBM, links and cores."""
    return use_of_chip_figure(cells(lines, "model"))


def found(lines: Sequence[Line]) -> str:
    """Return means over the models that a design has a plan for."""
    parts = []
    for name, unit, scale in (
        ("hbm_utilisation", "% of HBM bandwidth", 100),
        ("link_utilisation", "% of link bandwidth", 100),
        ("tflops", "TFLOPS", 1),
    ):
        values = {}
        for design in DESIGNS:
            known = [
                line[name]
                for line in lines
                if line["method"] == design and line.get(name) is not None
            ]
            if known:
                values[design] = f"{scale * mean(known):.1f} {design}"
        parts.append(f"{unit}: {', '.join(values.values())}")
    for part in ("contention", "preload_only"):
        shares = []
        for design in PLANS:
            known = [
                line[f"{part}_cycles"] / line["simulated"]
                for line in lines
                if line["method"] == design and line["simulated"]
            ]
            if known:
                shares.append(f"{100 * mean(known):.2f} {design}")
        parts.append(
            f"% of simulated time {part.replace('_', ' ')}: {', '.join(shares)}"
        )
    return (
        "; ".join(parts) + " (means over the models with a plan; Ideal: of its bound)."
    )


FIGURE = Figure(
    name="elk-18",
    title="Elk figure 18: time split and utilisation, batch 32, 2,048 tokens, 16 TB/s",
    said=(
        "HBM bandwidth used: Basic 34.7 %, Static 46.42 %, Elk-Dyn 51.97 %, Elk-Full "
        "62.40 %, Ideal 64.38 %. Links: Elk-Full 89.52 %. Elk-Full computes at 81.06 "
        "TFLOPS. It removes 87.65 % of Elk-Dyn's contention by reordering (mean edit "
        "distance 2.9), and 0.037 % of its time is preload that nothing hides."
    ),
    measure=Swept(configure, lines_of),
    draw=draw,
    found=found,
    why=(
        "Time is simulated here, for all designs on the same links; a preload that "
        "asks for little of a port hardly slows an exchange, so there is less "
        "contention to remove. Elk-Full finds no order better than that of "
        "execution in these models, so it has Elk-Dyn's plan and numbers."
    ),
    quick_cpu_seconds=1,
)
