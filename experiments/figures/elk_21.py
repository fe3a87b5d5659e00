"""Elk figure 21: use of links against HBM bandwidth, all-to-all and mesh."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean
from typing import TYPE_CHECKING, Any

from elkhound.experiments.figures.designs import (
    DESIGNS,
    design_courses,
    design_lines,
    topology,
)
from elkhound.experiments.figures.figure import Figure, Line
from elkhound.experiments.figures.measures import Swept
from elkhound.experiments.figures.sweeps import HBM, TERA, over_hbm
from elkhound.experiments.plots.design_lines import design_lines_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


def configure(quick: bool) -> list[dict[str, Any]]:
    """Return the grid; quick: two layers, three rates, two of them of figure 19."""
    rates = [4, 8, 16] if quick else [2, 4, 6, 8, 10, 12, 14, 16, 18]
    return over_hbm(quick, [rate * TERA for rate in rates])


def used(line: Line) -> float | None:
    """Return the part of link bandwidth that the simulated plan uses, in %."""
    part = line["link_utilisation"]
    return None if part is None else 100 * part


def draw(lines: Sequence[Line]) -> Drawing:
    """Draw a panel per model and topology."""
    panels = design_courses(
        lines,
        row=topology,
        column=lambda line: str(line["model"]),
        x=lambda line: line[HBM] / TERA,
        solid=used,
        dashed=None,
    )
    return design_lines_figure(
        panels,
        x_label="HBM bandwidth (TB/s)",
        y_label="link bandwidth used, simulated (%)",
        kinds=None,
    )


def found(lines: Sequence[Line]) -> str:
    """Return means over models and rates by topology and design."""
    parts = []
    for name in ("all-to-all", "mesh"):
        told = []
        for design in DESIGNS[:-1]:
            known = [
                value
                for line in lines
                if topology(line) == name
                and line["method"] == design
                and (value := used(line)) is not None
            ]
            if known:
                told.append(f"{mean(known):.1f} {design}")
        parts.append(f"{name}: {', '.join(told)}")
    return f"% of link bandwidth used, means over models and rates: {'; '.join(parts)}."


FIGURE = Figure(
    name="elk-21",
    title="Elk figure 21: link use against HBM bandwidth, batch 32, 2,048 tokens",
    said="Elk-Full uses the links best at every HBM bandwidth.",
    measure=Swept(configure, design_lines),
    draw=draw,
    found=found,
    why=(
        "Here a plan that moves more bytes over links uses them more, and is not "
        "faster for it: use says little about quality. On the mesh the link beside an "
        "edge is counted, which all preloads of half a row cross. Ideal is a bound, "
        "which nothing simulates."
    ),
    quick_cpu_seconds=1,
)
