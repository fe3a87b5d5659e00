"""What a tree compares of a tile, and what its linear models add up."""

from __future__ import annotations

import numpy as np

from elkhound.model.tile_cost.kinds import DIMENSIONS, Dimensions, TileKind
from elkhound.model.tile_cost.least_squares import Floats


def features(kind: TileKind, dimensions: Dimensions) -> tuple[Floats, Floats]:
    """Return the keys and the terms of every tile, one row each.

    A matmul has the keys b, m, n, k, min(m, n), max(m, n), and as terms b and b·k,
    each times 1, m, n, min(m, n), max(m, n) and m·n: calls, columns, operands and
    multiply-accumulates. A gather has the keys elements, indices and elements of an
    index, all others their elements; their terms are 1 and the dimensions. No term is
    negative, and none falls where a dimension grows.
    """
    columns = [dimension.astype(np.float64) for dimension in dimensions]
    one = np.ones_like(columns[0])
    if kind is TileKind.MATMUL:
        b, m, n, k = columns
        small, large = np.minimum(m, n), np.maximum(m, n)
        calls = (b, b * m, b * n, b * small, b * large, b * m * n)
        keys = (b, m, n, k, small, large)
        return np.column_stack(keys), np.column_stack([*calls, *(k * c for c in calls)])
    terms = np.column_stack([one, *columns])
    if kind is TileKind.GATHER:
        elements, indices = columns
        return np.column_stack([elements, indices, elements / indices]), terms
    return np.column_stack(columns), terms


def term_count(kind: TileKind) -> int:
    """Return how many terms a linear model of a kind has."""
    one = (np.ones(1, dtype=np.int64),) * len(DIMENSIONS[kind])
    return len(features(kind, one)[1][0])
