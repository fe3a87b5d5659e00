"""All exact methods find the optimum; heuristics and bounds enclose it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest
from oracles.cases import GROUPS, Group
from oracles.interval_model import interval_optimum, is_comparable
from oracles.plans import optimum

from elkhound.heuristics.allocation import DeltaEfficiency, DeltaHullFill
from elkhound.heuristics.schedule import Basic, ElkDyn, ElkFull, Static
from elkhound.model.instances import (
    SCHEDULE_FAMILIES,
    adversarial_schedule,
    random_schedule,
)
from elkhound.model.limits import Limits
from elkhound.model.referee import judge
from elkhound.model.result import Method, OrderClass, Result, Status
from elkhound.model.schedule import (
    Contention,
    Schedule,
    ScheduleOption,
    ScheduleProblem,
)
from elkhound.solvers.allocation import KnapsackDp
from elkhound.solvers.schedule.bounds import best_bounds
from elkhound.solvers.schedule.brute_force import BruteForce
from elkhound.solvers.schedule.cp_sat import CpSat
from elkhound.solvers.schedule.labels.dp import LabelDp
from elkhound.solvers.schedule.milp import Milp

ScheduleMethod = Method[ScheduleProblem, Schedule]

IDENTITY, FREE = OrderClass.identity(), OrderClass.free()
EXACT: dict[str, Callable[[OrderClass], ScheduleMethod]] = {
    "brute-force": lambda order: BruteForce(order=order),
    "cp-sat": lambda order: CpSat(order=order),
    "milp": lambda order: Milp(order=order),
    "dp": lambda order: LabelDp(order=order),
}
WINDOWED = ("cp-sat", "dp")
HEURISTICS: dict[str, Callable[[], ScheduleMethod]] = {
    "basic": Basic,
    "static": Static,
    "elk-dyn:delta": lambda: ElkDyn(DeltaEfficiency()),
    "elk-dyn:delta-hull-fill": lambda: ElkDyn(DeltaHullFill()),
    "elk-dyn:knapsack-dp": lambda: ElkDyn(KnapsackDp()),
    "elk-full:delta": lambda: ElkFull(DeltaEfficiency()),
}

every_group = pytest.mark.parametrize("group", GROUPS, ids=str)
every_exact_method = pytest.mark.parametrize("method", EXACT)
each_order = pytest.mark.parametrize("order", [IDENTITY, FREE], ids=str)


def solve(method: ScheduleMethod, problem: ScheduleProblem) -> Result[Schedule]:
    """Repeatably, and long enough on a loaded machine."""
    return method.solve(problem, Limits(seconds=300, workers=1))


def assert_proved(
    result: Result[Schedule], problem: ScheduleProblem, order: OrderClass, least: float
) -> None:
    """The result is optimal in its class, and the referee says the same of its plan."""
    told = f"{result}\n{problem}"
    assert result.status is Status.OPTIMAL, told
    assert result.objective == least, f"{least} expected: {told}"
    assert result.plan is not None
    verdict = judge(problem, result.plan)
    assert verdict.objective == least, f"{verdict}: {told}"
    assert verdict.belongs_to(order), told
    if result.bound is not None:
        assert result.bound.value == least, told
        assert result.bound.order.contains(order), told
        assert result.bound.contention is problem.contention, told


@every_group
@each_order
@every_exact_method
def test_exact_methods_find_the_optimum(
    method: str, order: OrderClass, group: Group
) -> None:
    for problem in group.problems():
        least = optimum(problem, order)
        assert least is not None
        assert_proved(solve(EXACT[method](order), problem), problem, order, least)


@every_group
@pytest.mark.parametrize("method", WINDOWED)
def test_the_optimum_of_every_window_is_found(method: str, group: Group) -> None:
    for problem in group.problems():
        for window in range(3):
            order = OrderClass.windowed(window)
            least = optimum(problem, order)
            assert least is not None
            result = solve(EXACT[method](order), problem)
            assert_proved(result, problem, order, least)


@every_exact_method
@each_order
@pytest.mark.parametrize("family", SCHEDULE_FAMILIES)
def test_exact_methods_prove_that_nothing_fits(
    family: str, order: OrderClass, method: str
) -> None:
    problem = random_schedule(3, 3, family, feasible=False)
    result = solve(EXACT[method](order), problem)
    assert (result.status, result.plan) == (Status.INFEASIBLE, None)


@every_group
def test_no_heuristic_beats_the_optimum_and_no_bound_exceeds_it(group: Group) -> None:
    for problem in group.problems():
        least = optimum(problem, FREE)
        assert least is not None
        for name, heuristic in HEURISTICS.items():
            result = solve(heuristic(), problem)
            told = f"{name}: {result}\n{problem}"
            assert result.status in (Status.FEASIBLE, Status.UNKNOWN), told
            if result.plan is not None:
                verdict = judge(problem, result.plan)
                assert verdict.objective == result.objective, told
                assert result.objective is not None
                assert result.objective >= least, told
        for bound in best_bounds(problem):
            of_class = optimum(problem, bound.order)
            assert of_class is not None
            assert bound.value <= of_class, f"{bound}\n{problem}"
            assert bound.contention is problem.contention


@pytest.mark.parametrize(
    ("problem", "heuristics"),
    [
        pytest.param("one-ahead", ["basic"], id="one-ahead"),
        pytest.param("fixed-split", ["static"], id="fixed-split"),
        pytest.param("reordered", ["basic", "elk-dyn:knapsack-dp"], id="reordered"),
        pytest.param("stretch-trap", ["basic", "static"], id="stretch-trap"),
        pytest.param("frozen-choice", ["elk-dyn:knapsack-dp"], id="frozen-choice"),
    ],
)
def test_each_hand_made_problem_defeats_the_idea_it_is_made_for(
    problem: str, heuristics: list[str]
) -> None:
    made = adversarial_schedule(problem)
    least = optimum(made, FREE)
    assert least is not None
    for heuristic in heuristics:
        objective = solve(HEURISTICS[heuristic](), made).objective
        assert objective is not None
        assert objective > 1.5 * least


def lengthened(problem: ScheduleProblem, factor: int, seed: int) -> ScheduleProblem:
    """Durations some factor longer, no two by the same."""
    random = Random(seed)

    def longer(cycles: int) -> int:
        return cycles * factor + random.randrange(factor) if cycles else 0

    def option(o: ScheduleOption) -> ScheduleOption:
        preload, execute = longer(o.preload_cycles), longer(o.execute_cycles)
        return ScheduleOption(
            o.execute_plan,
            o.execute_bytes,
            o.preload_bytes,
            preload,
            min(preload, longer(o.preload_link_cycles)),
            execute,
            min(execute, longer(o.execute_link_cycles)),
        )

    operators = tuple(
        replace(operator, options=tuple(map(option, operator.options)))
        for operator in problem.operators
    )
    return replace(problem, operators=operators)


@pytest.mark.parametrize(
    ("factor", "seed", "family"),
    [
        pytest.param(1_000_003, 5, "link-bound", id="bound-4-percent-too-high"),
        pytest.param(1_000_003, 4, "hbm-bound", id="called-unbounded"),
        pytest.param(1_000_003, 30, "hbm-bound", id="wrong-at-16-million-ticks"),
        pytest.param(3_000_017, 19, "tight-sram", id="wrong-optimum"),
        pytest.param(1, 19, "tight-sram", id="short"),
    ],
)
@each_order
def test_no_bound_exceeds_a_plan_however_long_the_durations(
    factor: int, seed: int, family: str, order: OrderClass
) -> None:
    """Given durations of 10^8 cycles, HiGHS called wrong values optimal."""
    rule = [Contention.STRETCH, Contention.CHARGE][seed % 2]
    short = random_schedule(
        seed, 6, family, options=(2, 1), contention=rule, link_stretch_permille=977
    )
    problem = lengthened(short, factor, seed)
    results = [
        method.solve(problem, Limits(seconds=60, workers=2))
        for method in (CpSat(order=order), Milp(order=order))
    ]
    values = [result.objective for result in results]
    least = min(value for value in values if value is not None)
    for result in results:
        assert result.plan is not None
        assert judge(problem, result.plan).objective == result.objective
        assert result.bound is not None
        # a plan and a bound each err by what rounding may cost
        assert result.bound.value <= least
        assert least - result.bound.value <= 2 * result.rounding_error
        assert result.objective is not None
        assert result.objective - least <= result.rounding_error


LARGER = [
    pytest.param(
        random_schedule(
            seed,
            8 + seed % 3,
            family,
            options=(2, 2) if seed % 2 else (3, 1),
            contention=list(Contention)[seed % 3],
            link_stretch_permille=977,
            max_outstanding=3 if seed % 4 == 0 else None,
        ),
        id=f"{family}-{seed}",
    )
    for seed, family in enumerate([*SCHEDULE_FAMILIES] * 3)
]


@pytest.mark.slow
@pytest.mark.parametrize("problem", LARGER)
@each_order
def test_exact_methods_agree_beyond_brute_force(
    problem: ScheduleProblem, order: OrderClass
) -> None:
    first = solve(CpSat(order=order), problem)
    assert first.objective is not None
    assert_proved(first, problem, order, first.objective)
    assert_proved(solve(Milp(order=order), problem), problem, order, first.objective)
    by_labels = solve(LabelDp(order=order), problem)
    if order == IDENTITY or by_labels.status is Status.OPTIMAL:
        assert_proved(by_labels, problem, order, first.objective)
    else:  # in free order its labels may outgrow its memory: then it has proved less
        assert by_labels.objective is not None
        assert by_labels.bound is not None
        assert by_labels.bound.value <= first.objective <= by_labels.objective
    if is_comparable(problem):
        by_time = interval_optimum(problem, identity=order == IDENTITY)
        assert by_time == first.objective
    for bound in best_bounds(problem):
        if bound.order.contains(order):
            assert bound.value <= first.objective
    for heuristic in HEURISTICS.values():
        result = solve(heuristic(), problem)
        if result.plan is not None and judge(problem, result.plan).belongs_to(order):
            assert result.objective is not None
            assert result.objective >= first.objective
