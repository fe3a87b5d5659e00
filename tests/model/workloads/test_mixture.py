"""DeepSeek-V3: latent attention and a mixture of experts."""

from __future__ import annotations

import math
from functools import lru_cache

import pytest

from elkhound.model.graph import Graph, Home, Operator
from elkhound.model.workloads import build_workload

VECTORS = ("norm.weight", "router.bias")


@lru_cache(maxsize=8)
def decode(batch: int, seq: int = 5, layers: int = 61, group: int = 32) -> Graph:
    bind = {"batch": batch, "seq": seq, "layers": layers, "experts_at_once": group}
    return build_workload("deepseek-v3", bind)


def named(graph: Graph, name: str) -> Operator:
    return next(o for o in graph.operators if o.name == name)


def parameters(graph: Graph) -> dict[str, int]:
    return {
        tensor.name: math.prod(tensor.shape)
        for tensor in graph.tensors
        if tensor.home is Home.HBM and not tensor.name.endswith("_cache")
    }


def test_matrices_add_up_to_the_published_parameters() -> None:
    counts = parameters(decode(1))
    matrices = sum(n for name, n in counts.items() if not name.endswith(VECTORS))
    assert matrices == 671_025_397_760
    # Norms: 61 · (2 · 7168 + 1536 + 512) + 7168; routers: 58 · 256.
    assert sum(counts.values()) == matrices + 1_006_592 + 14_848 == 671_026_419_200


def test_one_token_multiplies_with_the_active_parameters() -> None:
    # Scores over 576 and values over 512 numbers of 5 cached tokens, 128 heads.
    attention = 61 * 128 * 5 * (576 + 512)
    assert decode(1).macs == 36_624_596_992 + attention


def test_one_token_streams_the_weights_of_its_eight_experts() -> None:
    graph = decode(1)
    streamed = sum(graph.streamed_bytes(o) for o in graph.operators)
    # With vectors and one row of the embedding; scores read the whole cache, the
    # product with V 512 of 576 numbers a token.
    weights = 2 * (36_624_596_992 + 1_006_592 + 14_848 + 7168)
    assert streamed == weights + 61 * 5 * 2 * (576 + 512)


def test_the_cache_holds_the_published_bytes_per_token() -> None:
    graph = decode(3)
    caches = [t.size_bytes for t in graph.tensors if t.name.endswith("_cache")]
    assert sum(caches) == 3 * 5 * 70_272
    new = [graph.tensor[name].size_bytes for name in graph.outputs if name != "head"]
    assert sum(new) == 3 * 70_272


@pytest.mark.parametrize(
    ("batch", "groups", "rows"),
    [
        pytest.param(1, [8], 1, id="eight experts"),
        pytest.param(5, [32, 8], 1, id="a group and a part of one"),
        pytest.param(32, [32] * 8, 1, id="every expert once"),
        pytest.param(33, [32] * 8, 2, id="rows round up"),
        pytest.param(64, [32] * 8, 2, id="every expert twice"),
    ],
)
def test_tokens_spread_evenly_over_the_experts(
    batch: int, groups: list[int], rows: int
) -> None:
    graph = decode(batch, layers=4)
    experts = [o for o in graph.operators if o.name.endswith(".gate")]
    routed = [o for o in experts if "group" in o.name]
    sizes = [{"e": size, "m": rows, "n": 2048, "k": 7168} for size in groups]
    assert [o.einsum.sizes for o in routed] == sizes
    streamed = sum(graph.streamed_bytes(o) for o in routed)
    assert streamed == 2 * sum(groups) * 2048 * 7168


def test_how_many_experts_work_at_once_can_be_bound() -> None:
    bind = {"batch": 2, "seq": 5, "layers": 4, "experts_at_once": 6}
    graph = build_workload("deepseek-v3", bind)
    routed = [o for o in graph.operators if o.name.endswith(".down")]
    sizes = [o.einsum.sizes["e"] for o in routed if "group" in o.name]
    assert sizes == [6, 6, 4]  # 2 tokens reach 16 experts


def test_the_first_three_layers_are_dense() -> None:
    graph = decode(2, layers=4)
    inner = [named(graph, f"layer{i}.gate").einsum.sizes["n"] for i in range(3)]
    assert inner == [18_432] * 3
    routers = [o.name for o in graph.operators if o.name.endswith("router")]
    assert routers == ["layer3.router"]


def test_tensors_are_written_before_they_are_read() -> None:
    graph = decode(2, layers=4)
    ready = {"tokens", "rope.cos", "rope.sin"}
    for operator in graph.operators:
        for access in operator.einsum.inputs:
            assert (
                graph.tensor[access.tensor].home is Home.HBM or access.tensor in ready
            )
        ready.add(operator.einsum.output.tensor)


def test_parts_fill_the_tensor_they_are_written_into() -> None:
    graph = decode(2, layers=4, group=6)
    parts = [o for o in graph.operators if o.einsum.output.tensor == "layer3.experts"]
    assert [o.einsum.sizes["e"] for o in parts] == [6, 6, 4]
    written = sum(o.einsum.output.elements(o.einsum.sizes) for o in parts)
    assert written == math.prod(graph.tensor["layer3.experts"].shape)


def prefill(batch: int, seq: int, layers: int) -> Graph:
    bind = {"batch": batch, "seq": seq, "layers": layers}
    return build_workload("deepseek-v3", bind, "prefill")


def test_a_prefill_has_the_parameters_of_a_decode_step() -> None:
    counts = parameters(prefill(1, 4, 61))
    assert sum(counts.values()) == sum(parameters(decode(1)).values())


def test_a_prefill_expands_k_and_v_to_all_heads() -> None:
    graph = prefill(2, 10, 1)
    projections = 7168 * 1536 + 1536 * 128 * (128 + 64) + 7168 * (512 + 64)
    expansion = 512 * 128 * (128 + 128)
    attention = 10 * 128 * (128 + 64 + 128)  # scores of both kinds, values
    rest = 128 * 128 * 7168 + 3 * 7168 * 18_432
    each = projections + expansion + attention + rest
    assert graph.macs == 2 * (10 * each + 7168 * 129_280)


def test_entries_of_every_new_token_leave() -> None:
    graph = prefill(2, 10, 61)
    new = [graph.tensor[o].size_bytes for o in graph.outputs if o != "head"]
    assert sum(new) == 2 * 10 * 70_272


def test_picks_are_sorted_gathered_and_brought_back() -> None:
    graph = prefill(1, 33, 4)  # 264 picks of 256 experts: two rows each, 512 slots
    picks = {"n": 264}
    order = named(graph, "layer3.order").einsum
    assert (order.sizes, order.statistics_rounds) == (picks, 9)  # ⌈log₂ 264⌉
    assert named(graph, "layer3.padded").einsum.sizes == {"n": 512}
    assert named(graph, "layer3.group7.places").einsum.sizes == {"n": 64}
    dispatch = named(graph, "layer3.group7.dispatch").einsum
    assert dispatch.sizes == {"e": 32, "m": 2, "n": 7168}
    assert named(graph, "layer3.collect").einsum.sizes == {"m": 264, "n": 7168}
    combine = named(graph, "layer3.combine").einsum
    assert combine.sizes == {"m": 33, "c": 8, "n": 7168}
    assert combine.reduced == ("c",)
