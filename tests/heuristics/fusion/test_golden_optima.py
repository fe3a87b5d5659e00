"""Optima that AccelForge finds and publishes, each proved and verified here."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from oracles.fusion_reference import accelerator_of, fusion_workload_of

from elkhound.heuristics.fusion.pareto_join import ParetoJoin
from elkhound.model.fusion import Accelerator
from elkhound.model.fusion.mapspace import Mapspace, Objective
from elkhound.model.fusion.problem import FusionPlan, FusionProblem, FusionResult
from elkhound.model.limits import Limits
from elkhound.model.referee import judge_fusion
from elkhound.model.result import Status

GOLDEN = Path(__file__).parents[2] / "golden" / "fusion_optima.json"
RELATIVE = 1e-6  # the reference computes in float32
OBJECTIVES = {
    "ENERGY": Objective.ENERGY,
    "LATENCY": Objective.LATENCY,
    "ENERGY_DELAY_PRODUCT": Objective.EDP,
    "ENERGY|LATENCY": Objective.FRONT,
}
SLOW = ("gpt3", "chain8", "chain64", "unfused.EL")


def entries() -> list[Any]:
    return [
        pytest.param(
            raw,
            id=raw["case"],
            marks=[pytest.mark.slow] if any(s in raw["case"] for s in SLOW) else [],
        )
        for raw in json.loads(GOLDEN.read_text())["optima"]
    ]


def problem_of(params: dict[str, Any]) -> FusionProblem:
    accelerator = accelerator_of(params)
    if params.get("snowcat"):
        accelerator = free_buffer_and_compute(accelerator)
    rank_limit = params.get("mapper", {}).get("max_fused_loops_per_rank_variable", 1)
    space = Mapspace(
        fuse=not params.get("unfused", False),
        max_fused_loops=params.get("max_fused_loops"),
        max_fused_loops_per_rank=rank_limit,
    )
    objective = OBJECTIVES[params["metrics"]]
    return FusionProblem(fusion_workload_of(params), accelerator, objective, space)


def free_buffer_and_compute(accelerator: Accelerator) -> Accelerator:
    """Compulsory traffic alone: main memory costs 1 per bit, all else is free."""
    main, buffer = accelerator.memories
    (unit,) = accelerator.compute
    return replace(
        accelerator,
        memories=(main, replace(buffer, read_energy=0, write_energy=0)),
        compute=(replace(unit, energy=0, ops_per_cycle=None),),
    )


def assert_verified(problem: FusionProblem, plan: FusionPlan) -> None:
    verdict = judge_fusion(problem.accelerator, problem.workload, plan.tree)
    assert verdict.violations == ()
    assert verdict.energy == pytest.approx(plan.energy, rel=1e-9)
    assert verdict.latency == pytest.approx(plan.latency, rel=1e-9)


def expected_of(problem: FusionProblem, best: dict[str, float]) -> float:
    name = problem.objective.value
    return best["edp" if problem.objective is Objective.FRONT else name]


def solved(problem: FusionProblem) -> FusionResult:
    return ParetoJoin().solve(problem, Limits(seconds=3600))


@pytest.mark.parametrize("raw", entries())
def test_the_golden_optimum_is_reached_and_proved(raw: dict[str, Any]) -> None:
    problem = problem_of(raw["params"])
    result = solved(problem)
    assert result.status is Status.OPTIMAL
    assert result.plan is not None
    expected = expected_of(problem, raw["best"])
    assert result.objective == pytest.approx(expected, rel=RELATIVE)
    assert_verified(problem, result.plan)
    if "front" in raw:
        mine = [(plan.latency, plan.energy) for plan in result.front]
        theirs = sorted((each["latency"], each["energy"]) for each in raw["front"])
        assert len(mine) == len(theirs)
        for one, other in zip(mine, theirs, strict=True):
            assert one == pytest.approx(other, rel=RELATIVE)
        for plan in result.front:
            assert_verified(problem, plan)


def test_equal_calls_give_equal_mappings() -> None:
    raw = json.loads(GOLDEN.read_text())["optima"][6]  # two 64³ in a quarter
    first, second = (solved(problem_of(raw["params"])) for _ in range(2))
    assert first.plan == second.plan
