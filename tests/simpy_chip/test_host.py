from __future__ import annotations

import pickle

import pytest

from elkhound.model.errors import BadInputError
from elkhound.model.program import Execute, Instruction, PreloadAsync, Program, Task
from elkhound.model.schedule import ScheduleOption
from elkhound.simpy_chip import DeadlockError, simulate

STREAMS = ScheduleOption(0, 10, 10, 5, 2, 5, 2)
STREAMS_NOTHING = ScheduleOption(0, 10, 0, 0, 0, 5, 2)
TASKS = (
    Task("a", STREAMS, 0),
    Task("b", STREAMS_NOTHING, 0),
    Task("c", STREAMS, 0),
)
P, E = PreloadAsync, Execute


def program(*instructions: Instruction) -> Program:
    return Program(instructions, TASKS, sram_bytes=100)


def test_a_legal_program_runs() -> None:
    assert simulate(program(P(0), P(2), E(0), E(1), E(2))).makespan_cycles > 0


@pytest.mark.parametrize(
    ("instructions", "message"),
    [
        pytest.param(
            (P(0), P(0), E(0)),
            r"instruction 1: preload_async\(a\) comes a second time",
            id="preload-twice",
        ),
        pytest.param(
            (P(0), E(0), E(0)),
            r"instruction 2: execute\(a\) comes a second time",
            id="execute-twice",
        ),
        pytest.param(
            (P(0), E(1), E(0), P(2), E(2)),
            r"instruction 1: execute\(b\) is out of order, execute\(a\) is due",
            id="out-of-order",
        ),
        pytest.param(
            (P(0), E(0), P(1)),
            r"preload_async\(b\): the operator streams nothing",
            id="nothing-to-preload",
        ),
        pytest.param(
            (P(0), E(0), E(1)), r"execute\(c\) is missing", id="missing-execute"
        ),
        pytest.param(
            (P(3),), r"instruction 0: operator is 3, must be in 0 … 2", id="unknown"
        ),
        pytest.param((P(-1),), r"operator is -1", id="negative"),
    ],
)
def test_a_broken_program_is_refused(
    instructions: tuple[Instruction, ...], message: str
) -> None:
    with pytest.raises(BadInputError, match=message) as caught:
        simulate(program(*instructions))
    assert caught.value.code == "bad-program"


def test_a_missing_preload_deadlocks_and_says_who_waits_for_whom() -> None:
    with pytest.raises(DeadlockError) as caught:
        simulate(program(P(0), E(0), E(1), E(2)))
    # P0 0–5, E0 5–10, E1 10–15, then nothing can happen
    assert caught.value.cycle == 15
    assert caught.value.waits == (
        ("the host", "execute(c)"),
        ("execute(c) on every core", "the done tag of c"),
    )
    assert caught.value.hint == "preload_async(c) is missing"
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_a_preload_after_its_execute_deadlocks() -> None:
    with pytest.raises(
        DeadlockError,
        match=r"cycle 0: deadlock: the host waits for execute\(a\); execute\(a\) on "
        r"every core waits for the done tag of a "
        r"\(preload_async\(a\) is instruction 1, after execute\(a\) at 0\)",
    ):
        simulate(program(E(0), P(0), P(2), E(1), E(2)))
