"""FFM figure 10: the mapping found for GPT-3 on a TPUv4i, as a LoopTree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from elkhound.experiments.figures.figure import Figure, Line
from elkhound.experiments.figures.fused_mappings import (
    JOIN,
    mapped,
    tree_of,
    workload_of,
)
from elkhound.experiments.figures.measures import Computed
from elkhound.experiments.plots.looptree import looptree_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

_MIB = 2**23  # bits


def pieces(quick: bool) -> list[dict[str, Any]]:
    """Return the paper's batch and tokens; quick: one sequence of 256 tokens."""
    batch, tokens = (1, 256) if quick else (64, 4096)
    return [
        {
            "workload": "gpt-3-6.7b",
            "bind": {"batch": batch, "new_tokens": tokens, "bits": 8},
            "accelerator": "tpu-v4i",
            "objective": "energy",
            "method": JOIN,
        }
    ]


def draw(lines: Sequence[Line]) -> Drawing:
    """Draw the LoopTree: a column per einsum."""
    return looptree_figure(workload_of(lines[0]), tree_of(lines[0]))


def found(lines: Sequence[Line]) -> str:
    """Return what is on chip whole, what in tiles, and what is spread over cores."""
    (line,) = lines
    whole, tiled = _held(line)
    return (
        f"batch {line['bind.batch']}, {line['bind.new_tokens']:,} tokens: energy "
        f"{line['energy']:.6g} J, {line['status']}; GlobalBuffer holds whole: "
        f"{', '.join(whole) or 'nothing'}; in tiles: {', '.join(tiled) or 'nothing'}; "
        f"loops over LocalBuffers: {', '.join(_over_cores(line)) or 'none'}."
    )


def _held(line: Line) -> tuple[list[str], list[str]]:
    """Return what the global buffer holds whole and what in tiles, each with MiB."""
    from elkhound.model.fusion.occupancy import reservations

    workload = workload_of(line)
    largest: dict[str, int] = {}
    for held in reservations(workload, tree_of(line)):
        if held.memory == "GlobalBuffer":
            largest[held.tensor] = max(held.size_bits, largest.get(held.tensor, 0))
    whole, tiled = [], []
    for tensor, bits in largest.items():
        size = workload.elements(tensor) * dict(workload.bits)[tensor]
        if bits >= size:
            whole.append(f"{tensor} ({size / _MIB:,.6g} MiB)")
        else:
            tiled.append(f"{tensor} ({bits / _MIB:,.6g} of {size / _MIB:,.6g} MiB)")
    return whole, tiled


def _over_cores(line: Line) -> list[str]:
    """Return the spatial loops over local buffers, each once."""
    spatial = (
        text.strip().removeprefix("spatial-for ")
        for text in line["mapping"].splitlines()
        if "over LocalBuffer" in text
    )
    return list(dict.fromkeys(spatial))


FIGURE = Figure(
    name="ffm-10",
    title="FFM figure 10: the mapping with the least energy of a GPT-3 6.7B layer",
    said=(
        "Weights are kept whole in the global buffer and reused over the batch; I, Q "
        "and K are tiled by batch, QK and its softmax by head as well; tokens are "
        "spread over all 4 cores, and reuse weights in the registers 1,024 times."
    ),
    measure=Computed("ffm-mappings", pieces, mapped),
    draw=draw,
    found=found,
    why=(
        "The mapping with the least energy, where the paper shows that with the least "
        "EDP, of which it draws some nodes and no sizes; energies are those of the "
        "tpu-v4i preset. With one sequence (quick) there is no batch to tile over."
    ),
    quick_cpu_seconds=15,
)
