"""What one visit of a storage node moves: tiles of all units, or of the first one.

A rank variable's extents are a sorted tuple of (extent, how many units have it). Every
loop on the way down cuts them: a loop whose step is known takes that step's tile, any
other takes all its tiles, or the largest one where one transfer serves them all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod

from elkhound.model.fusion.mapping import ComputeNode, Loop, Node, Store
from elkhound.model.fusion.workload import FusionEinsum, FusionWorkload
from elkhound.model.graph import Access

Extents = tuple[tuple[int, int], ...]
Steps = Mapping[int, int]
"""The step that runs of every loop in time, by position in the path."""


@dataclass(frozen=True, eq=False)
class Path:
    """An einsum's nodes from the root to compute.

    Parameters
    ----------
    einsum : FusionEinsum
        What is computed.
    unit : str
        The compute unit.
    nodes : tuple of Node
        Storage, loops, and compute at the end.
    size : dict of str to int
        Iterations by rank variable.
    """

    einsum: FusionEinsum
    unit: str
    nodes: tuple[Node, ...]
    size: dict[str, int]

    @property
    def end(self) -> int:
        """Position of compute."""
        return len(self.nodes) - 1

    def holders(self, tensor: str) -> tuple[int, ...]:
        """Return positions of a tensor's storage nodes, from outer to inner."""
        return tuple(
            position
            for position, node in enumerate(self.nodes)
            if isinstance(node, Store) and node.tensor == tensor
        )

    def memory(self, position: int) -> str:
        """Return whose storage node stands at a position."""
        node = self.nodes[position]
        if not isinstance(node, Store):
            raise TypeError(f"position {position} holds no storage node")
        return node.memory

    def loops(self, position: int) -> tuple[tuple[int, Loop], ...]:
        """Return the loops above a position, with their own positions."""
        return tuple(
            (at, node)
            for at, node in enumerate(self.nodes[:position])
            if isinstance(node, Loop)
        )

    def extents(
        self, position: int, steps: Steps, once: Callable[[int, Loop], bool]
    ) -> dict[str, Extents]:
        """Return the tiles that a visit of a position finds, by rank variable.

        Parameters
        ----------
        position : int
            Position in the path.
        steps : mapping of int to int
            Loops in time that stand at a known step.
        once : callable
            Whether one transfer serves all tiles of a loop.
        """
        found: dict[str, Extents] = {r: ((n, 1),) for r, n in self.size.items()}
        for at, loop in self.loops(position):
            rank = loop.rank_of(self.einsum.name)
            step = steps.get(at)
            extents, tile = found[rank], loop.tile_size
            if step is not None:
                alike = step < extents[0][0] // tile  # the same in every unit
                found[rank] = _step(extents, tile, 0 if alike else step)
            elif once(at, loop):
                found[rank] = _largest(extents, tile)
            else:
                found[rank] = _all(extents, tile)
        return found

    def equal_steps(self, at: int, steps: Steps) -> int:
        """Return how many steps of a loop take whole tiles, in all units."""
        loop = self.nodes[at]
        if not isinstance(loop, Loop):
            raise TypeError(f"position {at} holds no loop")
        above = self.extents(at, steps, lambda _at, _loop: False)
        extents = above[loop.rank_of(self.einsum.name)]
        return extents[0][0] // loop.tile_size if extents else 0


def path_of(workload: FusionWorkload, nodes: tuple[Node, ...]) -> Path:
    """Return the path that ends in a compute node."""
    last = nodes[-1]
    if not isinstance(last, ComputeNode):
        raise TypeError("a path ends in compute")
    einsum = workload.einsum(last.einsum)
    size = {rank: workload.size[rank] for rank in einsum.ranks}
    return Path(einsum, last.unit, nodes, size)


def elements(access: Access, extents: Mapping[str, Extents]) -> int:
    """Return the elements of a tensor's tiles, over all tiles of all ranks."""
    repeated = prod(
        sum(units for _, units in extents[rank])
        for rank in extents
        if rank not in access.dimensions
    )
    ranks = sorted(access.dimensions)
    return repeated * _covered(access, tuple((rank, extents[rank]) for rank in ranks))


@lru_cache(maxsize=65536)
def _covered(access: Access, extents: tuple[tuple[str, Extents], ...]) -> int:
    if all(axis.plain for axis in access.axes) and len(extents) == len(access.axes):
        return prod(sum(n * units for n, units in tiles) for _, tiles in extents)
    total = 0
    for tiles in product(*(tiles for _, tiles in extents)):
        extent = {rank: n for (rank, _), (n, _) in zip(extents, tiles, strict=True)}
        total += access.elements(extent) * prod(units for _, units in tiles)
    return total


@lru_cache(maxsize=65536)
def _step(extents: Extents, tile: int, step: int) -> Extents:
    counts: Counter[int] = Counter()
    for extent, units in extents:
        left = min(tile, extent - step * tile)
        if left > 0:  # else a unit that is done
            counts[left] += units
    return tuple(sorted(counts.items()))


@lru_cache(maxsize=65536)
def _all(extents: Extents, tile: int) -> Extents:
    counts: Counter[int] = Counter()
    for extent, units in extents:
        full, rest = divmod(extent, tile)
        if full:
            counts[tile] += full * units
        if rest:
            counts[rest] += units
    return tuple(sorted(counts.items()))


@lru_cache(maxsize=65536)
def _largest(extents: Extents, tile: int) -> Extents:
    counts: Counter[int] = Counter()
    for extent, units in extents:
        counts[min(extent, tile)] += units
    return tuple(sorted(counts.items()))
