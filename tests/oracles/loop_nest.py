"""A literal interpreter of loop nests: runs every iteration, sees elements.

The nest of every einsum runs on its own, from the root of the tree; loops that einsums
share run in each.

On entering a storage node its tile is brought from the memory above, and that of an
output is written back at the end; an element of an output that nothing has touched yet
is not read. Loops over a fan-out run in all units at the same time: units that need the
same tile of a tensor at the same time share one transfer where the fan-out allows it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product

from elkhound.model.fusion.accelerator import Accelerator
from elkhound.model.fusion.mapping import ComputeNode, Loop, LoopTree, Node, Store
from elkhound.model.fusion.workload import FusionEinsum, FusionWorkload
from elkhound.model.graph import Access

Range = tuple[int, int]  # first position and extent
Element = tuple[int, ...]


class Interpreter:
    """Counts of bits and operations: (memory, tensor, kind), (unit, None, kind)."""

    def __init__(
        self, accelerator: Accelerator, workload: FusionWorkload, tree: LoopTree
    ) -> None:
        self.counts: Counter[tuple[str, str | None, str]] = Counter()
        self.accelerator = accelerator
        self.bits = dict(workload.bits)
        for path in tree.paths:
            last = path[-1]
            if not isinstance(last, ComputeNode):
                raise TypeError("a path ends in compute")
            self.path = path
            self.einsum: FusionEinsum = workload.einsum(last.einsum)
            self.touched: dict[tuple[str, int], set[Element]] = {}
            self.shared: set[object] = set()
            sizes = {rank: (0, workload.size[rank]) for rank in self.einsum.ranks}
            self._run(0, sizes, (), ())

    def _run(
        self,
        at: int,
        ranges: dict[str, Range],
        time: tuple[int, ...],
        unit: tuple[tuple[int, int], ...],
    ) -> None:
        node: Node = self.path[at]
        if isinstance(node, Loop):
            rank = node.rank_of(self.einsum.name)
            first, extent = ranges[rank]
            starts = range(first, first + extent, node.tile_size)
            for step, start in enumerate(starts):
                tile = (start, min(node.tile_size, first + extent - start))
                inner = {**ranges, rank: tile}
                if node.over is None:
                    self._run(at + 1, inner, (*time, step), unit)
                else:
                    self._run(at + 1, inner, time, (*unit, (at, step)))
            return
        if isinstance(node, ComputeNode):
            self.counts[node.unit, None, "compute"] += 1
            for access in self.einsum.accesses:
                self._transfer(access, at, ranges, time, unit)
            return
        if isinstance(node, Store):
            if node.tensor in self.einsum.tensors:
                self._transfer(self.einsum.access(node.tensor), at, ranges, time, unit)
            self._run(at + 1, ranges, time, unit)

    def _transfer(
        self,
        access: Access,
        at: int,
        ranges: dict[str, Range],
        time: tuple[int, ...],
        unit: tuple[tuple[int, int], ...],
    ) -> None:
        tensor = access.tensor
        above = [
            index
            for index, node in enumerate(self.path[:at])
            if isinstance(node, Store) and node.tensor == tensor
        ]
        if not above:
            return  # the backing store
        elements = frozenset(_elements(access, ranges))
        apart = tuple(u for u in unit if not self._shares(access, u[0], above[-1]))
        key = (tensor, at, time, elements, apart)
        if key in self.shared:
            return
        self.shared.add(key)
        down, up = len(elements), 0
        if access is self.einsum.output:
            known = self.touched.setdefault((tensor, at), set())
            down, up = len(elements & known), len(elements)
            known |= elements
        parent = self.path[above[-1]]
        for node, read, written in ((parent, down, up), (self.path[at], up, down)):
            if isinstance(node, Store):
                bits = self.bits[tensor]
                self.counts[node.memory, tensor, "read"] += bits * read
                self.counts[node.memory, tensor, "write"] += bits * written

    def _shares(self, access: Access, loop_at: int, holder_above: int) -> bool:
        loop = self.path[loop_at]
        if not isinstance(loop, Loop) or loop.over is None or loop_at < holder_above:
            return False
        fan_out = self.accelerator.fan_out(loop.over)
        if access is self.einsum.output:
            return fan_out.reduction
        return fan_out.multicast


def _elements(access: Access, ranges: dict[str, Range]) -> Iterator[Element]:
    """Yield the elements in the box that a tile covers."""
    spans = []
    for axis in access.axes:
        first = sum(c * ranges[rank][0] for rank, c in axis.terms)
        extent = 1 + sum(c * (ranges[rank][1] - 1) for rank, c in axis.terms)
        spans.append(range(first, first + extent))
    yield from product(*spans)
