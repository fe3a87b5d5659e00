"""Work conservation: a link that is asked for more than it has is never idle."""

from __future__ import annotations

from collections.abc import Generator
from fractions import Fraction
from math import ceil

import pytest
import simpy
from hypothesis import given, settings
from hypothesis import strategies as st
from simpy.events import Event

from elkhound.simpy_chip.links.network import Network, Transfer

some = settings(derandomize=True, deadline=None, max_examples=200)


def ends(starts: list[tuple[int, list[Transfer]]]) -> tuple[list[int], Network]:
    """Start batches of transfers at given cycles; return when each batch has ended."""
    env = simpy.Environment()
    network = Network(env, contention=True)
    told: dict[int, int] = {}

    def start(number: int, cycle: int, batch: list[Transfer]) -> simpy.events.Process:
        def wait() -> Generator[Event, object, None]:
            yield env.timeout(cycle)
            done: Event = network.start(batch)
            yield done
            told[number] = int(env.now)

        return env.process(wait())

    for number, (cycle, batch) in enumerate(starts):
        start(number, cycle, batch)
    env.run()
    return [told[number] for number in range(len(starts))], network


@pytest.mark.parametrize("count", [1, 2, 3, 7, 64])
@pytest.mark.parametrize("launch", ["together", "one by one", "in two batches"])
def test_equal_transfers_end_together_at_total_over_bandwidth(
    count: int, launch: str
) -> None:
    transfers = [Transfer(11, (0,))] * count
    if launch == "together":
        batches = [transfers]
    elif launch == "one by one":
        batches = [[transfer] for transfer in transfers]
    else:
        batches = [transfers[: count // 2], transfers[count // 2 :]]
    told, network = ends([(5, batch) for batch in batches if batch])
    assert set(told) == {5 + 11 * count}
    assert network.work_done[0] == 11 * count
    assert network.peak_load[0] == 1


@some
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 20)), min_size=1))
def test_a_link_that_is_wanted_is_never_idle(flows: list[tuple[int, int]]) -> None:
    told, network = ends([(cycle, [Transfer(work, (0,))]) for cycle, work in flows])
    busy_until = 0
    for cycle, work in sorted(flows):
        busy_until = max(busy_until, cycle) + work
    assert max(told) == busy_until
    assert network.work_done[0] == sum(work for _, work in flows)


@some
@given(
    st.lists(
        st.tuples(
            st.integers(0, 20),
            st.integers(1, 20),
            st.lists(st.integers(0, 4), min_size=1, max_size=3, unique=True),
            st.fractions(Fraction(1, 9), 1, max_denominator=9),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_every_link_carries_all_its_flows_and_never_more_than_it_can(
    flows: list[tuple[int, int, list[int], Fraction]],
) -> None:
    batches = [(at, [Transfer(work, tuple(on), cap)]) for at, work, on, cap in flows]
    told, network = ends(batches)
    for link in range(5):
        crossing = sum(work for _, work, on, _ in flows if link in on)
        assert network.work_done.get(link, 0) == crossing
        assert network.peak_load.get(link, 0) <= 1
    for (at, work, _, cap), end in zip(flows, told, strict=True):
        assert end >= ceil(at + work / cap)
    alone = max(at + work / cap for at, work, _, cap in flows)
    if sum(cap for _, _, _, cap in flows) <= 1:
        assert max(told) == ceil(alone)


def test_flows_that_share_no_link_do_not_disturb_each_other() -> None:
    told, _ = ends(
        [(0, [Transfer(6, (0, 1))]), (2, [Transfer(5, (2,))]), (3, [Transfer(4, (1,))])]
    )
    # the first has 3 of 6 left at 3, then ½ beside the third: 9; the third has 1 of 4
    # left at 9, alone: 10; the second 2–7
    assert told == [9, 7, 10]


def test_fractions_that_grow_too_long_are_rounded_up_by_less_than_a_cycle() -> None:
    # a long flow beside 40 short ones with caps of different prime denominators
    primes = [p for p in range(101, 400) if all(p % q for q in range(2, 20))][:40]
    short = [
        (3 * k, [Transfer(2, (0,), Fraction(50, prime))])
        for k, prime in enumerate(primes)
    ]
    told, network = ends([(0, [Transfer(1000, (0,))]), *short])
    # the link is always wanted: all 1000 + 80 cycles of work are done at 1080
    assert told[0] in (1080, 1081)
    assert network.work_done[0] == 1080
