"""Random tiles that fit one core's SRAM."""

from __future__ import annotations

import numpy as np

from elkhound.model.tile_cost.kinds import Dimensions, TileKind
from elkhound.model.tile_cost.tile import Integers

LEAST_ROOM_BYTES = 4096
LARGEST_BATCH = 4096


def random_tiles(
    kind: TileKind, room_bytes: int, count: int, rng: np.random.Generator
) -> Dimensions:
    """Return tiles of a kind with extents spread evenly over orders of magnitude.

    Half of the matmuls are single products.

    Parameters
    ----------
    room_bytes : int
        What all operands of a tile, one byte an element, take at most; 4 KiB where it
        is less.
    """
    room = max(room_bytes, LEAST_ROOM_BYTES)
    found: list[Dimensions] = []
    missing = count
    while missing > 0:
        drawn = _drawn(kind, room, count, rng)
        fits = _elements(kind, drawn) <= room
        found.append(tuple(column[fits][:missing] for column in drawn))
        missing -= len(found[-1][0])
    return tuple(np.concatenate(columns) for columns in zip(*found, strict=True))


def _drawn(
    kind: TileKind, room: int, count: int, rng: np.random.Generator
) -> Dimensions:
    """Return tiles that need not fit."""
    if kind is TileKind.MATMUL:
        b = np.where(rng.random(count) < 0.5, 1, _extents(LARGEST_BATCH, count, rng))
        return (b, *(_extents(room, count, rng) for _ in range(3)))
    if kind is TileKind.GATHER:
        indices, width = (_extents(room, count, rng) for _ in range(2))
        return (indices * width, indices)
    return (_extents(room, count, rng),)


def _extents(largest: int, count: int, rng: np.random.Generator) -> Integers:
    """Return integers from 1 to `largest` whose logarithms are uniform."""
    logarithms = rng.uniform(0, np.log(largest + 1), count)
    extents: Integers = np.exp(logarithms).astype(np.int64)
    return extents


def _elements(kind: TileKind, dimensions: Dimensions) -> Integers:
    """Return the elements of all operands: an input at least, and the output."""
    if kind is TileKind.MATMUL:
        b, m, n, k = dimensions
        operands: Integers = b * (m * k + k * n + m * n)
        return operands
    if kind is TileKind.GATHER:
        return dimensions[0] + dimensions[1]
    return 2 * dimensions[0]
