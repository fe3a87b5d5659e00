"""Elk figure 19: latency against HBM bandwidth, all-to-all and mesh."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from elkhound.experiments.figures.designs import (
    design_courses,
    design_lines,
    fair_ratios,
    layers_of,
    mean_ratio,
    mesh_ratio,
    topology,
)
from elkhound.experiments.figures.figure import Figure, Line
from elkhound.experiments.figures.measures import Swept
from elkhound.experiments.figures.sweeps import HBM, TERA, over_hbm
from elkhound.experiments.plots.design_lines import design_lines_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


def configure(quick: bool) -> list[dict[str, Any]]:
    """Return the grid; quick: two layers, three rates."""
    rates = [4, 8, 16] if quick else [4, 6, 8, 10, 12, 14, 16]
    return over_hbm(quick, [rate * TERA for rate in rates])


def draw(lines: Sequence[Line]) -> Drawing:
    """Draw a panel per model and topology."""
    panels = design_courses(
        lines,
        row=topology,
        column=lambda line: str(line["model"]),
        x=lambda line: line[HBM] / TERA,
    )
    return design_lines_figure(
        panels,
        x_label="HBM bandwidth (TB/s)",
        y_label=f"latency of a decode step (ms){layers_of(lines)}",
        kinds=("planned", "simulated"),
    )


def found(lines: Sequence[Line]) -> str:
    """Return the ratios on each topology, and mesh over all-to-all."""
    parts = []
    for name in ("all-to-all", "mesh"):
        own = [line for line in lines if topology(line) == name]
        parts.append(f"{name}: {fair_ratios(own, ('model', HBM))}")
    slower = mesh_ratio(lines, ("model", HBM), "elk-full")
    parts.append(
        f"Elk-Full takes {mean_ratio(slower)} as long on the mesh, simulated, at most "
        f"{max(slower, default=0):.2f}×."
    )
    return " ".join(parts)


FIGURE = Figure(
    name="elk-19",
    title="Elk figure 19: latency against HBM bandwidth, batch 32, 2,048 tokens",
    said=(
        "More HBM bandwidth lowers latency, with diminishing returns as links are "
        "congested; a mesh is congested sooner than all-to-all links."
    ),
    measure=Swept(configure, design_lines),
    draw=draw,
    found=found,
    why=(
        "They agree in kind on all-to-all links: where HBM binds, all designs that "
        "preload ahead are near the roofline and alike. The mesh here has real routes: "
        "all of HBM comes in over 128 edge links of 22 GB/s, 2.8 TB/s in all, so HBM "
        "beyond that changes nothing; the artifact's mesh is one number."
    ),
    quick_cpu_seconds=142,
)
