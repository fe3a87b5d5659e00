"""Bytes and cycles of single plans, by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from oracles.one_operator import matmul, one_operator, small_chip

from elkhound.model.chip import Chip
from elkhound.model.graph import Graph, Operator, Pass
from elkhound.model.options.execute_plan import ExecutePlans, execute_plans
from elkhound.model.options.rotation import Rotations, exchanges, rotations
from elkhound.model.options.shape import canonical
from elkhound.model.tile_cost import Device
from elkhound.model.tile_cost.tile import Integers

CHIP = small_chip(16, sync_cycles=7)  # exchange 1 B/cycle


def array(*values: int) -> Integers:
    return np.array(values, dtype=np.int64)


def plan(
    built: tuple[Graph, Operator],
    split: list[int],
    *factors: dict[str, int],
    chip: Chip = CHIP,
) -> ExecutePlans:
    """The costs of one split (by dimension above size 1) and one rotation."""
    shape, _ = canonical(*built)
    own = [
        {name: array((factors[i] if factors else {}).get(name, 1)) for name in used}
        for i, used in enumerate(a.dimensions for a in shape.einsum.inputs)
    ]
    return execute_plans(
        shape,
        chip,
        Device.of(chip.core),
        array(*split).reshape(1, -1),
        Rotations(array(0), tuple(own)),
    )


def test_an_unrotated_matmul_holds_its_tiles_and_fetches_its_activation() -> None:
    # Tiles of 4×16 (A), 16×8 (B, streamed), 4×8 (C), 2 B each.
    cost = plan(matmul(8, 32, 16), [2, 4, 1])
    assert cost.execute_bytes.tolist() == [128 + 256 + 64]
    assert cost.exchange_bytes.tolist() == [128]
    assert cost.syncs.tolist() == [0]
    assert cost.exchange_cycles.tolist() == [128]
    # m = 8 and n = 4 after the swap: 24·2 + 514 + 113 + 173
    assert cost.compute_cycles.tolist() == [848]


def test_a_rotating_weight_is_held_in_two_pieces_and_passed_on() -> None:
    # B (dimension 2 is k) is shared by 4 cores: 4 pieces of 4×8 elements, 64 B.
    cost = plan(matmul(16, 32, 16), [4, 4, 1], {}, {"2": 4})
    assert cost.execute_bytes.tolist() == [128 + 2 * 64 + 4 * 8 * 4]
    # A once, then three pieces of B with two synchronisations each.
    assert cost.exchange_bytes.tolist() == [128 + 3 * 64]
    assert cost.syncs.tolist() == [6]
    assert cost.exchange_cycles.tolist() == [128 + 192 + 6 * 7]
    assert cost.steps.tolist() == [4]
    # Four steps of 8×4 with k = 4, as many blocks as above each.
    assert cost.compute_cycles.tolist() == [4 * 848]


def test_the_output_is_an_accumulator_when_a_reduction_is_cut_in_time() -> None:
    stored = plan(matmul(16, 32, 16), [4, 4, 1], {}, {"1": 4})
    partial = plan(matmul(16, 32, 16), [4, 4, 1], {}, {"2": 4})
    assert (partial.execute_bytes - stored.execute_bytes).tolist() == [4 * 8 * (4 - 2)]


def test_of_two_rotating_inputs_the_one_that_moves_most_is_outermost() -> None:
    # Pieces of 10 and 100 B, f = 2 each, on different dimensions. The second moves
    # 100 B and is outermost: one exchange; the first restarts for each of its steps.
    plans = Rotations(array(0), ({"m": array(2)}, {"n": array(2)}))
    assert [c.tolist() for c in exchanges(plans, [array(10), array(100)])] == [[2], [1]]
    # On a tie the earlier is outermost.
    assert [c.tolist() for c in exchanges(plans, [array(10), array(10)])] == [[1], [2]]


def test_inputs_that_rotate_on_one_dimension_move_together() -> None:
    plans = Rotations(array(0), ({"k": array(2)}, {"k": array(4)}))
    assert [c.tolist() for c in exchanges(plans, [array(10), array(10)])] == [[1], [3]]


def test_factors_of_two_inputs_on_one_dimension_divide_one_another() -> None:
    shape, _ = canonical(*matmul(6, 6, 6))
    splits = array(6, 6, 1).reshape(1, -1)
    found = rotations(shape, splits, array(1, 1, 6).reshape(1, -1))
    pairs = set(
        zip(found.factors[0]["2"].tolist(), found.factors[1]["2"].tolist(), strict=True)
    )
    # f | 6 cores that share, f ≤ 6 = extent of k; all pairs but (2, 3) and (3, 2).
    ones = (1, 2, 3, 6)
    assert pairs == {(a, b) for a in ones for b in ones} - {(2, 3), (3, 2)}


def test_no_piece_of_a_rotation_is_empty() -> None:
    shape, _ = canonical(*matmul(6, 6, 6))
    found = rotations(
        shape, array(6, 6, 1).reshape(1, -1), array(1, 1, 2).reshape(1, -1)
    )
    assert found.factors[0]["2"].max() == 2


def test_partial_sums_are_kept_and_exchanged_at_accumulator_type() -> None:
    """int8 matmul, M = N = 256, K in two: partial sums are int32, 262,144 B a core.

    A capacity between the int8 and the int32 output refuses the plan that splits K
    and admits the one that splits M.
    """
    built = matmul(256, 256, 64, dtype="int8")
    chip = small_chip(2, sync_cycles=7, sram_bytes=200_000)
    halved = plan(built, [1, 1, 2], chip=chip)
    # Inputs of 256×32 and 32×256 bytes; own and received partial sums.
    assert halved.execute_bytes.tolist() == [2 * 8_192 + 2 * 262_144]
    # Fetch A's 8,192 B; reduce-scatter half of the sums with two synchronisations.
    assert halved.exchange_bytes.tolist() == [8_192 + 131_072]
    assert halved.syncs.tolist() == [2]
    # Its additions: an elementwise pass over 65,536 elements, 0.5e + 300.
    # The matmul: ⌈256/6⌉ = 43, k 2, n 16: 24·43·2·16 + 514·2·16 + 113·16 + 173.
    assert halved.compute_cycles.tolist() == [33_024 + 16_448 + 1_808 + 173 + 33_068]
    whole = plan(built, [2, 1, 1], chip=chip)
    assert whole.execute_bytes.tolist() == [128 * 64 + 64 * 256 + 128 * 256]
    assert whole.execute_bytes[0] <= 200_000 < 262_144 < halved.execute_bytes[0]


def test_uneven_shares_of_partial_sums_round_up() -> None:
    # 3 cores share sums of 5×1 elements at 4 B: ⌈2/3 · 20⌉ = 14, and A's 5·2 elements.
    cost = plan(matmul(5, 1, 6), [1, 3])
    assert cost.exchange_bytes.tolist() == [20 + 14]


def test_a_row_cut_costs_all_reduces_of_one_value_per_row() -> None:
    softmax = one_operator(
        {"m": 10, "n": 100},
        ["m n"],
        "m n",
        (Pass.REDUCE, Pass.ELEMENTWISE),
        row_dimensions=("n",),
        statistics_rounds=2,
    )
    cost = plan(softmax, [2, 4])
    # Tile 5×25: fetch 250 B; two rounds of 2·⌈3/4 · 5 · 4⌉ = 30 B and 4 syncs.
    assert cost.exchange_bytes.tolist() == [250 + 2 * 30]
    assert cost.syncs.tolist() == [8]
    assert cost.execute_bytes.tolist() == [250 + 250]
    assert plan(softmax, [10, 1]).syncs.tolist() == [0]


def test_a_piece_of_a_halo_axis_keeps_its_halo() -> None:
    convolution = one_operator(
        {"oc": 4, "oh": 8, "kh": 3}, ["2oh+kh", "oc kh"], "oc oh", (Pass.MATMUL,)
    )
    # Tile: 1 + 2·7 + 2 = 17 rows; in two pieces of 4 outputs 1 + 2·3 + 2 = 9 rows.
    whole = plan(convolution, [4, 1, 1])
    halves = plan(convolution, [4, 1, 1], {"1": 2}, {})
    assert whole.pieces[0].tolist() == [17 * 2]
    assert halves.pieces[0].tolist() == [9 * 2]
    assert halves.execute_bytes.tolist() == [2 * 18 + 3 * 2 + 8 * 2]


def test_crossing_chips_stretches_the_exchange() -> None:
    two_chips = replace(CHIP, chips=2, cores_per_chip=4)
    inside = plan(matmul(8, 32, 16), [1, 4, 1], chip=two_chips)
    across = plan(matmul(8, 32, 16), [2, 4, 1], chip=two_chips)
    assert inside.exchange_cycles.tolist() == [256]
    assert across.exchange_cycles.tolist() == [160]  # 128 B · 1.25


def test_a_wide_type_is_bound_by_the_sram_port() -> None:
    add = one_operator(
        {"e": 40_000}, ["e", "e "], "e", (Pass.ELEMENTWISE,), dtype="float64"
    )
    # 10,000 elements: two tensors of 8 B read, one written, at 16 B/cycle, against
    # 0.75·10,000 + 290.
    assert plan(add, [4]).compute_cycles.tolist() == [15_000]


@pytest.mark.parametrize("streamed", [(), (0,), (1,), (0, 1)])
def test_only_resident_inputs_are_fetched(streamed: tuple[int, ...]) -> None:
    cost = plan(matmul(8, 32, 16, streamed=streamed), [2, 4, 1])
    fetched = sum(size for i, size in enumerate((128, 256)) if i not in streamed)
    assert cost.exchange_bytes.tolist() == [fetched]
