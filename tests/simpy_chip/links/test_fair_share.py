from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elkhound.simpy_chip.links.fair_share import Route, max_min_rates


def parts(text: str) -> list[Fraction]:
    return [Fraction(word) for word in text.split()]


@pytest.mark.parametrize(
    ("caps", "rates"),
    [
        pytest.param("1/4 1/2", "1/4 1/2", id="enough-for-all"),
        pytest.param("1/3 1", "1/3 2/3", id="the-modest-flow-gets-what-it-asks"),
        pytest.param("1 3/4", "1/2 1/2", id="greedy-flows-halve"),
        pytest.param("1 1/5 1", "2/5 1/5 2/5", id="the-rest-is-halved"),
        pytest.param("1 1 1", "1/3 1/3 1/3", id="thirds"),
    ],
)
def test_one_link_worked_out_by_hand(caps: str, rates: str) -> None:
    asked = parts(caps)
    assert max_min_rates([(0,)] * len(asked), asked) == parts(rates)


@pytest.mark.parametrize(
    ("routes", "caps", "rates"),
    [
        # link 0 has three flows, ⅓ each; the fourth takes what is left of link 1
        pytest.param([(0, 1), (0,), (0,), (1,)], "1 1 1 1", "1/3 1/3 1/3 2/3",
                     id="a-bottleneck-elsewhere-leaves-room"),
        # the long flow crosses both links; each is halved
        pytest.param([(0, 1), (0,), (1,)], "1 1 1", "1/2 1/2 1/2", id="two-hops"),
        # the long flow asks for ¼ only
        pytest.param([(0, 1), (0,), (1,)], "1/4 1 1/2", "1/4 3/4 1/2", id="capped"),
        # apart: nothing is shared
        pytest.param([(0,), (1,)], "1 1/3", "1 1/3", id="apart"),
        # link 1 has 1 − ⅛ for two flows, 7/16 each; link 0 keeps 9/16 for the first
        pytest.param([(0,), (0, 1), (1,), (1,)], "1 1 1/8 1", "9/16 7/16 1/8 7/16",
                     id="a-chain"),
    ],
)  # fmt: skip
def test_routes_worked_out_by_hand(routes: list[Route], caps: str, rates: str) -> None:
    assert max_min_rates(routes, parts(caps)) == parts(rates)


@settings(derandomize=True, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sets(st.integers(0, 4), min_size=1, max_size=4),
            st.fractions(Fraction(1, 20), 1),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_a_flow_below_its_cap_has_a_full_link_on_which_none_is_faster(
    flows: list[tuple[set[int], Fraction]],
) -> None:
    routes = [tuple(sorted(links)) for links, _ in flows]
    caps = [cap for _, cap in flows]
    rates = max_min_rates(routes, caps)
    on: dict[int, list[Fraction]] = {}
    for route, rate in zip(routes, rates, strict=True):
        for link in route:
            on.setdefault(link, []).append(rate)
    assert all(sum(shared) <= 1 for shared in on.values())
    for route, cap, rate in zip(routes, caps, rates, strict=True):
        assert 0 < rate <= cap
        if rate < cap:
            assert any(sum(on[k]) == 1 and max(on[k]) == rate for k in route)
