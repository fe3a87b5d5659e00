"""Elk figure 22: latency against link bandwidth, by HBM bandwidth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from elkhound.experiments.figures.designs import (
    ALL_TO_ALL,
    DESIGNS,
    MESH,
    design_courses,
    design_lines,
    fair_ratios,
    layers_of,
    topology,
)
from elkhound.experiments.figures.figure import Figure, Line
from elkhound.experiments.figures.measures import Swept
from elkhound.experiments.figures.sweeps import (
    HBM,
    LINKS,
    TERA,
    link_factor,
    scaled_links,
)
from elkhound.experiments.plots.design_lines import design_lines_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


def configure(quick: bool) -> list[dict[str, Any]]:
    """Return a grid per topology and link; quick: two layers, fewer of all."""
    bind: dict[str, Any] = {"batch": 32, "seq": 2048}
    rates, factors = [8, 10, 12, 14], [0.75, 1.0, 1.25, 1.5]
    if quick:
        bind["layers"], rates, factors = 2, [8, 14], [0.75, 1.0, 1.5]
    return [
        {
            "model": "llama-2-70b",
            "bind": bind,
            "chip": chip,
            "set": {
                "hbm.bytes_per_second": [rate * TERA for rate in rates],
                **scaled_links(chip, factor),
            },
            "methods": list(DESIGNS),
        }
        for chip in (ALL_TO_ALL, MESH)
        for factor in factors
    ]


def factor_of(line: Line) -> float:
    """Return how many times as fast as the preset's the links of a line are."""
    return link_factor(line["chip"], line[LINKS])


def draw(lines: Sequence[Line]) -> Drawing:
    """Draw a panel per topology and HBM rate."""
    panels = design_courses(
        lines,
        row=topology,
        column=lambda line: f"HBM {line[HBM] / TERA:g} TB/s",
        x=factor_of,
    )
    return design_lines_figure(
        panels,
        x_label="link bandwidth (× 5.5 GB/s a port, × 22 GB/s a mesh link)",
        y_label=f"latency of a decode step (ms){layers_of(lines)}",
        kinds=("planned", "simulated"),
    )


def found(lines: Sequence[Line]) -> str:
    """Return what the fastest links bring Elk-Full at every HBM rate, and ratios."""
    parts = []
    known: dict[tuple[str, int], dict[float, float]] = {}
    for line in lines:
        if line["method"] == "elk-full" and line["simulated_ms"] is not None:
            of_rate = known.setdefault((topology(line), line[HBM]), {})
            of_rate[factor_of(line)] = line["simulated_ms"]
    for (name, rate), times in known.items():
        gain = times[min(times)] / times[max(times)]
        parts.append(f"{name} at {rate / TERA:g} TB/s {gain:.2f}×")
    ratio = fair_ratios(lines, ("chip", HBM, LINKS))
    return (
        "Elk-Full, slowest links' simulated time over fastest links': "
        f"{', '.join(parts)}. {ratio}"
    )


FIGURE = Figure(
    name="elk-22",
    title="Elk figure 22: latency against link bandwidth, Llama-2-70B",
    said=(
        "With little HBM bandwidth faster links bring little; with much, performance "
        "scales with links, and Elk-Full makes the best use of both."
    ),
    measure=Swept(configure, design_lines),
    draw=draw,
    found=found,
    why=(
        "Options are searched anew for every link rate. In-ports take preloads and "
        "exchanges alike, so for this model, whose KV heads are shared by eight query "
        "heads, links bind before HBM does."
    ),
    quick_cpu_seconds=60,
)
