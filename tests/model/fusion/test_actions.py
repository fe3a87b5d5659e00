from __future__ import annotations

from collections import Counter

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

from elkhound.model.fusion import (
    Accelerator,
    Compute,
    FanOut,
    FusionWorkload,
    LoopTree,
    Memory,
    cost_of,
    parse_mapping,
)
from elkhound.model.fusion.catalogue import fusion_workload
from elkhound.model.io import load_accelerator
from elkhound.model.referee import judge_fusion

Counts = Counter[tuple[str, str | None, str]]

TWO_MATMULS = workload_of({"m": 4, "n": 3, "k": 5, "l": 2}, MATMUL, SECOND)
ONE_MATMUL = workload_of({"m": 4, "n": 3, "k": 5}, MATMUL)
ONE_CONVOLUTION = workload_of({"x": 5, "n": 2, "r": 3, "c": 2}, CONVOLUTION)


def counted(
    accelerator: Accelerator, workload: FusionWorkload, tree: LoopTree
) -> Counts:
    counts: Counts = Counter()
    for action in cost_of(accelerator, workload, tree).actions:
        counts[action.component, action.tensor, action.kind] += action.count
    return +counts


def interpreted(
    accelerator: Accelerator, workload: FusionWorkload, tree: LoopTree
) -> Counts:
    return +Interpreter(accelerator, workload, tree).counts


@settings(derandomize=True, deadline=None, max_examples=150)
@given(data=st.data())
def test_loops_in_time_and_over_their_own_ranks_count_as_they_run(
    data: st.DataObject,
) -> None:
    # k stays in time: units that sum over it apart are not physical, see below
    accelerator = data.draw(accelerators(shares=False))
    spatial = {"Local.Z": ("m", "n"), "MAC.X": ("m", "n")}
    tree = data.draw(single_trees(ONE_MATMUL, spatial))
    counts = counted(accelerator, ONE_MATMUL, tree)
    assert counts == interpreted(accelerator, ONE_MATMUL, tree)


@settings(derandomize=True, deadline=None, max_examples=100)
@given(data=st.data())
def test_a_halo_is_fetched_as_often_as_tiles_overlap(data: st.DataObject) -> None:
    accelerator = data.draw(accelerators(shares=False))
    spatial = {"Local.Z": ("x",), "MAC.X": ("n",)}
    tree = data.draw(single_trees(ONE_CONVOLUTION, spatial))
    counts = counted(accelerator, ONE_CONVOLUTION, tree)
    assert counts == interpreted(accelerator, ONE_CONVOLUTION, tree)


@settings(derandomize=True, deadline=None, max_examples=150)
@given(data=st.data())
def test_the_referee_agrees_on_fused_mappings(data: st.DataObject) -> None:
    accelerator = data.draw(accelerators())
    tree = data.draw(fused_trees(TWO_MATMULS))
    cost = cost_of(accelerator, TWO_MATMULS, tree)
    verdict = judge_fusion(accelerator, TWO_MATMULS, tree)
    assert verdict.violations == ()
    assert verdict.energy == pytest.approx(cost.energy, rel=1e-12)
    assert verdict.latency == pytest.approx(cost.latency, rel=1e-12)
    held = {memory: bits for memory, bits in verdict.peak_bits.items() if bits}
    assert held == cost.occupancy_bits


@settings(derandomize=True, deadline=None, max_examples=100)
@given(data=st.data())
def test_the_referee_agrees_on_halos(data: st.DataObject) -> None:
    accelerator = data.draw(accelerators())
    spatial = {"Local.Z": ("x", "r", "c", "n"), "MAC.X": ("x", "r", "c", "n")}
    tree = data.draw(single_trees(ONE_CONVOLUTION, spatial))
    cost = cost_of(accelerator, ONE_CONVOLUTION, tree)
    verdict = judge_fusion(accelerator, ONE_CONVOLUTION, tree)
    assert verdict.energy == pytest.approx(cost.energy, rel=1e-12)
    assert verdict.latency == pytest.approx(cost.latency, rel=1e-12)
    assert verdict.peak_bits == {"Buffer": 0, "Local": 0} | cost.occupancy_bits


def test_an_image_is_held_whole_where_its_tiles_overlap() -> None:
    # I[2x+r, c] of 11 × 2 values of 3 bits: it sinks through c, not through x and r
    text = (
        "[Main] stores I, W, O\n[Buffer] stores I\nfor {} tile=1\nfor {} tile=1\n"
        "for r tile=1\nfor n tile=1\ncompute O on MAC\n"
    )
    accelerator = spread(multicast=False, reduction=False)
    for order, values in ((("c", "x"), 11), (("x", "c"), 22)):
        tree = parse_mapping(text.format(*order))
        cost = cost_of(accelerator, ONE_CONVOLUTION, tree)
        assert cost.occupancy_bits["Buffer"] == values * 3
        verdict = judge_fusion(accelerator, ONE_CONVOLUTION, tree)
        assert verdict.peak_bits["Buffer"] == values * 3
        counts = counted(accelerator, ONE_CONVOLUTION, tree)
        assert counts["Main", "I", "read"] == 22 * 3  # every value once


def spread(multicast: bool, reduction: bool) -> Accelerator:
    """Two levels with four MACs under the buffer."""
    fan_out = FanOut("MAC", "X", 4, multicast, reduction)
    memories = (Memory("Main", None, 100, 100), Memory("Buffer", None, 1, 1))
    return Accelerator("spread", memories, (Compute("MAC", 1, 1, fan_outs=(fan_out,)),))


@pytest.mark.parametrize(
    ("rank", "reads"),
    [
        # T0 and W0 in the buffer, 20 and 15 values of 3 and 5 bits; every read of all
        # 60 operations without sharing, and T1 adds 60 − 12 of 7 bits
        pytest.param("n", {"T0": 20 * 3, "W0": 60 * 5, "T1": 48 * 7}, id="multicast"),
        pytest.param("m", {"T0": 60 * 3, "W0": 15 * 5, "T1": 48 * 7}, id="weights"),
    ],
)
def test_multicast_reads_once_for_all_units(rank: str, reads: dict[str, int]) -> None:
    others = [r for r in ("k", "m", "n") if r != rank]
    tree = parse_mapping(
        "[Main] stores T0, W0, T1\n[Buffer] stores T0, W0, T1\n"
        f"for {others[0]} tile=1\nfor {others[1]} tile=1\n"
        f"spatial-for {rank} tile=1 over MAC.X\ncompute T1 on MAC\n"
    )
    accelerator = spread(multicast=True, reduction=False)
    counts = counted(accelerator, ONE_MATMUL, tree)
    assert {t: counts["Buffer", t, "read"] - _drain(t) for t in reads} == reads
    assert counts == interpreted(accelerator, ONE_MATMUL, tree)


def _drain(tensor: str) -> int:
    """T1 is read once from the buffer for main memory: 12 values of 7 bits."""
    return 12 * 7 if tensor == "T1" else 0


def test_a_reduction_across_units_is_summed_before_it_is_written() -> None:
    # k over 4 of 5 units would not fit: 5 = 2 + 2 + 1 in three units
    text = (
        "[Main] stores T0, W0, T1\n[Buffer] stores T0, W0, T1\n"
        "for m tile=1\nfor n tile=1\nspatial-for k tile=2 over MAC.X\n"
        "for k tile=1\ncompute T1 on MAC\n"
    )
    tree = parse_mapping(text)
    apart = counted(spread(multicast=False, reduction=False), ONE_MATMUL, tree)
    summed = counted(spread(multicast=False, reduction=True), ONE_MATMUL, tree)
    # 12 values, 5 partial sums each, against two steps of three units
    assert apart["Buffer", "T1", "write"] == 12 * 5 * 7
    assert summed["Buffer", "T1", "write"] == 12 * 2 * 7
    together = spread(multicast=False, reduction=True)
    assert summed == interpreted(together, ONE_MATMUL, tree)


def test_first_touches_without_a_reduction_are_skipped_once_per_unit() -> None:
    # The reference rule: three units each start their sum of 12 values of 7 bits
    # unread, though only the first of them finds the buffer untouched.
    tree = parse_mapping(
        "[Main] stores T0, W0, T1\n[Buffer] stores T0, W0, T1\n"
        "for m tile=1\nfor n tile=1\nspatial-for k tile=2 over MAC.X\n"
        "for k tile=1\ncompute T1 on MAC\n"
    )
    accelerator = spread(multicast=False, reduction=False)
    rule = counted(accelerator, ONE_MATMUL, tree)
    physical = interpreted(accelerator, ONE_MATMUL, tree)
    key = ("Buffer", "T1", "read")
    assert physical[key] - rule[key] == 12 * (3 - 1) * 7
    assert physical.keys() == rule.keys()


def test_a_ragged_tile_beats_the_divisors() -> None:
    # 64 rows in tiles of 31, 31 and 2 fill a buffer of 16,384 bits better than four
    # tiles of 16 (47,022,080): T1's tile of 31 · 64 values of 8 bits, T0's of 31, W0's
    # of 1 are 16,128 bits. Every W value is read three times from main memory, every T
    # value once: 100 · 8 · (2 + 2 · 3) · 64² = 26,214,400; the rest is the buffer.
    workload = fusion_workload("matmuls")
    branch = (
        "  Nested\n    for {0} tile=1\n    [GlobalBuffer] stores {1}\n"
        "    for {2} tile=1\n    [GlobalBuffer] stores {3}\n    for m tile=1\n"
        "    compute {4} on MAC\n"
    )
    tree = parse_mapping(
        "[MainMemory] stores T0, W0, W1, T2\nfor m tile=31\n[GlobalBuffer] stores T1\n"
        "Sequential\n"
        + branch.format("n0", "T0", "n1", "W0", "Matmul0")
        + branch.format("n2", "T2", "n1", "W1", "Matmul1")
    )
    cost = cost_of(load_accelerator("simple"), workload, tree)
    assert cost.energy == 43_712_512
    assert cost.occupancy_bits["GlobalBuffer"] == 16_128
    assert cost.energy_by_action["MainMemory", "read"] == 100 * 8 * (1 + 2 * 3) * 64**2
    assert cost.energy_by_action["MainMemory", "write"] == 100 * 8 * 64**2


def test_ragged_tiles_are_costed_exactly() -> None:
    workload = workload_of({"m": 5, "n": 3, "k": 2}, MATMUL)
    tree = parse_mapping(
        "[Main] stores T0, W0, T1\nfor m tile=2\n[Buffer] stores W0, T0, T1\n"
        "for m tile=1\nfor n tile=1\nfor k tile=1\ncompute T1 on MAC\n"
    )
    counts = counted(spread(multicast=False, reduction=False), workload, tree)
    assert counts["Main", "W0", "read"] == 3 * 6 * 5  # ⌈5/2⌉ times 6 values of 5 bits
    assert counts["Main", "T0", "read"] == 10 * 3  # every value once, no padding
    assert counts["MAC", None, "compute"] == 30
