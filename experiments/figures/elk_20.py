"""Elk figure 20: where time goes, by HBM bandwidth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from elkhound.experiments.figures.designs import (
    ALL_TO_ALL,
    DESIGNS,
    cells,
    design_lines,
    layers_of,
)
from elkhound.experiments.figures.figure import Figure, Line
from elkhound.experiments.figures.measures import Swept
from elkhound.experiments.figures.sweeps import HBM, TERA
from elkhound.experiments.plots.use_of_chip import time_splits_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


def configure(quick: bool) -> list[dict[str, Any]]:
    """Return the grid; quick: two layers, three rates."""
    bind: dict[str, Any] = {"batch": 32, "seq": 2048}
    rates = [6, 8, 10, 12, 14, 16]
    if quick:
        bind["layers"], rates = 2, [6, 10, 16]
    return [
        {
            "model": "llama-2-13b",
            "bind": bind,
            "chip": ALL_TO_ALL,
            "set": {"hbm.bytes_per_second": [rate * TERA for rate in rates]},
            "methods": list(DESIGNS[:-1]),
        }
    ]


def draw(lines: Sequence[Line]) -> Drawing:
    """Draw a group of stacked bars per rate."""
    groups = {f"{own[0][HBM] / TERA:g} TB/s": own for own in cells(lines, HBM).values()}
    return time_splits_figure(groups, f"simulated time (ms){layers_of(lines)}")


def found(lines: Sequence[Line]) -> str:
    """Return what HBM waits and contention cost Elk-Full and Basic at each rate."""
    parts = []
    for line in sorted(lines, key=lambda line: line[HBM]):
        if line["method"] in ("basic", "elk-full") and line["simulated"]:
            shares = [
                100 * line[f"{part}_cycles"] / line["simulated"]
                for part in ("preload_only", "overlapped", "contention")
            ]
            told = " / ".join(f"{share:.1f}" for share in shares)
            parts.append(f"{line['method']} at {line[HBM] / TERA:g} TB/s {told}")
    return f"% of time preload only / both / contention: {'; '.join(parts)}."


FIGURE = Figure(
    name="elk-20",
    title="Elk figure 20: time split against HBM bandwidth, Llama-2-13B",
    said=(
        "Higher HBM bandwidth shortens the time that preloads are waited for, with "
        "diminishing returns from contention on links."
    ),
    measure=Swept(configure, design_lines),
    draw=draw,
    found=found,
    why=(
        "They agree in kind. Contention is what executes lose to preloads on the same "
        "ports, simulated with max-min fair sharing."
    ),
    quick_cpu_seconds=9,
)
