"""Thinned options: what is kept is real, and what is left out is bounded."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.small_schedules import option, problem, small_problems

from elkhound.heuristics.schedule import Basic
from elkhound.model.instances import random_schedule
from elkhound.model.limits import Limits
from elkhound.model.referee import judge
from elkhound.model.result import OrderClass, Status
from elkhound.model.schedule import Contention, ScheduleOption, ScheduleProblem
from elkhound.model.timing import fits
from elkhound.solvers.schedule.bounds import best_bounds
from elkhound.solvers.schedule.brute_force import BruteForce
from elkhound.solvers.schedule.cover import cover
from elkhound.solvers.schedule.labels.dp import LabelDp
from elkhound.solvers.schedule.thinned import Thinned

IDENTITY = OrderClass.identity()
PERMILLES = st.sampled_from([1, 50, 100, 300, 1000])


def fields(o: ScheduleOption) -> tuple[int, ...]:
    return (
        o.execute_bytes,
        o.preload_bytes,
        o.preload_cycles,
        o.preload_link_cycles,
        o.execute_cycles,
        o.execute_link_cycles,
    )


def within(one: ScheduleOption, other: ScheduleOption, permille: int = 0) -> bool:
    """Whether no field of one is above 1 + ε times the other's."""
    pairs = zip(fields(one), fields(other), strict=True)
    return all(1000 * a <= (1000 + permille) * b for a, b in pairs)


def optimum(instance: ScheduleProblem) -> float:
    value = BruteForce(IDENTITY).solve(instance, Limits()).objective
    assert value is not None
    return value


def drawn(seed: int, rule: Contention) -> ScheduleProblem:
    instance = random_schedule(seed, 3, "unstructured", options=(3, 3))
    return replace(instance, contention=rule)


problems = st.builds(drawn, st.integers(0, 400), st.sampled_from(list(Contention)))


def test_an_option_within_epsilon_is_left_out() -> None:
    # 103 and 52 are at most 1.1 times 100 and 50, and the other way round: one stands
    # for both. 40 cycles stand for neither.
    near = option(100, 50, h=5, t=52), option(103, 50, h=5, t=50)
    small = option(60, 30, h=5, t=90)
    thin = cover(problem((*near, small), sram_bytes=200), 100)
    (left,) = thin.up.operators
    assert left.options == (near[0], small)
    (below,) = thin.down.operators
    assert [fields(o) for o in below.options] == [
        (100, 50, 5, 0, 50, 0),
        fields(small),
    ]


def test_the_smallest_option_stays_so_that_what_fits_stays_so() -> None:
    # Each stands for the other at 10 %. With 105 alone less would fit beside it.
    faster, smaller = option(105, 10, h=1, t=95), option(100, 10, h=1, t=100)
    thin = cover(problem((faster, smaller), sram_bytes=110), 100)
    assert thin.up.operators[0].options == (smaller,)
    assert [fields(o) for o in thin.down.operators[0].options] == [
        (100, 10, 1, 0, 95, 0)
    ]


@settings(derandomize=True, deadline=None, max_examples=150)
@given(small_problems(), PERMILLES)
def test_every_option_has_one_kept_and_one_below_it(
    instance: ScheduleProblem, permille: int
) -> None:
    if instance.misfit is not None:
        return
    thin = cover(instance, permille)
    triples = zip(
        instance.operators, thin.up.operators, thin.down.operators, strict=True
    )
    for whole, up, down in triples:
        assert set(up.options) <= set(whole.options)
        room = instance.sram_bytes - whole.resident_bytes
        for o in whole.options:
            if o.own_bytes > room:
                continue
            assert any(
                low.own_bytes <= o.own_bytes and no_worse(instance, low, o)
                for low in down.options
            )
        for high, low in zip(up.options, down.options, strict=True):
            assert within(high, low, permille)
        assert up.streams == down.streams == whole.streams


def no_worse(instance: ScheduleProblem, one: ScheduleOption, o: ScheduleOption) -> bool:
    """Whether one can replace o under the instance's rule."""
    stretch = instance.link_stretch_permille
    pairs = [
        (one.preload_bytes, o.preload_bytes),
        (one.preload_cycles, o.preload_cycles),
    ]
    pairs += [(one.execute_cycles, o.execute_cycles)]
    if instance.contention is Contention.CHARGE:
        pairs += [(one.execute_link_cycles, o.execute_link_cycles)]
        pairs += [(one.preload_link_cycles, o.preload_link_cycles)]
    if instance.contention is Contention.STRETCH:
        slow = [
            q.execute_cycles + -(-stretch * q.execute_link_cycles // 1000)
            for q in (one, o)
        ]
        pairs += [(slow[0], slow[1])]
        pairs += [(int(one.preload_link_cycles > 0), int(o.preload_link_cycles > 0))]
    return all(a <= b for a, b in pairs)


@settings(derandomize=True, deadline=None, max_examples=40)
@given(problems, PERMILLES)
def test_optima_of_thinned_problems_enclose_the_optimum(
    instance: ScheduleProblem, permille: int
) -> None:
    thin = cover(instance, permille)
    assert optimum(thin.down) <= optimum(instance) <= optimum(thin.up)


@settings(derandomize=True, deadline=None, max_examples=40)
@given(problems, PERMILLES)
def test_what_thinning_costs_is_at_most_epsilon_and_as_much_sram(
    instance: ScheduleProblem, permille: int
) -> None:
    thin = cover(instance, permille)
    smaller = replace(
        instance, sram_bytes=instance.sram_bytes * 1000 // (1000 + permille)
    )
    if smaller.misfit is not None:
        return
    # Under stretch ⌈σX⌉ of each execute rounds up once more.
    slack = len(instance.operators) * (instance.contention is Contention.STRETCH)
    most = optimum(smaller) * (1000 + permille) // 1000 + slack
    assert optimum(thin.up) <= most


@settings(derandomize=True, deadline=None, max_examples=40)
@given(problems, PERMILLES)
def test_plans_go_to_thinned_problems_and_back(
    instance: ScheduleProblem, permille: int
) -> None:
    thin = cover(instance, permille)
    found = BruteForce(IDENTITY).solve(thin.up, Limits())
    assert found.plan is not None
    assert found.objective is not None
    plan = thin.restore(found.plan)
    verdict = judge(instance, plan)
    assert verdict.violations == ()
    assert verdict.objective == found.objective
    below = thin.translate(plan)
    assert fits(thin.down, below)
    value = judge(thin.down, below).objective
    assert value is not None
    assert value <= found.objective


METHODS: dict[str, Any] = {
    "brute-force": BruteForce(IDENTITY),
    "dp": LabelDp(IDENTITY),
}


@pytest.mark.parametrize("name", METHODS)
def test_a_thinned_method_says_the_value_of_its_plan_and_a_bound_below_it(
    name: str,
) -> None:
    @settings(derandomize=True, deadline=None, max_examples=30)
    @given(problems, PERMILLES)
    def holds(instance: ScheduleProblem, permille: int) -> None:
        method = Thinned(METHODS[name], permille, exact=True)
        result = method.solve(instance, Limits(workers=1))
        best = optimum(instance)
        assert result.plan is not None
        assert result.objective is not None
        assert judge(instance, result.plan).objective == result.objective
        assert result.bound is not None
        assert result.bound.value <= best <= result.objective
        assert result.thinning_error == result.objective - result.bound.value
        assert (result.status is Status.OPTIMAL) == (result.thinning_error == 0)

    holds()


def test_a_thinned_heuristic_proves_nothing_and_states_its_error() -> None:
    instance = random_schedule(7, 6)
    result = Thinned(Basic(), 100, exact=False).solve(instance, Limits())
    assert result.plan is not None
    assert result.objective is not None
    assert judge(instance, result.plan).objective == result.objective
    assert result.bound is None
    assert result.status is Status.FEASIBLE
    bounds = [b.value for b in best_bounds(instance) if b.order == OrderClass.free()]
    assert result.thinning_error == result.objective - max(bounds)


def test_a_warm_start_is_taken_if_thinning_left_nothing_better() -> None:
    # 104 stands for the faster 100 at 10 %: alone, thinning costs 4 cycles.
    fast = option(60, 10, h=1, t=100)
    instance = problem((option(58, 10, h=1, t=104), fast), sram_bytes=100)
    method = Thinned(BruteForce(IDENTITY), 100, exact=True)
    alone = method.solve(instance, Limits())
    assert (alone.objective, alone.thinning_error) == (105, 4)
    start = BruteForce(IDENTITY).solve(instance, Limits()).plan
    warm = method.solve(instance, Limits(warm_start=start))
    assert (warm.objective, warm.thinning_error) == (101, 0)
    assert warm.status is Status.OPTIMAL


def test_what_has_no_plan_has_none_thinned_either() -> None:
    instance = problem(option(60, 10, h=1, t=1), sram_bytes=50)
    result = Thinned(LabelDp(IDENTITY), 100, exact=True).solve(instance, Limits())
    assert result.status is Status.INFEASIBLE


def test_counts_say_how_much_was_left_out() -> None:
    instance = problem(
        (option(58, 10, h=1, t=104), option(60, 10, h=1, t=100)), sram_bytes=100
    )
    result = Thinned(LabelDp(IDENTITY), 100, exact=True).solve(instance, Limits())
    assert result.statistics["options"] == 2
    assert result.statistics["options_kept"] == 1
