"""Measured tiles in place of the formulas."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np

from elkhound.model.errors import BadInputError
from elkhound.model.tile_cost.fitted import (
    Tiles,
    digest_of,
    fitted_tree,
    least_tiles,
    predicted_cycles,
)
from elkhound.model.tile_cost.kinds import DIMENSIONS, Dimensions, TileKind
from elkhound.model.tile_cost.linear_tree import LinearTree
from elkhound.model.tile_cost.tile import Integers


@dataclass(frozen=True, slots=True)
class MeasuredCost:
    """Measured cycles where a tile was measured, else those of a tree fitted to them.

    Parameters
    ----------
    digest : str
        Of the measurements.
    path : str
        Where they stand, for messages.
    tiles : mapping of TileKind to Tiles
        Measured tiles, each once; kinds without any are missing.
    trees : mapping of TileKind to LinearTree
        Of the kinds with enough tiles.
    """

    digest: str
    path: str = field(repr=False, compare=False)
    tiles: Mapping[TileKind, Tiles] = field(repr=False, compare=False)
    trees: Mapping[TileKind, LinearTree] = field(repr=False, compare=False)

    def tile_cycles(self, kind: TileKind, dimensions: Dimensions) -> Integers:
        """Return the cycles of every tile of a kind.

        Raises
        ------
        BadInputError
            If no tile of the kind was measured, or too few to fit a tree and one that
            is asked for is not among them.
        """
        if kind not in self.tiles:
            known = ", ".join(sorted(self.tiles)) or "none"
            self._refuse(f"no {kind} tile is measured", f"measured kinds: {known}")
        tiles = self.tiles[kind]
        row = rows_of(tiles, dimensions)
        missing = np.flatnonzero(row < 0)
        cycles: Integers = tiles.cycles[row]
        if not len(missing):
            return cycles
        if kind not in self.trees:
            extents = [int(column[missing[0]]) for column in dimensions]
            pairs = zip(DIMENSIONS[kind], extents, strict=True)
            tile = ", ".join(f"{name} = {extent}" for name, extent in pairs)
            self._refuse(
                f"the {kind} tile {tile} is not measured, and {len(tiles)} of its kind "
                "are too few to predict it",
                f"a tree is fitted to {least_tiles(kind)} tiles or more",
            )
        others = tuple(column[missing] for column in dimensions)
        cycles[missing] = predicted_cycles(self.trees[kind], kind, others)
        return cycles

    def _refuse(self, message: str, hint: str) -> NoReturn:
        raise BadInputError(message, code="unmeasured-tile", where=self.path, hint=hint)


def measured_cost(path: str, tiles: Mapping[TileKind, Tiles]) -> MeasuredCost:
    """Return the cost by measured tiles, with trees where there are enough."""
    enough = [t for t in tiles.values() if len(t) >= least_tiles(t.kind)]
    return MeasuredCost(
        digest=digest_of(tiles[kind] for kind in sorted(tiles)),
        path=path,
        tiles=tiles,
        trees={t.kind: fitted_tree(t) for t in enough},
    )


def rows_of(tiles: Tiles, dimensions: Dimensions) -> Integers:
    """Return the row of every tile asked for among some tiles, −1 where there is none.

    Dimension by dimension the pair of what was found so far and the next extent gets
    a number; numbers count distinct pairs, so they stay small.
    """
    known = np.zeros(len(tiles), dtype=np.int64)
    asked = np.zeros(len(dimensions[0]), dtype=np.int64)
    for own, column in zip(tiles.dimensions, dimensions, strict=True):
        extents = np.unique(own)
        known = known * len(extents) + np.searchsorted(extents, own)
        place, found = _places(extents, column)
        asked = np.where(found & (asked >= 0), asked * len(extents) + place, -1)
        pairs = np.unique(known)
        known = np.searchsorted(pairs, known)
        place, found = _places(pairs, asked)
        asked = np.where(found, place, -1)
    row_of = np.empty(len(tiles), dtype=np.int64)
    row_of[known] = np.arange(len(tiles))
    return np.where(asked >= 0, row_of[asked], -1)


def _places(ordered: Integers, wanted: Integers) -> tuple[Integers, Integers]:
    """Return where each value stands in an ordered array, and whether it does."""
    place = np.minimum(np.searchsorted(ordered, wanted), len(ordered) - 1)
    return place, ordered[place] == wanted
