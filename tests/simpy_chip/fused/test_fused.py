"""Simulated mappings by hand, the arithmetic beside them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from elkhound.model.errors import BadInputError, InfeasibleError
from elkhound.model.fusion import (
    Accelerator,
    Compute,
    FusionWorkload,
    LoopTree,
    Memory,
    Physics,
    cost_of,
    parse_mapping,
)
from elkhound.model.fusion.equation import parse_equation
from elkhound.simpy_chip.fused import FusedScore, simulate_mapping

UNLIMITED = Memory("Main", None, 1, 1)


def machine(
    main: float | None = 1.0,
    ops: float | None = None,
    size_bits: int | None = None,
    both: float | None = None,
    read: float | None = None,
    write: float | None = None,
) -> Accelerator:
    """Main memory with a shared port, a buffer, and a MAC."""
    memories = (
        replace(UNLIMITED, bits_per_cycle=main),
        Memory("Buffer", size_bits, 1, 1, both, read, write),
    )
    return Accelerator("small", memories, (Compute("MAC", 1, ops),))


def workload(sizes: dict[str, int], *equations: str, bits: int = 1) -> FusionWorkload:
    einsums = tuple(parse_equation(equation) for equation in equations)
    tensors = dict.fromkeys(t for e in einsums for t in e.tensors)
    return FusionWorkload(
        "small", tuple(sizes.items()), einsums, tuple((t, bits) for t in tensors)
    )


def busy(score: FusedScore) -> dict[str, float]:
    return {port.name: port.busy_cycles for port in score.ports}


DOT = workload({"m": 6}, "O[m] = I[m]")
STREAM = parse_mapping(
    "[Main] stores I, O\nfor m tile=2\n[Buffer] stores I\nfor m tile=1\n"
    "compute O on MAC\n"
)


def test_a_bound_by_compute_adds_the_fill_of_one_value() -> None:
    # I sinks below both loops: values of 1 bit, 1 cycle each from main memory; a value
    # computes in 4 cycles and its result goes straight to main memory, 1 cycle, within
    # these. First value at 1, then 6 · 4. Analytical: max(12, 24) = 24.
    score = simulate_mapping(machine(ops=0.25), DOT, STREAM)
    assert score.cycles == 1 + 6 * 4
    assert score.einsums[0].fill_cycles == 1
    assert score.einsums[0].drain_cycles == 0
    assert busy(score) == {"Main": 12, "MAC": 24}


def test_a_bound_by_main_memory_wastes_nothing() -> None:
    # 6 values in and 6 out through one port of 1 bit per cycle; the last step computes
    # in 1/2 cycle while its result is written
    score = simulate_mapping(machine(ops=2), DOT, STREAM)
    assert score.cycles == 12 == cost_of(machine(ops=2), DOT, STREAM).latency
    assert busy(score)["Main"] == 12


def test_a_step_takes_as_long_as_its_slowest_part() -> None:
    # nothing is held in the buffer: one step, 12 bits and 6 operations at once
    tree = parse_mapping("[Main] stores I, O\nfor m tile=1\ncompute O on MAC\n")
    assert simulate_mapping(machine(ops=0.25), DOT, tree).cycles == 24
    assert simulate_mapping(machine(ops=1), DOT, tree).cycles == 12


def test_an_output_in_the_buffer_is_drained_at_the_end() -> None:
    # O is written 6 times 4 cycles by the MAC's steps; held under no loop, it leaves
    # when all is done: 6 bits more. It is fresh, so nothing is filled.
    tree = parse_mapping(
        "[Main] stores I, O\n[Buffer] stores O\n[Buffer] stores I\nfor k tile=1\n"
        "for m tile=1\ncompute O on MAC\n"
    )
    both = workload({"m": 6, "k": 2}, "O[m] = I[m,k]")
    score = simulate_mapping(machine(ops=0.25), both, tree)
    # I sinks through k and m, 1 cycle ahead of the first step; 12 steps
    assert score.einsums[0].fill_cycles == 1
    assert score.einsums[0].drain_cycles == 6
    assert score.cycles == 1 + 12 * 4 + 6
    assert cost_of(machine(ops=0.25), both, tree).latency == 48


def test_an_output_is_read_back_when_its_tile_returns() -> None:
    # O is replaced by m within k: k = 0 writes 3 values, k = 1 reads and writes them
    tree = parse_mapping(
        "[Main] stores I, O\nfor k tile=1\nfor m tile=1\n[Buffer] stores O\n"
        "compute O on MAC\n"
    )
    both = workload({"m": 3, "k": 2}, "O[m] = I[m,k]")
    score = simulate_mapping(machine(ops=1), both, tree)
    counts = {(t.component, t.tensor, t.kind): t.count for t in score.transfers}
    assert counts["Main", "O", "read"] == 3
    assert counts["Main", "O", "write"] == 6
    # main memory moves 6 of I, 3 and 6 of O, and the step of the last value, at 1 bit
    # each, is followed by its drain: no cycle is lost
    assert score.cycles == 15


def test_separate_ports_work_at_the_same_time() -> None:
    # 6 values of 8 bits written to the buffer at 2 bits per cycle, read at 4: a value
    # fills in 4 cycles, its step reads in 2 beside the next fill
    byte = replace(DOT, bits=(("I", 8), ("O", 8)))
    apart = machine(main=None, read=4, write=2)
    score = simulate_mapping(apart, byte, STREAM)
    assert score.cycles == 6 * 4 + 2
    # one port of 2 bits per cycle for both: 6 · (4 + 4)
    shared = machine(main=None, both=2)
    assert simulate_mapping(shared, byte, STREAM).cycles == 48


PAIR = workload({"m": 4}, "T[m] = I[m]", "O[m] = T[m]")
FUSED = parse_mapping(
    "[Main] stores I, O\nfor m tile=1\n[Buffer] stores T\nSequential\n"
    "  Nested\n    compute T on MAC\n  Nested\n    compute O on MAC\n"
)


def test_branches_take_turns() -> None:
    # each of 4 shared steps: T reads I, 1 bit, and computes 2 cycles; then O does
    score = simulate_mapping(machine(ops=0.5), PAIR, FUSED)
    assert [einsum.cycles for einsum in score.einsums] == [8, 8]
    assert score.cycles == 16


def test_einsums_of_different_groups_run_one_after_another() -> None:
    # T's values stay in the buffer. I is filled a cycle before the first step, and O
    # has nothing to fill: 1 + 4 · 2, then 4 · 2
    tree = parse_mapping(
        "[Main] stores I, O\n[Buffer] stores T\nSequential\n"
        "  Nested\n    for m tile=1\n    [Buffer] stores I\n    compute T on MAC\n"
        "  Nested\n    for m tile=1\n    compute O on MAC\n"
    )
    score = simulate_mapping(machine(ops=0.5), PAIR, tree)
    assert [einsum.cycles for einsum in score.einsums] == [9, 8]


def test_a_copy_between_memories_takes_their_ports_time() -> None:
    # 6 values of 1 bit, at 1 bit per cycle from main memory; within it, no time
    copied = workload({"m": 6}, "C[m] = copy I[m]")
    tree = "[Main] stores I\n[{}] stores C\nfor m tile=1\ncompute C on MAC\n"
    for memory, cycles in (("Buffer", 6), ("Main", 0)):
        mapping = parse_mapping(tree.format(memory))
        assert simulate_mapping(machine(), copied, mapping).cycles == cycles
        assert cost_of(machine(), copied, mapping).latency == cycles


def test_a_million_steps_cost_a_few() -> None:
    # 2²⁰ values of one bit in 4 cycles each, after a fill of 1
    million = workload({"m": 1 << 20}, "O[m] = I[m]")
    score = simulate_mapping(machine(ops=0.25), million, STREAM)
    assert score.cycles == 1 + 4 * (1 << 20)
    assert score.steps < 50


# 72 KiB in: k = 72 rows of 1 KiB; 51 KiB out: n = 51 rows; 8 bits per value
P16 = workload({"k": 72, "n": 51, "c": 1024}, "O[n,c] = I[k,c] * W[k,n]", bits=8)
KIB = 8 * 1024


def p16(rows: int) -> LoopTree:
    return parse_mapping(
        f"[Main] stores I, W, O\n[Buffer] stores O\nfor k tile={rows}\n"
        "[Buffer] stores I\nfor n tile=1\nfor c tile=1\nfor k tile=1\n"
        "compute O on MAC\n"
    )


def test_what_stays_in_main_memory_takes_no_room_in_the_buffer() -> None:
    accelerator = machine(ops=1024, size_bits=64 * KIB)
    score = simulate_mapping(accelerator, P16, p16(8))
    assert score.peak_bits["Buffer"] == (51 + 8) * KIB
    assert not score.double_buffer
    assert score.peak_bits["Main"] == (72 + 51) * KIB + 72 * 51 * 8
    twice = Physics(double_buffer=True)
    with pytest.raises(InfeasibleError) as refusal:
        simulate_mapping(accelerator, P16, p16(8), twice)
    assert str(refusal.value).endswith(
        f"memory Buffer holds O {51 * KIB}, I {16 * KIB} bits in O: needs {67 * KIB} "
        f"bits, has {64 * KIB}"
    )
    # tiles of 6 KiB fit twice
    fits = simulate_mapping(accelerator, P16, p16(6), twice)
    assert fits.peak_bits["Buffer"] == (51 + 12) * KIB
    assert fits.double_buffer


def test_double_buffers_change_room_not_time() -> None:
    accelerator = machine(ops=1024, size_bits=128 * KIB)
    ruled = simulate_mapping(accelerator, P16, p16(8))
    twice = simulate_mapping(accelerator, P16, p16(8), Physics(double_buffer=True))
    assert twice.ticks == ruled.ticks
    assert twice.transfers == ruled.transfers


def test_other_physics_are_refused() -> None:
    with pytest.raises(BadInputError, match="physics overlap has no effect"):
        simulate_mapping(machine(), DOT, STREAM, Physics(overlap=True))
