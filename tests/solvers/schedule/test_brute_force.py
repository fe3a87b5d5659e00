"""Brute force: complete, or honest about not being so."""

from __future__ import annotations

import pytest
from oracles.small_schedules import option, problem

from elkhound.model.limits import Limits
from elkhound.model.result import OrderClass, Status
from elkhound.model.schedule import Schedule
from elkhound.solvers.schedule.brute_force import BruteForce, plans

# Two preloads of 10 and executes of 20 and 5: overlapped 35, one by one 45.
TWO = problem(option(h=10, t=20), option(h=10, t=5))


def limits(
    work: float | None = None, start: Schedule | None = None
) -> Limits[Schedule]:
    return Limits(seconds=60, deterministic_work=work, warm_start=start)


@pytest.mark.parametrize(
    ("order", "count"),
    [
        # 1 · 2 · 3 gate vectors; non-decreasing: 000 001 002 011 012.
        pytest.param(OrderClass.free(), 6 * 8, id="free"),
        pytest.param(OrderClass.identity(), 5 * 8, id="identity"),
        # g_1 ∈ {0, 1}, g_2 ∈ {1, 2}
        pytest.param(OrderClass.windowed(1), 4 * 8, id="window-1"),
        pytest.param(OrderClass.windowed(0), 1 * 8, id="window-0"),
    ],
)
def test_every_schedule_of_the_class_is_tried_once(
    order: OrderClass, count: int
) -> None:
    twice = (option(h=1, t=1), option(h=2, t=1))
    instance = problem(twice, twice, twice)
    tried = list(plans(instance, order))
    assert len(tried) == len(set(tried)) == count


def test_the_best_schedule_is_optimal() -> None:
    result = BruteForce().solve(TWO, limits())
    assert (result.status, result.objective) == (Status.OPTIMAL, 35)
    assert result.bound is not None
    assert result.bound.value == 35
    assert result.statistics["plans"] == 2


def test_a_search_cut_after_one_plan_is_only_feasible() -> None:
    result = BruteForce().solve(TWO, limits(work=1))
    assert result.status is Status.FEASIBLE
    assert result.bound is None


def test_a_search_cut_before_the_first_plan_knows_nothing() -> None:
    result = BruteForce().solve(TWO, limits(work=0))
    assert (result.status, result.plan) == (Status.UNKNOWN, None)


def test_a_search_cut_at_once_keeps_its_start() -> None:
    start = Schedule((0, 1), (0, 0))
    result = BruteForce().solve(TWO, limits(work=0, start=start))
    assert (result.status, result.objective) == (Status.FEASIBLE, 45)


def test_no_schedule_at_all_is_infeasible() -> None:
    instance = problem(option(200, 1, h=1), sram_bytes=100)
    assert BruteForce().solve(instance, limits()).status is Status.INFEASIBLE


def test_a_cut_search_without_a_plan_is_not_called_infeasible() -> None:
    instance = problem(option(200, 1, h=1), option(200, 1, h=1), sram_bytes=100)
    assert BruteForce().solve(instance, limits(work=1)).status is Status.UNKNOWN
