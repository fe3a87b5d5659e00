"""Preload-order permutation: which orders are tried, and what a plan gains by one."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from oracles.plans import optimum
from oracles.small_schedules import option, problem, small_problems

from elkhound.heuristics.allocation import DeltaEfficiency
from elkhound.heuristics.schedule import ElkDyn, ElkFull
from elkhound.heuristics.schedule.inductive import Induction
from elkhound.heuristics.schedule.layers import excerpt, layer_kinds
from elkhound.heuristics.schedule.preload_order import (
    OrderSearch,
    edit_distance,
    parts,
)
from elkhound.heuristics.schedule.shares import Shares
from elkhound.heuristics.schedule.suffix_tree import SuffixTree
from elkhound.model.instances import adversarial_schedule, random_schedule
from elkhound.model.limits import Limits
from elkhound.model.referee import judge
from elkhound.model.result import OrderClass, Status
from elkhound.model.schedule import Contention, Schedule, ScheduleProblem
from elkhound.model.timing import timeline
from elkhound.solvers.allocation import KnapsackDp

LIMITS: Limits[Schedule] = Limits(seconds=600, workers=1)
IDENTITY, FREE = OrderClass.identity(), OrderClass.free()
often = settings(derandomize=True, deadline=None, max_examples=100)


def elk_full() -> ElkFull:
    """Return the paper's planner."""
    return ElkFull(DeltaEfficiency())


def elk_dyn() -> ElkDyn:
    """Return the same without reordering."""
    return ElkDyn(DeltaEfficiency())


def figure_13() -> ScheduleProblem:
    """Build the paper's figure 13: a large preload ahead of a small one, 60 B of SRAM.

    In execution order the 10 B of c lie beside E_a only with the 20 B of b, and half of
    the SRAM is left to execute in; with c before b, five sixths.
    """
    return problem(
        (option(50, 0, t=10), option(30, 0, t=40)),
        option(20, 20, h=4, t=2),
        option(10, 10, h=10, t=2),
        sram_bytes=60,
    )


def test_a_small_preload_ahead_of_a_large_one_leaves_more_space_to_execute() -> None:
    case = figure_13()
    in_order = elk_dyn().solve(case, LIMITS)
    # E_a in 50 B 0–10, P_b 10–14, E_b 14–16, P_c 14–24, E_c 24–26.
    assert in_order.objective == 26 == optimum(case, IDENTITY)
    result = elk_full().solve(case, LIMITS)
    # P_c 0–10 beside E_a in 50 B 0–10, P_b 10–14, E_b –16, E_c –18.
    assert result.plan == Schedule((None, 1, 0), (0, 0, 0))
    assert result.objective == 18 == optimum(case, FREE)
    assert result.order == FREE
    assert result.statistics["edit_distance"] == 2
    assert result.statistics["orders_tried"] == 1


def test_reordering_hides_the_slow_preload_that_waits_for_a_large_one() -> None:
    case = adversarial_schedule("reordered")
    result = elk_full().solve(case, LIMITS)
    # P_slow beside E_first, P_large after it: 2 + 60 + 10 + 5 + 5, not 137.
    assert result.plan == Schedule((0, 1, 0), (0, 0, 0))
    assert result.objective == 82
    assert result.order == FREE


def test_execution_order_stays_where_nothing_is_gained() -> None:
    case = problem(
        option(20, 10, h=2, t=50), option(20, 10, h=3, t=2), option(40, 40, h=30, t=5)
    )
    result = elk_full().solve(case, LIMITS)
    # P_a 0–2, P_b –5, P_c –35, all beside E_a 2–52; nothing can end before 2 + 57.
    assert result.plan == Schedule((0, 0, 0), (0, 0, 0))
    assert result.objective == 59
    assert result.order == IDENTITY
    assert result.statistics["edit_distance"] == 0


@given(problem=small_problems())
@often
def test_elk_full_lies_between_the_optimum_of_any_order_and_elk_dyn(
    problem: ScheduleProblem,
) -> None:
    result = elk_full().solve(problem, LIMITS)
    least = optimum(problem, FREE)
    if least is None:
        assert (result.status, result.plan) == (Status.INFEASIBLE, None)
        return
    assert result.status is Status.FEASIBLE
    assert result.bound is None
    assert result.plan is not None
    verdict = judge(problem, result.plan)
    assert verdict.violations == ()
    assert verdict.objective == result.objective
    assert verdict.order == result.order
    in_order = elk_dyn().solve(problem, LIMITS)
    assert result.objective is not None
    assert in_order.objective is not None
    assert least <= result.objective <= in_order.objective


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("family", ["layers", "tight-sram", "resident", "unstructured"])
def test_plans_of_many_operators_fit_and_are_no_worse_than_in_execution_order(
    family: str, seed: int
) -> None:
    case = random_schedule(
        seed,
        16,
        family,
        options=(2, 2),
        contention=list(Contention)[seed % 3],
        max_outstanding=4 if seed % 2 else None,
    )
    in_order = elk_dyn().solve(case, LIMITS)
    first, again = (elk_full().solve(case, LIMITS) for _ in range(2))
    assert first.plan is not None
    assert judge(case, first.plan).objective == first.objective
    assert first.objective is not None
    assert in_order.objective is not None
    assert first.objective <= in_order.objective
    assert first.plan == again.plan
    assert first.statistics == again.statistics


@st.composite
def orders_of(draw: st.DrawFn, case: ScheduleProblem) -> tuple[int, ...]:
    """Draw a preload order."""
    return tuple(draw(st.permutations(case.streaming)))


@given(data=st.data(), case=small_problems(most_plans=100_000))
@often
def test_the_induction_keeps_what_it_promises_in_any_order(
    data: st.DataObject, case: ScheduleProblem
) -> None:
    # One state per plan, so that none shrinks: what is counted backwards is then a
    # timetable that the program can keep, and starting earlier can only end earlier.
    case = replace(
        case,
        operators=tuple(
            replace(
                operator,
                options=tuple(
                    replace(o, execute_plan=k) for k, o in enumerate(operator.options)
                ),
            )
            for operator in case.operators
        ),
    )
    order = data.draw(orders_of(case))
    induction = Induction(Shares(case, DeltaEfficiency()), order)
    plan = induction.run() if case.misfit is None else None
    if plan is None:
        return
    verdict = judge(case, plan)
    assert verdict.violations == ()
    assert verdict.objective is not None
    assert verdict.objective <= induction.cycles
    gates = [plan.gates[j] for j in order]
    assert gates == sorted(gate for gate in gates if gate is not None)


def test_the_times_of_an_order_are_counted_backwards_to_the_cycle() -> None:
    # E_c −2, E_b: covers c or not, P_c before P_b: p = 1 is forced: −4; P_b −8. E_a:
    # n = 1 covers c and ends at P_b: −8 − 10; n = 2 covers b too: in 30 B, −4 − 40.
    # P_c ends at P_b: −18.
    induction = Induction(Shares(figure_13(), DeltaEfficiency()), (2, 1))
    assert induction.run() == Schedule((None, 1, 0), (0, 0, 0))
    assert induction.cycles == 18


def test_charge_moves_every_preload_ahead_of_an_execute_that_settles() -> None:
    # Order P_c P_b P_d. E_d −1, P_d −9 (Y = 8). E_c (4, X = 4) covering P_d books
    # 4 + 8: −13; not: −9 − 4 = −13, so it does not. E_b (10, X = 5), P_c forced:
    # ends at −13 with n = 2: max(10, 5 + 3): −23, or ends at −13 with n = 3: max(10,
    # 5 + 11) − 4 … so n = 2. P_b (2) −25, P_c (3, Y = 3) −28.
    # E_a (20, X = 0): n = 0 ends at P_c, −28 − 20 = −48; E_b keeps 10. n = 1 covers
    # c: E_b settles at 10, ends at P_b: −25 − 20 = −45. n = 2: ends at E_b: −43.
    case = problem(
        option(5, 0, t=20),
        option(5, 5, h=2, y=0, t=10, x=5),
        option(5, 5, h=3, y=3, t=4, x=4),
        option(5, 5, h=8, y=8, t=1),
        contention=Contention.CHARGE,
    )
    induction = Induction(Shares(case, DeltaEfficiency()), (2, 1, 3))
    plan = induction.run()
    assert plan is not None
    assert timeline(case, plan).makespan <= induction.cycles
    assert plan.gates == (None, 0, 0, 3)
    # P_c 0–3, P_b –5, E_a 0–20, E_b 20–30, E_c 30–34, P_d 34–42, E_d –43.
    assert induction.cycles == 43 == timeline(case, plan).makespan


def forced_fit(case: ScheduleProblem, order: tuple[int, ...]) -> bool:
    """Whether what an order forces fits everywhere, by its definition."""
    for i, operator in enumerate(case.operators):
        places = [order.index(j) for j in range(i + 1) if j in order]
        beside = [j for j in order[: max(places, default=-1) + 1] if j > i]
        waiting_bytes = sum(
            min(o.preload_bytes for o in case.operators[j].options) for j in beside
        )
        if operator.least_bytes + waiting_bytes > case.sram_bytes:
            return False
        limit = case.max_outstanding
        if limit is not None and len(beside) > limit:
            return False
    return True


@given(case=small_problems(most_plans=100_000))
@often
def test_the_suffix_tree_holds_every_order_that_fits_once(
    case: ScheduleProblem,
) -> None:
    tree = SuffixTree(case, range(len(case.operators)), frozenset(case.streaming))
    found = list(tree.orders())
    if case.misfit is not None:
        return
    assert found[0] == case.streaming
    assert len(set(found)) == len(found)
    expected = {o for o in permutations(case.streaming) if forced_fit(case, o)}
    assert set(found) == expected
    if len(expected) == len(list(permutations(case.streaming))):
        assert tree.cut == 0


def test_branches_end_where_the_sram_overflows() -> None:
    # first (60 B) cannot lie beside large (80 B). Last slow: large before first is cut.
    # Last large: first and slow may change places. Last first: large lies beside it,
    # cut at once.
    case = adversarial_schedule("reordered")
    tree = SuffixTree(case, range(3), frozenset(range(3)))
    assert list(tree.orders()) == [(0, 1, 2), (0, 2, 1), (2, 0, 1)]
    assert tree.cut == 2


def test_what_may_not_move_keeps_its_place() -> None:
    case = problem(*[option(1, 1, h=1)] * 3)
    tree = SuffixTree(case, range(3), frozenset({0, 2}))
    assert list(tree.orders()) == [(0, 1, 2), (2, 1, 0)]


def test_only_operators_with_real_traffic_leave_their_places() -> None:
    # 1 of 101 cycles is less than 1 %; 10 permille of 101 is 1.01.
    case = problem(
        option(1, 1, h=50), option(1, 1, h=1), option(1, 0), option(1, 1, h=50)
    )
    assert parts(case, layer_kinds(case), 10)[0].movable == (0, 3)
    assert parts(case, layer_kinds(case), 9)[0].movable == (0, 1, 3)


def test_a_long_layer_is_reordered_in_parts() -> None:
    case = problem(*[option(1, 1, h=k + 20) for k in range(30)])
    found = parts(case, layer_kinds(case), 10)
    assert [part.layers for part in found] == [
        (range(12),),
        (range(12, 24),),
        (range(24, 30),),
    ]
    assert [len(part.movable) for part in found] == [12, 12, 6]
    with_tail = OrderSearch(case, DeltaEfficiency(), most_orders=30)
    with_tail.run()
    assert with_tail.orders_tried == 30


def layered(count: int, *, numbered: bool) -> ScheduleProblem:
    """Repeat figure 13, between two operators of other shapes."""
    block = figure_13().operators
    ends = problem(option(7, 0, t=3), option(8, 0, t=4)).operators
    middle = tuple(
        replace(operator, name=f"{operator.name}.{k}", layer=k if numbered else None)
        for k in range(count)
        for operator in block
    )
    operators = (replace(ends[0], name="head"), *middle, replace(ends[1], name="tail"))
    return replace(figure_13(), operators=operators)


@pytest.mark.parametrize("numbered", [True, False])
def test_equal_layers_are_found_and_get_the_same_order(numbered: bool) -> None:
    case = layered(5, numbered=numbered)
    (layers,) = layer_kinds(case)
    assert layers == tuple(range(k, k + 3) for k in (1, 4, 7, 10, 13))
    result = elk_full().solve(case, LIMITS)
    in_order = elk_dyn().solve(case, LIMITS)
    assert result.plan is not None
    assert result.objective is not None
    assert in_order.objective is not None
    assert result.objective < in_order.objective
    # c before b in every layer
    for layer in layers:
        _, large, small = (result.plan.gates[i] for i in layer)
        assert large is not None
        assert small is not None
        assert small < large
    assert result.statistics["edit_distance"] == 2


def test_layers_of_other_numbers_are_of_other_kinds() -> None:
    case = layered(3, numbered=True)
    odd = replace(case.operators[4], resident_bytes=1)
    case = replace(case, operators=(*case.operators[:4], odd, *case.operators[5:]))
    assert layer_kinds(case) == [
        (range(1, 4), range(7, 10)),
        (range(4, 7),),
    ]


def test_an_excerpt_keeps_the_last_layers_of_each_kind() -> None:
    case = layered(5, numbered=True)
    short, kinds = excerpt(case, layer_kinds(case), 2)
    assert kinds == [(range(1, 4), range(4, 7))]
    assert short.operators == (case.operators[0], *case.operators[10:])
    assert layer_kinds(short) == kinds


def test_a_problem_without_equal_blocks_is_one_layer() -> None:
    case = figure_13()
    assert layer_kinds(case) == [(range(3),)]


def test_where_the_limit_leaves_no_other_order_the_plan_is_elk_dyns() -> None:
    case = adversarial_schedule("reordered")
    limits = replace(LIMITS, deterministic_work=4)  # what execution order takes
    result = elk_full().solve(case, limits)
    assert result.plan == elk_dyn().solve(case, limits).plan
    assert result.objective == 137
    assert result.statistics["orders_tried"] == 0


def test_an_allocator_makes_a_variant() -> None:
    result = ElkFull(KnapsackDp()).solve(adversarial_schedule("reordered"), LIMITS)
    assert result.method == "elk-full:allocator=knapsack-dp"
    assert result.objective == 82


def test_an_operator_that_fits_nowhere_is_proved_infeasible() -> None:
    case = random_schedule(3, 6, "balanced", feasible=False)
    result = elk_full().solve(case, LIMITS)
    assert (result.status, result.plan) == (Status.INFEASIBLE, None)


@pytest.mark.parametrize(
    ("order", "distance"),
    [
        pytest.param((), 0, id="empty"),
        pytest.param((1, 2, 3), 0, id="same"),
        pytest.param((2, 1, 3), 2, id="exchanged"),
        pytest.param((3, 1, 2), 2, id="moved"),  # taken out, put back
        pytest.param((3, 2, 1), 2, id="reversed"),  # 3 and 1 replaced
        pytest.param((2, 4, 1, 3), 4, id="mixed"),
    ],
)
def test_the_edit_distance_counts_insertions_deletions_and_replacements(
    order: tuple[int, ...], distance: int
) -> None:
    assert edit_distance(order, sorted(order)) == distance
