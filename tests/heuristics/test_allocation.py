"""Δ-efficiency is the paper's rule, with its merits and its worst cases."""

from __future__ import annotations

from fractions import Fraction

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from elkhound.heuristics.allocation import DeltaEfficiency, DeltaHullFill
from elkhound.model.allocation import (
    Allocation,
    AllocationItem,
    AllocationOption,
    AllocationProblem,
    pareto,
)
from elkhound.model.limits import Limits
from elkhound.model.referee import judge_allocation
from elkhound.model.result import Status
from elkhound.solvers.allocation import BruteForce

LIMITS: Limits[Allocation] = Limits(workers=1)
HEURISTICS = [DeltaEfficiency(), DeltaHullFill()]


def problem(capacity: int, *items: list[tuple[int, int]]) -> AllocationProblem:
    """Return a problem from points (bytes, cycles) of each item."""
    return AllocationProblem(
        capacity,
        tuple(
            AllocationItem(f"item{i}", tuple(AllocationOption(*p) for p in points))
            for i, points in enumerate(items)
        ),
    )


@st.composite
def problems(draw: st.DrawFn) -> AllocationProblem:
    """Draw up to 5 items of up to 5 points, some of them equal or dominated."""
    point = st.tuples(st.integers(0, 12), st.integers(0, 12))
    items = draw(
        st.lists(st.lists(point, min_size=1, max_size=5), min_size=1, max_size=5)
    )
    most = sum(max(size for size, _ in points) for points in items)
    return problem(draw(st.integers(0, most)), *items)


@pytest.mark.parametrize("heuristic", HEURISTICS, ids=lambda h: h.name)
@given(case=problems())
@settings(derandomize=True, deadline=None, max_examples=300)
def test_greedy_never_beats_the_optimum(
    heuristic: DeltaEfficiency | DeltaHullFill, case: AllocationProblem
) -> None:
    optimum = BruteForce().solve(case, LIMITS)
    result = heuristic.solve(case, LIMITS)
    assert result.plan == heuristic.allocate(case)
    if optimum.status is Status.INFEASIBLE:
        assert result.status is Status.INFEASIBLE
        return
    assert result.status is Status.FEASIBLE
    assert result.plan is not None
    assert judge_allocation(case, result.plan).objective == result.objective
    assert result.objective is not None
    assert optimum.objective is not None
    assert result.objective >= optimum.objective


def literal_delta(case: AllocationProblem) -> tuple[int, ...] | None:
    """Follow §4.3 word by word, in fractions and without a heap."""
    fronts = [pareto(item) for item in case.items]
    at = [0] * len(fronts)

    def option(i: int, place: int) -> AllocationOption:
        return case.items[i].options[fronts[i][place]]

    while sum(option(i, p).size_bytes for i, p in enumerate(at)) > case.capacity_bytes:
        deltas = {}
        for i, place in enumerate(at):
            if place + 1 < len(fronts[i]):
                here, there = option(i, place), option(i, place + 1)
                deltas[i] = Fraction(
                    here.size_bytes - there.size_bytes, there.cycles - here.cycles
                )
        if not deltas:
            return None
        largest = max(deltas.values())
        at[min(i for i, delta in deltas.items() if delta == largest)] += 1
    return tuple(front[place] for front, place in zip(fronts, at, strict=True))


@given(case=problems())
@settings(derandomize=True, deadline=None, max_examples=500)
def test_delta_takes_the_steps_of_the_paper(case: AllocationProblem) -> None:
    plan = DeltaEfficiency().allocate(case)
    assert (None if plan is None else plan.options) == literal_delta(case)


def test_delta_on_a_case_followed_by_hand() -> None:
    # Fastest: 9 + 8 = 17 of 10 bytes. Δ: item0 9→6 bytes for 1 cycle = 3, item1 8→4
    # for 2 = 2: item0 steps to 6. Then item0 6→2 for 6 = 2/3 against 2: item1 steps
    # to 4, and 6 + 4 fits: 2 + 3 cycles.
    case = problem(10, [(9, 1), (6, 2), (2, 8)], [(8, 1), (4, 3), (1, 9)])
    result = DeltaEfficiency().solve(case, LIMITS)
    assert result.plan == Allocation((1, 1))
    assert result.objective == 5
    assert result.statistics["steps"] == 2


def test_delta_compares_ratios_that_floats_cannot_tell_apart() -> None:
    # 3·10^17 + 1 bytes for 3 cycles is more per cycle than 10^17 for 1; as floats both
    # are 10^17.
    size = 10**17
    assert (3 * size + 1) / 3 == size / 1
    case = problem(4 * size, [(size, 0), (0, 1)], [(3 * size + 1, 0), (0, 3)])
    assert DeltaEfficiency().allocate(case) == Allocation((0, 1))


def test_ties_go_to_the_lowest_index() -> None:
    case = problem(15, [(10, 0), (5, 5)], [(10, 0), (5, 5)])
    assert DeltaEfficiency().allocate(case) == Allocation((1, 0))


def test_a_step_that_adds_no_time_comes_first() -> None:
    # 9 → 3 bytes at the same 4 cycles: an infinite Δ, so the list starts at 3.
    case = problem(11, [(8, 0), (0, 1)], [(9, 4), (3, 4)])
    assert DeltaEfficiency().allocate(case) == Allocation((0, 1))


@pytest.mark.parametrize(
    ("scale", "ratio"), [(10, 3.7), (100, 33.7), (1000, 333.7)], ids=str
)
def test_delta_has_no_constant_factor(scale: int, ratio: float) -> None:
    # M + 1 bytes wanted of M: one must go. A gives M bytes for M − 1 cycles, a better
    # rate than B's 1 for 1, so greedy pays M + 1 in all. The optimum shrinks B: 1 + 2.
    case = problem(scale, [(0, scale), (scale, 1)], [(0, 2), (1, 1)])
    assert Fraction(scale, scale - 1) > Fraction(1, 1)
    greedy = DeltaEfficiency().solve(case, LIMITS)
    optimum = BruteForce().solve(case, LIMITS)
    assert (greedy.objective, optimum.objective) == (scale + 1, 3)
    assert round((scale + 1) / 3, 1) == ratio
    # M bytes are left over, and B has taken its fastest: filling up repairs nothing.
    assert DeltaHullFill().solve(case, LIMITS).objective == scale + 1


def test_the_hull_looks_past_a_poor_step() -> None:
    # item0: 10→9 frees 1 byte for 4 cycles, but 10→2 frees 8 for 5 (Δ 8/5); 9 lies
    # above the hull. Δ-efficiency sees 1/4, and demotes item1 at 1/2 three times.
    case = problem(14, [(10, 0), (9, 4), (2, 5)], [(8, 0), (7, 2), (6, 4), (4, 8)])
    assert DeltaEfficiency().solve(case, LIMITS).objective == 8
    assert DeltaHullFill().solve(case, LIMITS).objective == 5


def test_what_is_left_over_is_spent() -> None:
    # 18 of 15 bytes: on the hull of item0 the step 10→2 frees 8, 5 more than needed;
    # the option of 7 bytes and 4 cycles fits in what is left.
    case = problem(15, [(10, 0), (7, 4), (2, 5)], [(8, 0), (7, 3)])
    result = DeltaHullFill().solve(case, LIMITS)
    assert result.plan == Allocation((1, 0))
    assert result.objective == 4
    assert result.statistics["upgrades"] == 1
