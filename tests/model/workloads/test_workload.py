from __future__ import annotations

import math

import pytest

from elkhound.model.errors import BadInputError
from elkhound.model.graph import Graph, Home, Operator, OperatorKind, Pass
from elkhound.model.workloads import (
    build_workload,
    workload_names,
)

# Parameters, and bytes of K and V per token, as published.
PUBLISHED = {
    "llama-2-7b": (6_738_415_616, 524_288),
    "llama-2-13b": (13_015_864_320, 819_200),
    "llama-2-70b": (68_976_648_192, 327_680),
    "llama-3-8b": (8_030_261_248, 131_072),
    "gemma-2-27b": (27_227_128_320, 376_832),
    "opt-30b": (29_974_540_288, 1_376_256),
    "gpt-3-6.7b": (6_658_404_352, 524_288),
    "gpt-3-175b": (174_604_259_328, 4_718_592),
}


def streaming(graph: Graph) -> list[Operator]:
    return [o for o in graph.operators if graph.streamed_bytes(o)]


def in_layer(graph: Graph, layer: int | None) -> list[Operator]:
    return [o for o in graph.operators if o.layer == layer]


def named(graph: Graph, name: str) -> Operator:
    return next(o for o in graph.operators if o.name == name)


def is_cache(name: str) -> bool:
    return name.endswith(("k_cache", "v_cache"))


def test_the_catalogue_is_the_published_table() -> None:
    assert set(workload_names()) == {*PUBLISHED, "dit-xl-2", "deepseek-v3"}


@pytest.mark.parametrize("name", PUBLISHED)
def test_weights_add_up_to_the_published_parameters(name: str) -> None:
    graph = build_workload(name, {"batch": 1, "seq": 16})
    weights = [
        math.prod(tensor.shape)
        for tensor in graph.tensors
        if tensor.home is Home.HBM and not is_cache(tensor.name)
    ]
    assert sum(weights) == PUBLISHED[name][0]


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_new_token_leaves_as_many_kv_bytes_as_published(name: str) -> None:
    graph = build_workload(name, {"batch": 3, "seq": 16})
    sizes = [
        graph.tensor[o].size_bytes for o in graph.outputs if not o.startswith("head")
    ]
    assert sum(sizes) == 3 * PUBLISHED[name][1]


@pytest.mark.parametrize("name", sorted(set(PUBLISHED) - {"gemma-2-27b"}))
def test_cached_tokens_are_streamed_with_the_published_bytes(name: str) -> None:
    graph = build_workload(name, {"batch": 2, "seq": 5})
    caches = [t.size_bytes for t in graph.tensors if is_cache(t.name)]
    assert sum(caches) == 2 * 5 * PUBLISHED[name][1]


def test_llama_2_13b_has_723_operators() -> None:
    graph = build_workload("llama-2-13b", {"batch": 32, "seq": 2048})
    assert len(graph.operators) == 40 * 18 + 3  # embedding, final norm, head
    assert len(streaming(graph)) == 40 * 11 + 3
    assert [o.name for o in in_layer(graph, None)] == [
        "embedding",
        "final_norm",
        "head",
    ]


def test_llama_2_13b_streams_its_weights_and_caches() -> None:
    graph = build_workload("llama-2-13b", {"batch": 32, "seq": 2048})
    # All parameters but the embedding (32,000 × 5,120), of which 32 rows are touched.
    weights = 13_015_864_320 - 32_000 * 5_120 + 32 * 5_120
    caches = 32 * 2048 * 819_200
    total = sum(graph.streamed_bytes(o) for o in graph.operators)
    assert total == 2 * weights + caches == 79_391_467_520  # 79.4 GB


def test_a_llama_layer_has_the_canonical_operators() -> None:
    graph = build_workload("llama-2-13b", {"batch": 32, "seq": 2048, "layers": 1})
    assert [o.name.removeprefix("layer0.") for o in in_layer(graph, 0)] == [
        "attention_norm",
        "q",
        "k",
        "v",
        "rope_q",
        "rope_k",
        "kv_append",
        "scores",
        "softmax",
        "attention",
        "o",
        "attention_add",
        "ffn_norm",
        "gate",
        "up",
        "activation",
        "down",
        "ffn_add",
    ]
    resting = [o.name for o in in_layer(graph, 0) if not graph.streamed_bytes(o)]
    assert [name.removeprefix("layer0.") for name in resting] == [
        "rope_q",
        "rope_k",
        "kv_append",
        "softmax",
        "attention_add",
        "activation",
        "ffn_add",
    ]


@pytest.mark.parametrize(
    ("name", "in_a_layer", "outside"),
    [
        pytest.param("llama-2-70b", 18, 3, id="grouped queries"),
        pytest.param("gemma-2-27b", 21, 4, id="two post-norms, two caps"),
        # No RoPE on q and k, no gate; a position is added to the embedding.
        pytest.param("opt-30b", 15, 4, id="learned positions"),
        pytest.param("gpt-3-175b", 15, 4, id="learned positions, GELU"),
    ],
)
def test_other_layers_differ_as_their_architecture_says(
    name: str, in_a_layer: int, outside: int
) -> None:
    graph = build_workload(name, {"batch": 1, "seq": 8, "layers": 2})
    assert len(in_layer(graph, 0)) == len(in_layer(graph, 1)) == in_a_layer
    assert len(in_layer(graph, None)) == outside


def test_query_heads_of_a_group_are_rows_of_its_scores() -> None:
    graph = build_workload("llama-2-70b", {"batch": 4, "seq": 100, "layers": 1})
    # 64 query heads share 8 KV heads.
    sizes = {"b": 4, "h": 8, "m": 8, "n": 100, "k": 128}
    assert named(graph, "layer0.scores").einsum.sizes == sizes
    softmax = named(graph, "layer0.softmax").einsum
    assert softmax.sizes["n"] == 100
    assert (softmax.row_dimensions, softmax.statistics_rounds) == (("n",), 2)
    assert named(graph, "layer0.attention").einsum.reduced == ("k",)


def test_every_matmul_counts_its_macs_once() -> None:
    graph = build_workload("llama-2-13b", {"batch": 32, "seq": 2048, "layers": 1})
    projections = 4 * 5120 * 5120 + 3 * 5120 * 13824 + 32_000 * 5120
    attention = 2 * 40 * 2048 * 128
    assert graph.macs == 32 * (projections + attention)


def test_even_gemma_layers_attend_to_the_window_only() -> None:
    graph = build_workload("gemma-2-27b", {"batch": 1, "seq": 8192, "layers": 2})
    lengths = [named(graph, f"layer{i}.scores").einsum.sizes["n"] for i in (0, 1)]
    assert lengths == [4096, 8192]
    short = build_workload("gemma-2-27b", {"batch": 1, "seq": 100, "layers": 2})
    lengths = [named(short, f"layer{i}.scores").einsum.sizes["n"] for i in (0, 1)]
    assert lengths == [100, 100]


def test_gemma_caps_scores_and_logits() -> None:
    graph = build_workload("gemma-2-27b", {"batch": 1, "seq": 8, "layers": 1})
    scores, cap, softmax = (
        named(graph, f"layer0.{name}").einsum
        for name in ("scores", "scores_cap", "softmax")
    )
    assert cap.passes == (Pass.UNARY,)
    assert cap.inputs[0].tensor == scores.output.tensor
    assert softmax.inputs[0].tensor == cap.output.tensor
    assert graph.operators[-1].name == graph.outputs[0] == "head_cap"


def test_a_tied_head_streams_the_embedding() -> None:
    graph = build_workload("opt-30b", {"batch": 2, "seq": 8, "layers": 1})
    assert named(graph, "head").einsum.inputs[1].tensor == "embedding.weight"
    assert graph.streamed_bytes(named(graph, "head")) == 2 * 50_272 * 7168
    assert graph.streamed_bytes(named(graph, "embedding")) == 2 * 2 * 7168


def test_one_row_of_the_position_table_is_read() -> None:
    graph = build_workload("opt-30b", {"batch": 2, "seq": 8, "layers": 1})
    assert graph.streamed_bytes(named(graph, "position")) == 2 * 7168


def test_biases_are_streamed_with_their_matmul() -> None:
    graph = build_workload("gpt-3-6.7b", {"batch": 1, "seq": 8, "layers": 1})
    up = named(graph, "layer0.up")
    assert graph.streamed_bytes(up) == 2 * (4096 * 16_384 + 16_384)
    assert up.einsum.passes == (Pass.MATMUL, Pass.ELEMENTWISE)


@pytest.mark.parametrize("name", PUBLISHED)
def test_tensors_are_written_before_they_are_read(name: str) -> None:
    graph = build_workload(name, {"batch": 1, "seq": 8, "layers": 2})
    tensors = graph.tensor
    ready = {"tokens", "rope.cos", "rope.sin"}
    for operator in graph.operators:
        for access in operator.einsum.inputs:
            tensor = tensors[access.tensor]
            assert tensor.home is Home.HBM or tensor.name in ready
        ready.add(operator.einsum.output.tensor)


@pytest.mark.parametrize("name", PUBLISHED)
def test_whole_tiles_cover_whole_tensors(name: str) -> None:
    graph = build_workload(name, {"batch": 3, "seq": 8, "layers": 1})
    tensors = graph.tensor
    for operator in graph.operators:
        sizes = operator.einsum.sizes
        for access in (*operator.einsum.inputs, operator.einsum.output):
            if operator.kind is OperatorKind.GATHER or access.tensor.startswith("pos"):
                continue  # reads some rows of its table
            whole = math.prod(tensors[access.tensor].shape)
            assert access.elements(sizes) == whole


def test_dtypes_are_sixteen_bit() -> None:
    for name, dtype in (("llama-3-8b", "bfloat16"), ("opt-30b", "float16")):
        graph = build_workload(name, {"batch": 1, "seq": 1, "layers": 1})
        assert graph.tensor["layer0.q.weight"].dtype.name == dtype


@pytest.mark.parametrize(
    ("name", "bind", "phase", "message"),
    [
        pytest.param(
            "llama-2-13", {}, "decode", "did you mean llama-2-13b", id="misspelt"
        ),
        pytest.param(
            "unet", {}, "decode", "legal: deepseek-v3, dit-xl-2", id="legal names"
        ),
        pytest.param(
            "llama-2-7b",
            {"batch": 1, "seq": 1},
            "sampling",
            r"phase 'sampling' does not exist \(legal: decode, prefill, training\)",
            id="phase",
        ),
        pytest.param(
            "opt-30b",
            {"batch": 1, "seq": 2051},
            "prefill",
            "seq is 2051, must be an integer from 1 to 2050",
            id="more tokens than learned positions",
        ),
        pytest.param(
            "llama-2-7b", {}, "decode", "batch and seq must be bound", id="unbound"
        ),
        pytest.param(
            "llama-2-7b",
            {"batch": 1},
            "decode",
            ": seq must be bound",
            id="one unbound",
        ),
        pytest.param(
            "llama-2-7b",
            {"batch": 1, "sequence": 1},
            "decode",
            r"unknown symbol 'sequence' to bind \(legal: batch, layers, seq, tensor_p",
            id="unknown symbol",
        ),
        pytest.param(
            "llama-2-7b",
            {"batch": 0, "seq": 1},
            "decode",
            "batch is 0, must be an integer from 1 to 16777216",
            id="no batch",
        ),
        pytest.param(
            "llama-2-7b",
            {"batch": 1, "seq": 1, "layers": 33},
            "decode",
            "layers is 33, must be an integer from 1 to 32",
            id="more layers than the model has",
        ),
        pytest.param(
            "llama-2-7b",
            {"batch": True, "seq": 1},
            "decode",
            "batch is True, must be an integer",
            id="bool",
        ),
    ],
)
def test_a_workload_that_does_not_exist_is_refused_in_one_line(
    name: str, bind: dict[str, int], phase: str, message: str
) -> None:
    with pytest.raises(BadInputError, match=message) as refused:
        build_workload(name, bind, phase)
    assert "\n" not in str(refused.value)
