from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elkhound.simpy_chip.links.fair_share import max_min_shares


def parts(text: str) -> list[Fraction]:
    return [Fraction(word) for word in text.split()]


@pytest.mark.parametrize(
    ("caps", "shares"),
    [
        pytest.param("1/4 1/2", "1/4 1/2", id="enough-for-all"),
        pytest.param("1/3 1", "1/3 2/3", id="the-modest-flow-gets-what-it-asks"),
        pytest.param("1 3/4", "1/2 1/2", id="greedy-flows-halve"),
        pytest.param("1 1/5 1", "2/5 1/5 2/5", id="the-rest-is-halved"),
        pytest.param("1 1 1", "1/3 1/3 1/3", id="thirds"),
    ],
)
def test_shares_worked_out_by_hand(caps: str, shares: str) -> None:
    assert max_min_shares(parts(caps), Fraction(1)) == parts(shares)


@settings(derandomize=True, deadline=None)
@given(st.lists(st.fractions(Fraction(1, 20), 1), min_size=1, max_size=6))
def test_a_flow_below_its_cap_is_no_slower_than_any_other(
    caps: list[Fraction],
) -> None:
    shares = max_min_shares(caps, Fraction(1))
    assert sum(shares) == min(Fraction(1), sum(caps))
    for cap, share in zip(caps, shares, strict=True):
        assert 0 < share <= cap
        if share < cap:
            assert share == max(shares)
