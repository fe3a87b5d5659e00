"""Elk figure 8: total link demand over time, in the two extreme preload states."""

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

COLUMN = "total_bytes_per_second"


def draw(lines: Sequence[Line]) -> Drawing:
    """Draw a panel per state."""
    return draw_link_demand(
        lines, COLUMN, "total link bandwidth demand (GB/s per core)"
    )


def found(lines: Sequence[Line]) -> str:
    """Return mean, spread and peak of the demand in each state."""
    return found_link_demand(lines, COLUMN)


FIGURE = Figure(
    name="elk-8",
    title="Elk figure 8: total link bandwidth demand, MinPreload against MaxPreload",
    said=(
        "Relying on inter-core transfers alone, the total demand changes violently; "
        "broadcasting more at preload spreads it over preload and execute time."
    ),
    measure=Computed("link-demand", link_demand_pieces, link_demand),
    draw=draw,
    found=found,
    why=(
        "They disagree. Demand is what the paper defines: bytes from peers and HBM "
        "over execute time plus HBM load time, per operator. By that, broadcasting "
        "more adds bytes from HBM and shortens executes, so demand becomes higher and "
        "less even; operators that move few bytes interrupt it in both states."
    ),
    quick_cpu_seconds=1,
)
