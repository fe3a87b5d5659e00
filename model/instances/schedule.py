"""Random schedule problems, by family of pressure."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from elkhound.model.errors import BadInputError, nearest
from elkhound.model.schedule import (
    Contention,
    ScheduleOperator,
    ScheduleOption,
    ScheduleProblem,
)


@dataclass(frozen=True, slots=True)
class Pressure:
    """Where the problems of one family hurt; shares are in permille.

    Parameters
    ----------
    hbm_permille : (int, int)
        Range of preload cycles per cycle of the operator's work.
    exchange_permille, inbound_permille : (int, int)
        Range of link work per cycle of computing / of HBM time.
    room_permille : (int, int)
        Range of the SRAM beyond what the largest single operator needs, per byte
        that all operators together could preload.
    idle_permille : int
        How many operators stream nothing.
    resident_permille : int
        How many operators start an activation that stays.
    layered : bool
        Whether one block of operators repeats.
    unstructured : bool
        Every number on its own, with dominated options, preload space above execute
        space and preloads without bytes or without cycles.
    """

    hbm_permille: tuple[int, int] = (500, 1500)
    exchange_permille: tuple[int, int] = (100, 600)
    inbound_permille: tuple[int, int] = (200, 1000)
    room_permille: tuple[int, int] = (150, 500)
    idle_permille: int = 0
    resident_permille: int = 0
    layered: bool = False
    unstructured: bool = False


FAMILIES = {
    "balanced": Pressure(),
    "tight-sram": Pressure(room_permille=(0, 150)),
    "hbm-bound": Pressure(hbm_permille=(1500, 4000)),
    "link-bound": Pressure(
        exchange_permille=(1000, 4000), inbound_permille=(900, 1200)
    ),
    "idle-mixed": Pressure(idle_permille=400),
    "resident": Pressure(resident_permille=500),
    "layers": Pressure(layered=True, idle_permille=200),
    "unstructured": Pressure(
        idle_permille=150, resident_permille=200, unstructured=True
    ),
}


def random_schedule(
    seed: int,
    size: int,
    family: str = "balanced",
    *,
    options: tuple[int, int] = (2, 2),
    contention: Contention = Contention.STRETCH,
    link_stretch_permille: int = 1000,
    max_outstanding: int | None = None,
    feasible: bool = True,
) -> ScheduleProblem:
    """Draw a schedule problem; the same arguments give the same problem.

    Parameters
    ----------
    seed : int
        Any integer.
    size : int
        Number of operators, at least 1.
    family : str
        A key of `FAMILIES`.
    options : (int, int)
        Execute plans of an operator, and preload states of each plan.
    contention, link_stretch_permille, max_outstanding
        As in `ScheduleProblem`; they do not change the numbers drawn.
    feasible : bool
        False makes the SRAM one byte too small for the operator that needs most.
    """
    if family not in FAMILIES:
        raise BadInputError(
            f"family {family} is unknown", hint=nearest(family, list(FAMILIES))
        )
    for what, value in (
        ("size", size),
        ("execute plans", options[0]),
        ("preload states", options[1]),
    ):
        if value < 1:
            raise BadInputError(f"{what}: {value}, must be at least 1")
    pressure = FAMILIES[family]
    random = Random(f"{family} {size} {options} {seed}")
    block = _layer_length(size) if pressure.layered else size
    drawn = [_operator_options(random, pressure, options) for _ in range(block)]
    resident_bytes = _resident_bytes(random, pressure, size)
    operators = tuple(
        ScheduleOperator(
            name=f"layer{i // block}.op{i % block}" if pressure.layered else f"op{i}",
            options=drawn[i % block],
            resident_bytes=resident_bytes[i],
            layer=i // block if pressure.layered else None,
        )
        for i in range(size)
    )
    least = least_sram_bytes(operators)
    preloads = sum(max(o.preload_bytes for o in op.options) for op in operators)
    room = preloads * random.randint(*pressure.room_permille) // 1000
    return ScheduleProblem(
        sram_bytes=least + room if feasible else least - 1,
        operators=operators,
        contention=contention,
        link_stretch_permille=link_stretch_permille,
        max_outstanding=max_outstanding,
        name=f"{family}-{size}-{seed}",
    )


def least_sram_bytes(operators: tuple[ScheduleOperator, ...]) -> int:
    """Return the least SRAM with any plan: each operator alone, in its least option.

    A plan with every gate g_j = j keeps nothing outstanding, so it needs no more.
    """
    return max(operator.least_bytes for operator in operators)


def _layer_length(size: int) -> int:
    """Give four operators to a layer, or two layers to a small problem."""
    return 4 if size >= 8 else (size + 1) // 2


def _operator_options(
    random: Random, pressure: Pressure, options: tuple[int, int]
) -> tuple[ScheduleOption, ...]:
    """Draw one operator's options, all streaming or none."""
    streams = random.randrange(1000) >= pressure.idle_permille
    plans, states = options
    if pressure.unstructured:
        return tuple(
            _unstructured_option(random, plan, streams)
            for plan in range(plans)
            for _ in range(states if streams else 1)
        )
    return _structured_options(random, pressure, plans, states if streams else 0)


def _unstructured_option(random: Random, plan: int, streams: bool) -> ScheduleOption:
    """Draw every number on its own."""
    preload_bytes = random.randint(0, 30) if streams else 0
    preload_cycles = random.randint(0, 30) if streams else 0
    if streams and preload_bytes == 0:
        preload_cycles = max(preload_cycles, 1)
    execute_cycles = random.randint(0, 30)
    return ScheduleOption(
        execute_plan=plan,
        execute_bytes=random.randint(0, 40),
        preload_bytes=preload_bytes,
        preload_cycles=preload_cycles,
        preload_link_cycles=random.randint(0, preload_cycles),
        execute_cycles=execute_cycles,
        execute_link_cycles=random.randint(0, execute_cycles),
    )


def _structured_options(
    random: Random, pressure: Pressure, plans: int, states: int
) -> tuple[ScheduleOption, ...]:
    """Draw options that trade space for time as partitions of one operator do.

    A larger execute plan exchanges less; a larger preload state leaves less to
    distribute, but fills more space and brings more over the links. The execute space
    holds the preloaded data. No states: the operator streams nothing.
    """
    data_bytes = random.randint(8, 40)
    compute = random.randint(6, 40)
    hbm_cycles = _scaled(compute, random.randint(*pressure.hbm_permille))
    slowest_exchange = _scaled(compute, random.randint(*pressure.exchange_permille))
    inbound = _scaled(hbm_cycles, random.randint(*pressure.inbound_permille))
    buffer_bytes, exchange = random.randint(2, 10), slowest_exchange
    drawn = []
    for plan in range(plans):
        for state in range(max(states, 1)):
            held = data_bytes * (state + 1) // states if states else 0
            missing = data_bytes - held if states else 0
            link = _scaled(inbound, 1000 * held // data_bytes)
            distribute = _scaled(slowest_exchange, 500 * missing // data_bytes)
            drawn.append(
                ScheduleOption(
                    execute_plan=plan,
                    execute_bytes=data_bytes + buffer_bytes,
                    preload_bytes=held,
                    preload_cycles=max(hbm_cycles, link) if states else 0,
                    preload_link_cycles=link if states else 0,
                    execute_cycles=distribute + compute + exchange,
                    execute_link_cycles=distribute + exchange,
                    distribute_cycles=distribute,
                    compute_cycles=compute,
                    exchange_cycles=exchange,
                )
            )
        buffer_bytes += random.randint(4, 24)
        exchange = exchange * random.randint(300, 850) // 1000
    return tuple(drawn)


def _scaled(value: int, permille: int) -> int:
    """Return the share of a value, rounded up."""
    return -(-value * permille // 1000)


def _resident_bytes(random: Random, pressure: Pressure, size: int) -> list[int]:
    """Draw activations that stay from a producer to a later consumer."""
    resident = [0] * size
    for producer in range(size):
        if random.randrange(1000) < pressure.resident_permille:
            size_bytes = random.randint(2, 12)
            for i in range(producer, min(size, producer + random.randint(1, 5))):
                resident[i] += size_bytes
    return resident
