"""What holds for every program, on random ones."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from dataclasses import astuple, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.clocked_chip import ClockedChip
from oracles.simulator_fuzz import CHIPS, fuzz

import elkhound.simpy_chip
from elkhound.model.chip import AllToAll, Chip, Core, Hbm, Mesh2D
from elkhound.model.program import Program, program_of
from elkhound.model.schedule import (
    Contention,
    OptionPayload,
    Schedule,
    ScheduleOperator,
    ScheduleOption,
    ScheduleProblem,
)
from elkhound.model.timing import fits, timeline
from elkhound.simpy_chip import Fidelity, SramExceededError, simulate

CHIP = Chip(
    name="nanosecond",
    chips=1,
    cores_per_chip=4,
    clock_hz=1_000_000_000,
    core=Core(1000, 0, 16, 64, 64),
    links=AllToAll(4_000_000_000, 4_000_000_000, 2, 0, 1000),
    hbm=Hbm(4_000_000_000, 5, 1),
)
ROOMY_BYTES = 10_000
every_program = settings(derandomize=True, deadline=None, max_examples=500)
some_programs = settings(derandomize=True, deadline=None, max_examples=100)

cycles = st.integers(0, 12)


@st.composite
def options(draw: st.DrawFn, streams: bool, overlap: bool) -> ScheduleOption:
    distribute, compute, exchange = draw(cycles), draw(cycles), draw(cycles)
    inner = max(compute, exchange) if overlap else compute + exchange
    preload = draw(cycles) if streams else 0
    option = ScheduleOption(
        0,
        draw(st.integers(0, 50)),
        draw(st.integers(1, 40)) if streams else 0,
        preload,
        draw(st.integers(0, preload)),
        distribute + inner,
        distribute + exchange,
        distribute,
        compute,
        exchange,
        OptionPayload((), (), 1, draw(st.integers(1, 5)), 0, 0, 0, 0),
    )
    if overlap or draw(st.booleans()):
        return option
    return replace(
        option, distribute_cycles=None, compute_cycles=None, exchange_cycles=None
    )


@st.composite
def plans(
    draw: st.DrawFn, sram_bytes: int = ROOMY_BYTES, overlap: bool | None = None
) -> tuple[ScheduleProblem, Schedule]:
    """A problem under the rule `none`, and a plan with legal gates."""
    overlaps = draw(st.booleans()) if overlap is None else overlap
    operators: list[ScheduleOperator] = []
    gates: list[int | None] = []
    for index in range(draw(st.integers(1, 8))):
        streams = draw(st.booleans())
        option = draw(options(streams, overlaps))
        resident_bytes = draw(st.integers(0, 10))
        operators.append(ScheduleOperator(f"op{index}", (option,), resident_bytes))
        gates.append(draw(st.integers(0, index)) if streams else None)
    problem = ScheduleProblem(sram_bytes, tuple(operators), Contention.NONE)
    return problem, Schedule(tuple(gates), (0,) * len(operators))


def planned_link_work(program: Program) -> int:
    return sum(
        task.option.preload_link_cycles + task.option.execute_link_cycles
        for task in program.tasks
    )


@every_program
@given(plans())
def test_without_contention_it_equals_the_planned_times(
    case: tuple[ScheduleProblem, Schedule],
) -> None:
    score = simulate(program_of(*case), contention=False, latency=False)
    planned = timeline(*case)
    assert score.makespan_cycles == planned.makespan
    for index, operator in enumerate(score.operators):
        assert operator.preload_start_cycle == planned.preload_start[index]
        assert operator.preload_end_cycle == planned.preload_end[index]
        assert operator.execute_start_cycle == planned.execute_start[index]
        assert operator.execute_end_cycle == planned.execute_end[index]
    assert score.split.contention == 0
    assert score.split.idle == 0


@pytest.mark.parametrize("overlap", [False, True])
@some_programs
@given(data=st.data())
def test_a_chip_with_everything_off_equals_the_planned_times_too(
    data: st.DataObject, overlap: bool
) -> None:
    problem, plan = data.draw(plans(overlap=overlap))
    chip = replace(CHIP, overlap_exchange=overlap, hbm=Hbm(4_000_000_000, 5, 2, 16, 8))
    operators = tuple(
        replace(operator, options=tuple(map(with_bytes, operator.options)))
        for operator in problem.operators
    )
    problem = replace(problem, operators=operators)
    program = program_of(problem, plan, chip)
    off = simulate(program, contention=False, latency=False, efficiency=False)
    planned = timeline(problem, plan)
    assert off.makespan_cycles == planned.makespan
    assert [o.execute_start_cycle for o in off.operators] == list(planned.execute_start)
    assert simulate(program).makespan_cycles >= planned.makespan


def with_bytes(option: ScheduleOption) -> ScheduleOption:
    """Give an option what stripes, bursts and the SRAM port act on."""
    assert option.payload is not None
    payload = replace(
        option.payload,
        hbm_bytes=4 * option.preload_cycles,
        exchange_bytes=4 * (option.exchange_cycles or 0),
    )
    return replace(option, payload=payload)


@every_program
@given(plans())
def test_with_contention_it_is_never_faster_and_conserves_work(
    case: tuple[ScheduleProblem, Schedule],
) -> None:
    program = program_of(*case)
    score = simulate(program)
    assert score.makespan_cycles >= timeline(*case).makespan
    assert sum(astuple(score.split)) == score.makespan_cycles
    assert min(astuple(score.split)) >= 0
    core = score.cores[0]
    assert core.link_work_cycles == planned_link_work(program)
    assert core.link_peak_load <= 1
    assert core.delivered_bytes == sum(t.option.preload_bytes for t in program.tasks)
    assert core.compute_cycles == sum(
        task.option.execute_cycles - task.option.execute_link_cycles
        if task.option.compute_cycles is None
        else task.option.compute_cycles
        for task in program.tasks
    )
    assert score.occupancy[-1].total_bytes == 0


@every_program
@given(plans())
def test_with_contention_it_equals_a_chip_run_cycle_by_cycle(
    case: tuple[ScheduleProblem, Schedule],
) -> None:
    program = program_of(*case)
    score = simulate(program)
    chip = ClockedChip(program)
    assert score.makespan_cycles == chip.run()
    for index, operator in enumerate(score.operators):
        assert operator.preload_end_cycle == chip.preload_end.get(index)
        assert operator.execute_end_cycle == chip.execute_end[index]


@pytest.mark.parametrize("overlap", [False, True])
@some_programs
@given(data=st.data())
def test_latency_never_makes_a_program_faster(
    data: st.DataObject, overlap: bool
) -> None:
    case = data.draw(plans(overlap=overlap))
    chip = replace(CHIP, overlap_exchange=overlap)
    score = simulate(program_of(*case, chip))
    assert score.makespan_cycles >= timeline(*case).makespan
    assert sum(astuple(score.split)) == score.makespan_cycles
    assert min(astuple(score.split)) >= 0


@every_program
@given(plans(sram_bytes=90))
def test_the_sram_check_accepts_exactly_what_the_problem_accepts(
    case: tuple[ScheduleProblem, Schedule],
) -> None:
    program = program_of(*case)
    if fits(*case):
        assert simulate(program).peak_bytes <= 90
    else:
        with pytest.raises(SramExceededError):
            simulate(program)


@some_programs
@given(plans(overlap=False))
def test_where_all_cores_do_the_same_core_equals_class(
    case: tuple[ScheduleProblem, Schedule],
) -> None:
    program = program_of(*case, CHIP)
    merged = simulate(program, fidelity=Fidelity.CLASS)
    apart = simulate(program, fidelity=Fidelity.CORE)
    assert apart.operators == merged.operators
    assert apart.cores == merged.cores
    assert [core.multiplicity for core in apart.cores] == [4]


@st.composite
def ragged_plans(draw: st.DrawFn) -> Program:
    """A program on four cores whose operators are cut unevenly, and leave some idle."""
    problem, plan = draw(plans(overlap=False))
    operators = []
    for operator in problem.operators:
        splits = draw(st.sampled_from(((4,), (2, 2), (3,), (1, 4), (2, 1), (1,))))
        sizes = [draw(st.integers(split, 9)) for split in splits]
        names = "mn"[: len(splits)]
        option = operator.options[0]
        assert option.payload is not None
        payload = replace(
            option.payload,
            splits=tuple(zip(names, splits, strict=True)),
            sizes=tuple(zip(names, sizes, strict=True)),
        )
        ragged = replace(option, payload=payload)
        operators.append(replace(operator, options=(ragged,)))
    return program_of(replace(problem, operators=tuple(operators)), plan, CHIP)


@some_programs
@given(ragged_plans())
def test_uneven_tiles_differ_in_what_cores_do_but_not_in_the_makespan(
    program: Program,
) -> None:
    merged = simulate(program, fidelity=Fidelity.CLASS)
    apart = simulate(program, fidelity=Fidelity.CORE)
    # core 0 has a largest tile of every operator, and the slowest core counts
    assert apart.makespan_cycles == merged.makespan_cycles
    assert apart.compute_utilisation == merged.compute_utilisation
    assert apart.link_utilisation == merged.link_utilisation
    for score in (merged, apart):
        assert sum(core.multiplicity for core in score.cores) == 4
        assert max(core.link_peak_load for core in score.cores) <= 1
        received = sum(c.link_work_cycles * c.multiplicity for c in score.cores)
        assert received <= 4 * planned_link_work(program)


MESH = replace(
    CHIP,
    cores_per_chip=6,
    links=Mesh2D(1, 6, 4_000_000_000, 4_000_000_000, 2, 0),
)


@some_programs
@given(plans(overlap=False))
def test_on_a_mesh_the_class_ends_when_the_slowest_core_does(
    case: tuple[ScheduleProblem, Schedule],
) -> None:
    program = program_of(*case, MESH)
    merged = simulate(program, fidelity=Fidelity.CLASS)
    apart = simulate(program, fidelity=Fidelity.CORE)
    assert apart.operators == merged.operators
    planned = timeline(*case)
    assert apart.makespan_cycles >= planned.makespan
    alone = simulate(program, fidelity=Fidelity.CORE, contention=False, latency=False)
    assert alone.makespan_cycles == planned.makespan
    for score in (apart, merged):
        assert max(core.link_peak_load for core in score.cores) <= 1


def test_scores_and_traces_do_not_depend_on_the_hash_seed(tmp_path: Path) -> None:
    script = tmp_path / "score.py"
    script.write_text(
        "import json, sys\n"
        "from random import Random\n"
        f"sys.path.insert(0, {str(Path(__file__).parents[1])!r})\n"
        "from oracles.random_programs import random_case\n"
        "from oracles.simulator_fuzz import CHIPS\n"
        "from elkhound.simpy_chip import *\n"
        "for seed, chip in enumerate(CHIPS):\n"
        "    program = random_case(Random(seed), chip)[2]\n"
        "    for fidelity in Fidelity:\n"
        "        score = simulate(program, fidelity=fidelity)\n"
        "        print(json.dumps(score_document(score)))\n"
        "        print(json.dumps(trace_document(program, score)))\n"
    )
    answers = {
        subprocess.run(
            [sys.executable, script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(answers) == 1
    assert answers.pop().count("makespan_cycles") == 2 * 2 * len(CHIPS)


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_fuzzed_programs_run_or_are_refused_with_a_reason(first: int) -> None:
    """A part of `benchmarks/fuzz_simulator.py`, which takes 10,000."""
    outcomes = {fuzz(seed) for seed in range(first, first + 50)}
    assert any(outcome.startswith("ran") for outcome in outcomes)
    assert any("refused: deadlock" in outcome for outcome in outcomes)


def test_the_simulator_shares_no_timing_code() -> None:
    nouns = {"program", "chip", "schedule", "graph", "errors"}
    fused = {"accelerator", "mapping", "workload", "physics", "legality"}
    structure = {
        "nest": {"without_null_loops"},
        "occupancy": {"Reservation", "reservations"},
    }
    allowed = {*nouns, *(f"fusion.{name}" for name in (*fused, *structure))}
    room = Path(elkhound.simpy_chip.__file__).parent
    imports = [
        node
        for path in room.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and node.module
    ]
    model = {
        node.module: {alias.name for alias in node.names}
        for node in imports
        if node.module is not None and node.module.startswith("elkhound.model")
    }
    assert set(model) <= {f"elkhound.model.{noun}" for noun in allowed}
    for noun, names in structure.items():
        assert model[f"elkhound.model.fusion.{noun}"] <= names
