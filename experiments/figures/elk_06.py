"""Elk figure 6: HBM bandwidth demand over time, by the space there is for preloads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from elkhound.experiments.figures.demand import hbm_demand, told
from elkhound.experiments.figures.designs import cells
from elkhound.experiments.figures.figure import Figure, Line
from elkhound.experiments.figures.measures import Computed
from elkhound.experiments.plots.demand import Step, demand_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

KIB = 1024
SPACES_KIB = (128, 192, 256, 384)


def pieces(quick: bool) -> Sequence[Mapping[str, Any]]:
    """Return a preload space each; the same quick and full, as layers repeat."""
    step = {"model": "llama-2-13b", "batch": 32, "seq": 2048, "layers": 2}
    return [{**step, "preload_bytes": size * KIB} for size in SPACES_KIB]


def draw(lines: Sequence[Line]) -> Drawing:
    """Draw a panel per space."""
    panels = {
        f"{size // KIB} KiB per core for preloads": [
            Step(x["start_us"], x["end_us"], x["demand_bytes_per_second"] / 1e12)
            for x in steps
        ]
        for (size,), steps in _by_space(lines)
    }
    return demand_figure(
        panels,
        x_label="time of executes back to back (µs), Llama-2-13B, 2 layers and head",
        y_label="HBM bandwidth demand (TB/s)",
        limit=lines[0]["hbm_bytes_per_second"] / 1e12,
        limit_label="what the chip has",
    )


def found(lines: Sequence[Line]) -> str:
    """Return mean, spread and peak of the demand by space."""
    parts = []
    for (size,), steps in _by_space(lines):
        spans = [x["end_us"] - x["start_us"] for x in steps]
        rates = [x["demand_bytes_per_second"] / 1e12 for x in steps]
        parts.append(f"{size // KIB} KiB: {told(spans, rates)} TB/s")
    return f"{'; '.join(parts)}."


def _by_space(lines: Sequence[Line]) -> list[tuple[tuple[Any, ...], list[Line]]]:
    return list(cells(lines, "preload_space_bytes").items())


FIGURE = Figure(
    name="elk-6",
    title="Elk figure 6: HBM bandwidth demand over time",
    said=(
        "With little preload space the demand, the least bandwidth with which executes "
        "never stall, changes violently; with more space more operators are preloaded "
        "and it becomes smooth."
    ),
    measure=Computed("hbm-demand", pieces, hbm_demand),
    draw=draw,
    found=found,
    why=(
        "The paper does not say how its demand is computed. Here it is exact: of all "
        "ways to deliver in time what executes need, without holding more than the "
        "preload space, the one with the least peak (a string pulled tight). Executes "
        "take the fastest plan in the rest of the SRAM, so they slow down as the "
        "preload space grows."
    ),
    quick_cpu_seconds=1,
)
