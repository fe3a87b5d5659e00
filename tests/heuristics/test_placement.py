"""Best fit and first fit."""

from __future__ import annotations

import pytest

from elkhound.heuristics.placement import ORDERS, BestFit, FirstFit
from elkhound.model.instances import PLACEMENT_FAMILIES, random_placement
from elkhound.model.limits import Limits
from elkhound.model.placement import (
    Buffer,
    Placement,
    PlacementProblem,
    height_bytes,
    liveness_bytes,
)
from elkhound.model.referee import judge_placement
from elkhound.model.result import Status

GAPS = PlacementProblem(
    99,
    (
        Buffer("x", 0, 1, 5),
        Buffer("w", 0, 3, 4),
        Buffer("y", 0, 1, 3),
        Buffer("z", 0, 3, 2),
        Buffer("b", 2, 3, 2),
    ),
)


def test_first_fit_takes_the_lowest_gap_and_best_fit_the_smallest() -> None:
    # Size order x 0–5, w 5–9, y 9–12, z 12–14. At step 2 only w and z are left: b of
    # 2 B finds a gap of 5 at 0 and one of 3 at 9.
    limits: Limits[Placement] = Limits()
    first = FirstFit("size").solve(GAPS, limits)
    best = BestFit("size").solve(GAPS, limits)
    assert first.plan == Placement((0, 5, 9, 12, 0))
    assert best.plan == Placement((0, 5, 9, 12, 9))
    assert first.objective == best.objective == 14
    assert first.status is Status.OPTIMAL  # 14 B are alive at step 0


@pytest.mark.parametrize("fit", [BestFit, FirstFit])
@pytest.mark.parametrize("family", PLACEMENT_FAMILIES)
def test_placements_never_collide_and_the_best_order_is_kept(
    fit: type[BestFit] | type[FirstFit], family: str
) -> None:
    for seed in range(20):
        problem = random_placement(seed, 10, family, slack_bytes=1000)
        heights = []
        for order in ORDERS:
            plan = fit(order).place(problem)
            verdict = judge_placement(problem, plan)
            assert verdict.objective == height_bytes(problem, plan)
            assert verdict.objective >= liveness_bytes(problem.buffers)
            heights.append(verdict.objective)
        assert height_bytes(problem, fit().place(problem)) == min(heights)


def test_too_high_is_not_called_infeasible() -> None:
    problem = next(
        problem
        for seed in range(50)
        if (problem := random_placement(seed, 12))
        and BestFit("size").solve(problem, Limits()).plan is None
    )
    result = BestFit("size").solve(problem, Limits())
    assert result.status is Status.UNKNOWN
    assert result.bound is not None
    assert result.bound.value == problem.capacity_bytes
    over = int(result.statistics["height_bytes"]) - problem.capacity_bytes
    assert str(result.statistics["reason"]).endswith(f"B, {over} B over")


def test_more_bytes_alive_than_there_are_is_infeasible() -> None:
    problem = PlacementProblem(6, (Buffer("a", 0, 2, 4), Buffer("b", 1, 3, 3)))
    assert FirstFit().solve(problem, Limits()).status is Status.INFEASIBLE
