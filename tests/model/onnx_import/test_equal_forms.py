"""One layer, one cost: as primitives, as fused operators, as contrib operators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from elkhound.heuristics.schedule import Basic, Static
from elkhound.model.graph import Graph
from elkhound.model.io import load_chip
from elkhound.model.limits import Limits
from elkhound.model.onnx_import import ImportReport
from elkhound.model.options import schedule_problem
from elkhound.model.options.shape import canonical

node = helper.make_node
CONTRIB = "com.microsoft"
BATCH, HEADS, KV_HEADS, WIDTH, CACHED = 2, 4, 2, 8, 5
TOTAL = CACHED + 1


def shapes(graph: Graph) -> list[object]:
    """Return all that options depend on, and the bytes from HBM, per operator."""
    return [
        (o.kind, canonical(graph, o)[0], o.einsum.macs, graph.streamed_bytes(o))
        for o in graph.operators
    ]


def planned(graph: Graph) -> list[float | None]:
    """Return the cycles of two plans on a toy chip."""
    problem = schedule_problem(graph, load_chip("toy-8"))
    return [method.solve(problem, Limits()).objective for method in (Basic(), Static())]


def net(files: Any, norm: list[Any], opset: int, **options: Any) -> ImportReport:
    """P06: a norm between two products, ε and exponent as constants."""
    report: ImportReport = files.read(
        [
            node("MatMul", ["input", "before"], ["x"]),
            *norm,
            node("MatMul", ["y", "behind"], ["z"]),
        ],
        {"input": (6, 32)},
        "z",
        weights={"before": (32, 64), "behind": (64, 32), "w": (64,), "b": (64,)},
        constants={"two": 2.0, "epsilon": 1e-5},
        opset=opset,
        element_type=TensorProto.FLOAT,
        options=options,
    )
    return report


NINE = [  # ReduceMean, Sub, Pow, ReduceMean, Add, Sqrt, Div, Mul, Add
    node("ReduceMean", ["x"], ["mean"], axes=[-1]),
    node("Sub", ["x", "mean"], ["d"]),
    node("Pow", ["d", "two"], ["square"]),
    node("ReduceMean", ["square"], ["variance"], axes=[-1]),
    node("Add", ["variance", "epsilon"], ["shifted"]),
    node("Sqrt", ["shifted"], ["root"]),
    node("Div", ["d", "root"], ["normed"]),
    node("Mul", ["normed", "w"], ["scaled"]),
    node("Add", ["scaled", "b"], ["y"]),
]


def test_layer_norm_as_nine_operators_plans_like_the_one(files: Any) -> None:
    apart = net(files, NINE, 13)
    one = net(files, [node("LayerNormalization", ["x", "w", "b"], ["y"])], 17)
    assert [p.pattern for p in apart.patterns] == ["layer-norm"]
    assert len(apart.patterns[0].nodes) == 9
    assert shapes(apart.graph) == shapes(one.graph)
    # Both products' weights, scale and bias, in fp32.
    streamed = sum(one.graph.streamed_bytes(o) for o in one.graph.operators)
    assert streamed == 4 * (2 * 32 * 64 + 2 * 64)
    assert planned(apart.graph) == planned(one.graph)


def test_without_patterns_the_norm_costs_more(files: Any) -> None:
    kept = net(files, NINE, 13, patterns=False)
    one = net(files, NINE, 13)
    assert (kept.patterns, len(kept.graph.operators)) == ((), 11)
    for before, after in zip(planned(one.graph), planned(kept.graph), strict=True):
        assert before is not None
        assert after is not None
        assert before < after


def layer(files: Any, middle: list[Any], **more: Any) -> ImportReport:
    """Read projections, then attention of one new token to a cache and itself."""
    widths = {"q": HEADS * WIDTH, "k": KV_HEADS * WIDTH, "v": KV_HEADS * WIDTH}
    report: ImportReport = files.read(
        [*(node("MatMul", ["x", f"w{n}"], [n]) for n in widths), *middle],
        {
            "x": (BATCH, 1, 32),
            "past_k": (BATCH, KV_HEADS, CACHED, WIDTH),
            "past_v": (BATCH, KV_HEADS, CACHED, WIDTH),
            "cos": (1, WIDTH // 2),
            "sin": (1, WIDTH // 2),
        },
        ["y", "present_k", "present_v"],
        weights={f"w{n}": (32, width) for n, width in widths.items()},
        constants={
            "apart": np.array([BATCH, 1, HEADS, WIDTH]),
            "apart_kv": np.array([BATCH, 1, KV_HEADS, WIDTH]),
            "whole": np.array([BATCH, 1, HEADS * WIDTH]),
            "scale": np.array(WIDTH**0.5, np.float16),
            "axis": np.array([2]),
            "spread": np.array([BATCH, KV_HEADS, HEADS // KV_HEADS, TOTAL, WIDTH]),
            "repeated": np.array([BATCH, HEADS, TOTAL, WIDTH]),
            "lengths": np.full(BATCH, CACHED, np.int32),
            "total": np.array([TOTAL], np.int32),
            "halves": np.array([WIDTH // 2, WIDTH // 2]),
        },
    )
    return report


def rotated(name: str) -> list[Any]:
    """Return RoPE of (batch, 1, heads, width), half by half."""
    a, b = f"{name}_a", f"{name}_b"
    return [
        node("Split", [f"{name}4", "halves"], [a, b], axis=-1),
        *(
            node("Mul", [half, table], [f"{half}_{table}"])
            for half in (a, b)
            for table in ("cos", "sin")
        ),
        node("Sub", [f"{a}_cos", f"{b}_sin"], [f"{name}_first"]),
        node("Add", [f"{b}_cos", f"{a}_sin"], [f"{name}_second"]),
        node("Concat", [f"{name}_first", f"{name}_second"], [f"{name}_r"], axis=-1),
    ]


def primitives() -> list[Any]:
    nodes = []
    for name, apart in (("q", "apart"), ("k", "apart_kv"), ("v", "apart_kv")):
        nodes.append(node("Reshape", [name, apart], [f"{name}4"]))
        nodes += [] if name == "v" else rotated(name)
        turned = "v4" if name == "v" else f"{name}_r"
        nodes.append(node("Transpose", [turned], [f"{name}h"], perm=[0, 2, 1, 3]))
    for name in "kv":
        nodes += [
            node("Concat", [f"past_{name}", f"{name}h"], [f"present_{name}"], axis=2),
            node("Unsqueeze", [f"present_{name}", "axis"], [f"{name}u"]),
            node("Expand", [f"{name}u", "spread"], [f"{name}e"]),
            node("Reshape", [f"{name}e", "repeated"], [f"{name}x"]),
        ]
    return [
        *nodes,
        node("Transpose", ["kx"], ["kt"], perm=[0, 1, 3, 2]),
        node("MatMul", ["qh", "kt"], ["raw"]),
        node("Div", ["raw", "scale"], ["scores"]),
        node("Softmax", ["scores"], ["weights"], axis=-1),
        node("MatMul", ["weights", "vx"], ["mixed"]),
        node("Transpose", ["mixed"], ["back"], perm=[0, 2, 1, 3]),
        node("Reshape", ["back", "whole"], ["y"]),
    ]


def grouped_query() -> list[Any]:
    inputs = ["q", "k", "v", "past_k", "past_v", "lengths", "total", "cos", "sin"]
    outputs = ["y", "present_k", "present_v"]
    return [
        node(
            "GroupQueryAttention",
            inputs,
            outputs,
            domain=CONTRIB,
            num_heads=HEADS,
            kv_num_heads=KV_HEADS,
            do_rotary=1,
        )
    ]


def test_grouped_query_attention_costs_what_its_primitives_cost(files: Any) -> None:
    apart, one = layer(files, primitives()), layer(files, grouped_query())
    assert apart.pattern_counts == {"rope": 2, "attention": 1}
    assert sorted(map(repr, shapes(apart.graph))) == sorted(
        map(repr, shapes(one.graph))
    )


@pytest.mark.parametrize("form", ["halves", "turned"])
def test_rotary_embedding_reads_each_angle_once(files: Any, form: str) -> None:
    """Tables as wide as a head hold every angle twice; half of them is read."""
    wide = (3, WIDTH // 2) if form == "halves" else (3, WIDTH)
    turned = [
        node("Split", ["q4", "halves"], ["a", "b"], axis=-1),
        node("Neg", ["b"], ["n"]),
        node("Concat", ["n", "a"], ["t"], axis=-1),
        node("Mul", ["q4", "cos"], ["p"]),
        node("Mul", ["t", "sin"], ["r"]),
        node("Add", ["p", "r"], ["q_r"]),
    ]
    nodes = rotated("q") if form == "halves" else turned
    inputs = {"q4": (BATCH, HEADS, 3, WIDTH), "cos": wide, "sin": wide}
    halves = np.array([WIDTH // 2, WIDTH // 2])
    apart = files.read(nodes, inputs, "q_r", constants={"halves": halves})
    inputs |= dict.fromkeys(("cos", "sin"), (3, WIDTH // 2))
    operator = node(
        "RotaryEmbedding", ["q4", "offset", "cos", "sin"], ["y"], domain=CONTRIB
    )
    one = files.read([operator], inputs, "y", constants={"offset": np.array([0])})
    assert apart.pattern_counts == {"rope": 1}
    assert shapes(apart.graph) == shapes(one.graph)
