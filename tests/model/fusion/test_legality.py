from __future__ import annotations

import pytest
from oracles.fusion_trees import workload_of
from oracles.random_looptrees import random_mapping

from elkhound.model.errors import BadInputError
from elkhound.model.fusion import (
    Accelerator,
    Compute,
    Memory,
    cost_of,
    parse_mapping,
)
from elkhound.model.fusion.catalogue import fusion_workload
from elkhound.model.io import load_accelerator
from elkhound.model.referee import judge_fusion

MAPPING = """\
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


def refusal(text: str, accelerator: str = "simple") -> tuple[str, tuple[str, ...]]:
    """Return how a mapping is refused, and what the referee says of it."""
    chip, workload = load_accelerator(accelerator), fusion_workload("matvecs")
    tree = parse_mapping(text, "m.txt")
    with pytest.raises(BadInputError) as refused:
        cost_of(chip, workload, tree)
    return str(refused.value), judge_fusion(chip, workload, tree).violations


def test_the_mapping_that_the_cases_break_is_legal() -> None:
    chip, workload = load_accelerator("simple"), fusion_workload("matvecs")
    assert judge_fusion(chip, workload, parse_mapping(MAPPING)).feasible


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        pytest.param(
            "[MainMemory]", "[MainMemry]",
            "m.txt: unknown memory MainMemry (did you mean MainMemory?)",
            id="memory",
        ),
        pytest.param(
            "stores A, B, C, Z", "stores A, B, C, Q",
            "m.txt: unknown tensor Q (legal: A, B, C, Y, Z)",
            id="tensor",
        ),
        pytest.param(
            "compute Z on MAC", "compute Z on MACC",
            "m.txt: unknown compute unit MACC (did you mean MAC?)",
            id="unit",
        ),
        pytest.param(
            "for nz tile=1", "spatial-for nz tile=1 over PE.X",
            "m.txt: unknown fan-out PE.X (there is none)",
            id="fan-out",
        ),
        pytest.param(
            "compute Z on MAC", "compute Y on MAC",
            "m.txt: einsum Y is computed 2 times, must be once",
            id="twice",
        ),
        pytest.param(
            "for ny tile=1", "for ny tile=1\nfor na tile=1",
            "m.txt: loop over na stands above einsum Z, which has no such rank "
            "variable and would be computed again in every iteration",
            id="recomputation",
        ),
        pytest.param(
            "    for na tile=1", "    for na tile=2\n    for na tile=3",
            "m.txt: loop over na above einsum Y: tile is 3, the one above leaves 2",
            id="growing-tile",
        ),
        pytest.param(
            "    for na tile=1", "    for na tile=2",
            "m.txt: einsum Y: its innermost tile of na is 2, must be 1",
            id="unfinished",
        ),
        pytest.param(
            "stores A, B, C, Z", "stores A, C, Z",
            "m.txt: einsum Y: no memory above it stores B",
            id="not-stored",
        ),
        pytest.param(
            "    for nz tile=1", "    [GlobalBuffer] stores A\n    for nz tile=1",
            "m.txt: [GlobalBuffer] stores A: no einsum under it uses it",
            id="unused",
        ),
        pytest.param(
            "    [GlobalBuffer] stores A", "    [MainMemory] stores A",
            "m.txt: einsum Y: A goes from MainMemory to MainMemory, which is not "
            "deeper",
            id="not-deeper",
        ),
        pytest.param(
            "[GlobalBuffer] stores Y\nSequential\n  Nested\n",
            "Sequential\n  Nested\n    [GlobalBuffer] stores Y\n",
            "m.txt: einsum Z: no memory above it stores Y",
            id="stored-for-the-producer-only",
        ),
    ],
)  # fmt: skip
def test_a_broken_mapping_is_refused_by_both(old: str, new: str, message: str) -> None:
    assert old in MAPPING
    line, violations = refusal(MAPPING.replace(old, new))
    assert line == message
    assert violations


def test_an_intermediate_needs_one_store_that_both_einsums_use() -> None:
    apart = """\
[MainMemory] stores A, B, C, Z
Sequential
  Nested
    [MainMemory] stores Y
    for ny tile=1
    for na tile=1
    compute Y on MAC
  Nested
    [MainMemory] stores Y
    for ny tile=1
    for nz tile=1
    compute Z on MAC
"""
    line, violations = refusal(apart)
    assert line == (
        "m.txt: tensor Y: Y and its consumers do not share one storage node that is "
        "its first"
    )
    assert violations == ("tensor Y: its producer and consumers share no store",)


def test_random_mappings_are_judged_alike() -> None:
    accelerator = Accelerator(
        "two",
        (Memory("Main", None, 64, 128, 3.0), Memory("Buffer", None, 8, 16, None, 5, 2)),
        (Compute("MAC", 1, 2),),
    )
    legal = 0
    for seed in range(2000):
        workload, tree = random_mapping(seed)
        verdict = judge_fusion(accelerator, workload, tree)
        if verdict.violations:
            with pytest.raises(BadInputError):
                cost_of(accelerator, workload, tree)
            continue
        legal += 1
        cost = cost_of(accelerator, workload, tree)
        assert verdict.energy == pytest.approx(cost.energy, rel=1e-12)
        assert verdict.latency == pytest.approx(cost.latency, rel=1e-12)
        held = {memory: bits for memory, bits in verdict.peak_bits.items() if bits}
        assert held == cost.occupancy_bits
    assert legal >= 50


ATTENTION = """\
[Main] stores I, WK, Q, QK
for m tile=2, p in QK
[Buffer] stores K
Sequential
  Nested
    for m tile=1
    for e tile=1
    for d tile=1
    compute K on MAC
  Nested
    for m tile=1
    for p tile=1
    for e tile=1
    compute QK on MAC
"""


def test_a_consumer_may_loop_over_the_shared_rank_by_another_name() -> None:
    # K's token is m for its producer and p for QK, whose own m is the query's token
    workload = workload_of(
        {"m": 6, "p": 6, "e": 3, "d": 2},
        "K[m,e] = I[m,d] * WK[d,e]",
        "QK[m,p] = Q[m,e] * K[p,e]",
    )
    accelerator = Accelerator(
        "two",
        (Memory("Main", None, 100, 100), Memory("Buffer", None, 1, 1)),
        (Compute("MAC", 1, 1),),
    )
    tree = parse_mapping(ATTENTION)
    cost = cost_of(accelerator, workload, tree)
    assert (
        cost.occupancy_bits["Buffer"] == 2 * 3 * 7
    )  # two tokens of three 7-bit values
    verdict = judge_fusion(accelerator, workload, tree)
    assert verdict.violations == ()
    assert verdict.energy == pytest.approx(cost.energy)
    plain = parse_mapping(ATTENTION.replace(", p in QK", ""))
    with pytest.raises(BadInputError, match="loop over m stands above the backing"):
        cost_of(accelerator, workload, plain)
    assert judge_fusion(accelerator, workload, plain).violations


def test_producers_run_before_their_consumers() -> None:
    first, second = MAPPING.split("  Nested\n")[1:]
    head = MAPPING.split("  Nested\n")[0]
    line, violations = refusal(f"{head}  Nested\n{second}  Nested\n{first}")
    assert line == "m.txt: einsum Z runs before Y, its producer"
    assert violations == ("einsum Z: Y is not written yet",)


TPU = """\
[MainMemory] stores T0, W0
[GlobalBuffer] stores T1
spatial-for m tile=16 over LocalBuffer.Z
[LocalBuffer] stores T0, T1
spatial-for n0 tile=1 over ProcessingElement.reuse_output
[Register] stores W0
for n1 tile=1
for m tile=1
compute Matmul0 on MAC
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        pytest.param(
            "m tile=16", "m tile=8",
            "einsum Matmul0 uses 8 units of LocalBuffer.Z, there are 4",
            id="too-many-units",
        ),
        pytest.param(
            "on MAC", "on ScalarUnit",
            "einsum Matmul0 has 3 tensors, ScalarUnit computes einsums of 2",
            id="wrong-unit",
        ),
        pytest.param(
            "[Register] stores W0\n", "[Register] stores W0\n[LocalBuffer] stores W0\n",
            "[LocalBuffer] stores W0 stands under a spatial loop over units inside it",
            id="outer-memory-inside",
        ),
        pytest.param(
            "[MainMemory] stores T0, W0", "[MainMemory] stores T0",
            "einsum Matmul0: the first memory to hold W0 is Register, which is no "
            "backing store",
            id="no-backing-store",
        ),
    ],
)  # fmt: skip
def test_units_are_used_as_they_stand(old: str, new: str, message: str) -> None:
    text = TPU.replace(old, new)
    assert text != TPU
    workload = fusion_workload("matmuls", {"einsums": 1})
    chip, tree = load_accelerator("tpu-v4i"), parse_mapping(text, "m.txt")
    with pytest.raises(BadInputError) as refused:
        cost_of(chip, workload, tree)
    assert refused.value.message == message
    assert judge_fusion(chip, workload, tree).violations


def test_a_capacity_is_filled_exactly_but_not_exceeded() -> None:
    # T0, W0 and T1 of 64 × 64 values of 8 bits are 98,304 bits; the buffer has 65,536
    workload = fusion_workload("matmuls", {"einsums": 1})
    text = (
        "[MainMemory] stores T0, W0, T1\n[GlobalBuffer] stores {}\n"
        "for m tile=1\nfor n0 tile=1\nfor n1 tile=1\ncompute Matmul0 on MAC\n"
    )
    simple = load_accelerator("simple")
    two = parse_mapping(text.format("T1, W0"))  # W0 is followed by m: it stays whole
    assert cost_of(simple, workload, two).occupancy_bits["GlobalBuffer"] == 65536
    assert cost_of(simple, workload, two).overflows == ()
    assert judge_fusion(simple, workload, two).feasible
    three = parse_mapping(text.format("T0, T1, W0"))
    assert cost_of(simple, workload, three).overflows == (
        "memory GlobalBuffer: needs 98304 bits, has 65536: 32768 bits over",
    )
    assert judge_fusion(simple, workload, three).violations == (
        "memory GlobalBuffer: holds 98304 bits at once, has 65536",
    )


def test_no_shared_loop_cuts_a_tensor_whose_tiles_overlap() -> None:
    # y[p] needs h[p-1 .. p+1] of a padded h: in step p, h[p+1] would not be there yet
    workload = workload_of({"p": 4, "r": 3}, "h[p] = x[p]", "y[p] = h[p+r] * w[r]")
    assert workload.elements("h") == 4  # though the halo of all p is 6 wide
    memories = (Memory("Main", None, 1, 1), Memory("Buffer", None, 1, 1))
    chip = Accelerator("two", memories, (Compute("MAC", 1, 1),))
    text = (
        "[Main] stores x, w, y\n{}[Buffer] stores h\nSequential\n  Nested\n"
        "    for p tile=1\n    compute h on MAC\n  Nested\n    for p tile=1\n"
        "    for r tile=1\n    compute y on MAC\n"
    )
    whole = parse_mapping(text.format(""))
    assert cost_of(chip, workload, whole).energy > 0
    assert judge_fusion(chip, workload, whole).feasible
    cut = parse_mapping(text.format("for p tile=2\n"))
    with pytest.raises(BadInputError, match="whose tiles overlap along it in y"):
        cost_of(chip, workload, cut)
    assert judge_fusion(chip, workload, cut).violations == (
        "tensor h: loop over p does not part it",
    )
