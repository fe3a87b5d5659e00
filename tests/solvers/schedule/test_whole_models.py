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
from elkhound.solvers.schedule.labels.dp import LabelDp

pytestmark = pytest.mark.slow


def llama(
    *, layers: int, batch: int = 32, sram_permille: int = 1000
) -> ScheduleProblem:
    chip = load_chip("ipu-pod4-hbm")
    usable = chip.core.usable_bytes * sram_permille // 1000
    core = replace(chip.core, sram_bytes=usable + chip.core.reserved_bytes)
    bind = {"batch": batch, "seq": 2048, "layers": layers}
    graph = build_workload("llama-2-13b", bind)
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
    ("batch", "sram_permille"),
    [
        pytest.param(32, 1000, id="all the SRAM"),
        pytest.param(32, 375, id="three eighths"),
        pytest.param(32, 250, id="a quarter"),
        pytest.param(64, 1000, id="batch 64"),
    ],
)
def test_four_layers_are_certified_within_a_thousandth(
    batch: int, sram_permille: int
) -> None:
    problem = llama(layers=4, batch=batch, sram_permille=sram_permille)
    assert gap(certified(problem, 120)) <= 0.001


def test_forty_layers_are_certified_within_a_thousandth() -> None:
    assert gap(certified(llama(layers=40), 240)) <= 0.001
