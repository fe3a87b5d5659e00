"""Exact allocators agree with the enumeration, and no heuristic beats them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import product

import pytest

from elkhound.heuristics.allocation import DeltaEfficiency, DeltaHullFill
from elkhound.model.allocation import Allocation, AllocationProblem
from elkhound.model.instances import ALLOCATION_FAMILIES, overshoot, random_allocation
from elkhound.model.limits import Limits
from elkhound.model.referee import judge_allocation
from elkhound.model.result import Method, Result, Status
from elkhound.solvers.allocation import BruteForce, CpSat, KnapsackDp, Milp

AllocationMethod = Method[AllocationProblem, Allocation]

EXACT: dict[str, Callable[[], AllocationMethod]] = {
    "brute-force": BruteForce,
    "knapsack-dp": KnapsackDp,
    "cp-sat": CpSat,
    "milp": Milp,
}
HEURISTICS: dict[str, Callable[[], AllocationMethod]] = {
    "delta": DeltaEfficiency,
    "delta-hull-fill": DeltaHullFill,
}
every_family = pytest.mark.parametrize("family", ALLOCATION_FAMILIES)


def problems(family: str) -> list[AllocationProblem]:
    """Ten problems of two to five items, at most 1024 plans each."""
    shapes = [(2, 6), (3, 6), (4, 5), (5, 4), (2, 12)] * 2
    return [
        random_allocation(seed, size, family, options=options)
        for seed, (size, options) in enumerate(shapes)
    ]


@cache
def optimum(problem: AllocationProblem) -> int | None:
    choices = product(*(range(len(item.options)) for item in problem.items))
    verdicts = (judge_allocation(problem, Allocation(choice)) for choice in choices)
    return min((v.objective for v in verdicts if v.objective is not None), default=None)


def solve(method: AllocationMethod, problem: AllocationProblem) -> Result[Allocation]:
    return method.solve(problem, Limits(seconds=300, workers=1))


@every_family
@pytest.mark.parametrize("method", EXACT)
def test_exact_allocators_find_the_optimum(method: str, family: str) -> None:
    for problem in problems(family):
        result = solve(EXACT[method](), problem)
        assert result.status is Status.OPTIMAL, problem
        assert result.objective == optimum(problem), problem
        assert result.plan is not None
        assert judge_allocation(problem, result.plan).objective == result.objective
        if result.bound is not None:
            assert result.bound.value == result.objective


@every_family
@pytest.mark.parametrize("method", [*EXACT, *HEURISTICS])
def test_every_allocator_proves_that_nothing_fits(method: str, family: str) -> None:
    problem = random_allocation(0, 3, family)
    least = sum(item.options[0].size_bytes for item in problem.items)
    made = (EXACT | HEURISTICS)[method]()
    assert solve(made, replace(problem, capacity_bytes=least - 1)).plan is None
    assert solve(made, replace(problem, capacity_bytes=least)).plan is not None


@every_family
@pytest.mark.parametrize("method", HEURISTICS)
def test_no_heuristic_beats_the_optimum(method: str, family: str) -> None:
    for problem in problems(family):
        result = solve(HEURISTICS[method](), problem)
        assert result.plan is not None
        least = optimum(problem)
        assert least is not None
        assert result.objective is not None
        assert result.objective >= least
        assert judge_allocation(problem, result.plan).objective == result.objective


def test_delta_efficiency_overshoots_without_limit() -> None:
    for scale in (10, 1000, 100_000):
        greedy = solve(DeltaEfficiency(), overshoot(scale))
        assert greedy.objective == scale + 1
        assert solve(KnapsackDp(), overshoot(scale)).objective == 3


@pytest.mark.slow
@every_family
def test_exact_allocators_agree_beyond_brute_force(family: str) -> None:
    for seed in range(3):
        problem = random_allocation(seed, 20, family, options=15)
        results = [
            solve(EXACT[m](), problem) for m in ("knapsack-dp", "cp-sat", "milp")
        ]
        assert {result.status for result in results} == {Status.OPTIMAL}
        assert len({result.objective for result in results}) == 1
