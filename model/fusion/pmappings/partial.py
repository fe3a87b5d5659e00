"""Rows over some groups of ranks, and what the other groups may still multiply."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Partial:
    """Rows over some groups of ranks; arrays have one column per row.

    Parameters
    ----------
    picks : array of groups × rows
        Choices taken.
    key : array of rows
        Equal for equal loops in fused blocks.
    loops : array of rows
        How many of those have iterations.
    counts, nodes, use : array
        Products over the groups: factors of counts, of limited nodes' tiles, and units
        used of every fan-out.
    """

    picks: Ints
    key: Ints
    loops: Ints
    counts: Floats
    nodes: Floats
    use: Ints

    def __len__(self) -> int:
        return len(self.key)

    def taken(self, rows: Indices | Mask) -> Partial:
        """Return some rows."""
        return Partial(
            self.picks[:, rows],
            self.key[rows],
            self.loops[rows],
            self.counts[:, rows],
            self.nodes[:, rows],
            self.use[:, rows],
        )

    def times(self, other: Partial, mine: Indices, its: Indices) -> Partial:
        """Return pairs of rows."""
        return Partial(
            np.concatenate([self.picks[:, mine], other.picks[:, its]]),
            self.key[mine] * (int(other.key.max(initial=0)) + 1) + other.key[its],
            self.loops[mine] + other.loops[its],
            self.counts[:, mine] * other.counts[:, its],
            self.nodes[:, mine] * other.nodes[:, its],
            self.use[:, mine] * other.use[:, its],
        )


@dataclass(frozen=True, eq=False)
class Missing:
    """What groups that are still to come multiply at least and at most."""

    least_counts: Floats
    most_counts: Floats
    least_nodes: Floats
    most_use: Ints

    def best_counts(self, saves: Mask) -> Floats:
        """Return the most of columns that save, the least of the others."""
        return np.where(saves, self.most_counts, self.least_counts)

    @classmethod
    def of(cls, groups: Sequence[Partial], like: Partial) -> Missing:
        """Return what some groups multiply; `like` tells how many counts there are."""
        counts = np.ones((2, len(like.counts)))
        nodes, use = np.ones(len(like.nodes)), np.ones(len(like.use), np.int64)
        for group in groups:
            counts[0] *= group.counts.min(axis=1, initial=np.inf)
            counts[1] *= group.counts.max(axis=1, initial=0)
            nodes *= group.nodes.min(axis=1, initial=np.inf)
            use *= group.use.max(axis=1, initial=0)
        return cls(counts[0], counts[1], nodes, use)


def concatenated(parts: Sequence[Partial]) -> Partial:
    """Return all rows."""
    return Partial(
        np.concatenate([part.picks for part in parts], axis=1),
        np.concatenate([part.key for part in parts]),
        np.concatenate([part.loops for part in parts]),
        np.concatenate([part.counts for part in parts], axis=1),
        np.concatenate([part.nodes for part in parts], axis=1),
        np.concatenate([part.use for part in parts], axis=1),
    )


def packed(keys: Sequence[Ints], count: int) -> Ints:
    """Return one integer for each of `count` rows, equal where all keys are equal."""
    if len(keys) == 1:
        return keys[0]
    code = np.zeros(count, np.int64)
    for key in keys:
        values, index = np.unique(key, return_inverse=True)
        code = code * len(values) + index
    return code
