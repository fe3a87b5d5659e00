"""The dynamic programme: exact where classes are, and on the right side elsewhere."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracles.plans import optimum
from oracles.small_schedules import option, problem, small_problems

from elkhound.model.instances import random_schedule
from elkhound.model.limits import Limits
from elkhound.model.referee import judge
from elkhound.model.result import OrderClass, Status
from elkhound.model.schedule import Contention, Schedule, ScheduleProblem
from elkhound.model.stopwatch import Stopwatch
from elkhound.solvers.schedule.incumbent import one_by_one
from elkhound.solvers.schedule.labels import dp, stage
from elkhound.solvers.schedule.labels.classes import (
    Classes,
    Rounding,
    Thinning,
    exact_classes,
    thinned_classes,
)
from elkhound.solvers.schedule.labels.completion import completion
from elkhound.solvers.schedule.labels.dp import LabelDp
from elkhound.solvers.schedule.labels.identity import IdentitySearch
from elkhound.solvers.schedule.labels.plan import realise
from elkhound.solvers.schedule.labels.search import (
    BestOfEach,
    Budget,
    Found,
    LowestBounds,
    Trim,
)
from elkhound.solvers.schedule.labels.window import WindowSearch
from elkhound.solvers.schedule.reduce import reduce

IDENTITY = OrderClass.identity()
LIMITS: Limits[Schedule] = Limits(seconds=60)
ENOUGH = 1 << 40


def identity_optimum(instance: ScheduleProblem) -> int | None:
    return optimum(instance, IDENTITY)


def search(
    left: ScheduleProblem,
    classes: Classes,
    trim: Trim,
    below: int = ENOUGH,
    budget: Budget = Budget(),  # noqa: B008
) -> Found:
    """One pass over a reduced problem."""
    clock = Stopwatch(60)
    return IdentitySearch(
        left,
        classes,
        completion(left, IDENTITY),
        below,
        trim,
        clock,
        budget,
        traced=True,
    ).run()


@settings(derandomize=True, deadline=None, max_examples=150)
@given(instance=small_problems())
def test_every_window_is_solved_as_by_brute_force_and_wider_ones_are_no_worse(
    instance: ScheduleProblem,
) -> None:
    before: int | None = None
    for window in range(len(instance.operators)):
        order = OrderClass.windowed(window)
        least = optimum(instance, order)
        result = LabelDp(order).solve(instance, LIMITS)
        if least is None:
            assert result.status is Status.INFEASIBLE
            return
        assert (result.status, result.objective) == (Status.OPTIMAL, least)
        assert before is None or least <= before
        before = least
    assert before == LabelDp(OrderClass.free()).solve(instance, LIMITS).objective


@pytest.mark.parametrize("rule", list(Contention))
def test_what_waits_leaves_room_for_an_execute_that_streams_nothing(
    rule: Contention,
) -> None:
    # E_1 takes 2 B beside 3 B resident: of 5 B, no byte may wait. The preload of 0 B,
    # issued before E_0, ends the plan at 2 + 3 = 5. That of 1 B would end it there at
    # 3 + 1 = 4, but has to be issued after E_1: 1 + 3 + 1 = 5.
    instance = problem(
        option(0, 0),
        option(2, 0, t=1),
        (option(0, 0, h=2, t=3), option(0, 1, h=3, t=1)),
        sram_bytes=5,
        resident_bytes=(0, 3, 0),
        contention=rule,
    )
    found = LabelDp(OrderClass.free()).solve(instance, LIMITS)
    assert (found.status, found.objective) == (Status.OPTIMAL, 5)


@settings(derandomize=True, deadline=None, max_examples=150)
@given(instance=small_problems(), most=st.integers(1, 4), window=st.integers(0, 4))
def test_letting_labels_of_a_window_go_keeps_a_bound(
    instance: ScheduleProblem, most: int, window: int
) -> None:
    order = OrderClass.windowed(window)
    least = optimum(instance, order)
    assume(least is not None)
    assert least is not None
    left = reduce(instance).problem
    bounds = completion(left, order)
    clock, keep = Stopwatch(60), LowestBounds(most)
    found = WindowSearch(
        order,
        left,
        exact_classes(left),
        bounds,
        ENOUGH,
        keep,
        clock,
        Budget(),
        traced=False,
    ).run()
    assert found.bound <= least


@settings(derandomize=True, deadline=None, max_examples=150)
@given(instance=small_problems())
def test_a_pass_below_the_optimum_is_empty_and_one_above_it_finds_it(
    instance: ScheduleProblem,
) -> None:
    least = identity_optimum(instance)
    assume(least is not None)
    assert least is not None
    left = reduce(instance).problem
    classes = exact_classes(left)
    keep = LowestBounds(ENOUGH)
    nothing = search(left, classes, keep, below=least)
    assert (nothing.value, nothing.bound) == (None, least)
    found = search(left, classes, keep, below=least + 1)
    assert (found.value, found.bound) == (least, least)
    assert found.choice is not None
    assert realise(left, classes, found.choice).value == least


@settings(derandomize=True, deadline=None, max_examples=150)
@given(
    instance=small_problems(),
    bytes_=st.sampled_from([0, 1, 3, 12]),
    cycles=st.integers(0, 6),
    at_any_room=st.booleans(),
)
def test_classes_rounded_up_are_never_below_the_optimum_and_down_never_above(
    instance: ScheduleProblem, bytes_: int, cycles: int, at_any_room: bool
) -> None:
    least = identity_optimum(instance)
    assume(least is not None)
    assert least is not None
    left = reduce(instance).problem
    thinning = Thinning(bytes_, cycles, at_any_room)
    up = thinned_classes(left, thinning, Rounding.UP)
    above = search(left, up, LowestBounds(ENOUGH))
    assert above.value is not None
    assert above.choice is not None
    plan = realise(left, up, above.choice)
    assert least <= plan.value <= above.value
    down = thinned_classes(left, thinning, Rounding.DOWN)
    below = search(left, down, LowestBounds(ENOUGH))
    assert below.value is not None
    assert below.bound == below.value <= least


@settings(derandomize=True, deadline=None, max_examples=150)
@given(instance=small_problems(), most=st.integers(1, 4))
def test_letting_labels_go_keeps_a_bound_and_a_beam_keeps_a_plan(
    instance: ScheduleProblem, most: int
) -> None:
    least = identity_optimum(instance)
    assume(least is not None)
    assert least is not None
    left = reduce(instance).problem
    classes = exact_classes(left)
    assert search(left, classes, LowestBounds(most)).bound <= least
    beam = search(left, classes, BestOfEach(most))
    assert beam.bound <= least
    if beam.value is not None:
        assert beam.choice is not None
        plan = realise(left, classes, beam.choice)
        assert judge(left, plan.plan).objective == plan.value == beam.value >= least


@settings(derandomize=True, deadline=None, max_examples=100)
@given(instance=small_problems(), labels=st.integers(0, 12))
def test_a_pass_that_runs_out_of_labels_keeps_its_bound(
    instance: ScheduleProblem, labels: int
) -> None:
    least = identity_optimum(instance)
    assume(least is not None)
    assert least is not None
    left = reduce(instance).problem
    keep = LowestBounds(ENOUGH)
    found = search(left, exact_classes(left), keep, budget=Budget(labels))
    assert found.bound <= least


@settings(derandomize=True, deadline=None, max_examples=100)
@given(instance=small_problems())
def test_preloads_that_no_mask_can_hold_lower_the_bound(
    instance: ScheduleProblem,
) -> None:
    least = identity_optimum(instance)
    assume(least is not None)
    assert least is not None
    left = reduce(instance).problem
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stage, "MASK_BITS", 2)
        found = search(left, exact_classes(left), LowestBounds(ENOUGH))
    assert found.bound <= least
    assert found.value is None or found.value >= least


@settings(derandomize=True, deadline=None, max_examples=100)
@given(instance=small_problems())
def test_completion_of_the_empty_schedule_bounds_the_optimum(
    instance: ScheduleProblem,
) -> None:
    least = identity_optimum(instance)
    assume(least is not None)
    assert least is not None
    bounds = completion(reduce(instance).problem, IDENTITY)
    assert max(bounds.idle[0], bounds.path[0]) <= least


def test_thinning_leaves_a_class_per_gain_in_speed() -> None:
    # 10 and 11 bytes differ by 2 at most; 20 bytes save 3 cycles, 40 save 30.
    instance = problem(
        (
            option(50, 10, h=5, t=90),
            option(50, 11, h=5, t=88),
            option(50, 20, h=5, t=85),
            option(50, 40, h=5, t=55),
        )
    )
    thinning = Thinning(2, 4)
    sizes = {
        rounding: [
            (c.preload_bytes, int(c.fastest_t[-1]))
            for c in thinned_classes(instance, thinning, rounding).operators[0]
        ]
        for rounding in Rounding
    }
    assert sizes[Rounding.UP] == [(11, 88), (40, 55)]
    assert sizes[Rounding.DOWN] == [(10, 85), (40, 55)]


def test_a_class_may_gain_by_needing_less_room() -> None:
    # 20 bytes are no faster than 10, but execute in 30 bytes in place of 50.
    instance = problem(
        (option(50, 10, h=5, t=90), option(30, 20, h=5, t=90)),
    )
    for at_any_room, count in ((False, 1), (True, 2)):
        thinning = Thinning(2, 4, at_any_room)
        classes = thinned_classes(instance, thinning, Rounding.UP)
        assert len(classes.operators[0]) == count


def test_a_class_may_gain_by_preloading_faster_or_without_links() -> None:
    # 20 bytes execute no faster than 10; they are there 15 cycles earlier, or without
    # stretching anything.
    for other in (option(50, 20, h=5, y=1, t=90), option(50, 20, h=20, y=0, t=90)):
        instance = problem(
            (option(50, 10, h=20, y=1, t=90), other), contention=Contention.STRETCH
        )
        for rounding in Rounding:
            classes = thinned_classes(instance, Thinning(2, 4), rounding)
            assert len(classes.operators[0]) == 2


def test_many_different_states_leave_plans_that_overlap() -> None:
    # 32 states an operator, of which larger ones may be there sooner.
    instance = random_schedule(1, 24, "unstructured", options=(8, 4))
    result = LabelDp(OrderClass.windowed(2)).solve(instance, LIMITS)
    assert result.objective is not None
    assert 10 * result.objective < 9 * one_by_one(instance).value


@pytest.mark.parametrize("contention", list(Contention))
def test_thinned_classes_certify_what_they_may_cost(
    contention: Contention, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dp, "FEW_CLASSES", 0)
    for seed in range(10):
        instance = random_schedule(
            seed, 4, "tight-sram", options=(2, 2), contention=contention
        )
        least = identity_optimum(instance)
        result = LabelDp().solve(instance, LIMITS)
        assert result.objective is not None
        assert result.bound is not None
        assert least is not None
        assert result.bound.value <= least <= result.objective
        if result.status is not Status.OPTIMAL:
            gap = result.objective - result.bound.value
            assert result.thinning_error in (0, gap)


def test_labels_are_its_deterministic_work() -> None:
    instance = random_schedule(5, 40, "tight-sram", options=(2, 2))
    limits: Limits[Schedule] = Limits(seconds=60, deterministic_work=200)
    first, second = (LabelDp().solve(instance, limits) for _ in range(2))
    assert (first.plan, first.bound) == (second.plan, second.bound)
    assert first.status is Status.FEASIBLE
    more = LabelDp().solve(instance, LIMITS)
    assert first.objective is not None
    assert more.objective is not None
    assert more.objective <= first.objective


def test_it_proves_that_an_operator_does_not_fit() -> None:
    result = LabelDp().solve(problem(option(101, 1, h=1, t=1)), LIMITS)
    assert (result.status, result.plan) == (Status.INFEASIBLE, None)
