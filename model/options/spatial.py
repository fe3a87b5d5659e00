"""Spatial splits: every way to cut an iteration space over the cores."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from elkhound.model.errors import BadInputError
from elkhound.model.tile_cost.tile import Integers, ceil_divide

INT64_ROOM = 2**62


def spatial_splits(
    sizes: tuple[int, ...], cores: int, use_permille: int, padding_permille: int
) -> Integers:
    """Return every legal split, one row each, one column per dimension.

    Split s cuts size N into s tiles of ⌈N/s⌉. Legal: Π s ≤ cores,
    1000·Π s·⌈N/s⌉ ≤ padding_permille·Π N, and 1000·Π s ≥ use_permille·cores, or, if
    no split uses that many, the most cores that a legal split uses. Rows are in
    lexicographic order.
    """
    if math.prod(sizes) * padding_permille >= INT64_ROOM:
        raise BadInputError(
            f"an operator's iteration space of {math.prod(sizes)} points is beyond "
            f"{INT64_ROOM // padding_permille}",
            code="operator-too-large",
        )
    wanted = -(-use_permille * cores // 1000)
    splits = _splits(sizes, cores, wanted, padding_permille)
    if len(splits):
        return splits
    splits = _splits(sizes, cores, 1, padding_permille)
    used = splits.prod(axis=1)
    fullest: Integers = splits[used == used.max()]
    return fullest


def _splits(
    sizes: tuple[int, ...], cores: int, wanted: int, padding_permille: int
) -> Integers:
    """Return the splits that use from `wanted` to `cores` cores, built by dimension."""
    rows = np.zeros((1, 0), dtype=np.int64)
    used = np.ones(1, dtype=np.int64)
    padded = np.ones(1, dtype=np.int64)
    true = 1
    for place, size in enumerate(sizes):
        true *= size
        candidates = _candidates(size, cores, padding_permille)
        after = math.prod(min(other, cores) for other in sizes[place + 1 :])
        least = ceil_divide(np.full_like(used, wanted), used * min(after, cores))
        first = np.searchsorted(candidates, least, side="left")
        end = np.searchsorted(candidates, cores // used, side="right")
        parent, position = expand(np.maximum(end - first, 0))
        split = candidates[first[parent] + position]
        padded = padded[parent] * split * ceil_divide(np.full_like(split, size), split)
        legal = padded * 1000 <= padding_permille * true
        parent, split, padded = parent[legal], split[legal], padded[legal]
        used = used[parent] * split
        rows = np.column_stack([rows[parent], split])
    return rows[used >= wanted]


def _candidates(size: int, cores: int, padding_permille: int) -> Integers:
    """Return the splits of one dimension that its own padding allows, ascending."""
    split = np.arange(1, min(size, cores) + 1, dtype=np.int64)
    padded = split * ceil_divide(np.full_like(split, size), split)
    return split[padded * 1000 <= padding_permille * size]


def expand(counts: NDArray[np.int64]) -> tuple[Integers, Integers]:
    """Return, for counts[i] children of each parent i, their parent and position."""
    parent = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
    starts = np.cumsum(counts) - counts
    return parent, np.arange(len(parent), dtype=np.int64) - starts[parent]
