"""The smoothest course through gates, and what a space can hold."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elkhound.experiments.figures.demand import (
    Gate,
    _held,
    fastest_within,
    hbm_demand,
    smoothest,
)
from elkhound.model.schedule import ScheduleOperator, ScheduleOption


def test_a_course_that_is_free_is_straight() -> None:
    gates = [Gate(1, 0, 9), Gate(2, 1, 9), Gate(3, 6, 6)]
    assert list(smoothest(0, gates)) == [(2, 6)]  # 2 a unit of time: 2 and 4 in between


def test_a_gate_in_the_way_bends_the_course() -> None:
    # 3 must be there at 1: rate 3, then 3 more in 2
    assert list(smoothest(0, [Gate(1, 3, 9), Gate(3, 6, 6)])) == [(0, 3), (1, 6)]
    # no more than 1 fits before 2: rate ½, then 5 in 1
    assert list(smoothest(0, [Gate(2, 0, 1), Gate(3, 6, 6)])) == [(0, 1), (1, 6)]


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=8))
def test_the_course_passes_all_gates_and_its_peak_is_what_two_gates_force(
    pairs: list[tuple[int, int]],
) -> None:
    low, high, gates = 0, 0, []
    for k, (least, room) in enumerate(pairs):
        low = low + least
        high = max(high, low + room)
        gates.append(Gate(k + 1, low, high))
    gates.append(Gate(len(pairs) + 1, low + 5, low + 5))
    gates = [Gate(g.time, g.least, min(g.most, low + 5)) for g in gates]
    bends = [(0.0, 0.0)]
    bends += [(gates[k].time, amount) for k, amount in smoothest(0, gates)]
    rates = []
    for (t0, a0), (t1, a1) in pairwise(bends):
        rates.append((a1 - a0) / (t1 - t0))
        for gate in gates:
            if t0 < gate.time <= t1:
                at = a0 + rates[-1] * (gate.time - t0)
                assert gate.least - 1e-9 <= at <= gate.most + 1e-9
    # between any two gates at least (least later − most earlier) has to be delivered
    starts = [Gate(0, 0, 0), *gates]
    forced = max(
        (later.least - earlier.most) / (later.time - earlier.time)
        for i, earlier in enumerate(starts)
        for later in starts[i + 1 :]
    )
    assert max(rates) == pytest.approx(forced)


def test_a_space_holds_the_next_operators_as_far_as_it_goes() -> None:
    streamed = [(10, 100), (20, 200), (40, 80)]  # bytes a core, bytes of HBM
    assert _held(streamed, 0, 10) == 100
    assert _held(streamed, 0, 20) == 200  # all of the first, half of the second
    assert _held(streamed, 1, 40) == 100 + 200 + 40  # half of the third
    assert _held(streamed, 2, 100) == 380


def test_the_fastest_plan_that_fits_brings_its_states_by_size() -> None:
    def option(plan: int, size: int, preload: int, cycles: int) -> ScheduleOption:
        return ScheduleOption(plan, size, preload, 1, 1, cycles, 0)

    slow = option(0, 10, 5, 9)
    fast = [option(1, 30, 30, 4), option(1, 30, 10, 4)]
    operator = ScheduleOperator("x", (slow, *fast))
    assert fastest_within(operator, 30) == [fast[1], fast[0]]
    assert fastest_within(operator, 29) == [slow]
    assert fastest_within(operator, 9) == [slow]  # nothing fits: the smallest


def test_hbm_demand_delivers_all_that_is_not_there_at_the_start() -> None:
    lines = list(hbm_demand("llama-2-7b", 1, 32, 1, 256 * 1024))
    edges = [line["start_us"] for line in lines] + [lines[-1]["end_us"]]
    assert edges[0] == 0
    assert all(
        line["end_us"] == start for line, start in zip(lines, edges[1:], strict=True)
    )
    assert all(line["demand_bytes_per_second"] >= 0 for line in lines)
