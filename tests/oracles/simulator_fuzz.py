"""What holds of any program: legal ones run and conserve, broken ones are refused."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from elkhound.model.errors import BadInputError
from elkhound.model.program import Execute, Instruction, PreloadAsync, Program
from elkhound.model.referee import judge
from elkhound.model.schedule import Contention, Schedule, ScheduleProblem
from elkhound.simpy_chip import Fidelity, Score, SramExceededError, simulate
from oracles.random_programs import all_to_all, mesh, random_case

CHIPS = (
    all_to_all(1),
    all_to_all(5),
    all_to_all(5, overlap=True),
    mesh(1, 4),
    mesh(3, 2),
    mesh(2, 5, overlap=True),
)


def fuzz(seed: int) -> str:
    """Draw one program, check it, break it, check again; return what became of it."""
    random = Random(seed)
    chip = random.choice(CHIPS)
    problem, plan, program = random_case(
        random,
        chip,
        longest=random.choice((3, 40, 2000)),
        uneven=random.random() < 0.5,
        sram_bytes=random.choice((90, 150, 1_000_000)),
    )
    fidelity = random.choice(list(Fidelity))
    said = _check_legal(replace(problem, contention=Contention.NONE), plan, program,
                        fidelity)  # fmt: skip
    broken = _break(random, program)
    return f"{said}; {_check_broken(broken, fidelity)}"


def _check_legal(
    problem: ScheduleProblem, plan: Schedule, program: Program, fidelity: Fidelity
) -> str:
    verdict = judge(problem, plan)
    try:
        score = simulate(program, fidelity=fidelity)
    except SramExceededError:
        assert verdict.objective is None, "the referee accepts, the SRAM check refuses"
        return "refused by both"
    assert verdict.objective is not None, "the referee refuses, the SRAM check accepts"
    assert score.makespan_cycles >= verdict.objective
    _check_conservation(program, score)
    return "ran"


def _check_conservation(program: Program, score: Score) -> None:
    cores = 1 if program.chip is None else program.chip.cores
    assert sum(core.multiplicity for core in score.cores) == cores
    assert max(core.link_peak_load for core in score.cores) <= 1
    assert max(link.peak_load for link in score.links) <= 1
    assert max(link.work_cycles for link in score.links) <= score.makespan_cycles
    assert score.peak_bytes <= program.sram_bytes
    assert score.occupancy[-1].total_bytes == 0
    options = [task.option for task in program.tasks]
    for option, operator in zip(options, score.operators, strict=True):
        assert (operator.preload_end_cycle is not None) == option.streams
        assert operator.contention_cycles >= 0
    if all(option.preload_link_cycles or not option.streams for option in options):
        _check_ports(score)
    # the first core has a largest tile of everything
    delivered = sum(option.preload_bytes for option in options)
    assert max(core.delivered_bytes for core in score.cores) == delivered
    computed = sum(option.compute_cycles or 0 for option in options)
    assert max(core.compute_cycles for core in score.cores) == computed
    split = score.split
    parts = (split.preload_only, split.execute_only, split.overlapped,
             split.contention, split.idle)  # fmt: skip
    assert min(parts) >= 0
    assert sum(parts) == score.makespan_cycles


def _check_ports(score: Score) -> None:
    """What in-ports receive is what out-ports send and HBM delivers."""
    ports = [link for link in score.links if "port of" in link.name]
    if not ports:  # a mesh
        return
    brought = sum(core.delivered_bytes * core.multiplicity for core in score.cores)
    for link in ports:
        assert link.carried_bytes is not None
        sign = -1 if link.name.startswith("in-port") else 1
        brought += sign * link.carried_bytes * link.multiplicity
    assert brought == 0


def _break(random: Random, program: Program) -> Program:
    """Drop, repeat, swap, move or misdirect instructions at random."""
    instructions = list(program.instructions)
    place = random.randrange(len(instructions))
    match random.randrange(5):
        case 0:
            del instructions[place]
        case 1:
            copied = instructions[place]
            instructions.insert(random.randrange(len(instructions) + 1), copied)
        case 2:
            other = random.randrange(len(instructions))
            instructions[place], instructions[other] = (
                instructions[other],
                instructions[place],
            )
        case 3:
            moved = instructions.pop(place)
            instructions.insert(random.randrange(len(instructions) + 1), moved)
        case _:
            wrong = random.randint(-1, len(program.tasks))
            instructions[place] = type(instructions[place])(wrong)
    return replace(program, instructions=tuple(instructions))


def _check_broken(program: Program, fidelity: Fidelity) -> str:
    legal = _is_legal(program)
    try:
        score = simulate(program, fidelity=fidelity)
    except SramExceededError:
        return "exceeds the SRAM"
    except BadInputError as error:
        if legal or error.code not in ("bad-program", "deadlock"):
            raise
        return f"refused: {error.code}"
    assert legal, "ran a broken program"
    _check_conservation(program, score)
    return "still legal"


def _is_legal(program: Program) -> bool:
    """Whether executes come once in order, each preload once and before its execute."""
    order: list[Instruction] = list(program.instructions)
    executes = [i.operator for i in order if isinstance(i, Execute)]
    preloads = [i.operator for i in order if isinstance(i, PreloadAsync)]
    streaming = [k for k, task in enumerate(program.tasks) if task.option.streams]
    return (
        executes == list(range(len(program.tasks)))
        and sorted(preloads) == streaming
        and all(
            order.index(PreloadAsync(k)) < order.index(Execute(k)) for k in preloads
        )
    )
