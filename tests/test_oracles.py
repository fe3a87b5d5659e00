"""The oracles against the referee, and one another."""

from __future__ import annotations

from dataclasses import replace

import pytest
from oracles.interval_model import interval_optimum, is_comparable
from oracles.plans import optimum, plan_count
from oracles.replay import instructions, replay

from elkhound.model.instances import adversarial_schedule, random_schedule
from elkhound.model.result import OrderClass
from elkhound.model.schedule import (
    Contention,
    Schedule,
    ScheduleOperator,
    ScheduleOption,
    ScheduleProblem,
)

IDENTITY, FREE = OrderClass.identity(), OrderClass.free()
COMPARABLE = [
    "balanced",
    "tight-sram",
    "hbm-bound",
    "link-bound",
    "idle-mixed",
    "resident",
]


def test_the_program_interleaves_preloads_by_gate_and_index() -> None:
    assert instructions(Schedule((0, None, 0, 2), (0,) * 4)) == [
        ("preload", 0),
        ("preload", 2),
        ("execute", 0),
        ("execute", 1),
        ("preload", 3),
        ("execute", 2),
        ("execute", 3),
    ]


def test_the_replay_of_a_hand_made_problem_ends_when_the_arithmetic_says() -> None:
    problem = adversarial_schedule("reordered")
    log = replay(problem, Schedule((0, 1, 0), (0, 0, 0)))
    # P_first 0-2, P_slow 2-62 beside E_first 2-62, P_large 62-72, then 5 and 5
    assert log.preload_start == {0: 0, 2: 2, 1: 62}
    assert log.execute_end == {0: 62, 1: 77, 2: 82}
    assert (log.makespan, log.fits, log.peak_bytes) == (82, True, 95)


@pytest.mark.parametrize("max_outstanding", [None, 1], ids=["any", "K=1"])
@pytest.mark.parametrize("contention", [Contention.NONE, Contention.STRETCH])
@pytest.mark.parametrize("order", [IDENTITY, FREE], ids=str)
def test_start_times_and_gates_have_the_same_optimum(
    order: OrderClass, contention: Contention, max_outstanding: int | None
) -> None:
    for seed in range(6):
        for family in COMPARABLE:
            problem = random_schedule(
                seed,
                4,
                family,
                options=(1, 2),
                contention=contention,
                max_outstanding=max_outstanding,
            )
            assert is_comparable(problem)
            assert plan_count(problem) <= 384
            by_time = interval_optimum(problem, identity=order == IDENTITY)
            assert by_time == optimum(problem, order), problem


def test_start_times_and_gates_agree_that_nothing_fits() -> None:
    problem = random_schedule(0, 3, feasible=False, contention=Contention.NONE)
    assert interval_optimum(problem, identity=False) is None
    assert optimum(problem, FREE) is None


def test_reserving_at_issue_costs_where_preloads_are_larger_than_executes() -> None:
    """The two accountings are different rules, so the restriction is not idle.

    op0 holds 60 B of preloaded data but executes in 10 B; op1 wants 50 B preloaded, in
    100 B of SRAM. At issue, P_op1 beside P_op0 needs 110 B, so it waits for E_op0:
    5 + 40 + 30 + 1 = 76 cycles. By time, it starts when E_op0 does: 5 + 40 + 1 = 46.
    """
    operators = (
        ScheduleOperator("op0", (ScheduleOption(0, 10, 60, 5, 0, 40, 0),)),
        ScheduleOperator("op1", (ScheduleOption(0, 50, 50, 30, 0, 1, 0),)),
    )
    problem = ScheduleProblem(100, operators, Contention.NONE)
    assert not is_comparable(problem)
    assert optimum(problem, FREE) == 76
    assert interval_optimum(problem, identity=False) == 46


def test_issue_cannot_be_told_from_start_times_so_charge_is_not_compared() -> None:
    charged = replace(random_schedule(0, 4), contention=Contention.CHARGE)
    assert not is_comparable(charged)
