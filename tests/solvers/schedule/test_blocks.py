"""What whole layers take at least, and what labels make of it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from oracles.plans import all_plans
from oracles.small_schedules import option, problem, small_problems

from elkhound.model.limits import Limits
from elkhound.model.referee import judge
from elkhound.model.result import OrderClass, Status
from elkhound.model.schedule import Contention, Schedule, ScheduleProblem
from elkhound.model.stopwatch import Stopwatch
from elkhound.solvers.schedule.bounds import best_bounds
from elkhound.solvers.schedule.labels import blocks, dp
from elkhound.solvers.schedule.labels.blocks import Blocks, block_marks
from elkhound.solvers.schedule.labels.classes import (
    Rounding,
    Thinning,
    exact_classes,
    thinned_classes,
)
from elkhound.solvers.schedule.labels.completion import NEVER, completion
from elkhound.solvers.schedule.labels.dp import LabelDp
from elkhound.solvers.schedule.labels.search import Budget
from elkhound.solvers.schedule.reduce import reduce

IDENTITY = OrderClass.identity()
COARSE = Thinning(bytes=4, cycles=6)


def layered(instance: ScheduleProblem, size: int = 1) -> ScheduleProblem:
    """Give every so many operators a layer of their own."""
    operators = enumerate(instance.operators)
    marked = tuple(replace(each, layer=i // size) for i, each in operators)
    return replace(instance, operators=marked)


def measured(instance: ScheduleProblem, thinning: Thinning | None) -> Blocks:
    alike = reduce(instance, NEVER).problem
    classes = exact_classes(alike)
    if thinning is not None:
        classes = thinned_classes(alike, thinning, Rounding.DOWN)
    found = Blocks(alike, classes, Stopwatch(60), Budget())
    found.measure()
    return found


@pytest.mark.parametrize("thinning", [None, COARSE], ids=["exact", "coarse"])
@settings(derandomize=True, deadline=None, max_examples=150)
@given(instance=small_problems())
def test_no_plan_goes_through_layers_faster(
    thinning: Thinning | None, instance: ScheduleProblem
) -> None:
    instance = layered(instance)
    if instance.misfit is not None:
        return
    found = measured(instance, thinning)
    count = len(instance.operators)
    after = found.ahead(completion(found.problem, IDENTITY)).after
    for plan in all_plans(instance):
        verdict = judge(instance, plan)
        if not verdict.feasible or not verdict.belongs_to(IDENTITY):
            continue
        ends = (0, *verdict.execute_end)
        for a in range(count):
            assert after[a] <= ends[-1] - ends[a]
            for b in range(a + 1, count + 1):
                least = found.least(a, b)
                assert least is None or least <= ends[b] - ends[a]


@pytest.mark.parametrize("rule", list(Contention))
def test_layers_that_contend_for_sram_take_longer_than_their_operators(
    rule: Contention,
) -> None:
    # Each layer has two operators that are fast (10 cycles) with 60 B preloaded and
    # slow (14) with 20 B; 60 + 60 B do not fit into 100, and waiting for HBM (8 cycles)
    # is worse. So of two neighbours one is slow: 12 cycles on average, where each alone
    # takes 10.
    each = (option(60, 60, h=8, t=10), option(20, 20, h=8, t=14))
    layers = 16
    instance = layered(problem(*[each] * (2 * layers), contention=rule), size=2)
    found = measured(instance, None)
    assert found.least(0, 1) == found.least(3, 4) == 20 + 4
    assert found.least(0, 8) == 8 * 24
    after = found.ahead(completion(found.problem, IDENTITY)).after
    assert list(after[0::2]) == [24 * left for left in range(layers, -1, -1)]


def test_shapes_are_measured_once() -> None:
    each = (option(60, 60, h=8, t=10), option(20, 20, h=8, t=14))
    counts = [
        measured(layered(problem(*[each] * n), size=2), None).labels for n in (32, 60)
    ]
    assert counts[0] == counts[1]  # ranges of 1, 2, 4 and 8 layers


def test_unlike_layers_are_left_alone() -> None:
    unlike = [option(10, 10, h=1, t=10 + i) for i in range(40)]
    found = measured(layered(problem(*unlike)), None)
    assert found.labels == 0
    assert found.least(0, 1) is None
    assert block_marks(problem(*unlike)) == [0, 40]


@settings(derandomize=True, deadline=None, max_examples=60)
@given(instance=small_problems())
def test_the_optimum_stays(instance: ScheduleProblem) -> None:
    # In units of three layers, and looking ahead from the first round on.
    operators = [
        replace(each, name=f"{each.name}.{copy}", layer=copy)
        for copy in range(3)
        for each in instance.operators[:3]
    ]
    instance = replace(instance, operators=tuple(operators))
    limits: Limits[Schedule] = Limits(seconds=60)
    plain = LabelDp().solve(layered(instance, len(operators)), limits)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dp, "LOOK_AHEAD_FROM", 1)
        patch.setattr(blocks, "MOST_LABELS", 20)
        ahead = LabelDp().solve(instance, limits)
    assert ahead.status is plain.status
    assert ahead.objective == plain.objective
    assert ahead.bound is None or ahead.bound.value <= (ahead.objective or 0)


def test_a_long_chain_of_layers_is_proved_where_the_renewal_bound_is_far() -> None:
    each = (option(60, 60, h=8, t=10), option(20, 20, h=8, t=14))
    instance = layered(problem(*[each] * 60), size=2)
    result = LabelDp().solve(instance, Limits(seconds=60))
    assert result.status is Status.OPTIMAL
    assert max(bound.value for bound in best_bounds(instance)) < 60 * 11
    assert result.objective is not None
    assert result.objective >= 60 * 12
