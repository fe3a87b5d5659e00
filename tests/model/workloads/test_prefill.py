"""Prefill: all tokens of every prompt at once."""

from __future__ import annotations

import math

import pytest

from elkhound.model.graph import Graph, Home, Operator
from elkhound.model.workloads import build_workload, workload_names, workload_phases

LANGUAGE = [name for name in workload_names() if "prefill" in workload_phases(name)]
DENSE = [name for name in LANGUAGE if name != "deepseek-v3"]


def prefill(name: str, batch: int, seq: int, layers: int) -> Graph:
    bind = {"batch": batch, "seq": seq, "layers": layers}
    return build_workload(name, bind, "prefill")


def named(graph: Graph, name: str) -> Operator:
    return next(o for o in graph.operators if o.name == name)


def test_the_nine_language_models_have_a_prefill() -> None:
    assert len(LANGUAGE) == 9


def test_every_product_counts_every_new_token() -> None:
    graph = prefill("llama-2-13b", 2, 100, 1)
    projections = 4 * 5120 * 5120 + 3 * 5120 * 13824
    attention = 2 * 40 * 100 * 128  # for each token: 40 heads, all 100 tokens
    head = 32_000 * 5120  # for each sequence
    assert graph.macs == 2 * (100 * (projections + attention) + head)


def test_no_token_is_masked_out_of_scores_and_softmax() -> None:
    graph = prefill("llama-2-70b", 2, 100, 1)
    # 64 query heads share 8 KV heads; queries are rows, K is one of each head.
    sizes = {"b": 2, "h": 8, "m": 8, "s": 100, "n": 100, "k": 128}
    scores = named(graph, "layer0.scores").einsum
    assert scores.sizes == sizes
    assert [graph.tensor[a.tensor].home for a in scores.inputs] == [Home.CHIP] * 2
    assert scores.inputs[1].elements(sizes) == 2 * 8 * 100 * 128
    softmax = named(graph, "layer0.softmax").einsum
    assert (softmax.sizes["n"], softmax.row_dimensions) == (100, ("n",))


def test_a_window_does_not_shorten_the_scores_of_a_prefill() -> None:
    graph = prefill("gemma-2-27b", 1, 8192, 2)
    lengths = [named(graph, f"layer{i}.scores").einsum.sizes["n"] for i in (0, 1)]
    assert lengths == [8192, 8192]


@pytest.mark.parametrize("name", DENSE)
def test_only_weights_are_streamed(name: str) -> None:
    graph = prefill(name, 2, 16, 1)
    decode = build_workload(name, {"batch": 2, "seq": 16, "layers": 1})
    streamed = {t.name: t for t in graph.tensors if t.home is Home.HBM}
    in_decode = {
        t.name: t
        for t in decode.tensors
        if t.home is Home.HBM and not t.name.endswith("_cache")
    }
    assert streamed == in_decode


@pytest.mark.parametrize("name", DENSE)
def test_k_and_v_of_every_token_leave(name: str) -> None:
    graph = prefill(name, 2, 16, 1)
    decode = build_workload(name, {"batch": 2, "seq": 16, "layers": 1})
    kv = "layer0.kv_append"
    assert graph.tensor[kv].size_bytes == 16 * decode.tensor[kv].size_bytes


@pytest.mark.parametrize("name", LANGUAGE)
def test_whole_tiles_cover_whole_tensors(name: str) -> None:
    graph = prefill(name, 3, 8, 1)
    for operator in graph.operators:
        einsum = operator.einsum
        for access in (*einsum.inputs, einsum.output):
            whole = math.prod(graph.tensor[access.tensor].shape)
            touched = access.elements(einsum.sizes)
            if operator.name == "last_token" and access.tensor != "last_token":
                assert touched * 8 == whole
            elif access.tensor not in ("embedding.weight", "position.weight"):
                assert touched == whole
    assert graph.streamed_bytes(named(graph, "embedding")) == (
        3 * 8 * 2 * graph.tensor["embedding.weight"].shape[1]
    )


def test_every_new_token_reads_its_learned_position() -> None:
    graph = prefill("gpt-3-6.7b", 2, 100, 1)
    assert graph.streamed_bytes(named(graph, "position")) == 100 * 4096 * 2


def test_the_head_sees_the_last_token_of_every_sequence() -> None:
    graph = prefill("llama-2-7b", 3, 100, 1)
    assert named(graph, "head").einsum.sizes == {"m": 3, "n": 32_000, "k": 4096}
    assert [o.name for o in graph.operators if o.layer is None] == [
        "embedding",
        "last_token",
        "final_norm",
        "head",
    ]
