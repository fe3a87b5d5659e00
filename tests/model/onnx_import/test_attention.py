"""Attention costs the same from one operator and from primitives, cache and all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from elkhound.model.errors import BadInputError
from elkhound.model.graph import Graph, Home, OperatorKind
from elkhound.model.onnx_import import ImportReport

node = helper.make_node
BATCH, HEADS, WIDTH, NEW, CACHED = 2, 4, 8, 3, 5
HIDDEN = HEADS * WIDTH
CONTRIB = "com.microsoft"


def cost(graph: Graph) -> list[tuple[object, ...]]:
    return [
        (
            operator.kind,
            operator.einsum.dimensions,
            tuple(access.axes for access in operator.einsum.inputs),
            operator.einsum.output.axes,
            operator.einsum.passes,
            operator.einsum.row_dimensions,
            graph.streamed_bytes(operator),
        )
        for operator in graph.operators
    ]


def projections(kv_heads: int) -> tuple[list[Any], dict[str, tuple[int, ...]]]:
    widths = {"q": HIDDEN, "k": kv_heads * WIDTH, "v": kv_heads * WIDTH}
    nodes = [node("MatMul", ["x", f"w{n}"], [n]) for n in widths]
    return nodes, {f"w{n}": (HIDDEN, width) for n, width in widths.items()}


def model(
    files: Any,
    middle: list[Any],
    *,
    kv_heads: int = HEADS,
    cached: bool = True,
    masked: bool = True,
    opset: int = 17,
    **options: Any,
) -> ImportReport:
    nodes, weights = projections(kv_heads)
    inputs: dict[str, tuple[int, ...]] = {"x": (BATCH, NEW, HIDDEN)}
    outputs = ["y"]
    if cached:
        inputs |= dict.fromkeys(("past_k", "past_v"), (BATCH, kv_heads, CACHED, WIDTH))
        outputs += ["present_k", "present_v"]
    if masked:
        inputs["mask"] = (BATCH, 1, NEW, NEW + CACHED * cached)
    numbers = {
        "apart": np.array([BATCH, NEW, HEADS, WIDTH]),
        "apart_kv": np.array([BATCH, NEW, kv_heads, WIDTH]),
        "whole": np.array([BATCH, NEW, HIDDEN]),
        "scale": np.array(WIDTH**0.5, np.float16),
        "axis": np.array([2]),
        "spread": np.array(
            [BATCH, kv_heads, HEADS // kv_heads, NEW + CACHED * cached, WIDTH]
        ),
        "repeated": np.array([BATCH, HEADS, NEW + CACHED * cached, WIDTH]),
    }
    report: ImportReport = files.read(
        [*nodes, *middle],
        inputs,
        outputs,
        weights=weights,
        constants=numbers,
        opset=opset,
        options=options,
    )
    return report


def primitives(
    *, kv_heads: int = HEADS, cached: bool = True, masked: bool = True
) -> list[Any]:
    nodes = []
    ends = {}
    for n in "qkv":
        apart = "apart" if n == "q" else "apart_kv"
        nodes += [
            node("Reshape", [n, apart], [f"{n}4"]),
            node("Transpose", [f"{n}4"], [f"{n}h"], perm=[0, 2, 1, 3]),
        ]
        ends[n] = f"{n}h"
    for n in "kv":
        if cached:
            inputs = [f"past_{n}", ends[n]]
            nodes.append(node("Concat", inputs, [f"present_{n}"], axis=2))
            ends[n] = f"present_{n}"
        if kv_heads < HEADS:
            nodes += [
                node("Unsqueeze", [ends[n], "axis"], [f"{n}u"]),
                node("Expand", [f"{n}u", "spread"], [f"{n}e"]),
                node("Reshape", [f"{n}e", "repeated"], [f"{n}r"]),
            ]
            ends[n] = f"{n}r"
    nodes += [
        node("Transpose", [ends["k"]], ["kt"], perm=[0, 1, 3, 2]),
        node("MatMul", [ends["q"], "kt"], ["raw"]),
        node("Div", ["raw", "scale"], ["scaled"]),
    ]
    if masked:
        nodes.append(node("Add", ["scaled", "mask"], ["masked"]))
    return [
        *nodes,
        node("Softmax", ["masked" if masked else "scaled"], ["p"], axis=-1),
        node("MatMul", ["p", ends["v"]], ["mixed"]),
        node("Transpose", ["mixed"], ["back"], perm=[0, 2, 1, 3]),
        node("Reshape", ["back", "whole"], ["y"]),
    ]


def multi_head(*, cached: bool = True, masked: bool = True) -> list[Any]:
    names = ["q", "k", "v", "", "", "mask" if masked else ""]
    names += ["past_k", "past_v"] if cached else []
    outputs = ["y", "present_k", "present_v"][: 3 if cached else 1]
    return [node("MultiHeadAttention", names, outputs, domain=CONTRIB, num_heads=HEADS)]


def standard(
    *, kv_heads: int = HEADS, cached: bool = True, masked: bool = True
) -> list[Any]:
    names = ["q", "k", "v", "mask" if masked else ""]
    names += ["past_k", "past_v"] if cached else []
    outputs = ["y", "present_k", "present_v"][: 3 if cached else 1]
    attend = node("Attention", names, outputs, q_num_heads=HEADS, kv_num_heads=kv_heads)
    return [attend]


@pytest.mark.parametrize("cached", [True, False])
@pytest.mark.parametrize("masked", [True, False])
def test_primitives_cost_what_multi_head_attention_costs(
    files: Any, cached: bool, masked: bool
) -> None:
    flags = {"cached": cached, "masked": masked}
    apart = model(files, primitives(**flags), **flags)
    whole = model(files, multi_head(**flags), **flags)
    new = model(files, standard(**flags), **flags, opset=23)
    if cached or masked:
        assert apart.pattern_counts == {"attention": 1}
        assert cost(apart.graph) == cost(whole.graph) == cost(new.graph)
    assert apart.graph.macs == whole.graph.macs == new.graph.macs
    sums = [
        sum(r.graph.streamed_bytes(o) for o in r.graph.operators)
        for r in (apart, whole, new)
    ]
    assert len(set(sums)) == 1


@pytest.mark.parametrize("kv_heads", [1, 2])
def test_repeated_heads_cost_what_grouped_heads_cost(files: Any, kv_heads: int) -> None:
    apart = model(files, primitives(kv_heads=kv_heads), kv_heads=kv_heads)
    whole = model(files, standard(kv_heads=kv_heads), kv_heads=kv_heads, opset=23)
    assert apart.pattern_counts == {"attention": 1}
    assert cost(apart.graph) == cost(whole.graph)


def test_the_cache_is_read_from_hbm_once_and_never_copied(files: Any) -> None:
    report = model(files, standard(), opset=23)
    graph = report.graph
    homes = {choice.input: choice.home for choice in report.homes}
    assert homes["past_k"] is homes["past_v"] is Home.HBM
    readers = [
        o
        for o in graph.operators
        if {a.tensor for a in o.einsum.inputs} & {"past_k", "past_v"}
    ]
    assert [o.kind for o in readers] == [OperatorKind.BATCHED_MATMUL] * 2
    cache_bytes = 2 * BATCH * HEADS * CACHED * WIDTH
    assert [graph.streamed_bytes(o) for o in readers] == [cache_bytes] * 2
    copies = [o for o in graph.operators if o.kind is OperatorKind.COPY]
    # only the new tokens' keys and values
    assert [o.einsum.sizes["d2"] for o in copies] == [NEW, NEW]


def test_scores_and_mix_have_all_their_products(files: Any) -> None:
    # P20: 8 heads, 128 tokens, width 64 → 8 · 128 · 128 · 64 = 8,388,608 each
    names = {"q": (1, 128, 512), "k": (1, 128, 512), "v": (1, 128, 512)}
    attend = node("Attention", list(names), ["y"], q_num_heads=8, kv_num_heads=8)
    graph = files.read([attend], names, "y", opset=23).graph
    assert [o.einsum.macs for o in graph.operators] == [8_388_608, 0, 8_388_608]


def test_without_patterns_the_primitives_stay(files: Any) -> None:
    report = model(files, primitives(), patterns=False)
    assert report.patterns == ()
    assert len(report.graph.operators) > len(model(files, primitives()).graph.operators)


def test_a_cache_that_something_else_reads_is_copied(files: Any) -> None:
    nodes = [
        *primitives()[:-1],
        node("ReduceSum", ["present_k"], ["sum"], keepdims=0),
        node("Add", ["back", "sum"], ["more"]),
        node("Reshape", ["more", "whole"], ["y"]),
    ]
    report = model(files, nodes)
    assert "attention" not in report.pattern_counts
    copied = [o.name for o in report.graph.operators if o.name.startswith("present_k")]
    assert copied == ["present_k[0]", "present_k[1]"]


def test_grouped_query_attention_takes_packed_projections(files: Any) -> None:
    # 4 query heads and 2 key heads of width 8: 32 + 16 + 16 columns
    inputs = {
        "x": (1, 1, 16),
        "past_k": (1, 2, 9, 8),
        "past_v": (1, 2, 9, 8),
        "lengths": (1,),
    }
    weights = {"w": (16, 64), "cos": (64, 4), "sin": (64, 4)}
    names = ["qkv", "", "", "past_k", "past_v", "l", "total", "cos", "sin"]
    nodes = [
        node("MatMul", ["x", "w"], ["qkv"]),
        node("Cast", ["lengths"], ["l"], to=TensorProto.INT32),
        node(
            "GroupQueryAttention",
            names,
            ["y", "present_k", "present_v"],
            name="gqa",
            domain=CONTRIB,
            num_heads=4,
            kv_num_heads=2,
            do_rotary=1,
        ),
    ]
    outputs = ["y", "present_k", "present_v"]
    graph = files.read(
        nodes,
        inputs,
        outputs,
        weights=weights,
        constants={"total": np.array(10, np.int32)},
    ).graph
    kinds = [o.kind.value for o in graph.operators]
    assert kinds.count("rope") == 2
    # projection 16 · 64; scores and mix of 4 heads with 10 tokens of width 8
    assert graph.macs == 16 * 64 + 2 * 4 * 10 * 8
    assert graph.tensor["present_k"].shape == (1, 2, 10, 8)


def test_packed_projection_and_cache_of_contrib_attention(files: Any) -> None:
    names = ["x", "w", "b", "", "past"]
    nodes = [node("Attention", names, ["y", "present"], domain=CONTRIB, num_heads=2)]
    graph = files.read(
        nodes,
        {"x": (1, 3, 8), "past": (2, 1, 2, 5, 4)},
        ["y", "present"],
        weights={"w": (8, 24), "b": (24,)},
    ).graph
    # projection 3 · 8 · 24; scores and mix: 2 heads, 3 queries, 8 tokens, width 4
    assert graph.macs == 3 * 8 * 24 + 2 * (2 * 3 * 8 * 4)
    # half of the cache for the scores, half for the mix
    reads = [graph.streamed_bytes(o) for o in graph.operators if ".cached" in o.name]
    assert reads == [2 * 5 * 4 * 2] * 2
    assert graph.tensor["present"].shape == (2, 1, 2, 8, 4)


def test_heads_that_do_not_fit_are_refused_by_node(files: Any) -> None:
    names = {"q": (1, 3, 10), "k": (1, 3, 10), "v": (1, 3, 10)}
    bad = node("MultiHeadAttention", list(names), ["y"], domain=CONTRIB, num_heads=4)
    with pytest.raises(BadInputError, match="a width of 10 over 4 heads"):
        files.read([bad], names, "y")


def rotated(halves: str) -> list[Any]:
    if halves == "Split":
        cut = [node("Split", ["x", "both"], ["first", "second"], axis=-1)]
    else:
        cut = [
            node("Slice", ["x", "zero", "half", "last"], ["first"]),
            node("Slice", ["x", "half", "end", "last"], ["second"]),
        ]
    return [
        *cut,
        node("Neg", ["second"], ["negative"]),
        node("Concat", ["negative", "first"], ["turned"], axis=-1),
        node("Mul", ["x", "cos"], ["plain"]),
        node("Mul", ["turned", "sin"], ["other"]),
        node("Add", ["plain", "other"], ["y"]),
    ]


@pytest.mark.parametrize("halves", ["Slice", "Split"])
def test_rotary_embedding_from_primitives_is_one_operator(
    files: Any, halves: str
) -> None:
    report = files.read(
        rotated(halves),
        {"x": (2, 4, 3, 8), "cos": (3, 8), "sin": (3, 8)},
        "y",
        constants={
            "zero": np.array([0]),
            "half": np.array([4]),
            "end": np.array([2**31]),
            "last": np.array([-1]),
            "both": np.array([4, 4]),
        },
    )
    assert report.pattern_counts == {"rope": 1}
    (operator,) = report.graph.operators
    assert operator.kind is OperatorKind.ROPE
    tables = {"x": (2, 4, 3, 8), "cos": (2, 3, 4), "sin": (2, 3, 4)}
    one = node("RotaryEmbedding", list(tables), ["y"])
    graph = files.read([one], tables, "y", opset=23).graph
    assert operator.einsum.passes == graph.operators[0].einsum.passes
