from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from elkhound.model.errors import BadInputError
from elkhound.model.instances import SCHEDULE_FAMILIES, random_schedule
from elkhound.model.io import load_chip, program_text, read_program, write_program
from elkhound.model.lifetimes import placement_problem
from elkhound.model.options import schedule_problem
from elkhound.model.placement import Addresses
from elkhound.model.program import Program, program_of
from elkhound.model.schedule import (
    Contention,
    Schedule,
    ScheduleOperator,
    ScheduleOption,
    ScheduleProblem,
)
from elkhound.model.workloads import build_workload


def option(execute_bytes: int, preload_bytes: int) -> ScheduleOption:
    return ScheduleOption(
        execute_plan=0,
        execute_bytes=execute_bytes,
        preload_bytes=preload_bytes,
        preload_cycles=5 if preload_bytes else 0,
        preload_link_cycles=0,
        execute_cycles=9,
        execute_link_cycles=4,
    )


PROBLEM = ScheduleProblem(
    sram_bytes=100,
    operators=(
        ScheduleOperator("fc 1", (option(50, 20),)),
        ScheduleOperator("soft\nmax", (option(30, 0),), resident_bytes=7),
        ScheduleOperator("fc2", (option(40, 30),)),
    ),
    contention=Contention.NONE,
)
PLAN = Schedule(gates=(0, None, 0), options=(0, 0, 0))
BUFFERS = placement_problem(PROBLEM, PLAN).buffers
ADDRESSES = Addresses(BUFFERS, tuple(range(len(BUFFERS))))
PROGRAM = program_of(PROBLEM, PLAN, addresses=ADDRESSES)

TEXT = r"""# preload_async asks HBM and goes on; execute waits for its data and blocks
program sram_bytes=100

op 0 "fc 1" resident_bytes=0 execute_plan=0 execute_bytes=50 preload_bytes=20 preload_cycles=5 preload_link_cycles=0 execute_cycles=9 execute_link_cycles=4
op 1 "soft\nmax" resident_bytes=7 execute_plan=0 execute_bytes=30 preload_bytes=0 preload_cycles=0 preload_link_cycles=0 execute_cycles=9 execute_link_cycles=4
op 2 "fc2" resident_bytes=0 execute_plan=0 execute_bytes=40 preload_bytes=30 preload_cycles=5 preload_link_cycles=0 execute_cycles=9 execute_link_cycles=4

buffer "P.fc 1" start_step=0 end_step=1 size_bytes=20 offset=0
buffer "W.fc 1" start_step=0 end_step=1 size_bytes=30 offset=1
buffer "W.soft\nmax" start_step=1 end_step=2 size_bytes=30 offset=2
buffer "P.fc2" start_step=0 end_step=3 size_bytes=30 offset=3
buffer "W.fc2" start_step=2 end_step=3 size_bytes=10 offset=4
buffer "R.0" start_step=1 end_step=2 size_bytes=7 offset=5

preload_async(op=0)  # fc 1
preload_async(op=2)  # fc2
execute(op=0)  # fc 1
execute(op=1)  # soft\nmax
execute(op=2)  # fc2
"""  # noqa: E501


def test_the_text_is_the_papers_program_with_addresses() -> None:
    assert program_text(PROGRAM) == TEXT


def back(tmp_path: Path, name: str, program: Program) -> Program:
    write_program(tmp_path / name, program)
    return read_program(tmp_path / name)


@pytest.mark.parametrize("name", ["p.txt", "p.json"])
@pytest.mark.parametrize("addresses", [None, ADDRESSES, Addresses((), ())])
def test_a_program_comes_back_without_loss(
    tmp_path: Path, name: str, addresses: Addresses | None
) -> None:
    program = replace(PROGRAM, addresses=addresses)
    assert back(tmp_path, name, program) == program


@pytest.mark.parametrize("name", ["p.txt", "p.json"])
def test_random_programs_come_back(tmp_path: Path, name: str) -> None:
    for seed, family in enumerate(sorted(SCHEDULE_FAMILIES)):
        random = Random(seed)
        problem = random_schedule(seed, 6, family)
        plan = Schedule(
            tuple(
                random.randint(0, j) if o.streams else None
                for j, o in enumerate(problem.operators)
            ),
            tuple(random.randrange(len(o.options)) for o in problem.operators),
        )
        program = program_of(problem, plan)
        assert back(tmp_path, name, program) == program


@pytest.mark.parametrize("name", ["p.txt", "p.json"])
def test_chip_and_payloads_come_back(tmp_path: Path, name: str) -> None:
    chip = load_chip("toy-64")
    graph = build_workload("llama-2-7b", {"batch": 1, "seq": 64, "layers": 1}, "decode")
    small = replace(chip, core=replace(chip.core, sram_bytes=2**30))
    problem = schedule_problem(graph, small)
    count = len(problem.operators)
    gates = tuple(j if o.streams else None for j, o in enumerate(problem.operators))
    program = program_of(problem, Schedule(gates, (0,) * count), small)
    assert any(task.option.payload is not None for task in program.tasks)
    assert back(tmp_path, name, program) == program


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        pytest.param(
            "execute(op=1)", "exec(op=1)",
            r"p.txt:18: 'exec\(op=1\)  # soft.* is no line of a program \(did you mean "
            "execute",
            id="word",
        ),
        pytest.param(
            "preload_async(op=2)", "preload_async(op=1)",
            r"p.txt:16: preload_async\(op=1\): it streams nothing", id="no stream",
        ),
        pytest.param(
            "preload_async(op=2)", "preload_async(op=0)",
            r"p.txt:16: preload_async\(op=0\): it is preloaded twice", id="twice",
        ),
        pytest.param(
            "preload_async(op=2)", "# nothing",
            r"p.txt:19: execute\(op=2\): waits for a preload that was not", id="waits",
        ),
        pytest.param(
            "execute(op=1)", "execute(op=7)",
            "p.txt:18: instruction 3: op is 7, must be from 0 to 2", id="no such op",
        ),
        pytest.param(
            "execute(op=1)", "execute(op=2)",
            r"p.txt:18: execute\(op=2\): execute\(op=1", id="order",
        ),
        pytest.param(
            "execute(op=2)  # fc2\n", "", r"execute\(op=2\) is missing", id="missing"
        ),
        pytest.param(
            "sram_bytes=100", "sram_bytes=0", "p.txt:2: sram_bytes is 0, must", id="0"
        ),
        pytest.param("sram_bytes=100", "sram=100", "p.txt:2: unknown key", id="key"),
        pytest.param(
            "op 1 ", "op 2 ", "p.txt:5: number is '2', must be 1", id="number"
        ),
        pytest.param(
            '"fc2" res', "fc2 res", "p.txt:6: a name in double quotes is missing",
            id="name",
        ),
        pytest.param(
            "offset=4", "offset=-4", "p.txt:12: 'offset=-4' is not of the form", id="-4"
        ),
        pytest.param(
            "end_step=2 size_bytes=7", "end_step=1 size_bytes=7",
            "p.txt:13: buffer R.0: end_step is 1, must be above", id="lifetime",
        ),
        pytest.param(
            "execute_cycles=9 execute_link_cycles=4\nop 1",
            "execute_cycles=3 execute_link_cycles=4\nop 1",
            "p.txt:4: .*execute_link_cycles is 4, must be at most", id="link",
        ),
        pytest.param(
            "program sram_bytes=100", "program sram_bytes=100\nprogram sram_bytes=1",
            "p.txt:3: sram_bytes stands in line 2 too", id="two programs",
        ),
        pytest.param(
            "program sram_bytes=100", "program sram_bytes=100\nchip {",
            "p.txt:3: what follows is no JSON object", id="chip",
        ),
    ],
)  # fmt: skip
def test_a_program_that_no_host_could_issue_is_refused_by_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert old in TEXT
    Path("p.txt").write_text(TEXT.replace(old, new, 1))
    with pytest.raises(BadInputError, match=message):
        read_program("p.txt")
