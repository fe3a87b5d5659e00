"""Chains of tiles that need not divide what they cut."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elkhound.model.errors import BadInputError
from elkhound.model.fusion.mapspace import Tiles
from elkhound.model.fusion.pmappings.ragged import (
    chains,
    cuts,
    require_small,
    visits,
)


@pytest.mark.parametrize(
    ("tiles", "expected"),
    [
        pytest.param(Tiles.DIVISORS, (6, 3, 2, 1), id="divisors"),
        # ⌈6/4⌉ = ⌈6/5⌉ = 2, ⌈6/6⌉ = 1
        pytest.param(Tiles.EVEN, (6, 3, 2, 1), id="even"),
        pytest.param(Tiles.ANY, (6, 5, 4, 3, 2, 1), id="any"),
    ],
)
def test_the_tiles_of_six(tiles: Tiles, expected: tuple[int, ...]) -> None:
    assert cuts(6, tiles) == expected


def test_seven_has_even_tiles_though_it_is_prime() -> None:
    # 7 in 2 steps: 4 + 3; in 3: 3 + 3 + 1; in 4 to 6: 2; no divisor but 1 and 7
    assert cuts(7, Tiles.EVEN) == (7, 4, 3, 2, 1)


def test_a_chain_ends_at_one_and_never_grows() -> None:
    # of 3, in two loops: 3 → 1, 2 → 1, 1 → 1
    assert chains(3, (None, None), Tiles.ANY).tolist() == [[3, 1], [2, 1], [1, 1]]


def test_a_fan_out_limits_the_steps() -> None:
    # of 5 over at most 2 units, then in time: 5, or 4 + 1, or 3 + 2
    found = chains(5, (2, None), Tiles.ANY)
    assert found.tolist() == [[5, 1], [4, 1], [3, 1]]


def test_fused_chains_have_so_many_loops_and_end_anywhere() -> None:
    # one loop in two places: 2 nowhere, in the second, in the first
    found = chains(2, (None, None), Tiles.ANY, loops=1)
    assert found.tolist() == [[2, 2], [2, 1], [1, 1]]


def test_nine_in_six_and_three_by_threes_takes_three_visits() -> None:
    # 6 + 3, then 3 + 3 and 3; in the even 5 + 4 it would be 3 + 2 and 3 + 1
    size, three = np.array([9]), np.array([3])
    assert visits(size, [(np.array([6]), False), (three, False)])[0] == 3
    assert visits(size, [(np.array([5]), False), (three, False)])[0] == 4


@settings(derandomize=True, deadline=None)
@given(st.integers(1, 40), st.lists(st.integers(1, 40), max_size=4))
def test_visits_are_those_of_nested_loops(size: int, sizes: list[int]) -> None:
    tiles = [min([size, *sizes[: i + 1]]) for i in range(len(sizes))]

    def walked(extent: int, left: list[int]) -> list[int]:
        if not left:
            return [extent]
        parts = [min(left[0], extent - start) for start in range(0, extent, left[0])]
        return [e for part in parts for e in walked(part, left[1:])]

    chain = [(np.array([tile]), False) for tile in tiles]
    count, total = visits(np.array([size]), chain)
    assert (int(count[0]), int(total[0])) == (len(walked(size, tiles)), size)


@pytest.mark.parametrize(
    ("size", "tiles", "hint"),
    [
        pytest.param(1025, Tiles.ANY, "--tiles even or --tiles divisors", id="any"),
        pytest.param(10**6 + 1, Tiles.EVEN, "--tiles divisors", id="even"),
        pytest.param(10**15 - 11, Tiles.ANY, "--tiles divisors", id="huge"),
    ],
)
def test_a_rank_of_too_many_tiles_is_refused_with_what_it_may_be_cut_into(
    size: int, tiles: Tiles, hint: str
) -> None:
    with pytest.raises(BadInputError, match=rf"rank m: its size is {size}") as refused:
        require_small([("k", 4), ("m", size)], tiles)
    assert refused.value.hint == hint


def test_divisors_of_any_size_are_tried() -> None:
    require_small([("m", 10**15)], Tiles.DIVISORS)
