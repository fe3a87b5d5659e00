"""The simulated chip: puts host, HBM, cores and ports together and runs a program."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import simpy

from elkhound.model.errors import BadInputError
from elkhound.model.program import Execute, PreloadAsync, Program, Task
from elkhound.simpy_chip.core import Cores, Execution, work_of
from elkhound.simpy_chip.hbm import Delivery, Hbm
from elkhound.simpy_chip.host import Host, check_program, text_of
from elkhound.simpy_chip.links.network import Network
from elkhound.simpy_chip.links.topology import topology_of
from elkhound.simpy_chip.loads import core_scores_of, link_scores_of, tells_exchange
from elkhound.simpy_chip.placement import Fidelity, cells_of
from elkhound.simpy_chip.score import (
    CoreScore,
    Limit,
    OperatorScore,
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
    program: Program,
    *,
    fidelity: Fidelity = Fidelity.CLASS,
    contention: bool = True,
    latency: bool = True,
    efficiency: bool = True,
) -> Score:
    """Run a program on the simulated chip and score it.

    Preloads and exchanges share ports by max-min fairness. Without a chip (problem
    files) there is one core, one HBM server, and no latency.

    Parameters
    ----------
    program : Program
        What the host issues.
    fidelity : Fidelity
        Whether every core is simulated, or every class of cores whose tiles are the
        same throughout the program.
    contention : bool
        False: every flow gets the rate it asks for, and reads by peers do not take
        the SRAM port from compute. With `latency` and `efficiency` off too, the
        makespan is that of the schedule problem under the rule `none`.
    latency : bool
        False: bytes arrive at once. True, with a chip: HBM latency from the issue of
        a preload to its first byte, passing while the request queues, and link
        latency in every distribute and exchange phase.
    efficiency : bool
        False: HBM delivers every preload at its full rate, whatever its stripes and
        bursts.

    Raises
    ------
    SramExceededError
        If more is reserved on a core than its usable SRAM.
    DeadlockError
        If an execute waits for a preload that is never issued.
    BadInputError
        If instructions are missing, repeated or out of order.
    """
    check_program(program)
    _check_overlap(program)
    chip = program.chip
    env = CountingEnvironment()
    waits = Waits()
    hbm_latency, link_latency = _latencies(program) if latency else (0, 0)
    cells = cells_of(program, fidelity)
    links = topology_of(chip, len(cells), fidelity)
    network = Network(env, contention=contention)
    cores = Cores(
        env,
        cells=cells,
        links=links,
        network=network,
        sram=Sram(env, "every core", program.sram_bytes),
        latency_cycles=link_latency,
        port_bytes_per_cycle=chip.core.sram_port_bytes_per_cycle
        if chip is not None and contention
        else None,
        waits=waits,
    )
    hbm = Hbm(
        env,
        program.tasks,
        cores,
        links,
        network,
        hbm_latency,
        chip if efficiency else None,
    )
    host = Host(env, program, hbm, cores, waits)
    env.run()
    if not host.finished:
        raise DeadlockError(int(env.now), waits.open, _missing_preload(program))
    operators = tuple(
        _operator_score(task, hbm.deliveries.get(index), execution)
        for index, (task, execution) in enumerate(
            zip(program.tasks, cores.executions, strict=True)
        )
    )
    makespan = operators[-1].execute_end_cycle if operators else 0
    core_scores = core_scores_of(cores, links, network)
    bytes_known = all(tells_exchange(task.option) for task in program.tasks)
    hbm_bytes = _hbm_bytes(program)
    return Score(
        makespan_cycles=makespan,
        operators=operators,
        split=split_time(operators, makespan),
        cores=core_scores,
        links=link_scores_of(cells, links, network, bytes_known=bytes_known),
        sram_bytes=program.sram_bytes,
        occupancy=cores.sram.occupancy,
        peak_bytes=cores.sram.peak_bytes,
        hbm_busy_cycles=sum(
            d.end_cycle - d.start_cycle for d in hbm.deliveries.values()
        ),
        hbm_bytes=hbm_bytes,
        hbm_utilisation=_part(_hbm_work(program, hbm_bytes), makespan),
        link_utilisation=_part(_mean(core_scores, "link_work_cycles"), makespan),
        compute_utilisation=_part(_mean(core_scores, "compute_cycles"), makespan),
        fidelity=str(fidelity),
        contention=contention,
        latency=latency,
        efficiency=efficiency,
        events=env.events,
    )


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


def _operator_score(
    task: Task, delivery: Delivery | None, execution: Execution
) -> OperatorScore:
    lasted = execution.end_cycle - execution.start_cycle
    option = task.option
    link_bound = 0 < option.preload_cycles <= option.preload_link_cycles
    return OperatorScore(
        name=task.name,
        preload_issue_cycle=delivery.issue_cycle if delivery else None,
        preload_start_cycle=delivery.start_cycle if delivery else None,
        preload_end_cycle=delivery.end_cycle if delivery else None,
        execute_issue_cycle=execution.issue_cycle,
        execute_start_cycle=execution.start_cycle,
        execute_end_cycle=execution.end_cycle,
        contention_cycles=lasted - execution.alone_cycles,
        stall_cycles=execution.stall_cycles,
        phases=execution.phases,
        preload_limit=Limit.LINKS if link_bound else Limit.HBM,
    )


def _mean(cores: Sequence[CoreScore], number: str) -> Fraction:
    """Return the mean of a number over all cores."""
    count = sum(core.multiplicity for core in cores)
    total = sum(getattr(core, number) * core.multiplicity for core in cores)
    return Fraction(total) / count


def _part(work: int | Fraction, makespan: int) -> float | None:
    return float(work / makespan) if makespan else None


def _hbm_work(program: Program, hbm_bytes: int | None) -> int:
    """Return the cycles HBM needs for its bytes, or those the options say."""
    if program.chip is not None and hbm_bytes is not None:
        return program.chip.hbm_cycles(hbm_bytes)
    return sum(task.option.preload_cycles for task in program.tasks)


def _hbm_bytes(program: Program) -> int | None:
    """Return the true bytes of all preloads, or None if one option hides them."""
    payloads = [t.option.payload for t in program.tasks if t.option.streams]
    known = [payload.hbm_bytes for payload in payloads if payload is not None]
    return sum(known) if len(known) == len(payloads) else None
