"""FFM figure 12: energy by component, and of main memory by kind of tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from elkhound.experiments.figures.figure import Figure, Line
from elkhound.experiments.figures.fused_mappings import (
    given,
    mapped,
    pairs,
    pieces_on_edge,
    workload_of,
)
from elkhound.experiments.figures.measures import Computed
from elkhound.experiments.plots.fusion_energy import Shares, fusion_energy_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

WEIGHTS, K_V, OTHER = "weights", "intermediates (K, V)", "intermediates (other)"
ENDS = "input and output"


def draw(lines: Sequence[Line]) -> Drawing:
    """Draw two bars per number of tokens; the join's total is 1."""
    parts, kinds = _shares(lines)
    return fusion_energy_figure(
        parts,
        kinds,
        main=lines[0]["main_memory"],
        unit="total of the first mapper = 1",
    )


def _shares(lines: Sequence[Line]) -> tuple[Shares, Shares]:
    """Return energies by component and by kind, over the join's total."""
    parts, kinds = {}, {}
    for tokens, own in pairs(lines).items():
        total = own[0]["energy"]
        for line in own:
            bar = f"{line['method']}\n{tokens:,} tokens"
            parts[bar] = {k: v / total for k, v in given(line, "part.").items()}
            kinds[bar] = {k: v / total for k, v in by_kind(line).items()}
    return parts, kinds


def by_kind(line: Line) -> dict[str, float]:
    """Return the energy of main memory for the kinds of tensors that the paper has."""
    workload = workload_of(line)
    outputs = {e.output.tensor for e in workload.einsums if not e.copy}
    found = dict.fromkeys((WEIGHTS, K_V, OTHER, ENDS), 0.0)
    for tensor, energy in given(line, "main.").items():
        kind = WEIGHTS
        if tensor in ("K", "V"):
            kind = K_V
        elif tensor not in workload.intermediates and tensor in outputs:
            kind = ENDS
        elif tensor in outputs:
            kind = OTHER
        elif not tensor.startswith("W"):
            kind = ENDS  # the copied input
        found[kind] += energy
    return found


def found(lines: Sequence[Line]) -> str:
    """Return main memory's share, and what every kind costs both mappers."""
    said = []
    for tokens, (best, fixed) in pairs(lines).items():
        ours, theirs = by_kind(best), by_kind(fixed)
        shares = [
            100 * sum(kinds.values()) / line["energy"]
            for kinds, line in ((ours, best), (theirs, fixed))
        ]
        kinds = ", ".join(
            f"{kind} {ours[kind]:.3g} and {theirs[kind]:.3g} J" for kind in ours
        )
        said.append(
            f"{tokens:,} tokens: main memory takes {shares[0]:.0f} and "
            f"{shares[1]:.0f} % of the energy: {kinds}"
        )
    text = "; ".join(said) or f"no mapping of both among {len(lines)} lines"
    return f"least EDP's mapping and TransFusion's, {text}."


FIGURE = Figure(
    name="ffm-12",
    title="FFM figure 12: energy by component and by tensor, against TransFusion",
    said=(
        "FFM reduces the energy of off-chip memory significantly: fusing less, it "
        "moves more of the other intermediates, and much less of weights, K and V."
    ),
    measure=Computed("ffm-mappings", pieces_on_edge, mapped),
    draw=draw,
    found=found,
    why=(
        "Energies of components are those of the edge preset; the paper's table of "
        "them is not in its text. The inputs and outputs of the layer are shown apart."
    ),
    quick_cpu_seconds=1,
)
