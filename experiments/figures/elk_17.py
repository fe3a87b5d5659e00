"""Elk figure 17: latency of a decode step, by model, batch and sequence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from elkhound.experiments.figures.designs import (
    DESIGNS,
    LLMS,
    design_bars_of,
    design_lines,
    fair_ratios,
    layers_of,
)
from elkhound.experiments.figures.figure import Figure, Line
from elkhound.experiments.figures.measures import Swept
from elkhound.experiments.plots.design_bars import design_bars_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

CELL = ("model", "bind.batch", "bind.seq")


def configure(quick: bool) -> list[dict[str, Any]]:
    """Return the grid; quick: two layers instead of all, one sequence length."""
    bind: dict[str, Any] = {"batch": [16, 32, 64], "seq": [2048, 4096]}
    if quick:
        bind = {"batch": [16, 32, 64], "seq": [2048], "layers": 2}
    return [{"model": list(LLMS), "bind": bind, "methods": list(DESIGNS)}]


def draw(lines: Sequence[Line]) -> Drawing:
    """Draw a panel per model, a group of bars per batch and sequence."""
    return design_bars_figure(
        design_bars_of(
            lines, panel="model", group=lambda x: f"{x['bind.batch']}\n{x['bind.seq']}"
        ),
        label=f"latency of a decode step (ms){layers_of(lines)}",
        group_label="batch, and tokens before",
    )


def found(lines: Sequence[Line]) -> str:
    """Return the like-for-like ratios."""
    return fair_ratios(lines, CELL)


FIGURE = Figure(
    name="elk-17",
    title="Elk figure 17: latency of a decode step, HBM 16 TB/s, all-to-all",
    said=(
        "Elk-Full is 1.87× as fast as Basic and 1.37× as fast as Static on average, "
        "and reaches 94.84 % of Ideal."
    ),
    measure=Swept(configure, design_lines),
    draw=draw,
    found=found,
    why=(
        "Here all designs have the same bandwidths, options, SRAM and contention rule, "
        "and none may exceed the SRAM. The published artifact gives the baselines "
        "5 GB/s a link and Elk-Full 5.5. Under one rule Static is within about 1 % "
        "of the optimum where one split of the SRAM serves all operators, so there is "
        "little left to gain; Basic loses what it cannot preload ahead. At batch 64 "
        "Elk-Full can lose: it fixes execute plans before it knows what room preloads "
        "have, and pays for it in distribution (docs/elk-re-examined.md)."
    ),
    quick_cpu_seconds=70,
)
