"""A simulation as a Chrome trace, which Perfetto opens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from elkhound.model.program import Program
from elkhound.simpy_chip.core import Superstep, work_of
from elkhound.simpy_chip.placement import Cell, Fidelity, cells_of
from elkhound.simpy_chip.score import OperatorScore, Phase, PhaseKind, Score

Event = dict[str, Any]
Load = tuple[int, int, float]
"""From a cycle until another, a value."""

HOST, HBM, LINKS, CORES = 1, 2, 3, 4
PRELOADS, EXCHANGES = 0, 1
MOST_CLASSES = 16


def trace_document(program: Program, score: Score) -> dict[str, Any]:
    """Return the trace of a simulated program, in the Chrome Trace Event Format.

    Tracks: the host's executes and preload requests; HBM's deliveries; preloads and
    exchanges on the links; compute of the slowest core and of each class of cores, of
    at most the 16 largest. Counters: reserved SRAM per core, HBM bandwidth, and the
    part of a core's link that preloads and exchanges take on average while they last.

    Parameters
    ----------
    program : Program
        What was simulated.
    score : Score
        What came out. Without a chip one cycle is shown as one microsecond.
    """
    clock_hz = 1_000_000 if program.chip is None else program.chip.clock_hz
    classes = sorted(
        cells_of(program, Fidelity.CLASS), key=lambda cell: -cell.multiplicity
    )
    shown = classes[:MOST_CLASSES]
    events = [
        *_names(shown),
        *_host(score),
        *_preloads(program, score),
        *_exchanges(score),
        *_computes(program, score, shown),
        *_counters(program, score, clock_hz),
    ]
    for event in events:
        if "ts" in event:
            event["ts"] = event["ts"] * 1e6 / clock_hz
    events.sort(key=lambda event: event.get("ts", -1.0))
    return {
        "traceEvents": events,
        "displayTimeUnit": "ns",
        "otherData": {
            "chip": None if program.chip is None else program.chip.name,
            "clock_hz": None if program.chip is None else clock_hz,
            "makespan_cycles": score.makespan_cycles,
            "fidelity": score.fidelity,
            "classes": len(classes),
            "classes_shown": len(shown),
        },
    }


def _names(classes: Sequence[Cell]) -> Iterator[Event]:
    processes = {HOST: "host", HBM: "HBM", LINKS: "links", CORES: "cores"}
    for process, name in processes.items():
        yield _named("process_name", process, 0, name)
        yield {"ph": "M", "name": "process_sort_index", "pid": process, "tid": 0,
               "args": {"sort_index": process}}  # fmt: skip
    yield _named("thread_name", HOST, 0, "program")
    yield _named("thread_name", HBM, 0, "deliveries")
    yield _named("thread_name", LINKS, PRELOADS, "preload: HBM to cores")
    yield _named("thread_name", LINKS, EXCHANGES, "exchange: core to core")
    yield _named("thread_name", CORES, 0, "slowest core")
    for number, cell in enumerate(classes, start=1):
        yield _named("thread_name", CORES, number, cell.name)


def _named(what: str, process: int, thread: int, name: str) -> Event:
    return {"ph": "M", "name": what, "pid": process, "tid": _tid(process, thread),
            "args": {"name": name}}  # fmt: skip


def _tid(process: int, thread: int) -> int:
    """Return a number no other track has; Perfetto gives 0 to nobody's thread."""
    return 100 * process + thread


def _slice(
    process: int, thread: int, name: str, start: int, end: int, **args: object
) -> Iterator[Event]:
    """Begin and end a slice.

    Not one event with a duration: start and duration, each rounded to nanoseconds,
    would let a slice overlap the next, and Perfetto drops the next then.
    """
    where = {"pid": process, "tid": _tid(process, thread), "name": name}
    yield {"ph": "B", **where, "ts": start, "args": {"cycles": end - start, **args}}
    yield {"ph": "E", **where, "ts": end}


def _host(score: Score) -> Iterator[Event]:
    for operator in score.operators:
        if operator.preload_issue_cycle is not None:
            yield {"ph": "i", "s": "t", "pid": HOST, "tid": _tid(HOST, 0),
                   "name": f"preload_async({operator.name})",
                   "ts": operator.preload_issue_cycle}  # fmt: skip
        yield from _slice(
            HOST,
            0,
            f"execute({operator.name})",
            operator.execute_issue_cycle,
            operator.execute_end_cycle,
            wait_cycles=operator.wait_cycles,
            contention_cycles=operator.contention_cycles,
        )


def _delivered(score: Score) -> Iterator[tuple[int, OperatorScore, int, int]]:
    """Return index, operator, first and last byte of every preload, in order."""
    deliveries = []
    for index, operator in enumerate(score.operators):
        start, end = operator.preload_start_cycle, operator.preload_end_cycle
        if start is not None and end is not None:
            deliveries.append((start, end, index, operator))
    for start, end, index, operator in sorted(deliveries, key=lambda d: d[:3]):
        yield index, operator, start, end


def _preloads(program: Program, score: Score) -> Iterator[Event]:
    for index, operator, start, end in _delivered(score):
        option = program.tasks[index].option
        known = (
            {} if option.payload is None else {"hbm_bytes": option.payload.hbm_bytes}
        )
        yield from _slice(
            HBM,
            0,
            operator.name,
            start,
            end,
            requested_cycle=operator.preload_issue_cycle,
            planned_cycles=option.preload_cycles,
            **known,
        )
        if option.preload_link_cycles:
            yield from _slice(
                LINKS,
                PRELOADS,
                operator.name,
                start,
                end,
                bytes_per_core=option.preload_bytes,
            )


def _exchanges(score: Score) -> Iterator[Event]:
    for operator in score.operators:
        for phase in operator.phases:
            if phase.kind is not PhaseKind.COMPUTE:
                name = f"{phase.kind} {operator.name}"
                yield from _slice(
                    LINKS, EXCHANGES, name, phase.start_cycle, phase.end_cycle
                )


def _computes(
    program: Program, score: Score, classes: Sequence[Cell]
) -> Iterator[Event]:
    for index, operator in enumerate(score.operators):
        steps = [s for s in _supersteps(program, index) if s.compute_cycles]
        for phase, step in zip(_computing(operator), steps, strict=True):
            start = phase.start_cycle
            yield from _slice(CORES, 0, operator.name, start, phase.end_cycle)
            for number, cell in enumerate(classes, start=1):
                cycles = cell.tiles[index].share(step.compute_cycles)
                if cycles:
                    yield from _slice(
                        CORES, number, operator.name, start, start + cycles
                    )


def _supersteps(program: Program, operator: int) -> tuple[Superstep, ...]:
    return work_of(program.tasks[operator].option).supersteps


def _computing(operator: OperatorScore) -> list[Phase]:
    return [phase for phase in operator.phases if phase.kind is PhaseKind.COMPUTE]


def _counters(program: Program, score: Score, clock_hz: int) -> Iterator[Event]:
    for step in score.occupancy:
        yield {"ph": "C", "pid": CORES, "tid": 0, "name": "SRAM per core (bytes)",
               "ts": step.cycle, "args": {"resident": step.resident_bytes,
               "preloaded": step.preloaded_bytes,
               "executing": step.executing_bytes}}  # fmt: skip
    if score.hbm_bytes is not None and program.chip is not None:
        bandwidth = _bandwidth(program, score, clock_hz)
        yield from _counter(HBM, "HBM bandwidth (GB/s)", "delivered", bandwidth)
    name = "link load (% of a core's link)"
    yield from _counter(LINKS, f"preload {name}", "preload", _inbound(program, score))
    yield from _counter(
        LINKS, f"exchange {name}", "exchange", _exchanged(program, score)
    )


def _bandwidth(program: Program, score: Score, clock_hz: int) -> Iterator[Load]:
    for index, _, start, end in _delivered(score):
        payload = program.tasks[index].option.payload
        if payload is not None and end > start:
            yield start, end, payload.hbm_bytes * clock_hz / (end - start) / 1e9


def _inbound(program: Program, score: Score) -> Iterator[Load]:
    for index, _, start, end in _delivered(score):
        if end > start:
            work = program.tasks[index].option.preload_link_cycles
            yield start, end, 100 * work / (end - start)


def _exchanged(program: Program, score: Score) -> Iterator[Load]:
    for index, operator in enumerate(score.operators):
        work = work_of(program.tasks[index].option)
        planned = [
            work.distribute_cycles,
            *(s.exchange_cycles for s in work.supersteps),
        ]
        phases = [p for p in operator.phases if p.kind is not PhaseKind.COMPUTE]
        used = [cycles for cycles in planned if cycles]
        for phase, cycles in zip(phases, used, strict=True):
            yield phase.start_cycle, phase.end_cycle, 100 * cycles / phase.cycles


def _counter(
    process: int, name: str, series: str, loads: Iterable[Load]
) -> Iterator[Event]:
    """Return a counter that has a value in each span, in order, and 0 between."""
    values: dict[int, float] = {0: 0.0}
    for start, end, value in loads:
        values[start] = value
        values[end] = 0.0
    for cycle, value in values.items():
        yield {"ph": "C", "pid": process, "tid": 0, "name": name, "ts": cycle,
               "args": {series: round(value, 3)}}  # fmt: skip
