"""The referee against schedules worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from elkhound.model.allocation import (
    Allocation,
    AllocationItem,
    AllocationOption,
    AllocationProblem,
)
from elkhound.model.referee import judge, judge_allocation
from elkhound.model.result import OrderClass
from elkhound.model.schedule import (
    Contention,
    Schedule,
    ScheduleOperator,
    ScheduleOption,
    ScheduleProblem,
)


def option(
    execute_bytes: int = 0,
    preload_bytes: int = 0,
    preload: tuple[int, int] = (0, 0),
    execute: tuple[int, int] = (1, 0),
) -> ScheduleOption:
    return ScheduleOption(
        execute_plan=0,
        execute_bytes=execute_bytes,
        preload_bytes=preload_bytes,
        preload_cycles=preload[0],
        preload_link_cycles=preload[1],
        execute_cycles=execute[0],
        execute_link_cycles=execute[1],
    )


@pytest.fixture
def three() -> ScheduleProblem:
    """Three operators of 10, 20, 30 cycles whose preloads take 5, 8, 4."""
    operators = (
        ScheduleOperator("a", (option(40, 20, (5, 3), (10, 4)),)),
        ScheduleOperator("b", (option(30, 10, (8, 6), (20, 7)),), resident_bytes=5),
        ScheduleOperator("c", (option(50, 30, (4, 0), (30, 1)),)),
    )
    return ScheduleProblem(100, operators, Contention.NONE, 500)


def times(problem: ScheduleProblem, *gates: int | None) -> list[tuple[int | None, ...]]:
    verdict = judge(problem, Schedule(gates, (0,) * len(gates)))
    return [
        verdict.preload_start,
        verdict.preload_end,
        verdict.execute_start,
        verdict.execute_end,
    ]


def test_nothing_ahead_leaves_preloads_and_executes_in_turn(
    three: ScheduleProblem,
) -> None:
    # P_a 0-5, E_a 5-15, P_b 15-23, E_b 23-43, P_c 43-47, E_c 47-77
    assert times(three, 0, 1, 2) == [
        (0, 15, 43),
        (5, 23, 47),
        (5, 23, 47),
        (15, 43, 77),
    ]


def test_everything_ahead_leaves_only_the_first_preload_exposed(
    three: ScheduleProblem,
) -> None:
    # P_a 0-5, P_b 5-13, P_c 13-17; E_a 5-15, E_b 15-35, E_c 35-65
    assert times(three, 0, 0, 0) == [
        (0, 5, 13),
        (5, 13, 17),
        (5, 15, 35),
        (15, 35, 65),
    ]


def test_a_later_operator_may_be_preloaded_first(three: ScheduleProblem) -> None:
    # P_a 0-5, P_c 5-9, E_a 5-15, P_b 15-23 gated at 1, E_b 23-43, E_c 43-73
    assert times(three, 0, 1, 0) == [
        (0, 15, 5),
        (5, 23, 9),
        (5, 23, 43),
        (15, 43, 73),
    ]


@pytest.mark.parametrize(
    ("contention", "gates", "makespan"),
    [
        # E_a and E_b overlap an outstanding preload; only P_b has link work, so
        # E_a takes 10 + ⌈0.5·4⌉ = 12 and E_b, beside P_c with Y = 0, its 20:
        # P_a 0-5, E_a 5-17, E_b 17-37, E_c 37-67
        pytest.param(Contention.STRETCH, (0, 0, 0), 67, id="stretch"),
        # no preload outlives an execute: 5 + 10 + 8 + 20 + 4 + 30
        pytest.param(Contention.STRETCH, (0, 1, 2), 77, id="stretch-nothing-beside"),
        # X_a + Y_b + Y_c = 4 + 6 + 0 = 10 ≤ 10: P_b just fits in E_a's idle link
        pytest.param(Contention.CHARGE, (0, 0, 0), 65, id="charge-fits"),
    ],
)
def test_contention_lengthens_the_executes_beside_preloads(
    three: ScheduleProblem,
    contention: Contention,
    gates: tuple[int, ...],
    makespan: int,
) -> None:
    problem = replace(three, contention=contention)
    assert judge(problem, Schedule(gates, (0, 0, 0))).objective == makespan


def test_charge_books_a_preload_on_the_one_execute_it_is_issued_before() -> None:
    operators = (
        ScheduleOperator("a", (option(execute=(10, 8)),)),
        ScheduleOperator("b", (option(execute=(10, 8)),)),
        ScheduleOperator("c", (option(1, 1, (5, 5), (1, 0)),)),
    )
    problem = ScheduleProblem(9, operators, Contention.CHARGE)
    # P_c is outstanding beside both, but only E_a pays: max(10, 8 + 5) = 13
    verdict = judge(problem, Schedule((None, None, 0), (0, 0, 0)))
    assert verdict.execute_end == (13, 23, 24)


def test_stretch_rounds_the_extra_cycles_up() -> None:
    operators = (
        ScheduleOperator("a", (option(execute=(10, 3)),)),
        ScheduleOperator("b", (option(1, 1, (2, 1), (1, 0)),)),
    )
    problem = ScheduleProblem(9, operators, Contention.STRETCH, 334)
    # 334·3/1000 = 1.002, so 2 more cycles
    verdict = judge(problem, Schedule((None, 0), (0, 0)))
    assert verdict.execute_end == (12, 13)


def test_an_overfull_step_is_told_with_everyone_in_it() -> None:
    operators = (
        ScheduleOperator("op0", (option(60, 10, (1, 1)),), resident_bytes=10),
        ScheduleOperator("op1", (option(50, 50, (1, 1)),)),
    )
    verdict = judge(ScheduleProblem(100, operators), Schedule((0, 0), (0, 0)))
    assert verdict.objective is None
    assert not verdict.feasible
    assert verdict.violations == (
        "operator op0: 120 B needed of 100 B at execute 0 "
        "(execute 60 B, resident 10 B, preloaded op1 50 B): 20 B over",
    )
    assert verdict.occupancy_bytes == (120, 50)
    assert verdict.execute_end != ()


def test_preload_space_counts_before_the_execute_too() -> None:
    # executing needs 10 B, but the preloaded data of the same operator 70 B
    operators = (
        ScheduleOperator("op0", (option(10, 70, (1, 1)),)),
        ScheduleOperator("op1", (option(40, 40, (1, 1)),)),
    )
    verdict = judge(ScheduleProblem(100, operators), Schedule((0, 0), (0, 0)))
    assert verdict.violations == (
        "operator op0: 110 B needed of 100 B before execute 0 "
        "(own preload 70 B, resident 0 B, preloaded op1 40 B): 10 B over",
    )


def test_more_outstanding_preloads_than_allowed_are_named(
    three: ScheduleProblem,
) -> None:
    problem = replace(three, max_outstanding=1)
    assert judge(problem, Schedule((0, 0, 0), (0, 0, 0))).violations == (
        "operator a: 2 preloads outstanding at execute 0 (b, c), 1 allowed: 1 over",
    )
    # P_b and its own execute: nothing is outstanding beside it
    assert judge(problem, Schedule((0, 0, 1), (0, 0, 0))).feasible


@pytest.mark.parametrize(
    ("gates", "options", "line"),
    [
        pytest.param((0, 0), (0, 0, 0), "plan: 2 gates for 3 operators", id="gates"),
        pytest.param((0, 0, 0), (0,), "plan: 1 options for 3 operators", id="options"),
        pytest.param(
            (0, None, 0),
            (0, 0, 0),
            "operator b: no gate, but it has a preload",
            id="no",
        ),
        pytest.param(
            (0, 2, 0), (0, 0, 0), "operator b: gate 2, must be 0 … 1", id="up"
        ),
        pytest.param(
            (-1, 0, 0), (0, 0, 0), "operator a: gate -1, must be 0 … 0", id="down"
        ),
        pytest.param(
            (0, 0, 0), (0, 0, 1), "operator c: option 1, must be 0 … 0", id="option"
        ),
        pytest.param(
            (0, 0, 0), (0, 0, -1), "operator c: option -1, must be 0 … 0", id="negative"
        ),
    ],
)
def test_an_illegal_plan_is_a_violation_not_a_crash(
    three: ScheduleProblem,
    gates: tuple[int | None, ...],
    options: tuple[int, ...],
    line: str,
) -> None:
    verdict = judge(three, Schedule(gates, options))
    assert verdict.violations == (line,)
    assert verdict.objective is None
    assert verdict.execute_end == ()


def test_an_operator_that_streams_nothing_takes_no_gate() -> None:
    problem = ScheduleProblem(9, (ScheduleOperator("a", (option(),)),))
    assert judge(problem, Schedule((None,), (0,))).objective == 1
    assert judge(problem, Schedule((0,), (0,))).violations == (
        "operator a: gate 0, but it has no preload",
    )


def test_order_and_window_are_read_off_the_gates(three: ScheduleProblem) -> None:
    identity = judge(three, Schedule((0, 0, 1), (0, 0, 0)))
    assert (identity.order, identity.window) == (OrderClass.identity(), 1)
    swapped = judge(three, Schedule((0, 1, 0), (0, 0, 0)))
    assert (swapped.order, swapped.window) == (OrderClass.free(), 2)
    assert identity.belongs_to(OrderClass.identity())
    assert identity.belongs_to(OrderClass.free())
    assert identity.belongs_to(OrderClass.windowed(1))
    assert not swapped.belongs_to(OrderClass.windowed(1))
    assert not swapped.belongs_to(OrderClass.identity())
    assert swapped.belongs_to(OrderClass.windowed(2))


def test_a_whole_model_of_723_operators_is_judged() -> None:
    operators = tuple(
        ScheduleOperator(f"op{i}", (option(2, 1, (3, 1), (5, 2)),)) for i in range(723)
    )
    problem = ScheduleProblem(4000, operators)
    verdict = judge(problem, Schedule((0,) * 723, (0,) * 723))
    # P_0 takes 3; then every execute but the last is stretched to 7
    assert verdict.objective == 3 + 722 * 7 + 5


@pytest.fixture
def pair() -> AllocationProblem:
    """Two items: 10 B in 5 cycles or 4 B in 9; 6 B in 1 cycle."""
    items = (
        AllocationItem("a", (AllocationOption(10, 5), AllocationOption(4, 9))),
        AllocationItem("b", (AllocationOption(6, 1),)),
    )
    return AllocationProblem(12, items)


def test_an_allocation_adds_up(pair: AllocationProblem) -> None:
    verdict = judge_allocation(pair, Allocation((1, 0)))
    assert (verdict.objective, verdict.size_bytes, verdict.feasible) == (10, 10, True)


@pytest.mark.parametrize(
    ("options", "line"),
    [
        pytest.param(
            (0, 0), "allocation: 16 B needed of 12 B: 4 B over", id="too-large"
        ),
        pytest.param((0,), "plan: 1 options for 2 items", id="length"),
        pytest.param((1, 1), "item b: option 1, must be 0 … 0", id="index"),
    ],
)
def test_a_bad_allocation_says_why(
    pair: AllocationProblem, options: tuple[int, ...], line: str
) -> None:
    verdict = judge_allocation(pair, Allocation(options))
    assert verdict.violations == (line,)
    assert verdict.objective is None
