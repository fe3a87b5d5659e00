"""One chip's part of a dense transformer that several chips share."""

from __future__ import annotations

import math

import pytest

from elkhound.model.errors import BadInputError
from elkhound.model.graph import Graph, Home, Operator, Pass
from elkhound.model.workloads import build_workload, workload_names, workload_phases

DENSE = [
    name
    for name in workload_names()
    if "training" in workload_phases(name) and name not in ("dit-xl-2", "deepseek-v3")
]


def part(name: str, chips: int, phase: str = "decode") -> Graph:
    bind = {"batch": 2, "seq": 16, "layers": 1, "tensor_parallel": chips}
    return build_workload(name, bind, phase)


def named(graph: Graph, name: str) -> Operator:
    return next(o for o in graph.operators if o.name == name)


def weights(graph: Graph) -> dict[str, int]:
    return {
        t.name: math.prod(t.shape)
        for t in graph.tensors
        if t.home is Home.HBM and not t.name.endswith("_cache")
    }


@pytest.mark.parametrize("phase", ["decode", "prefill"])
def test_one_chip_is_the_whole_model(phase: str) -> None:
    bind = {"batch": 2, "seq": 16, "layers": 1}
    assert part("llama-2-7b", 1, phase) == build_workload("llama-2-7b", bind, phase)


def test_parts_of_all_chips_make_up_the_weights() -> None:
    whole, quarter = weights(part("llama-2-7b", 1)), weights(part("llama-2-7b", 4))
    assert whole.keys() == quarter.keys()
    for name, count in whole.items():
        on_every_chip = "norm" in name or name == "embedding.weight"
        assert quarter[name] * (1 if on_every_chip else 4) == count


@pytest.mark.parametrize("name", DENSE)
def test_chips_share_the_products_and_the_caches(name: str) -> None:
    whole, half = part(name, 1), part(name, 2)
    vocabulary = named(whole, "head").einsum.sizes["n"]
    hidden = named(whole, "head").einsum.sizes["k"]
    uneven = 2 * hidden * (vocabulary % 2)  # rows · width · one column of padding
    assert 2 * half.macs == whole.macs + uneven
    caches = [
        sum(t.size_bytes for t in graph.tensors if t.name.endswith("_cache"))
        for graph in (whole, half)
    ]
    assert caches[0] == 2 * caches[1]


def test_attention_and_network_end_in_an_all_reduce() -> None:
    names = [o.name for o in part("llama-2-7b", 4).operators]
    for product in ("layer0.o", "layer0.down"):
        place = names.index(product)
        assert names[place + 1 : place + 3] == [
            f"{product}_reduce_scatter",
            f"{product}_all_gather",
        ]


def test_an_all_reduce_reads_all_columns_twice_and_adds_up_a_part() -> None:
    graph = part("llama-2-7b", 4)
    scatter = named(graph, "layer0.o_reduce_scatter").einsum
    assert scatter.sizes == {"m": 2, "n": 1024, "c": 4}
    assert (scatter.reduced, scatter.passes) == (("c",), (Pass.REDUCE,))
    assert scatter.inputs[0].elements(scatter.sizes) == 2 * 4096
    gather = named(graph, "layer0.o_all_gather").einsum
    assert gather.inputs[0].tensor == scatter.output.tensor
    assert gather.inputs[0].elements(gather.sizes) == 2 * 4096
    add = named(graph, "layer0.attention_add").einsum
    assert add.inputs[1].tensor == gather.output.tensor


def test_the_head_of_the_largest_part_is_planned() -> None:
    # 50,257 columns over 4 chips: 12,565 on three of them, 12,562 on the last.
    head = named(part("gpt-3-6.7b", 4), "head").einsum
    assert head.sizes["n"] == 12_565


@pytest.mark.parametrize(
    ("name", "chips", "phase", "message"),
    [
        pytest.param(
            "llama-2-70b", 16, "decode", "integer from 1 to 8", id="fewer KV heads"
        ),
        pytest.param(
            "llama-2-7b", 3, "decode", "3, must divide the 32 heads", id="uneven heads"
        ),
        pytest.param(
            "llama-2-7b",
            2,
            "training",
            "unknown symbol 'tensor_parallel'",
            id="training",
        ),
    ],
)
def test_what_does_not_divide_is_refused(
    name: str, chips: int, phase: str, message: str
) -> None:
    with pytest.raises(BadInputError, match=message):
        part(name, chips, phase)
