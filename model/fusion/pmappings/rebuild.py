"""Builds the LoopTree that a choice of partial mappings stands for."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from elkhound.model.fusion.compatibility import Compatibility, Interface, advanced
from elkhound.model.fusion.mapping import (
    ComputeNode,
    Loop,
    LoopTree,
    Node,
    Split,
    Store,
)
from elkhound.model.fusion.pmappings.combine import Candidates
from elkhound.model.fusion.pmappings.generate import Pmappings
from elkhound.model.fusion.pmappings.shape import EinsumShape, shape_of
from elkhound.model.fusion.pmappings.table import Pick, PmappingTable
from elkhound.model.fusion.pmappings.templates import Template
from elkhound.model.fusion.pmappings.tiles import GroupTiles
from elkhound.model.fusion.workload import FusionEinsum, FusionWorkload

Ints = npt.NDArray[np.int64]


def rebuild(pmappings: Pmappings, choice: tuple[Pick, ...]) -> LoopTree:
    """Return the mapping of a choice of one partial mapping per einsum.

    Raises
    ------
    ValueError
        The choice does not fit together.
    """
    branches = tuple(
        _branch(pmappings, table, pick)
        for table, pick in zip(pmappings.tables, choice, strict=True)
    )
    shared = shared_loops(
        pmappings.workload, tuple(branch.compatibility for branch in branches)
    )
    order = {m.name: level for level, m in enumerate(pmappings.accelerator.memories)}
    tree = _Tree(pmappings.workload, branches, shared, order)
    persistent = frozenset(store for branch in branches for store in branch.rooted)
    first = sorted(persistent, key=lambda store: (order[store.memory], store.tensor))
    return LoopTree((*first, *tree.nodes(0, len(branches), 0, persistent)))


def shared_loops(
    workload: FusionWorkload, compatibilities: tuple[Compatibility, ...]
) -> tuple[int, ...]:
    """Return how many loops every einsum shares with the next one.

    Raises
    ------
    ValueError
        They do not fit together.
    """
    interface: Interface | None = Interface()
    counts = []
    for index, (einsum, own) in enumerate(
        zip(workload.einsums, compatibilities, strict=True)
    ):
        if interface is not None:
            interface = advanced(
                interface, own, einsum.output.tensor, used_later(workload, index)
            )
        if interface is None:
            raise ValueError(f"the choice for {einsum.name} does not fit those before")
        counts.append(len(interface.cuts))
    return tuple(counts)


def used_later(workload: FusionWorkload, index: int) -> frozenset[str]:
    """Return the shared tensors that are live after an einsum, if they exist by then.

    Persistent ones are live to the end.
    """
    last = {t: e for e, einsum in enumerate(workload.einsums) for t in einsum.tensors}
    return frozenset(t for t, e in last.items() if e > index) | frozenset(
        workload.persistent
    )


@dataclass(frozen=True, slots=True)
class _Branch:
    """One einsum's nodes.

    Parameters
    ----------
    rooted : tuple of Store
        Backing stores of persistent tensors, which are never freed.
    head : tuple of tuple of Store
        Storage under 0, 1, … fused loops, down to the last shared backing store.
    tail : tuple of Node
        What follows, to compute.
    """

    einsum: FusionEinsum
    compatibility: Compatibility
    rooted: tuple[Store, ...]
    head: tuple[tuple[Store, ...], ...]
    tail: tuple[Node, ...]

    def head_at(self, depth: int) -> tuple[Store, ...]:
        """Return the storage under so many fused loops, none where it has fewer."""
        return self.head[depth] if depth < len(self.head) else ()

    def is_backing(self, store: Store) -> bool:
        """Whether a node is the backing store of a shared tensor."""
        return any(
            (exchange.memory, exchange.tensor) == (store.memory, store.tensor)
            for exchange in self.compatibility.exchanges
        )


def _branch(pmappings: Pmappings, table: PmappingTable, pick: Pick) -> _Branch:
    workload, accelerator = pmappings.workload, pmappings.accelerator
    einsum = workload.einsum(table.einsum)
    shape = shape_of(workload, einsum)
    source, row = table.origin[pick.row]
    candidates = table.sources[source]
    template = candidates.template
    loops = _tiles(shape, candidates, int(row))
    own = table.classes[pick.group]

    def store(node: int) -> Store:
        level, tensor = template.nodes[node - 1]
        return Store(accelerator.memories[level].name, einsum.tensors[tensor])

    main = accelerator.memories[0].name
    head: list[list[Store]] = [[] for _ in range(len(own.loops) + 1)]
    head[0] = [Store(main, einsum.tensors[t]) for t in template.in_main]
    depth = 0
    for block in range(template.fused_blocks):
        depth += sum(
            len(own_loops)
            for slot, own_loops in zip(template.slots, loops, strict=True)
            if slot.block == block
        )
        head[depth].append(store(block + 1))
    tail: list[Node] = []
    for block in range(template.fused_blocks, len(template.nodes) + 1):
        if block > template.fused_blocks:
            tail.append(store(block))
        tail += _private_loops(shape, einsum, candidates, loops, block)
    tail.append(ComputeNode(einsum.name, template.unit))
    rooted = tuple(
        Store(main, einsum.tensors[t]) if node == 0 else store(node)
        for t, node in ((t, template.holders(t)[0]) for t in shape.tensors)
        if shape.persistent[t]
    )
    return _Branch(einsum, own, rooted, tuple(map(tuple, head)), tuple(tail))


Tiles = list[dict[int, int]]  # per slot: rank -> tile


def _tiles(shape: EinsumShape, candidates: Candidates, row: int) -> Tiles:
    """Return the loops with iterations in every slot."""
    tiles: Tiles = [{} for _ in candidates.template.slots]
    for group, pick in zip(candidates.groups, candidates.picks[row], strict=True):
        if group.below is None:
            own = _divided(shape, candidates.template, group, group.factors[pick])
        else:
            own = group.below[pick].tolist()
        for rank, below in zip(group.ranks, own, strict=True):
            extent = shape.sizes[rank]
            for index, tile in enumerate(below):
                if tile < extent:
                    tiles[index][rank] = extent = tile
    return tiles


def _divided(
    shape: EinsumShape, template: Template, group: GroupTiles, factors: Ints
) -> list[list[int]]:
    """Return what divisors leave of each rank below every slot; twins share theirs."""
    left = {
        rank: shape.sizes[rank]
        // math.prod(
            int(n)
            for n, slot in zip(factors[i], template.slots, strict=True)
            if slot.block < template.fused_blocks
        )
        for i, rank in enumerate(group.ranks)
    }
    extents = [shape.sizes[rank] for rank in group.ranks]
    below: list[list[int]] = [[] for _ in group.ranks]
    for index, slot in enumerate(template.slots):
        own = [int(n) for n in factors[:, index]]
        if group.plain and slot.block >= template.fused_blocks and own:
            own = _split(own[0], group.ranks, left)
        for i, n in enumerate(own):
            extents[i] //= n
            below[i].append(extents[i])
    return below


def _split(iterations: int, ranks: tuple[int, ...], left: dict[int, int]) -> list[int]:
    """Share the iterations of twins out to them; takes them off what is left."""
    shares = []
    for rank in ranks:
        share = math.gcd(iterations, left[rank])
        left[rank] //= share
        iterations //= share
        shares.append(share)
    return shares


def _private_loops(
    shape: EinsumShape,
    einsum: FusionEinsum,
    candidates: Candidates,
    loops: Tiles,
    block: int,
) -> Iterator[Loop]:
    """Yield a block's loops: in time, then over units, those first that let sink."""
    template = candidates.template
    above = template.nodes[block - 1][1] if block else None
    sinking = shape.parting[above] if above is not None else frozenset[int]()
    spatial = []
    for slot, own in zip(template.slots, loops, strict=True):
        if slot.block != block:
            continue
        for rank, tile in own.items():
            over = slot.fan_out.label if slot.fan_out else None
            loop = Loop(einsum.ranks[rank], tile, over)
            if over is None:
                yield loop
            else:
                spatial.append((rank not in sinking, loop))
    yield from (loop for _, loop in sorted(spatial, key=lambda each: each[0]))


@dataclass(frozen=True, slots=True)
class _Tree:
    """Nests branches under the loops that they share."""

    workload: FusionWorkload
    branches: tuple[_Branch, ...]
    shared: tuple[int, ...]
    order: dict[str, int]

    def nodes(
        self, start: int, end: int, depth: int, placed: frozenset[Store] = frozenset()
    ) -> tuple[Node, ...]:
        """Return the nodes of a range of einsums under `depth` loops.

        Parameters
        ----------
        placed : frozenset of Store
            Nodes under as many loops that stand above already.
        """
        runs = self._runs(start, end, depth)
        if len(runs) > 1:
            stores = self._stores(
                s for s in self._spanning(runs, depth) if s not in placed
            )
            placed |= frozenset(stores)
            return (*stores, Split(tuple(self.nodes(*r, depth, placed) for r in runs)))
        branches = self.branches[start:end]
        stores = self._stores(
            store
            for branch in branches
            for store in branch.head_at(depth)
            if store not in placed
        )
        if depth == len(branches[0].compatibility.loops):
            return (*stores, *branches[0].tail)
        loop = self._loop(branches, depth)
        return (*stores, loop, *self.nodes(start, end, depth + 1))

    def _runs(self, start: int, end: int, depth: int) -> list[tuple[int, int]]:
        """Split a range where no more than `depth` loops are shared."""
        cuts = [e + 1 for e in range(start, end - 1) if self.shared[e] <= depth]
        return list(zip([start, *cuts], [*cuts, end], strict=True))

    def _stores(self, stores: Iterable[Store]) -> tuple[Store, ...]:
        """Return nodes once each, outer memories first."""
        found = dict.fromkeys(stores)
        return tuple(sorted(found, key=lambda store: self.order[store.memory]))

    def _spanning(self, runs: list[tuple[int, int]], depth: int) -> Iterator[Store]:
        """Yield backing stores of a depth that several runs use."""
        seen: dict[Store, int] = {}
        for run, (start, end) in enumerate(runs):
            for branch in self.branches[start:end]:
                for store in branch.head_at(depth):
                    if branch.is_backing(store) and seen.setdefault(store, run) != run:
                        yield store

    def _loop(self, branches: tuple[_Branch, ...], depth: int) -> Loop:
        """Return a shared loop, with the names it has in each einsum."""
        first, *others = (branch.compatibility.loops[depth] for branch in branches)
        renamed = tuple(
            (branch.einsum.name, loop.rank)
            for branch, loop in zip(branches[1:], others, strict=True)
            if loop.rank != first.rank
        )
        return Loop(first.rank, first.tile_size, first.over, renamed)
