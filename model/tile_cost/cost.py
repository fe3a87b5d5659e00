"""One contract for all that predicts the cycles of tiles."""

from __future__ import annotations

from typing import Protocol

from elkhound.model.graph import Einsum
from elkhound.model.tile_cost.kinds import Dimensions, TileKind, work_of
from elkhound.model.tile_cost.tile import Integers, Tile, volume


class TileCost(Protocol):
    """Predicts the cycles of tiles on one core.

    Option tables are kept under its `repr`: two that may answer differently must have
    different ones. It is hashable.
    """

    def tile_cycles(self, kind: TileKind, dimensions: Dimensions) -> Integers:
        """Return the cycles of every tile.

        Parameters
        ----------
        dimensions : tuple of array
            One array per entry of `DIMENSIONS[kind]`, all of one length.
        """
        ...

    def __hash__(self) -> int:
        """Tell questions to the partition search apart."""
        ...


def einsum_cycles(cost: TileCost, einsum: Einsum, tile: Tile) -> Integers:
    """Return the cycles of every tile: the sum over the einsum's passes."""
    total = volume(tile, ()) * 0
    for sweep in einsum.passes:
        total = total + cost.tile_cycles(*work_of(sweep, einsum, tile))
    return total
