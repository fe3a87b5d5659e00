from __future__ import annotations

import pickle

import pytest

from elkhound.model.program import Program, program_of
from elkhound.model.schedule import (
    Schedule,
    ScheduleOperator,
    ScheduleOption,
    ScheduleProblem,
)
from elkhound.simpy_chip import Occupancy, SramExceededError, simulate


def program(sram_bytes: int) -> Program:
    """Two operators: 20 then 50 B, and 30 then 40 B, with 5 B resident beside op0.

    P0 takes 4 cycles, E0 6, P1 7 and E1 2; both preloads are issued at 0.
    """
    options = (
        ScheduleOption(0, 50, 20, 4, 0, 6, 0),
        ScheduleOption(0, 40, 30, 7, 0, 2, 0),
    )
    operators = (
        ScheduleOperator("op0", options[:1], resident_bytes=5),
        ScheduleOperator("op1", options[1:]),
    )
    problem = ScheduleProblem(sram_bytes, operators)
    return program_of(problem, Schedule((0, 0), (0, 0)))


def test_space_is_reserved_at_issue_grows_and_is_released_at_the_end() -> None:
    score = simulate(program(85))
    assert score.occupancy == (
        Occupancy(0, 0, 20 + 30, 5),  # both preloads issued, r_0 beside E0's wait
        Occupancy(4, 50, 30, 5),  # E0 starts: 20 B grow to 50 B
        Occupancy(10, 0, 30, 0),  # E0 ends
        Occupancy(11, 40, 0, 0),  # P1 ended at 4 + 7, E1 starts
        Occupancy(13, 0, 0, 0),
    )
    assert score.peak_bytes == 50 + 30 + 5


def test_exceeding_the_sram_names_core_time_buffers_and_excess() -> None:
    with pytest.raises(
        SramExceededError,
        match=r"^every core, cycle 4: 85 B reserved exceed the SRAM of 84 B by 1 B: "
        r"op1 preloaded 30 B, op0 resident 5 B, op0 executing 50 B$",
    ) as caught:
        simulate(program(84))
    assert caught.value.code == "sram-exceeded"
    assert caught.value.exit_status == 2
    assert (caught.value.cycle, caught.value.excess_bytes) == (4, 1)


def test_the_waiting_execute_counts_too() -> None:
    # preload_bytes 60 > execute_bytes 10: the row of preload_bytes decides
    operator = ScheduleOperator("op0", (ScheduleOption(0, 10, 60, 3, 0, 1, 0),))
    problem = ScheduleProblem(60, (operator,))
    plan = Schedule((0,), (0,))
    score = simulate(program_of(problem, plan))
    assert score.peak_bytes == 60
    # space is released by the end of an execute alone: 60 B from 0 until 3 + 1
    assert score.occupancy == (
        Occupancy(0, 0, 60, 0),
        Occupancy(3, 60, 0, 0),
        Occupancy(4, 0, 0, 0),
    )
    smaller = ScheduleProblem(59, (operator,))
    with pytest.raises(SramExceededError, match=r"cycle 0: 60 B .* by 1 B"):
        simulate(program_of(smaller, plan))


def test_the_error_survives_pickling() -> None:
    with pytest.raises(SramExceededError) as caught:
        simulate(program(84))
    copy = pickle.loads(pickle.dumps(caught.value))
    assert str(copy) == str(caught.value)
