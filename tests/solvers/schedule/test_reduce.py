"""What may be left out of a model, and what may not."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from oracles.small_schedules import option, problem, small_problems

from elkhound.model.limits import Limits
from elkhound.model.referee import judge
from elkhound.model.result import OrderClass
from elkhound.model.schedule import Contention, Schedule, ScheduleProblem
from elkhound.solvers.schedule.brute_force import BruteForce, plans
from elkhound.solvers.schedule.reduce import earliest_gates, reduce

FREE, IDENTITY = OrderClass.free(), OrderClass.identity()
LIMITS: Limits[Schedule] = Limits(seconds=60)

SMALL_X = option(5, 5, h=5, y=5, t=9, x=1)
BASE = option(5, 5, h=5, y=5, t=9, x=4)


@pytest.mark.parametrize(
    ("rule", "kept"),
    [
        pytest.param(Contention.NONE, (0,), id="none-ignores-links"),
        pytest.param(Contention.STRETCH, (1,), id="stretch-prefers-less-link-work"),
        pytest.param(Contention.CHARGE, (1,), id="charge-prefers-less-link-work"),
    ],
)
def test_links_count_where_the_rule_looks_at_them(
    rule: Contention, kept: tuple[int, ...]
) -> None:
    assert reduce(problem((BASE, SMALL_X), contention=rule)).kept == (kept,)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(option(4, 4, h=6, y=5, t=9, x=4), id="smaller-but-slower"),
        pytest.param(option(6, 4, h=5, y=5, t=9, x=4), id="less-preload-space"),
        pytest.param(option(5, 5, h=5, y=5, t=10, x=0), id="longer-with-less-link"),
        pytest.param(option(5, 5, h=5, y=0, t=10, x=4), id="no-preload-link-work"),
    ],
)
def test_an_option_better_in_something_is_kept(other: object) -> None:
    instance = problem((BASE, other), contention=Contention.STRETCH)  # type: ignore[arg-type]
    assert reduce(instance).kept == ((0, 1),)


def test_of_equal_options_the_first_is_kept() -> None:
    assert reduce(problem((BASE, BASE, BASE))).kept == ((0,),)


def test_options_that_do_not_fit_beside_held_bytes_are_dropped() -> None:
    fast = option(60, 1, h=1, t=1)
    slow = option(50, 1, h=1, t=9)
    assert reduce(problem((fast, slow), resident_bytes=(41,))).kept == ((1,),)


def test_a_large_preload_counts_as_much_as_a_large_execute() -> None:
    # execute bytes 1 or 5 beside preload bytes 5: the step takes 5 either way.
    instance = problem((option(5, 5, h=1, t=1), option(1, 5, h=1, t=2)))
    assert reduce(instance).kept == ((0,),)


def test_the_first_operator_that_cannot_fit_is_named() -> None:
    instance = problem(option(5, 5, h=1), option(101, 0, h=1))
    operator = instance.misfit
    assert operator is not None
    assert operator.name == "o1"


@settings(derandomize=True, deadline=None, max_examples=150)
@given(instance=small_problems())
def test_reduction_keeps_the_optimum(instance: ScheduleProblem) -> None:
    truth = BruteForce().solve(instance, LIMITS)
    if instance.misfit is not None:
        assert truth.plan is None
        return
    reduced = reduce(instance)
    left = BruteForce().solve(reduced.problem, LIMITS)
    assert left.objective == truth.objective
    assert left.plan is not None
    assert truth.plan is not None
    restored = judge(instance, reduced.restore(left.plan))
    assert restored.objective == truth.objective
    translated = reduced.translate(instance, truth.plan)
    assert judge(reduced.problem, translated).objective == truth.objective


@settings(derandomize=True, deadline=None, max_examples=150)
@given(instance=small_problems())
def test_an_optimum_stays_within_its_own_horizon(instance: ScheduleProblem) -> None:
    truth = BruteForce().solve(instance, LIMITS)
    if truth.plan is None:
        return
    assert isinstance(truth.objective, int)
    left = reduce(instance, truth.objective)
    best = BruteForce().solve(left.problem, LIMITS)
    assert best.objective == truth.objective
    translated = left.translate(instance, truth.plan)
    assert judge(left.problem, translated).objective == truth.objective


def test_options_too_slow_for_a_known_plan_go() -> None:
    # E_0 and E_1 take 9 cycles each at least, P_0 takes 5 before: 23 is the least, and
    # with 12 cycles for E_1 26.
    slow = option(4, 4, h=5, y=5, t=12, x=1)
    instance = problem(SMALL_X, (SMALL_X, slow), contention=Contention.NONE)
    assert reduce(instance, 26).kept == ((0,), (0, 1))
    assert reduce(instance, 25).kept == ((0,), (0,))


@pytest.mark.parametrize("order", [FREE, IDENTITY, OrderClass.windowed(1)], ids=str)
@settings(derandomize=True, deadline=None, max_examples=100)
@given(instance=small_problems(most_plans=150))
def test_no_feasible_plan_has_a_gate_before_the_earliest(
    order: OrderClass, instance: ScheduleProblem
) -> None:
    earliest = earliest_gates(instance, order)
    for plan in plans(instance, order):
        if judge(instance, plan).objective is None:
            continue
        for gate, least in zip(plan.gates, earliest, strict=True):
            assert (gate is None) == (least is None)
            assert gate is None or least is None or gate >= least


def test_identity_order_keeps_everything_between_in_sram() -> None:
    # Beside E_0 (20 bytes) lie P_1 and P_2, 100 in all. Beside E_1 (40 bytes) P_3 would
    # lie with P_2, 120 in all, so it waits for E_1; in free order it may go before P_2.
    instance = problem(
        option(20, 1, h=1),
        option(40, 40, h=1),
        option(40, 40, h=1),
        option(40, 40, h=1),
    )
    assert earliest_gates(instance, IDENTITY) == (0, 0, 0, 2)
    assert earliest_gates(instance, FREE) == (0, 0, 0, 0)


def test_at_most_k_preloads_wait_in_identity_order() -> None:
    one = option(h=1)
    instance = problem(one, one, one, one, max_outstanding=1)
    assert earliest_gates(instance, IDENTITY) == (0, 0, 1, 2)
    assert earliest_gates(instance, FREE) == (0, 0, 0, 0)


@pytest.mark.parametrize("order", [FREE, IDENTITY, OrderClass.windowed(2)], ids=str)
@settings(derandomize=True, deadline=None, max_examples=100)
@given(instance=small_problems())
def test_the_earliest_gate_is_the_last_step_that_has_no_room(
    order: OrderClass, instance: ScheduleProblem
) -> None:
    operators, least = instance.operators, 0
    limit = instance.max_outstanding
    for j, gate in enumerate(earliest_gates(instance, order)):
        if gate is None:
            continue
        room = [True] * j
        for i in range(j):
            waiting = [j]
            if order == IDENTITY:
                waiting = [k for k in range(i + 1, j + 1) if operators[k].streams]
            taken = sum(
                min(o.preload_bytes for o in operators[k].options) for k in waiting
            )
            room[i] = operators[i].least_bytes + taken <= instance.sram_bytes
            room[i] &= limit is None or len(waiting) <= limit
            room[i] &= order.window is None or i >= j - order.window
        last_without = max((i for i in range(j) if not room[i]), default=-1)
        if order == IDENTITY:
            least = max(least, last_without + 1)
            assert gate == least
        else:
            assert gate == last_without + 1
