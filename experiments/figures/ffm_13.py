"""FFM figure 13: which einsums are fused, at the shortest and the longest sequence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from elkhound.experiments.figures.figure import Figure, Line
from elkhound.experiments.figures.fused_mappings import (
    JOIN,
    by_tokens,
    given,
    mapped,
    pieces_on_edge,
    workload_of,
)
from elkhound.experiments.figures.measures import Computed
from elkhound.experiments.plots.fused import fused_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing


def draw(lines: Sequence[Line]) -> Drawing:
    """Draw the einsums of the shortest and of the longest sequence, both mappers."""
    from elkhound.experiments.fusion_plots import exchanges

    mappings = by_tokens(lines)
    shown = [line for tokens in dict.fromkeys((min(mappings), max(mappings)))
             for line in mappings[tokens].values()]  # fmt: skip
    workload = workload_of(shown[0])
    return fused_figure(
        [einsum.name for einsum in workload.einsums],
        exchanges(workload),
        {
            f"{line['method']},\n{line['bind.new_tokens']:,} tokens": given(
                line, "place."
            )
            for line in shown
        },
        main=shown[0]["main_memory"],
    )


def found(lines: Sequence[Line]) -> str:
    """Return which intermediates the least EDP's mapping keeps on chip."""
    from elkhound.heuristics.fusion.transfusion import intermediates

    said = []
    for tokens, own in by_tokens(lines).items():
        if JOIN in own:
            line = own[JOIN]
            inside = intermediates(workload_of(line))
            kept = [
                tensor
                for tensor, memory in given(line, "place.").items()
                if tensor in inside and memory != line["main_memory"]
            ]
            sent = sorted(inside - set(kept))
            said.append(
                f"{tokens:,} tokens: on chip {', '.join(kept) or 'none'}; through "
                f"{line['main_memory']} {', '.join(sent) or 'none'}"
            )
    return ". ".join(said) + "."


FIGURE = Figure(
    name="ffm-13",
    title="FFM figure 13: which einsums the least EDP's mapping fuses",
    said=(
        "Einsums with the least compute intensity are fused first; AV is fused with Z "
        "in the shortest sequence and not in the longest."
    ),
    measure=Computed("ffm-mappings", pieces_on_edge, mapped),
    draw=draw,
    found=found,
    why=(
        "Read off the mapping with the least EDP; the sequence lengths of the paper's "
        "figure are not in its text."
    ),
    quick_cpu_seconds=1,
)
