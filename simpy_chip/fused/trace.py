"""A simulated mapping as a Chrome trace, which Perfetto opens."""

from __future__ import annotations

from typing import Any

from elkhound.model.fusion.accelerator import Accelerator
from elkhound.simpy_chip.fused.score import FusedScore

Event = dict[str, Any]


def fused_trace(accelerator: Accelerator, score: FusedScore) -> dict[str, Any]:
    """Return a trace: a process per memory and compute unit, a track per port.

    A slice is what the port served without a break: a fill, a drain, or a step of an
    einsum. Steps that repeat a state were not run: there the tracks are empty.

    Parameters
    ----------
    accelerator : Accelerator
        Without a clock one cycle is shown as one microsecond.
    score : FusedScore
        What came out.
    """
    clock_hz = accelerator.clock_hz or 1_000_000
    microseconds = 1e6 / clock_hz / score.ticks_per_cycle
    events: list[Event] = []
    for process, part in enumerate(accelerator.parts, start=1):
        names = [n for n in score.served if n.removesuffix(" read") == part.name]
        names += [n for n in score.served if n.removesuffix(" write") == part.name]
        tracks = list(dict.fromkeys(names))
        if tracks:
            events.append(_named("process_name", process, 0, part.name))
        for number, name in enumerate(tracks, start=1):
            track = 100 * process + number  # no other has it, and none is 0
            events.append(_named("thread_name", process, track, name))
            for start, end, label in score.served[name]:
                where = {"pid": process, "tid": track, "name": label}
                cycles = (end - start) / score.ticks_per_cycle
                begin = {"ts": start * microseconds, "args": {"cycles": cycles}}
                events.append({"ph": "B", **where, **begin})
                events.append({"ph": "E", **where, "ts": end * microseconds})
    events.sort(key=lambda event: event.get("ts", -1.0))
    return {
        "traceEvents": events,
        "displayTimeUnit": "ns",
        "otherData": {
            "accelerator": accelerator.name,
            "clock_hz": accelerator.clock_hz,
            "simulated_cycles": score.cycles,
            "steps_simulated": score.steps,
        },
    }


def _named(what: str, process: int, track: int, name: str) -> Event:
    return {"ph": "M", "name": what, "pid": process, "tid": track or 100 * process,
            "args": {"name": name}}  # fmt: skip
