"""Whole language models: certified gaps, as docs/certificates.md reports them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from elkhound.heuristics.schedule import Static
from elkhound.model import load_chip, schedule_problem
from elkhound.model.limits import Limits
from elkhound.model.referee import judge
from elkhound.model.result import OrderClass, Result
from elkhound.model.schedule import Schedule, ScheduleProblem
from elkhound.model.workloads import build_workload
from elkhound.solvers.schedule.bounds import best_bounds
from elkhound.solvers.schedule.cp_sat import CpSat
from elkhound.solvers.schedule.labels.dp import LabelDp

pytestmark = pytest.mark.slow


def model(
    name: str, *, layers: int, batch: int = 32, sram_permille: int = 1000
) -> ScheduleProblem:
    chip = load_chip("ipu-pod4-hbm")
    usable = chip.core.usable_bytes * sram_permille // 1000
    core = replace(chip.core, sram_bytes=usable + chip.core.reserved_bytes)
    bind = {"batch": batch, "seq": 2048, "layers": layers}
    graph = build_workload(name, bind)
    return schedule_problem(graph, replace(chip, core=core))


def certified(problem: ScheduleProblem, seconds: float) -> Result[Schedule]:
    """Run dp from Static's plan, and have the referee agree with it."""
    limits: Limits[Schedule] = Limits(seconds=seconds)
    start = Static().solve(problem, limits).plan
    result = LabelDp().solve(problem, replace(limits, warm_start=start))
    assert result.plan is not None
    verdict = judge(problem, result.plan)
    assert verdict.objective == result.objective
    assert verdict.belongs_to(OrderClass.identity())
    return result


def gap(result: Result[Schedule]) -> float:
    assert result.objective is not None
    assert result.bound is not None
    return 1 - result.bound.value / result.objective


@pytest.mark.parametrize(
    ("name", "batch", "sram_permille"),
    [
        pytest.param("llama-2-13b", 32, 1000, id="all the SRAM"),
        pytest.param("llama-2-13b", 32, 375, id="three eighths"),
        pytest.param("llama-2-13b", 32, 250, id="a quarter"),
        pytest.param("llama-2-13b", 64, 1000, id="batch 64"),
        pytest.param("llama-2-70b", 32, 250, id="classes by room"),
    ],
)
def test_four_layers_are_certified_within_a_thousandth(
    name: str, batch: int, sram_permille: int
) -> None:
    problem = model(name, layers=4, batch=batch, sram_permille=sram_permille)
    assert gap(certified(problem, 120)) <= 0.001


def test_forty_layers_are_certified_within_a_thousandth() -> None:
    assert gap(certified(model("llama-2-13b", layers=40), 240)) <= 0.001


@pytest.mark.parametrize("sram_permille", [1000, 375, 250])
def test_one_layer_is_optimal_over_all_orders(sram_permille: int) -> None:
    problem = model("llama-2-13b", layers=1, sram_permille=sram_permille)
    limits: Limits[Schedule] = Limits(seconds=240, workers=1)
    result = CpSat().solve(problem, limits)
    assert result.order == OrderClass.free()
    assert result.plan is not None
    assert judge(problem, result.plan).objective == result.objective
    free = [b.value for b in best_bounds(problem) if b.order == OrderClass.free()]
    proved = max(free) if result.bound is None else max(*free, result.bound.value)
    assert proved == result.objective
