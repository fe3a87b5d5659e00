"""FFM figure 11: EDP, energy and latency against TransFusion, by sequence length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from elkhound.experiments.figures.figure import Figure, Line
from elkhound.experiments.figures.fused_mappings import (
    by_tokens,
    mapped,
    pairs,
    pieces_on_edge,
)
from elkhound.experiments.figures.measures import Computed
from elkhound.experiments.plots.against import against_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

QUANTITIES = {"edp": "EDP (J·s)", "energy": "energy (J)", "latency": "latency (s)"}


def draw(lines: Sequence[Line]) -> Drawing:
    """Draw both mappers' values, and below TransFusion's over the join's."""
    return against_figure(by_tokens(lines), QUANTITIES, "tokens")


def found(lines: Sequence[Line]) -> str:
    """Return TransFusion's EDP, energy and latency over the join's."""
    ratios = [
        f"{tokens:,} tokens {fixed['edp'] / best['edp']:.2f}×"
        f" ({fixed['energy'] / best['energy']:.2f}×,"
        f" {fixed['latency'] / best['latency']:.2f}×)"
        for tokens, (best, fixed) in pairs(lines).items()
    ]
    return (
        "EDP (energy, latency) of TransFusion's mapping over the least EDP's: "
        + ("; ".join(ratios) or f"no mapping of both among {len(lines)} lines")
        + "."
    )


FIGURE = Figure(
    name="ffm-11",
    title="FFM figure 11: GPT-3 6.7B layer on edge, against TransFusion",
    said=(
        "FFM has up to 1.8 times less EDP than TransFusion, more at longer sequences, "
        "and reduces energy more than latency."
    ),
    measure=Computed("ffm-mappings", pieces_on_edge, mapped),
    draw=draw,
    found=found,
    why=(
        "TransFusion is written from two sentences of the FFM paper: intermediates are "
        "made and used tile by tile and nothing else is held over those loops, so that "
        "weights, K and V come again for every tile. The published dataflow may hold "
        "more. Energies and rates are those of the edge preset; a single layer."
    ),
    quick_cpu_seconds=33,
)
