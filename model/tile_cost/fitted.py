"""Trees fitted to tiles of known cycles, one per kind."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache

import numpy as np

from elkhound.model.io.array_cache import load_arrays, store_arrays
from elkhound.model.tile_cost.device import Device
from elkhound.model.tile_cost.features import features, term_count
from elkhound.model.tile_cost.kinds import Dimensions, TileKind
from elkhound.model.tile_cost.linear_tree import LinearTree, fit_tree
from elkhound.model.tile_cost.sample import random_tiles
from elkhound.model.tile_cost.tile import Integers

TREES_KEPT_IN = "tile-cost"
SEED = 20_240
FITTED_TILES = {TileKind.MATMUL: 32_000, TileKind.GATHER: 8_000}
OTHER_TILES = 4_000
MOST_CYCLES = 2.0**62


@dataclass(frozen=True, slots=True, eq=False)
class Tiles:
    """Tiles of one kind, and the cycles each takes.

    Parameters
    ----------
    kind : TileKind
        Their kind.
    dimensions : tuple of array
        As in `DIMENSIONS`, each at least 1.
    cycles : array
        Of every tile, at least 1.
    """

    kind: TileKind
    dimensions: Dimensions
    cycles: Integers

    def __len__(self) -> int:
        """Tiles."""
        return len(self.cycles)

    def take(self, rows: Integers) -> Tiles:
        """Return the tiles at the given rows."""
        columns = tuple(column[rows] for column in self.dimensions)
        return Tiles(self.kind, columns, self.cycles[rows])


def digest_of(samples: Iterable[Tiles]) -> str:
    """Return the digest of what trees are fitted to."""
    digest = hashlib.sha256()
    for tiles in samples:
        digest.update(f"{tiles.kind} {len(tiles)}\n".encode())
        for column in (*tiles.dimensions, tiles.cycles):
            digest.update(column.astype("<i8").tobytes())
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class FittedCost:
    """Cycles by the trees of all kinds; equal data, equal cost.

    Parameters
    ----------
    digest : str
        Of the tiles that the trees are fitted to.
    trees : mapping of TileKind to LinearTree
        One per kind.
    """

    digest: str
    trees: Mapping[TileKind, LinearTree] = field(repr=False, compare=False)

    def tile_cycles(self, kind: TileKind, dimensions: Dimensions) -> Integers:
        """Return the predicted cycles of every tile of a kind."""
        return predicted_cycles(self.trees[kind], kind, dimensions)


def predicted_cycles(
    tree: LinearTree, kind: TileKind, dimensions: Dimensions
) -> Integers:
    """Return a tree's predictions in whole cycles, to the nearest, at least one."""
    predicted = tree.predict(*features(kind, dimensions))
    return np.rint(np.clip(predicted, 1.0, MOST_CYCLES)).astype(np.int64)


def least_tiles(kind: TileKind) -> int:
    """Return the tiles that a linear model of a kind is fitted to at least."""
    return 2 * term_count(kind)


def fitted_tree(tiles: Tiles) -> LinearTree:
    """Return the tree of some tiles; trees are kept on disk by what they are fitted to.

    Raises
    ------
    ValueError
        If there are fewer tiles than `least_tiles`.
    """
    if len(tiles) < least_tiles(tiles.kind):
        raise ValueError(f"{len(tiles)} tiles are too few for a {tiles.kind} tree")
    key = digest_of([tiles])
    kept = load_arrays(TREES_KEPT_IN, key)
    if kept is not None:
        return LinearTree(**kept)
    keys, terms = features(tiles.kind, tiles.dimensions)
    values = tiles.cycles.astype(np.float64)
    tree = fit_tree(keys, terms, values, least_tiles(tiles.kind))
    arrays = {column.name: getattr(tree, column.name) for column in fields(tree)}
    store_arrays(TREES_KEPT_IN, key, arrays)
    return tree


def device_tiles(
    device: Device, kind: TileKind, room_bytes: int, count: int, seed: int
) -> Tiles:
    """Return random tiles of a kind with the cycles that a device takes for them."""
    rng = np.random.default_rng([seed, list(TileKind).index(kind)])
    dimensions = random_tiles(kind, room_bytes, count, rng)
    return Tiles(kind, dimensions, device.tile_cycles(kind, dimensions))


@lru_cache(maxsize=16)
def fitted_to(device: Device, room_bytes: int) -> FittedCost:
    """Return trees fitted to random tiles of a device, repeatable.

    Parameters
    ----------
    room_bytes : int
        SRAM that the operands of a tile take at most.
    """
    samples = [
        device_tiles(
            device, kind, room_bytes, FITTED_TILES.get(kind, OTHER_TILES), SEED
        )
        for kind in TileKind
    ]
    trees = {tiles.kind: fitted_tree(tiles) for tiles in samples}
    return FittedCost(digest_of(samples), trees)
