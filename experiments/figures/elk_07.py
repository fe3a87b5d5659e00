"""Elk figure 7: inter-core demand over time, in the two extreme preload states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from elkhound.experiments.figures.demand import (
    draw_link_demand,
    found_link_demand,
    link_demand,
    link_demand_pieces,
)
from elkhound.experiments.figures.figure import Figure, Line
from elkhound.experiments.figures.measures import Computed

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

COLUMN = "inter_core_bytes_per_second"


def draw(lines: Sequence[Line]) -> Drawing:
    """Draw a panel per state."""
    return draw_link_demand(
        lines, COLUMN, "inter-core bandwidth demand (GB/s per core)"
    )


def found(lines: Sequence[Line]) -> str:
    """Return mean, spread and peak of the demand in each state."""
    return found_link_demand(lines, COLUMN)


FIGURE = Figure(
    name="elk-7",
    title="Elk figure 7: inter-core bandwidth demand, MinPreload against MaxPreload",
    said="A larger preload space lowers the demand for bandwidth between cores.",
    measure=Computed("link-demand", link_demand_pieces, link_demand),
    draw=draw,
    found=found,
    why=(
        "They agree in kind. Demand is what a core gets from peers, distribution and "
        "exchange, over the time of its execute; each operator takes the fastest plan "
        "in half of the SRAM. What rotates between cores by the plan itself is not "
        "removed by preloading more, so MaxPreload is not 0."
    ),
    quick_cpu_seconds=1,
)
