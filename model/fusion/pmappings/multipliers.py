"""What a group's iterations multiply: counts of transfers, and tiles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from elkhound.model.fusion.pmappings.counts import OPERATIONS, Column
from elkhound.model.fusion.pmappings.ragged import visits
from elkhound.model.fusion.pmappings.shape import EinsumShape
from elkhound.model.fusion.pmappings.templates import Template
from elkhound.model.fusion.pmappings.tiles import GroupTiles

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Multipliers:
    """Factors of one group of ranks under one template.

    Parameters
    ----------
    shares : tuple of (bool, bool)
        Whether each slot shares transfers, by multicast and by reduction.
    """

    shape: EinsumShape
    template: Template
    shares: tuple[tuple[bool, bool], ...]

    def counts(self, tiles: GroupTiles, columns: tuple[Column, ...]) -> Floats:
        """Return the factor of every column for every choice: columns × choices."""
        factor = _PlainFactors(tiles) if tiles.plain else None
        found = np.ones((len(columns), len(tiles)))
        for index, column in enumerate(columns):
            if not tiles.ranks:
                continue
            if tiles.below is not None:
                found[index] = self._ragged(tiles, tiles.below, column)
            elif factor is None:
                found[index] = self._haloed(tiles, column)
            elif column.tensor == OPERATIONS:
                found[index] = factor.product(self._timed())
            elif tiles.ranks[0] in self.shape.dimensions[column.tensor]:
                once = self._above(column, tiles.ranks[0], counted=False)
                found[index] = factor.quotient(once)
            else:
                counted = self._above(column, tiles.ranks[0], counted=True)
                found[index] = factor.product(counted)
        return found

    def tiles(self, tiles: GroupTiles, nodes: list[int], tensors: list[int]) -> Floats:
        """Return the factor of every node's tile, where it has sunk to."""
        factor = _PlainFactors(tiles) if tiles.plain else None
        found = np.ones((len(nodes), len(tiles)))
        for index, (node, tensor) in enumerate(zip(nodes, tensors, strict=True)):
            sinks = node in self.template.sunk
            if factor is None:
                found[index] = self._extent(tiles, tensor, node, sinks=sinks)
            elif tiles.ranks and tiles.ranks[0] in self.shape.dimensions[tensor]:
                found[index] = factor.quotient(self._cutting(node, sinks=sinks))
        return found

    def _timed(self) -> tuple[int, ...]:
        return tuple(i for i, s in enumerate(self.template.slots) if not s.fan_out)

    def _above(self, column: Column, rank: int, *, counted: bool) -> tuple[int, ...]:
        """Return the slots above a node that count in full, or those that count 1."""
        return tuple(
            i
            for i, slot in enumerate(self.template.slots)
            if slot.block < column.node and self._once(column, i, rank) != counted
        )

    def _cutting(self, node: int, *, sinks: bool) -> tuple[int, ...]:
        """Return the slots that cut a node's tile; it sinks through spatial ones."""
        return tuple(
            i
            for i, slot in enumerate(self.template.slots)
            if slot.block < node or (sinks and slot.block == node and slot.fan_out)
        )

    def _once(self, column: Column, index: int, rank: int) -> bool:
        slot = self.template.slots[index]
        indexes = rank in self.shape.dimensions[column.tensor]
        if slot.fan_out is None:
            return column.first and not indexes
        if slot.block < column.unit:
            return True
        by_output = column.tensor == self.shape.output
        shared = self.shares[index][by_output] and slot.block >= column.parent
        return shared and not indexes

    def _haloed(self, tiles: GroupTiles, column: Column) -> Floats:
        if column.tensor == OPERATIONS:
            timed = list(self._timed())
            return np.asarray(tiles.factors[:, :, timed].prod(axis=(1, 2)), float)
        product_of = self._extent(tiles, column.tensor, column.node, sinks=False)
        for index, rank in enumerate(tiles.ranks):
            counted = list(self._above(column, rank, counted=True))
            product_of = product_of * tiles.factors[:, index, counted].prod(axis=1)
        return product_of

    def _extent(
        self, tiles: GroupTiles, tensor: int, node: int, *, sinks: bool
    ) -> Floats:
        """Return the product of a tile's extents on the axes that a group indexes."""
        extents = {}
        for index, rank in enumerate(tiles.ranks):
            sunk = sinks and rank in self.shape.parting[tensor]
            through = list(self._cutting(node, sinks=sunk))
            extents[rank] = self._left(tiles, index, through)
        product_of = np.ones(len(tiles))
        for terms in self.shape.axes[tensor]:
            mine = [(extents[rank], c) for rank, c in terms if rank in extents]
            if mine:
                product_of *= 1 + sum(c * (extent - 1) for extent, c in mine)
        return product_of

    def _left(self, tiles: GroupTiles, index: int, through: list[int]) -> Floats:
        """Return what the loops of the outermost slots leave of a rank at most."""
        if tiles.below is not None and through:
            return tiles.below[:, index, through[-1]].astype(float)
        iterations = tiles.factors[:, index, through].prod(axis=1)
        return np.asarray(self.shape.sizes[tiles.ranks[index]] / iterations)

    def _ragged(self, tiles: GroupTiles, below: Ints, column: Column) -> Floats:
        """Return what the loops above a node move, summed over the tiles there are.

        As `model.fusion.nest.transferred`: an axis 1 + Σ c·(t − 1) sums to ΠN +
        Σ c·(total − N)·Π of the other N.
        """
        found = {
            rank: self._visits(below[:, index], rank, column)
            for index, rank in enumerate(tiles.ranks)
        }
        product_of = np.ones(len(tiles))
        if column.tensor == OPERATIONS:
            for _, total in found.values():
                product_of *= total
            return product_of
        for terms in self.shape.axes[column.tensor]:
            mine = [(*found[rank], c) for rank, c in terms if rank in found]
            times = np.ones(len(tiles))
            for count, _, _ in mine:
                times *= count
            moved = times.copy()
            for count, total, c in mine:
                moved += c * (total - count) * (times / count)
            product_of *= moved
        for rank in found.keys() - self.shape.dimensions[column.tensor]:
            product_of *= found[rank][0]
        return product_of

    def _visits(self, below: Ints, rank: int, column: Column) -> tuple[Ints, Ints]:
        """Return how often the loops over a rank visit a node, and extents in all."""
        chain = [
            (below[:, i], self._counts_once(column, i, rank))
            for i, slot in enumerate(self.template.slots)
            if slot.block < column.node and i in self.template.allowed[rank]
        ]
        return visits(np.full(len(below), self.shape.sizes[rank]), chain)

    def _counts_once(self, column: Column, index: int, rank: int) -> bool:
        if column.tensor == OPERATIONS:
            return self.template.slots[index].fan_out is not None
        return self._once(column, index, rank)


class _PlainFactors:
    """Products of a plain group's iterations over sets of slots, each formed once."""

    def __init__(self, tiles: GroupTiles) -> None:
        self.extent = tiles.extent
        self.iterations = tiles.factors.prod(axis=1)
        self.known: dict[tuple[int, ...], Ints] = {}

    def product(self, slots: tuple[int, ...]) -> Ints:
        """Return the iterations of some slots together."""
        if slots not in self.known:
            self.known[slots] = self.iterations[:, list(slots)].prod(axis=1)
        return self.known[slots]

    def quotient(self, slots: tuple[int, ...]) -> Floats:
        """Return what some slots leave of the extent."""
        return self.extent / self.product(slots)
