"""The Chrome trace: its structure, and that it tells what the score does."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from elkhound.model.chip import AllToAll, Chip, Core, Hbm
from elkhound.model.program import Execute, PreloadAsync, Program, Task
from elkhound.model.schedule import OptionPayload, ScheduleOption
from elkhound.simpy_chip import simulate, trace_document

CHIP = Chip(
    name="two cores",
    chips=1,
    cores_per_chip=2,
    clock_hz=1_000_000_000,  # 1000 cycles are 1 µs
    core=Core(1000, 0, 16, 64, 64),
    links=AllToAll(4_000_000_000, 4_000_000_000, 2, 0, 1000),
    hbm=Hbm(4_000_000_000, 5, 1),
)
# 3 points on two cores: core 0 has 2, core 1 has 1
PAYLOAD = OptionPayload((("m", 2),), (), 2, 2, 0, 40, 0, 0, (("m", 3),))
STREAMED = ScheduleOption(0, 60, 30, 10, 5, 19, 9, 1, 10, 8, PAYLOAD)
RESIDENT = ScheduleOption(
    0, 50, 0, 0, 0, 18, 8, 0, 10, 8, replace(PAYLOAD, hbm_bytes=0)
)
TASKS = (Task("a", STREAMED, 7), Task("b", RESIDENT, 7), Task("c", STREAMED, 7))
ORDER = (PreloadAsync(0), PreloadAsync(2), Execute(0), Execute(1), Execute(2))

Trace = dict[str, Any]
Track = tuple[int, int]


def slices(trace: Trace) -> dict[Track, list[tuple[str, float, float, int]]]:
    """Name, start, end and cycles of all slices, by track."""
    found: dict[Track, list[tuple[str, float, float, int]]] = defaultdict(list)
    begun: dict[Track, dict[str, Any]] = {}
    for event in trace["traceEvents"]:
        if event["ph"] not in ("B", "E"):
            continue
        track = event["pid"], event["tid"]
        if event["ph"] == "B":
            assert track not in begun, "slices overlap"
            begun[track] = event
        else:
            begin = begun.pop(track)
            assert begin["name"] == event["name"]
            cycles = begin["args"]["cycles"]
            found[track].append((event["name"], begin["ts"], event["ts"], cycles))
    assert not begun
    return found


def trace_of(chip: Chip | None) -> tuple[Trace, Any]:
    program = Program(ORDER, TASKS, 1000, chip)
    score = simulate(program)
    return json.loads(json.dumps(trace_document(program, score))), score


@pytest.fixture(params=["chip", "no chip"])
def traced(request: pytest.FixtureRequest) -> tuple[Trace, Any]:
    """A trace as a reader gets it, and the score."""
    return trace_of(CHIP if request.param == "chip" else None)


def test_every_event_has_what_its_kind_needs(traced: tuple[Trace, Any]) -> None:
    trace, _ = traced
    assert set(trace) == {"traceEvents", "displayTimeUnit", "otherData"}
    names: dict[tuple[int, int], str] = {}
    for event in trace["traceEvents"]:
        assert isinstance(event["name"], str)
        assert isinstance(event["pid"], int)
        assert isinstance(event["tid"], int)
        match event["ph"]:
            case "M":
                names[event["pid"], event["tid"]] = event["name"]
                assert event["args"]
            case "B" | "E":
                assert event["ts"] >= 0
            case "C":
                assert event["args"]
                assert all(value >= 0 for value in event["args"].values())
            case "i":
                assert event["s"] == "t"
            case other:
                pytest.fail(f"phase {other}")
    tracks = set(slices(trace))
    # Perfetto tells threads by tid alone, and calls 0 the idle one
    assert len({tid for _, tid in tracks}) == len(tracks)
    assert 0 not in {tid for _, tid in tracks}
    assert tracks <= set(names)


def test_times_only_grow(traced: tuple[Trace, Any]) -> None:
    times = [e["ts"] for e in traced[0]["traceEvents"] if "ts" in e]
    assert times == sorted(times)


def test_slices_of_one_track_follow_one_another(traced: tuple[Trace, Any]) -> None:
    for track in slices(traced[0]).values():
        assert all(start <= end for _, start, end, _ in track)
        assert all(end <= start for (_, _, end, _), (_, start, _, _) in pairwise(track))


def test_microseconds_follow_from_the_clock() -> None:
    trace, score = trace_of(CHIP)
    assert end_of("execute(c)", trace) == pytest.approx(score.makespan_cycles / 1000)
    trace, score = trace_of(None)  # one cycle is shown as one microsecond
    assert end_of("execute(c)", trace) == score.makespan_cycles


def end_of(name: str, trace: Trace) -> float:
    (end,) = (e for t in slices(trace).values() for n, _, e, _ in t if n == name)
    return end


def test_tracks_show_the_cycles_of_the_score(traced: tuple[Trace, Any]) -> None:
    trace, score = traced
    cycles: dict[str, int] = defaultdict(int)
    threads = {
        (e["pid"], e["tid"]): e["args"]["name"]
        for e in trace["traceEvents"]
        if e["name"] == "thread_name"
    }
    for track, found in slices(trace).items():
        cycles[threads[track]] += sum(lasted for _, _, _, lasted in found)
    assert cycles["deliveries"] == score.hbm_busy_cycles
    assert cycles["slowest core"] == 3 * 10
    if trace["otherData"]["chip"] is None:
        return
    # core 1 has half the points: shares 3 and 3 of 5 and 5 cycles, three operators
    assert cycles["core 0"] == 30
    assert cycles["core 1"] == 18
    assert {core.name: core.compute_cycles for core in score.cores} == {
        "core 0": 30,
        "core 1": 18,
    }


def test_counters_carry_what_was_moved() -> None:
    trace, score = trace_of(CHIP)
    moved: dict[str, float] = defaultdict(float)
    last: dict[str, tuple[float, float]] = {}
    for event in trace["traceEvents"]:
        if event["ph"] != "C" or len(event["args"]) != 1:
            continue
        (value,) = event["args"].values()
        before, rate = last.get(event["name"], (0.0, 0.0))
        moved[event["name"]] += rate * (event["ts"] - before)
        last[event["name"]] = event["ts"], value
    assert all(value == 0 for _, value in last.values())
    # GB/s · µs = kB; percent · µs = 10 cycles of a link at 1 GHz
    assert moved["HBM bandwidth (GB/s)"] * 1000 == pytest.approx(80, abs=0.1)
    inbound = moved["preload link load (% of a core's link)"] * 10
    exchanged = moved["exchange link load (% of a core's link)"] * 10
    assert inbound == pytest.approx(2 * 5, abs=0.01)
    assert exchanged == pytest.approx(9 + 8 + 9, abs=0.01)
    assert max(c.link_work_cycles for c in score.cores) == 2 * 5 + 9 + 8 + 9


def test_the_sram_counter_is_the_occupancy(traced: tuple[Trace, Any]) -> None:
    trace, score = traced
    steps = [e["args"] for e in trace["traceEvents"] if "SRAM" in e["name"]]
    assert max(sum(step.values()) for step in steps) == score.peak_bytes
    assert sum(steps[-1].values()) == 0
