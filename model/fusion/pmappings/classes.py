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
                    tuple(_axis(shape, e.tensor, loop.rank) for loop in self.loops),
                    tuple(
                        Copy(accelerator.memories[level].name, depth, bits)
                        for level, depth, bits in e.copies
                    ),
                )
                for e in self.exchanges
            ),
        )


def _axis(shape: EinsumShape, tensor: int, rank: int) -> int:
    axis = shape.axis_of(tensor, rank)
    return NOWHERE if axis is None else axis


@dataclass(frozen=True, slots=True)
class Signature:
    """What others can see of rows whose fused loops may still be ordered.

    Parameters
    ----------
    blocks : tuple of tuple of Loop
        Fused loops between two nodes, in no order; from outer to inner.
    exchanges : tuple of Exchange
        One per shared tensor.
    """

    blocks: tuple[tuple[Loop, ...], ...]
    exchanges: tuple[Exchange, ...]

    def orders(self) -> Iterator[Visible]:
        """Yield every order of the loops; loops over fan-outs stay last in a block."""
        parts = []
        for block in self.blocks:
            parts.append(permutations(loop for loop in block if loop.over is None))
            parts.append(permutations(loop for loop in block if loop.over is not None))
        for chosen in product(*parts):
            yield Visible(tuple(loop for p in chosen for loop in p), self.exchanges)

    def place(self, shape: EinsumShape, exchange: Exchange) -> Hashable:
        """Return what all einsums that share a tensor must agree on."""
        above = [loop for block in self.blocks for loop in block][: exchange.depth]
        return exchange.level, frozenset(
            (shape.axis_of(exchange.tensor, e.rank), e.extent, e.tile_size, e.over)
            for e in above
        )


@dataclass(frozen=True, slots=True)
class FusedPart:
    """Rows of one template that have the same loops in its fused blocks.

    Parameters
    ----------
    rows : array
        Rows of the candidates.
    blocks : tuple of tuple of Loop
        Loops with iterations in every fused block, in no order.
    """

    rows: Ints
    blocks: tuple[tuple[Loop, ...], ...]

    def depth(self, node: int) -> int:
        """Return how many fused loops stand above a node."""
        return sum(len(block) for block in self.blocks[:node])

    def signature(self, shape: EinsumShape, candidates: Candidates) -> Signature:
        """Return what others can see of the rows."""
        exchanges = tuple(_exchanges(shape, candidates, self))
        return Signature(tuple(b for b in self.blocks if b), exchanges)


def fused_parts(shape: EinsumShape, candidates: Candidates) -> Iterator[FusedPart]:
    """Yield a template's rows by their fused loops."""
    template = candidates.template
    fused = [i for i, s in enumerate(template.slots) if s.block < template.fused_blocks]
    code = np.zeros(len(candidates.picks), np.int64)
    for group, pick in zip(candidates.groups, candidates.picks.T, strict=True):
        code = code * (int(group.fused_code.max()) + 1) + group.fused_code[pick]
    order = np.argsort(code, kind="stable")
    ends = np.flatnonzero(np.diff(code[order])) + 1
    for rows in np.split(order, ends):
        picks = candidates.picks[rows[0]]
        factors = {
            rank: group.factors[pick, index, fused]
            for group, pick in zip(candidates.groups, picks, strict=True)
            for index, rank in enumerate(group.ranks)
        }
        yield FusedPart(rows, _blocks(shape, candidates, fused, factors))


def _blocks(
    shape: EinsumShape,
    candidates: Candidates,
    fused: list[int],
    factors: dict[int, Ints],
) -> tuple[tuple[Loop, ...], ...]:
    template = candidates.template
    blocks: list[list[Loop]] = [[] for _ in range(template.fused_blocks)]
    for rank, own in sorted(factors.items()):
        extent = shape.sizes[rank]
        for index, iterations in zip(fused, own.tolist(), strict=True):
            if iterations > 1:
                slot = template.slots[index]
                over = slot.fan_out.label if slot.fan_out else None
                tile = extent // iterations
                blocks[slot.block].append(Loop(rank, extent, tile, over))
                extent = tile
    return tuple(map(tuple, blocks))


def _exchanges(
    shape: EinsumShape, candidates: Candidates, part: FusedPart
) -> Iterator[Exchange]:
    template = candidates.template
    for tensor in shape.tensors:
        if shape.shared[tensor]:
            node, *below, _ = template.holders(tensor)
            bits = int(candidates.node_bits[part.rows[0], node - 1]) if node else 0
            depth = part.depth(template.fused_blocks)
            copies = tuple(
                (
                    template.level(copy),
                    part.depth(copy),
                    int(candidates.node_bits[part.rows[0], copy - 1]),
                )
                for copy in below
                if part.depth(copy) < depth
            )
            level = template.level(node)
            yield Exchange(tensor, level, part.depth(node), bits, copies)
