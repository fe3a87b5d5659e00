"""The simulated chip: puts host, HBM, cores and ports together and runs a program."""

from __future__ import annotations

from collections.abc import Sequence

import simpy

from elkhound.model.errors import BadInputError
from elkhound.model.program import Execute, PreloadAsync, Program
from elkhound.simpy_chip.core import Core, work_of
from elkhound.simpy_chip.hbm import Hbm
from elkhound.simpy_chip.host import Host, check_program, text_of
from elkhound.simpy_chip.links.ports import Port
from elkhound.simpy_chip.score import (
    CoreScore,
    OperatorScore,
    PhaseKind,
    Score,
    split_time,
)
from elkhound.simpy_chip.sram import Sram
from elkhound.simpy_chip.waits import DeadlockError, Waits


class CountingEnvironment(simpy.Environment):
    """SimPy's clock and event queue, with a count of the events processed."""

    def __init__(self) -> None:
        super().__init__()
        self.events = 0

    def step(self) -> None:
        """Process the next event."""
        super().step()
        self.events += 1


def simulate(
    program: Program, *, contention: bool = True, latency: bool = True
) -> Score:
    """Run a program on the simulated chip and score it.

    Cores that do the same are one class with a multiplicity; here all cores of the
    chip are one class, because every operator runs on all of them with the cycles of
    its option's slowest core. Preloads and exchanges share each core's in-port by
    max-min fairness. Without a chip (problem files) there is one core, one in-port,
    one HBM server, and no latency.

    Not simulated: the SRAM port that remote reads and compute share, and the lower
    efficiency of HBM on short bursts. Both would make a program slower.

    Parameters
    ----------
    program : Program
        What the host issues.
    contention : bool
        False: every flow gets the rate it asks for. With `latency` off too, the
        makespan is that of the schedule problem under the rule `none`.
    latency : bool
        False: bytes arrive at once. True, with a chip: HBM latency from the issue of
        a preload to its first byte, passing while the request queues, and link
        latency in every distribute and exchange phase.

    Raises
    ------
    SramExceededError
        If more is reserved on a core than its usable SRAM.
    DeadlockError
        If an execute waits for a preload that is never issued.
    BadInputError
        If instructions are missing, repeated or out of order.
    """
    multiplicity = program.chip.cores if program.chip is not None else 1
    classes = (("every core", multiplicity),)
    return run(program, classes, contention=contention, latency=latency)


def run(
    program: Program,
    classes: Sequence[tuple[str, int]],
    *,
    contention: bool,
    latency: bool,
) -> Score:
    """Run a program on cores or core classes, given as (name, multiplicity)."""
    check_program(program)
    _check_overlap(program)
    env = CountingEnvironment()
    waits = Waits()
    hbm_latency, link_latency = _latencies(program) if latency else (0, 0)
    cores = [
        Core(
            env,
            name=name,
            multiplicity=multiplicity,
            port=Port(env, contention=contention),
            sram=Sram(env, name, program.sram_bytes),
            latency_cycles=link_latency,
            waits=waits,
        )
        for name, multiplicity in classes
    ]
    hbm = Hbm(env, program.tasks, cores, hbm_latency)
    host = Host(env, program, hbm, cores, waits)
    env.run()
    if not host.finished:
        raise DeadlockError(int(env.now), waits.open, _missing_preload(program))
    return _score(program, hbm, cores, env.events, contention, latency)


def _check_overlap(program: Program) -> None:
    """Refuse options whose cycles contradict the chip's overlap switch."""
    if program.chip is None:
        return
    for task in program.tasks:
        option = task.option
        if not option.compute_cycles or not option.exchange_cycles:
            continue
        if work_of(option).overlapped != program.chip.overlap_exchange:
            raise BadInputError(
                f"execute_cycles = {option.execute_cycles} contradicts "
                f"overlap_exchange = {program.chip.overlap_exchange} of chip "
                f"{program.chip.name}",
                code="bad-program",
                where=f"operator {task.name}",
            )


def _latencies(program: Program) -> tuple[int, int]:
    """Return the cycles of HBM and link latency."""
    chip = program.chip
    if chip is None:
        return 0, 0
    return (
        chip.latency_cycles(chip.hbm.latency_ns),
        chip.latency_cycles(chip.links.latency_ns),
    )


def _missing_preload(program: Program) -> str:
    """Say which execute has no preload before it."""
    issued: set[int] = set()
    for index, instruction in enumerate(program.instructions):
        operator = instruction.operator
        if isinstance(instruction, PreloadAsync):
            issued.add(operator)
        elif program.tasks[operator].option.streams and operator not in issued:
            preload = PreloadAsync(operator)
            name = text_of(preload, program)
            execute = text_of(Execute(operator), program)
            if preload not in program.instructions:
                return f"{name} is missing"
            late = program.instructions.index(preload)
            return f"{name} is instruction {late}, after {execute} at {index}"
    return ""


def _score(
    program: Program,
    hbm: Hbm,
    cores: Sequence[Core],
    events: int,
    contention: bool,
    latency: bool,
) -> Score:
    operators = tuple(
        _operator_score(program, hbm, cores, operator)
        for operator in range(len(program.tasks))
    )
    makespan = operators[-1].execute_end_cycle if operators else 0
    core_scores = tuple(_core_score(core) for core in cores)
    hbm_bytes = _hbm_bytes(program)
    if program.chip is not None and hbm_bytes is not None:
        hbm_work = program.chip.hbm_cycles(hbm_bytes)
    else:
        hbm_work = sum(task.option.preload_cycles for task in program.tasks)
    count = sum(core.multiplicity for core in cores)
    link_work = sum(c.link_work_cycles * c.multiplicity for c in core_scores) / count
    compute = sum(c.compute_cycles * c.multiplicity for c in core_scores) / count
    return Score(
        makespan_cycles=makespan,
        operators=operators,
        split=split_time(operators, makespan),
        cores=core_scores,
        sram_bytes=program.sram_bytes,
        hbm_busy_cycles=sum(
            d.end_cycle - d.start_cycle for d in hbm.deliveries.values()
        ),
        hbm_bytes=hbm_bytes,
        hbm_utilisation=hbm_work / makespan if makespan else None,
        link_utilisation=float(link_work / makespan) if makespan else None,
        compute_utilisation=compute / makespan if makespan else None,
        contention=contention,
        latency=latency,
        events=events,
    )


def _operator_score(
    program: Program, hbm: Hbm, cores: Sequence[Core], operator: int
) -> OperatorScore:
    executions = [core.executions[operator] for core in cores]
    slowest = max(executions, key=lambda execution: execution.end_cycle)
    delivery = hbm.deliveries.get(operator)
    lasted = slowest.end_cycle - slowest.start_cycle
    return OperatorScore(
        name=program.tasks[operator].name,
        preload_issue_cycle=delivery.issue_cycle if delivery else None,
        preload_start_cycle=delivery.start_cycle if delivery else None,
        preload_end_cycle=delivery.end_cycle if delivery else None,
        execute_issue_cycle=slowest.issue_cycle,
        execute_start_cycle=slowest.start_cycle,
        execute_end_cycle=slowest.end_cycle,
        contention_cycles=lasted - slowest.alone_cycles,
        phases=slowest.phases,
    )


def _core_score(core: Core) -> CoreScore:
    phases = (phase for execution in core.executions for phase in execution.phases)
    return CoreScore(
        name=core.name,
        multiplicity=core.multiplicity,
        peak_bytes=core.sram.peak_bytes,
        occupancy=core.sram.occupancy,
        delivered_bytes=core.delivered_bytes,
        link_work_cycles=core.port.work_done,
        link_peak_load=core.port.peak_load,
        compute_cycles=sum(p.cycles for p in phases if p.kind is PhaseKind.COMPUTE),
    )


def _hbm_bytes(program: Program) -> int | None:
    """Return the true bytes of all preloads, or None if one option hides them."""
    payloads = [t.option.payload for t in program.tasks if t.option.streams]
    known = [payload.hbm_bytes for payload in payloads if payload is not None]
    return sum(known) if len(known) == len(payloads) else None
