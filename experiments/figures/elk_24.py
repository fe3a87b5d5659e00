"""Elk figure 24: training time against compute, links and HBM bandwidth."""

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
from elkhound.experiments.figures.sweeps import HBM, LINKS, link_factor, scaled_links
from elkhound.experiments.plots.design_lines import design_lines_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

COMPUTE = "set.compute.mac_per_cycle"
GIGA, MAC_PER_CYCLE, VECTOR = 10**9, 64, 4


def configure(quick: bool) -> list[dict[str, Any]]:
    """Return a grid per chip; quick: a layer, 512 tokens, fewer rates."""
    bind = {"batch": 2, "seq": 2048, "layers": 40}
    rates, factors, links = [300, 400], [0.75, 1.0, 1.25, 1.5], [1.0, 1.5]
    if quick:
        bind |= {"seq": 512, "layers": 1}
        rates, factors, links = [300, 400], [0.75, 1.5], [1.0]
    return [
        {
            "model": "llama-2-13b",
            "phase": "training",
            "bind": bind,
            "spill": "auto",
            "chip": chip,
            "set": {
                "hbm.bytes_per_second": [rate * GIGA for rate in rates],
                "compute.mac_per_cycle": round(MAC_PER_CYCLE * factor),
                "compute.vector_flop_per_cycle": round(VECTOR * factor),
                **scaled_links(chip, faster),
            },
            "methods": list(DESIGNS),
        }
        for chip in (ALL_TO_ALL, MESH)
        for factor in factors
        for faster in links
    ]


def draw(lines: Sequence[Line]) -> Drawing:
    """Draw a panel per topology, HBM rate and link rate."""
    panels = design_courses(
        lines,
        row=topology,
        column=lambda line: f"{line[HBM] / GIGA:g} GB/s, links ×{_links(line):g}",
        x=_compute,
    )
    return design_lines_figure(
        panels,
        x_label="compute (× 64 multiply-accumulates per cycle and core)",
        y_label=f"time of a training step (ms){layers_of(lines)}",
        kinds=("planned", "simulated"),
    )


def found(lines: Sequence[Line]) -> str:
    """Return what more compute brings Elk-Full on every chip, and ratios."""
    known: dict[tuple[str, int, float], dict[float, float]] = {}
    for line in lines:
        if line["method"] == "elk-full" and line["simulated_ms"] is not None:
            place = (topology(line), line[HBM], _links(line))
            known.setdefault(place, {})[_compute(line)] = line["simulated_ms"]
    parts = [
        f"{name}, {rate / GIGA:g} GB/s, links ×{links:g}: "
        f"{times[min(times)] / times[max(times)]:.2f}×"
        for (name, rate, links), times in known.items()
    ]
    ratio = fair_ratios(lines, ("chip", HBM, LINKS, COMPUTE))
    return (
        "Elk-Full, simulated time with least compute over that with most (twice as "
        f"much): {'; '.join(parts)}. {ratio}"
    )


def _links(line: Line) -> float:
    return link_factor(line["chip"], line[LINKS])


def _compute(line: Line) -> float:
    return float(line[COMPUTE] / MAC_PER_CYCLE)


FIGURE = Figure(
    name="elk-24",
    title="Elk figure 24: training of Llama-2-13B, batch 2, 2,048 tokens",
    said=(
        "Training is bound by compute: more FLOPS matter more than more bandwidth, so "
        "cheaper memory will do."
    ),
    measure=Swept(configure, design_lines),
    draw=draw,
    found=found,
    why=(
        "Activations that do not fit the SRAM move to HBM and back (`--spill auto`), "
        "and vectors scale with compute. The paper does not say which of the two it "
        "does; traffic of spilled activations makes HBM matter more here."
    ),
    quick_cpu_seconds=120,
)
