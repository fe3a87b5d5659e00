from __future__ import annotations

from collections import Counter
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.fusion_trees import (
    CONVOLUTION,
    MATMUL,
    SECOND,
    accelerators,
    fused_trees,
    single_trees,
    workload_of,
)
from oracles.loop_nest import Interpreter

from elkhound.model.errors import BadInputError
from elkhound.model.fusion import (
    Accelerator,
    Compute,
    FanOut,
    FusionWorkload,
    LoopTree,
    Memory,
    Physics,
    cost_of,
    parse_mapping,
)
from elkhound.model.fusion.catalogue import fusion_workload
from elkhound.model.io import load_accelerator
from elkhound.model.referee import judge_fusion

TWO_MATMULS = workload_of({"m": 4, "n": 3, "k": 5, "l": 2}, MATMUL, SECOND)
ONE_MATMUL = workload_of({"m": 4, "n": 3, "k": 5}, MATMUL)
ONE_CONVOLUTION = workload_of({"x": 5, "n": 2, "r": 3, "c": 2}, CONVOLUTION)
MERGE = Physics(merge_reads=True)
EVERY = [Physics(*switches) for switches in product((False, True), repeat=3)]


def require_physical(
    accelerator: Accelerator, workload: FusionWorkload, tree: LoopTree
) -> None:
    """Hold the counts with merge reads against the interpreter, which knows no rule."""
    counts: Counter[tuple[str, str | None, str]] = Counter()
    for action in cost_of(accelerator, workload, tree, MERGE).actions:
        counts[action.component, action.tensor, action.kind] += action.count
    assert +counts == +Interpreter(accelerator, workload, tree).counts


@settings(derandomize=True, deadline=None, max_examples=150)
@given(data=st.data())
def test_units_that_sum_apart_merge_as_they_run(data: st.DataObject) -> None:
    accelerator = data.draw(accelerators(shares=False))
    spatial = {"Local.Z": ("m", "n", "k"), "MAC.X": ("m", "n", "k")}
    tree = data.draw(single_trees(ONE_MATMUL, spatial))
    require_physical(accelerator, ONE_MATMUL, tree)


@settings(derandomize=True, deadline=None, max_examples=100)
@given(data=st.data())
def test_taps_and_channels_summed_apart_merge_as_they_run(data: st.DataObject) -> None:
    accelerator = data.draw(accelerators(shares=False))
    spatial = {"Local.Z": ("c", "r"), "MAC.X": ("r", "n")}
    tree = data.draw(single_trees(ONE_CONVOLUTION, spatial))
    require_physical(accelerator, ONE_CONVOLUTION, tree)


@settings(derandomize=True, deadline=None, max_examples=150)
@given(data=st.data(), physics=st.sampled_from(EVERY))
def test_the_referee_agrees_on_physics(data: st.DataObject, physics: Physics) -> None:
    accelerator = data.draw(accelerators())
    tree = data.draw(fused_trees(TWO_MATMULS))
    cost = cost_of(accelerator, TWO_MATMULS, tree, physics)
    verdict = judge_fusion(accelerator, TWO_MATMULS, tree, physics)
    assert verdict.energy == pytest.approx(cost.energy, rel=1e-12)
    assert verdict.latency == pytest.approx(cost.latency, rel=1e-12)
    held = {memory: bits for memory, bits in verdict.peak_bits.items() if bits}
    assert held == cost.occupancy_bits
    assert sum(cost.latency_by_einsum.values()) == pytest.approx(cost.latency)
    assert sum(cost.energy_by_einsum.values()) == pytest.approx(cost.energy)


@settings(derandomize=True, deadline=None, max_examples=100)
@given(data=st.data())
def test_physics_only_goes_one_way(data: st.DataObject) -> None:
    """Merging reads more, double buffers hold more, overlap takes no longer."""
    accelerator = data.draw(accelerators())
    tree = data.draw(fused_trees(TWO_MATMULS))
    rules, merged, doubled, overlapped = (
        cost_of(accelerator, TWO_MATMULS, tree, physics)
        for physics in (
            Physics(),
            MERGE,
            Physics(double_buffer=True),
            Physics(overlap=True),
        )
    )
    assert rules == cost_of(accelerator, TWO_MATMULS, tree)
    for ours, theirs in zip(merged.actions, rules.actions, strict=True):
        assert ours.count >= theirs.count
        assert ours.per_unit >= theirs.per_unit
    for memory, bits in doubled.occupancy_bits.items():
        assert rules.occupancy_bits[memory] <= bits <= 2 * rules.occupancy_bits[memory]
    assert doubled.energy == rules.energy
    assert overlapped.latency <= rules.latency * (1 + 1e-12)
    assert overlapped.actions == rules.actions


def test_only_the_first_of_units_that_sum_apart_finds_nothing_to_read() -> None:
    # k = 5 in units of 2, 2 and 1: 12 values of 7 bits; 60 operations accumulate, the
    # rules skip 12 reads in each of 3 units, physics only the first unit's
    fan_out = FanOut("MAC", "X", 4)
    memories = (Memory("Main", None, 100, 100), Memory("Buffer", None, 1, 1))
    units = (Compute("MAC", 1, 1, fan_outs=(fan_out,)),)
    accelerator = Accelerator("spread", memories, units)
    tree = parse_mapping(
        "[Main] stores T0, W0, T1\n[Buffer] stores T0, W0, T1\n"
        "for m tile=1\nfor n tile=1\nspatial-for k tile=2 over MAC.X\n"
        "for k tile=1\ncompute T1 on MAC\n"
    )
    drained = 12 * 7  # to main memory, at the end
    for physics, skipped in ((Physics(), 3 * 12), (MERGE, 12)):
        cost = cost_of(accelerator, ONE_MATMUL, tree, physics)
        (reads,) = (
            action.count
            for action in cost.actions
            if (action.component, action.tensor, action.kind)
            == ("Buffer", "T1", "read")
        )
        assert reads - drained == (60 - skipped) * 7


def test_the_busiest_of_units_that_sum_apart_merges() -> None:
    # k over two local stores: each accumulates 12 values, 2 steps of k (of 4) each. The
    # busiest comes second: it reads 12 values from the buffer and, at the MAC, all 24.
    workload = workload_of({"m": 4, "n": 3, "k": 4}, MATMUL)
    fan_out = FanOut("Local", "Z", 2)
    local = Memory("Local", None, 1, 1, bits_per_cycle=1, fan_outs=(fan_out,))
    memories = (Memory("Main", None, 1, 1), Memory("Buffer", None, 1, 1), local)
    accelerator = Accelerator("spread", memories, (Compute("MAC", 1, None),))
    tree = parse_mapping(
        "[Main] stores T0, W0, T1\n[Buffer] stores T1\n"
        "spatial-for k tile=2 over Local.Z\n[Local] stores T1\n"
        "for m tile=1\nfor n tile=1\nfor k tile=1\ncompute T1 on MAC\n"
    )
    # T1 sinks no further; per unit, in values of 7 bits: 24 writes and 12 drains; the
    # rules read 24 − 12 for the MAC, physics fills 12 and reads 24
    for physics, values in ((Physics(), 24 + 12 + 12), (MERGE, 24 + 12 + 12 + 24)):
        cost = cost_of(accelerator, workload, tree, physics)
        assert cost.latency_by_component["T1", "Local"] == values * 7


FUSED = """\
[MainMemory] stores A, B, C, Z
for ny tile=1
[GlobalBuffer] stores Y
Sequential
  Nested
    [GlobalBuffer] stores A
    for na tile=1
    compute Y on MAC
  Nested
    for nz tile=1
    compute Z on MAC
"""


def test_a_double_buffer_holds_what_loops_replace_twice() -> None:
    simple, workload = load_accelerator("simple"), fusion_workload("matvecs")
    tree = parse_mapping(FUSED)
    # Y's value of 8 bits is replaced by ny; A sinks to one value, replaced by na
    rules = cost_of(simple, workload, tree).occupancy_bits
    doubled = cost_of(simple, workload, tree, Physics(double_buffer=True))
    assert rules["GlobalBuffer"] == 8 + 8
    assert doubled.occupancy_bits["GlobalBuffer"] == 2 * (8 + 8)
    assert doubled.occupancy_bits["MainMemory"] == rules["MainMemory"]  # held whole


def test_einsums_under_a_loop_overlap_to_the_busiest_part() -> None:
    simple, workload = load_accelerator("simple"), fusion_workload("matvecs")
    fused = parse_mapping(FUSED)
    rules = cost_of(simple, workload, fused)
    overlapped = cost_of(simple, workload, fused, Physics(overlap=True))
    # both einsums keep the MAC busy for 12 operations; the buffer moves, at 8 bits per
    # cycle, for Y: A in and out, 12 values each, and 12 − 3 reads and 12 writes of Y;
    # for Z: 12 reads of Y
    mac, buffer = 12 + 12, (12 + 12 + 9 + 12) + 12
    assert rules.latency == max(12, 45) + max(12, 12)
    assert overlapped.latency == max(mac, buffer) == 57
    unfused = parse_mapping(
        "[MainMemory] stores A, B, C, Y, Z\nSequential\n  Nested\n    for ny tile=1\n"
        "    for na tile=1\n    compute Y on MAC\n  Nested\n    for ny tile=1\n"
        "    for nz tile=1\n    compute Z on MAC\n"
    )
    apart = cost_of(simple, workload, unfused, Physics(overlap=True))
    assert apart.latency == cost_of(simple, workload, unfused).latency == 24


def test_physics_is_called_by_its_names() -> None:
    assert Physics.of(["overlap", "merge-reads"]).names == ("merge-reads", "overlap")
    assert Physics().names == ()
    with pytest.raises(BadInputError, match=r"'overlapp' \(did you mean overlap\?\)"):
        Physics.of(["overlapp"])
