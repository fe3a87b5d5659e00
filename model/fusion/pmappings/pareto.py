"""Which rows no other row of the same key beats, exactly and in arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_SMALL = 64  # rows of a segment that are compared all with all
_CELLS = 4_000_000  # comparisons held at once


def pareto(keys: Ints, criteria: Floats) -> Ints:
    """Return the rows, in order, that no row of the same key dominates.

    A row dominates another if it is at most equal in every criterion; of equal rows the
    first stays. Smaller is better.

    Parameters
    ----------
    keys : array of n integers
        Only rows of equal keys compete.
    criteria : array of n × d
        What is minimised.
    """
    count, dimensions = criteria.shape
    if count == 0:
        return np.zeros(0, np.int64)
    order = np.lexsort((*criteria.T[::-1], keys))
    sorted_keys, values = keys[order], criteria[order]
    if dimensions == 0:
        first = np.ones(count, bool)
        first[1:] = sorted_keys[1:] != sorted_keys[:-1]
        return np.sort(order[first])
    starts = np.flatnonzero(np.r_[True, sorted_keys[1:] != sorted_keys[:-1]])
    filtered = _staircase if dimensions <= 2 else _fronts
    return np.sort(order[filtered(starts, values)])


def _staircase(starts: Ints, values: Floats) -> npt.NDArray[np.bool_]:
    """Keep rows whose last criterion is below all before it in their segment."""
    count = len(values)
    segment = np.zeros(count, np.int64)
    segment[starts[1:]] = 1
    segment = np.cumsum(segment)
    if values.shape[1] == 1:
        kept = np.zeros(count, bool)
        kept[starts] = True
        return kept
    rank = np.unique(values[:, 1], return_inverse=True)[1].astype(np.int64)
    falling = rank - segment * (rank.max() + 1)  # later segments lie below earlier ones
    least = np.minimum.accumulate(falling)
    kept = np.ones(count, bool)
    kept[1:] = falling[1:] < least[:-1]
    return kept


def _fronts(starts: Ints, values: Floats) -> npt.NDArray[np.bool_]:
    """Compare rows inside their segments; of sorted rows only earlier ones beat."""
    sizes = np.diff(np.r_[starts, len(values)])
    kept = np.ones(len(values), bool)
    ranks: npt.NDArray[Any] = values if sizes.max() <= _SMALL else _ranks(values)
    for size in np.unique(sizes):
        if size == 1:
            continue
        chosen = starts[sizes == size]
        if size > _SMALL:
            for start in chosen:
                kept[start : start + size] = _long_front(ranks[start : start + size])
            continue
        step = max(1, _CELLS // int(size * size))
        for at in range(0, len(chosen), step):
            rows = chosen[at : at + step, None] + np.arange(size)
            kept[rows] = ~_beaten(ranks[rows])
    return kept


def _ranks(values: Floats) -> npt.NDArray[np.int32]:
    """Return small integers in the order of each column, which compare faster."""
    ranks = np.empty(values.shape, np.int32)
    for d in range(values.shape[1]):
        ranks[:, d] = np.unique(values[:, d], return_inverse=True)[1]
    return ranks


def _beaten(block: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Return for segments × rows × criteria which rows an earlier row beats."""
    size = block.shape[1]
    better = np.ones((block.shape[0], size, size), bool)
    for d in range(block.shape[2]):
        column = block[:, :, d]
        better &= column[:, :, None] <= column[:, None, :]
    better &= np.triu(np.ones((size, size), bool), 1)
    return np.asarray(better.any(axis=1))


def _long_front(ranks: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
    """Filter one long sorted segment chunk by chunk against the front so far."""
    count, dimensions = ranks.shape
    kept = np.zeros(count, bool)
    front = np.empty((dimensions, 0), np.int32)
    for at in range(0, count, _SMALL):
        chunk = ranks[at : at + _SMALL]
        alive = np.arange(len(chunk))
        step = max(1, _CELLS // _SMALL)
        for low in range(0, front.shape[1], step):
            part = front[:, low : low + step]
            better = np.ones((part.shape[1], len(alive)), bool)
            for d in range(dimensions):
                better &= part[d][:, None] <= chunk[alive, d][None, :]
            alive = alive[~better.any(axis=0)]
            if not len(alive):
                break
        if len(alive):
            rows = chunk[alive]
            alive = alive[~_beaten(rows[None])[0]]
            kept[at + alive] = True
            front = np.concatenate([front, chunk[alive].T], axis=1)
    return kept
