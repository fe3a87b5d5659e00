"""Partial mappings of single einsums, and how they fit together (paper §3–5).

`generate` returns one table per einsum. A row is a partial mapping: energy, latency and
the bits it reserves. A class is what other einsums can see of it (`Compatibility`: the
loops above the backing stores of shared tensors, in order, and where those tensors
lie), and lists its rows; a row is in one class per order of its fused loops. A mapping
of the workload is one `Pick` (row, class) per einsum such that

* the classes fit: `Interface()` goes through `advanced` for every einsum in order and
  is never refused. `network` is all of that as a graph; the loops that neighbours share
  are `len(interface.cuts)`, `shared_loops` returns them;
* the memories hold it: while einsum e runs, a memory holds e's private nodes
  (`private_bits`), every live shared tensor once (`Exchange.bits`, from its first to
  its last user), and of every other einsum that shares j > 0 loops with e (the least
  number of shared loops between them) what it holds under less than j loops:
  `above_bits[j]`, and shared tensors it opened or was the last to use there.
  `above_bits[0]` is held throughout: persistent tensors. A copy above loops that two
  users of a tensor share is one node, though the rows of both count it. Filling exactly
  is legal.

Energy and latency of the mapping are the sums over the picks, and `rebuild` returns its
LoopTree, for which `cost_of` and the referee say the same.
"""

from elkhound.model.fusion.pmappings.generate import Generator, Pmappings, generate
from elkhound.model.fusion.pmappings.held import Held
from elkhound.model.fusion.pmappings.network import Stage, Step, network
from elkhound.model.fusion.pmappings.rebuild import rebuild, shared_loops, used_later
from elkhound.model.fusion.pmappings.table import Pick, PmappingTable

__all__ = [
    "Generator",
    "Held",
    "Pick",
    "PmappingTable",
    "Pmappings",
    "Stage",
    "Step",
    "generate",
    "network",
    "rebuild",
    "shared_loops",
    "used_later",
]
