"""What activations that live in HBM cost the executes that touch them.

A reader brings the tensor back at its start, an even share to each core, and then
fetches its pieces as of any resident input; a writer sends its output at its end. No
preload does it: a preload may be issued before the tensor is written.
"""

from __future__ import annotations

from elkhound.model.chip import Chip
from elkhound.model.graph import Graph, Operator
from elkhound.model.units import ceil_div


def transfer_cycles(chip: Chip, size_bytes: int) -> int:
    """Return the cycles of a transfer between HBM and all cores, an even share each."""
    share = ceil_div(size_bytes, chip.cores)
    return max(chip.hbm_cycles(size_bytes), chip.inbound_cycles(share))


def spill_cycles(graph: Graph, operator: Operator, chip: Chip) -> int:
    """Return the cycles that an execute gains from the spilled tensors it touches."""
    read, written = graph.spilled_bytes(operator)
    sizes = (*read.values(), *written.values())
    return sum(transfer_cycles(chip, size_bytes) for size_bytes in sizes)
