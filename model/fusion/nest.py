"""The loop nest of one einsum: its path in a LoopTree, null loops dropped."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from elkhound.model.fusion.mapping import (
    ComputeNode,
    Loop,
    LoopTree,
    Node,
    Split,
    Store,
    computed,
)
from elkhound.model.fusion.workload import FusionEinsum, FusionWorkload
from elkhound.model.graph import Access


@dataclass(frozen=True, slots=True)
class Nest:
    """One einsum's storage nodes and loops from outer to inner.

    Parameters
    ----------
    einsum : FusionEinsum
        What is computed.
    unit : str
        The compute unit.
    size : dict of str to int
        Iterations of its rank variables.
    nodes : tuple of Store or Loop
        The path to the compute node; storage of other einsums' tensors included,
        so that positions count all of the path.
    """

    einsum: FusionEinsum
    unit: str
    size: dict[str, int]
    nodes: tuple[Store | Loop, ...]

    def holders(self, tensor: str) -> tuple[int, ...]:
        """Return positions of a tensor's storage nodes, then of compute."""
        stores = [
            position
            for position, node in enumerate(self.nodes)
            if isinstance(node, Store) and node.tensor == tensor
        ]
        return (*stores, len(self.nodes))

    def store(self, position: int) -> Store:
        """Return the storage node at a position that has one."""
        node = self.nodes[position]
        if not isinstance(node, Store):
            raise TypeError(f"position {position} holds no storage node")
        return node

    def loops_above(self, position: int) -> tuple[tuple[int, Loop], ...]:
        """Return the loops above a position, with their own positions."""
        return tuple(
            (index, node)
            for index, node in enumerate(self.nodes[:position])
            if isinstance(node, Loop)
        )

    def tile(self, position: int) -> dict[str, int]:
        """Return the largest extents of the rank variables below a position."""
        extents = dict(self.size)
        for _, loop in self.loops_above(position):
            rank = loop.rank_of(self.einsum.name)
            extents[rank] = min(extents[rank], loop.tile_size)
        return extents

    def visits(
        self, position: int, counts_once: Callable[[int, Loop], bool]
    ) -> dict[str, Visits]:
        """Return how often the loops above a position visit it, by rank variable.

        Parameters
        ----------
        position : int
            Position in the path.
        counts_once : callable
            Whether a loop, given with its position, counts as one iteration.
        """
        chains: dict[str, list[tuple[int, bool]]] = {rank: [] for rank in self.size}
        for index, loop in self.loops_above(position):
            once = counts_once(index, loop)
            chains[loop.rank_of(self.einsum.name)].append((loop.tile_size, once))
        return {rank: _visits(n, chains[rank]) for rank, n in self.size.items()}


@dataclass(frozen=True, slots=True)
class Visits:
    """How loops over one rank variable visit what is below them.

    Parameters
    ----------
    count : int
        Number of visits N.
    total : int
        Sum of the tile extents of all visits.
    """

    count: int
    total: int


def _visits(size: int, chain: Sequence[tuple[int, bool]]) -> Visits:
    """Return N(s; t₁, t₂, …) = ⌊s/t₁⌋·N(t₁; t₂, …) + N(s mod t₁; t₂, …), and extents.

    N(s; ) = 1 and N(0; …) = 0. A loop that counts once is represented by its largest
    tile. With tiles that divide, N is the product of the iteration counts.
    """
    if not chain:
        return Visits(1, size)
    (tile, once), inner = chain[0], chain[1:]
    full, rest = divmod(size, tile)
    if full == 0:  # the remainder of an outer loop, smaller than a tile
        return _visits(size, inner)
    whole = _visits(tile, inner)
    if once:
        return whole
    last = _visits(rest, inner) if rest else Visits(0, 0)
    return Visits(full * whole.count + last.count, full * whole.total + last.total)


def transferred(access: Access, visits: dict[str, Visits]) -> int:
    """Return Σ over all visits of the elements of a tensor's tile: F · up.

    An axis 1 + Σ c·(t − 1) sums to ΠN + Σ c·(total − N)·Π of the other N: for equal
    tiles that is the tile's extent times the iterations, for ragged ones it is exact.
    Rank variables that do not index the tensor repeat the whole.
    """
    product = 1
    for axis in access.axes:
        counts = {rank: visits[rank].count for rank, _ in axis.terms}
        iterations = math.prod(counts.values())
        summed = iterations
        for rank, coefficient in axis.terms:
            others = iterations // counts[rank]
            summed += coefficient * (visits[rank].total - counts[rank]) * others
        product *= summed
    repeated = visits.keys() - access.dimensions
    return product * math.prod(visits[rank].count for rank in repeated)


def nests(workload: FusionWorkload, tree: LoopTree) -> tuple[Nest, ...]:
    """Return the loop nest of every einsum, in order of running."""
    paths = without_null_loops(workload, tree).paths
    return tuple(_nest(workload, path) for path in paths)


def _nest(workload: FusionWorkload, path: tuple[Node, ...]) -> Nest:
    last = path[-1]
    if not isinstance(last, ComputeNode):
        raise TypeError("a path ends in compute")
    einsum = workload.einsum(last.einsum)
    size = {rank: workload.size[rank] for rank in einsum.ranks}
    nodes = tuple(node for node in path if isinstance(node, Store | Loop))
    return Nest(einsum, last.unit, size, nodes)


def without_null_loops(workload: FusionWorkload, tree: LoopTree) -> LoopTree:
    """Return the mapping without loops of a single iteration."""
    extents = {
        einsum.name: {rank: workload.size[rank] for rank in einsum.ranks}
        for einsum in workload.einsums
    }
    return LoopTree(_dropped(tree.nodes, extents), tree.name)


def _dropped(
    nodes: tuple[Node, ...], extents: dict[str, dict[str, int]]
) -> tuple[Node, ...]:
    kept: list[Node] = []
    names = computed(nodes)
    left = {name: dict(extents[name]) for name in names}
    for node in nodes:
        if isinstance(node, Split):
            kept.append(Split(tuple(_dropped(b, left) for b in node.branches)))
        elif not isinstance(node, Loop) or any(
            node.tile_size < left[name][node.rank_of(name)] for name in names
        ):
            kept.append(node)
        if isinstance(node, Loop):
            for name in names:
                rank = node.rank_of(name)
                left[name][rank] = min(left[name][rank], node.tile_size)
    return tuple(kept)
