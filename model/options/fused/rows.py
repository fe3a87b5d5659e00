"""How a group's shared dimensions are cut: over cores, and over time in chunks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from elkhound.model.options.fused.shape import GroupShape
from elkhound.model.options.spatial import spatial_splits
from elkhound.model.tile_cost.tile import Integers, ceil_divide

NO_LOOP = -1
MOST_CHUNKS = 64


@dataclass(frozen=True, slots=True)
class Rows:
    """Tiles that all members have; entry i of every array belongs to row i.

    Parameters
    ----------
    splits, extents : dict of str to array
        By dimension: into how many parts it is cut over cores, and the extent of the
        part of one chunk. Dimensions that are not free are whole.
    loop : array
        Number of the dimension that is run in chunks; `NO_LOOP` for none.
    chunks : array
        How many times the members run, one after another, on a part of their tile.
    """

    splits: dict[str, Integers]
    extents: dict[str, Integers]
    loop: Integers
    chunks: Integers

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.loop)

    def take(self, chosen: Integers | slice) -> Rows:
        """Return some of the rows."""
        return Rows(
            {name: column[chosen] for name, column in self.splits.items()},
            {name: column[chosen] for name, column in self.extents.items()},
            self.loop[chosen],
            self.chunks[chosen],
        )

    @property
    def cores_used(self) -> Integers:
        """Product of the splits."""
        product = np.ones_like(self.loop)
        for column in self.splits.values():
            product = product * column
        return product


def rows_of(
    shape: GroupShape, cores: int, use_permille: int, padding_permille: int
) -> Rows:
    """Return every legal split of the free dimensions, whole and in chunks.

    Splits are those of an operator that has the free dimensions alone. One dimension
    at a time runs in chunks: 2, 4, 8, … up to `MOST_CHUNKS`, and no more than its
    tile has points; c chunks of extent t are ⌈t/c⌉ each, and of the c that make equal
    extents only those are kept that need no empty chunk.
    """
    sizes = shape.sizes
    free = tuple(sizes[name] for name in shape.free)
    splits = spatial_splits(free, cores, use_permille, padding_permille)
    columns = dict(zip(shape.free, splits.T, strict=True))
    parts = [_whole(shape, columns, len(splits))]
    for name in shape.loops:
        tile = ceil_divide(np.full(len(splits), sizes[name]), columns[name])
        chunks = 2
        while chunks <= MOST_CHUNKS:
            extent = ceil_divide(tile, chunks)
            usable = (chunks <= tile) & (ceil_divide(tile, extent) == chunks)
            parts.append(_chunked(parts[0], name, extent, chunks, usable))
            chunks *= 2
    return _stacked(parts)


def _whole(shape: GroupShape, columns: dict[str, Integers], count: int) -> Rows:
    one = np.ones(count, dtype=np.int64)
    splits = {name: columns.get(name, one) for name in shape.sizes}
    return Rows(
        splits=splits,
        extents={
            name: ceil_divide(one * size, splits[name])
            for name, size in shape.sizes.items()
        },
        loop=one * NO_LOOP,
        chunks=one,
    )


def _chunked(
    whole: Rows, name: str, extent: Integers, chunks: int, usable: np.ndarray
) -> Rows:
    rows = np.flatnonzero(usable)
    taken = whole.take(rows)
    return Rows(
        taken.splits,
        {**taken.extents, name: extent[rows]},
        np.full_like(taken.loop, int(name)),
        np.full_like(taken.loop, chunks),
    )


def _stacked(parts: list[Rows]) -> Rows:
    names = parts[0].splits
    return Rows(
        {n: np.concatenate([part.splits[n] for part in parts]) for n in names},
        {n: np.concatenate([part.extents[n] for part in parts]) for n in names},
        np.concatenate([part.loop for part in parts]),
        np.concatenate([part.chunks for part in parts]),
    )
