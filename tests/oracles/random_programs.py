"""Random legal programs for the simulator, with phases and tiles of every kind."""

from __future__ import annotations

from random import Random

from elkhound.model.chip import AllToAll, Chip, Core, Hbm, Links, Mesh2D
from elkhound.model.program import Program, program_of
from elkhound.model.schedule import (
    OptionPayload,
    Schedule,
    ScheduleOperator,
    ScheduleOption,
    ScheduleProblem,
)

RATE = 4_000_000_000


def chip(links: Links, cores: int, *, overlap: bool = False) -> Chip:
    """Return a chip of 1 GHz: 4 B/cycle on every link, 16 B/cycle from HBM."""
    core = Core(1_000_000, 0, 16, 64, 64)
    hbm = Hbm(4 * RATE, 5, 2, 64, 32)
    return Chip("random", 1, cores, 1_000_000_000, core, links, hbm, overlap)


def all_to_all(cores: int, *, overlap: bool = False) -> Chip:
    """Return a chip with ports."""
    return chip(AllToAll(RATE, RATE, 2, 0, 1000), cores, overlap=overlap)


def mesh(rows: int, columns: int, *, overlap: bool = False) -> Chip:
    """Return a chip with a mesh."""
    links = Mesh2D(rows, columns, RATE, RATE, 2, 0)
    return chip(links, rows * columns, overlap=overlap)


def random_option(
    random: Random, on: Chip, *, streams: bool, longest: int, uneven: bool
) -> ScheduleOption:
    """Return an option of up to `longest` cycles in each phase."""
    splits = random.choice(
        [(on.cores,), (on.cores // 2, 2), (max(1, on.cores - 1),), (2, 2, 2), (1,)]
    )
    if min(splits) < 1 or _product(splits) > on.cores:
        splits = (1,)
    names = "mnk"[: len(splits)]
    sizes = [random.randint(s, 5 * s) if uneven else s for s in splits]
    distribute, compute, exchange = (random.randint(0, longest) for _ in range(3))
    preload = random.randint(1, longest) if streams else 0
    payload = OptionPayload(
        splits=tuple(zip(names, splits, strict=True)),
        tensors=(),
        cores_used=_product(splits),
        steps=random.randint(1, 6),
        syncs=0,
        hbm_bytes=random.randint(0, 16 * preload),
        exchange_bytes=random.randint(0, 4 * exchange),
        distribute_bytes=0,
        sizes=tuple(zip(names, sizes, strict=True)),
    )
    both = max(compute, exchange) if on.overlap_exchange else compute + exchange
    return ScheduleOption(
        execute_plan=0,
        execute_bytes=random.randint(0, 60),
        preload_bytes=random.randint(1, 60) if streams else 0,
        preload_cycles=preload,
        preload_link_cycles=random.randint(0, preload),
        execute_cycles=distribute + both,
        execute_link_cycles=distribute + exchange,
        distribute_cycles=distribute,
        compute_cycles=compute,
        exchange_cycles=exchange,
        payload=payload,
    )


def random_case(
    random: Random,
    on: Chip,
    *,
    longest: int = 600,
    uneven: bool = True,
    sram_bytes: int = 1_000_000,
) -> tuple[ScheduleProblem, Schedule, Program]:
    """Return a problem with one option per operator, a plan, and its program."""
    operators, gates = [], []
    for index in range(random.randint(1, 8)):
        streams = random.random() < 0.7
        option = random_option(
            random, on, streams=streams, longest=longest, uneven=uneven
        )
        operators.append(
            ScheduleOperator(f"op{index}", (option,), random.randint(0, 10))
        )
        gates.append(random.randint(0, index) if streams else None)
    problem = ScheduleProblem(sram_bytes, tuple(operators))
    plan = Schedule(tuple(gates), (0,) * len(operators))
    return problem, plan, program_of(problem, plan, on)


def _product(factors: tuple[int, ...]) -> int:
    result = 1
    for factor in factors:
        result *= factor
    return result
