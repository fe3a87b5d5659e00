"""The analytical core, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.one_operator import one_operator, small_chip

from elkhound.model.graph import Einsum, Pass
from elkhound.model.tile_cost import Blocks, Device, MatmulSwap, TileKind, einsum_cycles
from elkhound.model.tile_cost.kinds import DIMENSIONS, matmul_dimensions
from elkhound.model.tile_cost.tile import Integers

CORE = Device.of(small_chip(1).core)


def array(*values: int) -> Integers:
    return np.array(values, dtype=np.int64)


def matmul_cycles(device: Device, b: int, m: int, n: int, k: int) -> int:
    return int(device.matmul(array(b), array(m), array(n), array(k))[0])


def test_a_matmul_counts_blocks_panels_and_columns() -> None:
    # ⌈32/6⌉ = 6, ⌈32/16⌉ = 2, ⌈16/16⌉ = 1: 24·6·2·1 + 514·2·1 + 113·1 + 173
    assert matmul_cycles(CORE, 1, 32, 16, 32) == 288 + 1028 + 113 + 173
    assert matmul_cycles(CORE, 3, 32, 16, 32) == 3 * 1602


def test_the_smaller_side_is_the_one_cut_into_16() -> None:
    assert matmul_cycles(CORE, 1, 16, 32, 32) == matmul_cycles(CORE, 1, 32, 16, 32)


def test_a_small_matmul_keeps_its_order_when_the_swap_is_off() -> None:
    device = Device.of(small_chip(1).core, MatmulSwap.OFF_WHEN_SMALL)
    # ⌈16/6⌉ = 3, ⌈32/16⌉ = 2 in k and in n: 24·3·2·2 + 514·2·2 + 113·2 + 173
    assert matmul_cycles(device, 1, 16, 32, 32) == 288 + 2056 + 226 + 173
    # min(m, n) = 17 swaps: ⌈20/6⌉ = 4, ⌈17/16⌉ = 2: 24·4·2·2 + 514·2·2 + 113·2 + 173
    assert matmul_cycles(device, 1, 17, 20, 32) == 384 + 2056 + 226 + 173


@pytest.mark.parametrize(
    ("mac_per_cycle", "cycles"),
    [
        pytest.param(64, 1602, id="as fitted"),
        pytest.param(96, 1506, id="12 blocks of 16"),
        pytest.param(100, 1499, id="12 blocks of 15.36, rounded up once"),
    ],
)
def test_the_multiplier_rate_scales_the_block_term(
    mac_per_cycle: int, cycles: int
) -> None:
    device = Device.of(small_chip(1, mac_per_cycle=mac_per_cycle).core)
    assert matmul_cycles(device, 1, 32, 16, 32) == cycles


@pytest.mark.parametrize("blocks", list(Blocks))
def test_a_matmul_is_monotone_when_it_always_swaps(blocks: Blocks) -> None:
    device = Device.of(small_chip(1).core, blocks=blocks)
    m, n, k = np.meshgrid(*[np.arange(1, 50)] * 3, indexing="ij")
    cycles = device.matmul(np.ones_like(m), m, n, k)
    for axis in range(3):
        assert (np.diff(cycles, axis=axis) >= 0).all()


def test_without_steps_a_block_that_is_not_full_costs_its_share() -> None:
    device = Device.of(small_chip(1).core, blocks=Blocks.FRACTIONAL)
    # 32·16·32 / 64 multiplications; 514·(32/16)·(16/16) + 113·(16/16) + 173
    assert matmul_cycles(device, 1, 32, 16, 32) == 256 + 1028 + 113 + 173
    # 9·8·4 / 64 = 4.5; 514·(4/16)·(8/16) + 113·(8/16) + 173 = 293.75
    assert matmul_cycles(device, 1, 9, 8, 4) == 5 + 294
    # 15 elements by 3 indices: 300 + 7.5 + 3
    assert device.gather(array(15), array(3)).tolist() == [311]


@given(data=st.data(), mac=st.integers(1, 300), flop=st.integers(1, 40))
@settings(derandomize=True, deadline=None, max_examples=300)
def test_a_larger_tile_never_takes_fewer_cycles(
    data: st.DataObject, mac: int, flop: int
) -> None:
    kind = data.draw(st.sampled_from(list(TileKind)))
    blocks = data.draw(st.sampled_from(list(Blocks)))
    device = Device(mac, flop, blocks=blocks)
    small = data.draw(_tile(kind))
    grown = [
        extent + data.draw(st.sampled_from([0, 1, 2, 17, 5000])) for extent in small
    ]
    assert _cycles(device, kind, grown) >= _cycles(device, kind, small)


def _tile(kind: TileKind) -> st.SearchStrategy[list[int]]:
    """Dimensions of a tile, often at the ends of the formulas' pieces."""
    most = 200 if kind is TileKind.MATMUL else 40_000
    extent = st.one_of(
        st.integers(1, most), st.sampled_from([16, 80, 480, 10970, 16432])
    )
    count = len(DIMENSIONS[kind])
    return st.lists(extent, min_size=count, max_size=count)


def _cycles(device: Device, kind: TileKind, extents: list[int]) -> int:
    """Cycles of one tile; a gather grows by whole rows: its elements are rows·width."""
    if kind is TileKind.GATHER:
        width, rows = extents
        extents = [width * rows, rows]
    return int(device.tile_cycles(kind, tuple(array(e) for e in extents))[0])


def test_a_slow_vector_unit_does_not_make_a_longer_tile_cheaper() -> None:
    # At one operation a cycle 300 + 8217·4 is above 0.5·4·16433 + 300.
    device = Device(64, 1)
    assert device.elementwise(array(16_432, 16_433)).tolist() == [33_168, 33_168]


def test_a_gather_of_the_same_elements_by_more_indices_may_be_cheaper() -> None:
    # 300 + ⌈10/4/2⌉·4 + 4 = 312, but 300 + ⌈10/5/2⌉·5 + 5 = 310
    assert CORE.gather(array(10, 10), array(4, 5)).tolist() == [312, 310]


def test_a_matmul_is_not_monotone_when_small_ones_keep_their_order() -> None:
    device = Device.of(small_chip(1).core, MatmulSwap.OFF_WHEN_SMALL)
    assert matmul_cycles(device, 1, 16, 200, 64) > matmul_cycles(device, 1, 17, 200, 64)


def test_two_halves_of_a_matmul_may_be_cheaper_than_the_whole() -> None:
    halves = 2 * matmul_cycles(CORE, 1, 16, 17, 64)
    assert halves < matmul_cycles(CORE, 1, 32, 17, 64)


@pytest.mark.parametrize(
    ("name", "elements", "cycles"),
    [
        pytest.param("elementwise", 1, 291, id="elementwise 290.75"),
        pytest.param("elementwise", 1_000, 1_040, id="elementwise short"),
        pytest.param("elementwise", 12_000, 8_517, id="elementwise capped"),
        pytest.param("elementwise", 16_432, 8_517, id="elementwise last capped"),
        pytest.param("elementwise", 16_433, 8_517, id="elementwise 8516.5"),
        pytest.param("elementwise", 20_000, 10_300, id="elementwise long"),
        pytest.param("unary", 1_001, 701, id="unary 700.5"),
        pytest.param("reduce", 1, 177, id="reduce 176.5"),
        pytest.param("reduce", 80, 295, id="reduce reaches its cap"),
        pytest.param("reduce", 480, 295, id="reduce last capped"),
        pytest.param("reduce", 481, 296, id="reduce 295.25"),
        pytest.param("slice", 100, 174, id="slice"),
        pytest.param("slice", 101, 175, id="slice 174.56"),
    ],
)
def test_a_vector_pass_counts_elements(name: str, elements: int, cycles: int) -> None:
    assert getattr(CORE, name)(array(elements)).tolist() == [cycles]


@pytest.mark.parametrize(
    ("name", "elements", "cycles"),
    [
        pytest.param("elementwise", 1_000, 290 + 375, id="elementwise 0.375e"),
        pytest.param("elementwise", 16_432, 300 + 4_109, id="elementwise cap 4108.5"),
        pytest.param("unary", 1_000, 200 + 250, id="unary 0.25e"),
        pytest.param("reduce", 400, 175 + 60, id="reduce cap 60"),
        pytest.param("slice", 100, 118 + 28, id="slice 0.28e"),
    ],
)
def test_the_vector_rate_scales_the_terms_per_element(
    name: str, elements: int, cycles: int
) -> None:
    device = Device.of(small_chip(1, vector_flop_per_cycle=8).core)
    assert getattr(device, name)(array(elements)).tolist() == [cycles]


def test_a_gather_counts_indices_and_half_the_elements_of_each() -> None:
    # 3 indices of 5 elements: 300 + ⌈5/2⌉·3 + 3
    assert CORE.gather(array(15), array(3)).tolist() == [312]


def einsum(
    sizes: dict[str, int], inputs: list[str], output: str, passes: tuple[Pass, ...]
) -> Einsum:
    return one_operator(sizes, inputs, output, passes)[1].einsum


def test_a_matmul_tells_b_m_n_and_k_by_what_they_index() -> None:
    batched = einsum(
        dict.fromkeys("bmnk", 2), ["b m k", "b k n"], "b m n", (Pass.MATMUL,)
    )
    assert matmul_dimensions(batched) == (["b"], ["m"], ["n"], ["k"])


def test_a_grouped_convolution_is_a_batch_of_matmuls() -> None:
    convolution = einsum(
        dict.fromkeys(["n", "g", "oc", "oh", "ow", "ic", "kh", "kw"], 2),
        ["n g ic 2oh+kh 2ow+kw", "g oc ic kh kw"],
        "n g oc oh ow",
        (Pass.MATMUL,),
    )
    assert matmul_dimensions(convolution) == (
        ["g"],
        ["n", "oh", "ow"],
        ["oc"],
        ["ic", "kh", "kw"],
    )


def test_the_passes_of_an_einsum_add_up() -> None:
    norm = einsum(
        {"m": 4, "n": 100},
        ["m n", "n"],
        "m n",
        (Pass.REDUCE, Pass.ROW_UNARY, Pass.ELEMENTWISE),
    )
    # Rows are what is left without the reduced rows' own dimension.
    norm = Einsum(
        norm.dimensions, norm.inputs, norm.output, norm.passes, row_dimensions=("n",)
    )
    # reduce 200: 175 + min(120, 300); unary of 2 rows: 201; elementwise 200: 440
    assert einsum_cycles(CORE, norm, {"m": array(2), "n": array(100)}).tolist() == [
        295 + 201 + 440
    ]


@pytest.mark.parametrize(
    "inputs",
    [
        pytest.param(["i h", "i"], id="indices are an input"),
        pytest.param(["i h"], id="indices are the first axis"),
    ],
)
def test_a_gather_of_a_tile_counts_its_rows_as_indices(inputs: list[str]) -> None:
    gather = einsum({"i": 3, "h": 5}, inputs, "i h", (Pass.GATHER,))
    assert einsum_cycles(CORE, gather, {"i": array(3), "h": array(5)}).tolist() == [312]
