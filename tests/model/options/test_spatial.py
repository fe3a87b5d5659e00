"""Which spatial splits are legal."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.one_operator import matmul, small_chip

from elkhound.model.errors import BadInputError
from elkhound.model.options import operator_options
from elkhound.model.options.spatial import spatial_splits


def naive(
    sizes: tuple[int, ...], cores: int, use: int, padding: int
) -> list[tuple[int, ...]]:
    legal = [
        split
        for split in itertools.product(*(range(1, min(n, cores) + 1) for n in sizes))
        if math.prod(split) <= cores
        and 1000 * math.prod(s * -(-n // s) for s, n in zip(split, sizes, strict=True))
        <= padding * math.prod(sizes)
    ]
    enough = [split for split in legal if 1000 * math.prod(split) >= use * cores]
    most = max(math.prod(split) for split in legal)
    return enough or [split for split in legal if math.prod(split) == most]


@settings(derandomize=True, deadline=None)
@given(
    st.lists(st.integers(1, 20), max_size=4).map(tuple),
    st.integers(1, 24),
    st.integers(0, 1000),
    st.integers(1000, 2500),
)
def test_splits_are_all_legal_ones_in_lexicographic_order(
    sizes: tuple[int, ...], cores: int, use: int, padding: int
) -> None:
    found = spatial_splits(sizes, cores, use, padding)
    assert [tuple(row) for row in found.tolist()] == naive(sizes, cores, use, padding)


def test_columns_that_do_not_divide_are_spread_over_the_cores() -> None:
    """13824 columns on 1472 cores: 10 on most, the rest on the last ones.

    9.39 columns a core are padded to 10. 1383 tiles of 10 hold them all, so of the
    splits with tiles of 10 (1383 … 1472) the first is kept.
    """
    splits = spatial_splits((13_824,), 1_472, 900, 1_100)
    assert splits.ravel().tolist() == list(range(1_325, 1_473))
    graph, operator = matmul(1, 13_824, 64)
    plans = {
        option.payload.splits: option
        for option in operator_options(graph, operator, small_chip(1_472))
        if option.payload is not None
    }
    option = plans[("n", 1_383), ("k", 1), ("m", 1)]
    # Per core: 64 of the activation, 64×10 of the weight, 10 of the output, 2 B each.
    assert option.execute_bytes == 128 + 1_280 + 20
    padded, true = 1_383 * 10 * 64, operator.einsum.macs
    assert 1 < padded / true < 1.1


def test_more_tiles_than_extents_are_no_split() -> None:
    # 3 × 2 points on 100 cores: the whole of it, one point a core, is the best.
    assert spatial_splits((3, 2), 100, 900, 1100).tolist() == [[3, 2]]


def test_the_sharing_degree_tells_splits_of_one_tile_extent_apart() -> None:
    # 10 in 4 and 10 in 3.33 both need tiles of 3 and 4; with enough padding allowed
    # 10 in 6 … 9 all have tiles of 2, and each is its own split.
    splits = spatial_splits((10,), 9, 600, 2_000)
    assert splits.tolist() == [[6], [7], [8], [9]]


def test_an_iteration_space_beyond_int64_is_refused() -> None:
    with pytest.raises(BadInputError, match="iteration space of 10000"):
        spatial_splits((10**6, 10**6, 10**6), 4, 900, 1100)
