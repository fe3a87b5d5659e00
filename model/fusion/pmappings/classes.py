"""Sorts partial mappings into classes by what other einsums can see of them."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from itertools import permutations, product

import numpy as np
import numpy.typing as npt

from elkhound.model.fusion.accelerator import Accelerator
from elkhound.model.fusion.compatibility import NOWHERE, Compatibility, Copy
from elkhound.model.fusion.compatibility import Exchange as NamedExchange
from elkhound.model.fusion.compatibility import FusedLoop as NamedLoop
from elkhound.model.fusion.pmappings.combine import Candidates
from elkhound.model.fusion.pmappings.shape import EinsumShape
from elkhound.model.fusion.pmappings.templates import Template
from elkhound.model.fusion.workload import FusionEinsum

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Loop:
    """A fused loop over a rank index; see `FusedLoop`."""

    rank: int
    extent: int
    tile_size: int
    over: str | None


@dataclass(frozen=True, slots=True)
class Exchange:
    """A shared tensor by index and level; see `compatibility.Exchange`."""

    tensor: int
    level: int
    depth: int
    bits: int
    copies: tuple[tuple[int, int, int], ...]  # level, depth, bits


@dataclass(frozen=True, slots=True)
class Visible:
    """A `Compatibility` without names.

    Parameters
    ----------
    loops : tuple of Loop
        From outer to inner.
    exchanges : tuple of Exchange
        One per shared tensor.
    """

    loops: tuple[Loop, ...]
    exchanges: tuple[Exchange, ...]

    def named(
        self, accelerator: Accelerator, shape: EinsumShape, einsum: FusionEinsum
    ) -> Compatibility:
        """Return it in the words of one einsum."""
        ranks, tensors = einsum.ranks, einsum.tensors
        return Compatibility(
            tuple(
                NamedLoop(ranks[loop.rank], loop.extent, loop.tile_size, loop.over)
                for loop in self.loops
            ),
            tuple(
                NamedExchange(
                    tensors[e.tensor],
                    accelerator.memories[e.level].name,
                    e.depth,
                    e.bits,
                    tuple(
                        shape.axis_of[e.tensor].get(loop.rank, NOWHERE)
                        for loop in self.loops
                    ),
                    tuple(
                        Copy(accelerator.memories[level].name, depth, bits)
                        for level, depth, bits in e.copies
                    ),
                )
                for e in self.exchanges
            ),
        )


@dataclass(frozen=True, slots=True)
class Signature:
    """What others can see of rows whose fused loops may still be ordered.

    Parameters
    ----------
    blocks : tuple of tuple of Loop
        Fused loops between two nodes, in no order; from outer to inner.
    sinking : tuple of set of int
        By block: those of its ranks that its first loop in time is not over, since
        the node above would sink through it.
    exchanges : tuple of Exchange
        One per shared tensor.
    """

    blocks: tuple[tuple[Loop, ...], ...]
    sinking: tuple[frozenset[int], ...]
    exchanges: tuple[Exchange, ...]

    def orders(self) -> Iterator[Visible]:
        """Yield every order of the loops; loops over fan-outs stay last in a block."""
        parts = []
        for block, sinking in zip(self.blocks, self.sinking, strict=True):
            timed = permutations(loop for loop in block if loop.over is None)
            parts.append([o for o in timed if not o or o[0].rank not in sinking])
            spread = permutations(loop for loop in block if loop.over is not None)
            parts.append(list(spread))
        for chosen in product(*parts):
            yield Visible(tuple(loop for p in chosen for loop in p), self.exchanges)

    def place(self, shape: EinsumShape, exchange: Exchange) -> Hashable:
        """Return what all einsums that share a tensor must agree on."""
        axis = shape.axis_of[exchange.tensor]
        above = [loop for block in self.blocks for loop in block][: exchange.depth]
        return exchange.level, tuple(
            sorted((axis[e.rank], e.extent, e.tile_size, e.over or "") for e in above)
        )


@dataclass(frozen=True, slots=True)
class FusedLoops:
    """The fused loops of a template's rows.

    Parameters
    ----------
    pattern : array of rows
        Equal for equal loops.
    first : array of patterns
        A row of each.
    depth : array of patterns × nodes
        Fused loops above every node.
    """

    pattern: Ints
    first: Ints
    depth: Ints


def fused_loops(candidates: Candidates) -> FusedLoops:
    """Sort a template's rows by their fused loops."""
    template = candidates.template
    code = np.zeros(len(candidates.picks), np.int64)
    for group, pick in zip(candidates.groups, candidates.picks.T, strict=True):
        code = code * (int(group.fused_code.max()) + 1) + group.fused_code[pick]
    _, first, pattern = np.unique(code, return_index=True, return_inverse=True)
    block = np.array([slot.block for slot in template.slots])
    depth = np.zeros((len(first), len(template.nodes)), np.int64)
    for node in range(1, len(template.nodes) + 1):
        above = block < min(node, template.fused_blocks)
        for group, pick in zip(candidates.groups, candidates.picks.T, strict=True):
            loops = (group.factors[:, :, above] > 1).sum(axis=(1, 2))
            depth[:, node - 1] += loops[pick[first]]
    return FusedLoops(pattern, first, depth)


def signatures(
    shape: EinsumShape, candidates: Candidates, fused: FusedLoops
) -> Iterator[Signature]:
    """Yield what others can see of each pattern of fused loops."""
    template = candidates.template
    slots = [i for i, s in enumerate(template.slots) if s.block < template.fused_blocks]
    bits = candidates.node_bits[fused.first].astype(np.int64).tolist()
    tiles = {
        rank: group.extents(shape)[pick[fused.first], index][:, slots].tolist()
        for group, pick in zip(candidates.groups, candidates.picks.T, strict=True)
        for index, rank in enumerate(group.ranks)
    }
    shared = [tensor for tensor in shape.tensors if shape.shared[tensor]]
    for at, depth in enumerate(fused.depth.tolist()):
        own = {rank: sizes[at] for rank, sizes in tiles.items()}
        deepest = depth[template.fused_blocks - 1] if template.fused_blocks else 0
        blocks = _blocks(shape, candidates, slots, own)
        yield Signature(
            tuple(blocks.values()),
            tuple(
                template.sinking(shape, block) & {loop.rank for loop in loops}
                for block, loops in blocks.items()
            ),
            tuple(_exchange(template, t, depth, bits[at], deepest) for t in shared),
        )


def _blocks(
    shape: EinsumShape,
    candidates: Candidates,
    slots: list[int],
    tiles: dict[int, list[int]],
) -> dict[int, tuple[Loop, ...]]:
    """Return the blocks that have fused loops, from outer to inner."""
    template = candidates.template
    blocks: list[list[Loop]] = [[] for _ in range(template.fused_blocks)]
    for rank, own in sorted(tiles.items()):
        extent = shape.sizes[rank]
        for index, tile in zip(slots, own, strict=True):
            if tile < extent:
                slot = template.slots[index]
                over = slot.fan_out.label if slot.fan_out else None
                blocks[slot.block].append(Loop(rank, extent, tile, over))
                extent = tile
    return {i: tuple(block) for i, block in enumerate(blocks) if block}


def _exchange(
    template: Template, tensor: int, depth: list[int], bits: list[int], deepest: int
) -> Exchange:
    node, *below, _ = template.holders(tensor)
    copies = tuple(
        (template.level(copy), depth[copy - 1], bits[copy - 1])
        for copy in below
        if depth[copy - 1] < deepest
    )
    if node == 0:
        return Exchange(tensor, 0, 0, 0, copies)
    return Exchange(
        tensor, template.level(node), depth[node - 1], bits[node - 1], copies
    )
