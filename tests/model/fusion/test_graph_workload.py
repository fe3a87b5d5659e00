from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper
from oracles.einsums import results

from elkhound.model.errors import BadInputError
from elkhound.model.fusion.equation import equation_text
from elkhound.model.fusion.graph_workload import GraphWorkload, graph_workload
from elkhound.model.io import load_fusion_workload, load_graph

node = helper.make_node


def read(
    folder: Path,
    nodes: list[Any],
    inputs: Mapping[str, tuple[int, ...]],
    weights: Mapping[str, tuple[int, ...]] | None = None,
    shapes: Mapping[str, list[int]] | None = None,
) -> GraphWorkload:
    """Write a model whose last node is its output, and return its einsums."""
    path = folder / "model.onnx"
    last = nodes[-1].output[0]
    initializers = [
        TensorProto(name=name, dims=dims, data_type=TensorProto.FLOAT16)
        for name, dims in (weights or {}).items()
    ] + [
        helper.make_tensor(name, TensorProto.INT64, [len(shape)], shape)
        for name, shape in (shapes or {}).items()
    ]
    given = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT16, dims)
        for name, dims in inputs.items()
    ]
    output = helper.make_empty_tensor_value_info(last)
    graph = helper.make_graph(nodes, "test", given, [output], initializers)
    opset = [helper.make_opsetid("", 17)]
    path.write_bytes(helper.make_model(graph, opset_imports=opset).SerializeToString())
    return graph_workload(load_graph(path))


def lines(found: GraphWorkload) -> list[str]:
    return [equation_text(einsum) for einsum in found.workload.einsums]


ATTENTION = [
    *(node("MatMul", ["x", f"w{t}"], [t]) for t in "qkv"),
    *(node("Reshape", [t, "by_head"], [f"{t}_heads"]) for t in "qkv"),
    *(
        node("Transpose", [f"{t}_heads"], [f"{t}_t"], perm=perm)
        for t, perm in zip("qkv", ([1, 0, 2], [1, 2, 0], [1, 0, 2]), strict=True)
    ),
    node("MatMul", ["q_t", "k_t"], ["scores"]),
    node("Relu", ["scores"], ["weights"]),
    node("MatMul", ["weights", "v_t"], ["mixed"]),
    node("Transpose", ["mixed"], ["back"], perm=[1, 0, 2]),
    node("Reshape", ["back", "whole"], ["rows"]),
    node("MatMul", ["rows", "wo"], ["y"]),
]  # 5 tokens of 6 = 3 heads of 2
ATTENTION_SHAPES = {"by_head": [5, 3, 2], "whole": [5, 6]}
ATTENTION_WEIGHTS = {f"w{t}": (6, 6) for t in "qkvo"}


def test_views_of_attention_become_ranks_of_heads_and_width(tmp_path: Path) -> None:
    found = read(
        tmp_path, ATTENTION, {"x": (5, 6)}, ATTENTION_WEIGHTS, ATTENTION_SHAPES
    )
    assert lines(found) == [
        "q[m,n,n1] = x[m,k] * wq[k,n,n1]",
        "k[m,n,n1] = x[m,k] * wk[k,n,n1]",
        "v[m,n,n5] = x[m,k] * wv[k,n,n5]",
        "scores[n,m,n6] = q[m,n,n1] * k[n6,n,n1]",
        "weights[n,m,n6] = scores[n,m,n6]",
        "mixed[n,m,n5] = weights[n,m,n6] * v[n6,n,n5]",
        "y[m,n7] = mixed[n,m,n5] * wo[n,n5,n7]",
    ]
    assert found.workload.size == {
        "m": 5, "k": 6, "n": 3, "n1": 2, "n5": 2,
        "n6": 5, "n7": 6,
    }  # fmt: skip
    assert found.workload.persistent == ("wq", "wk", "wv", "wo")
    assert dict(found.workload.bits)["scores"] == 16


def test_einsums_of_views_compute_what_the_model_computes(tmp_path: Path) -> None:
    found = read(
        tmp_path, ATTENTION, {"x": (5, 6)}, ATTENTION_WEIGHTS, ATTENTION_SHAPES
    )
    draw = np.random.default_rng(0)
    x, *weights = (draw.normal(size=shape) for shape in [(5, 6)] + [(6, 6)] * 4)
    heads = [(x @ w).reshape(5, 3, 2).transpose(1, 0, 2) for w in weights[:3]]
    scores = heads[0] @ heads[1].transpose(0, 2, 1)
    rows = (scores @ heads[2]).transpose(1, 0, 2).reshape(5, 6)
    by_rank = [w.reshape(6, 3, 2) for w in weights[:3]] + [weights[3].reshape(3, 2, 6)]
    named = dict(zip(ATTENTION_WEIGHTS, by_rank, strict=True))
    computed = results(found.workload, {"x": x, **named})  # Relu is the identity there
    assert np.allclose(computed["y"], rows @ weights[3])


def test_a_reshape_that_cuts_across_a_transpose_is_refused(tmp_path: Path) -> None:
    # h, 4 × 6, transposed and re-cut as 8 × 3: 6 rows of 4 do not nest in rows of 3
    nodes = [
        node("Relu", ["x"], ["h"]),
        node("Transpose", ["h"], ["t"], perm=[1, 0]),
        node("Reshape", ["t", "shape"], ["v"]),
        node("Relu", ["v"], ["y"]),
    ]
    with pytest.raises(
        BadInputError, match=r"operator y \(activation\) is no einsum: it sees h resh"
    ):
        read(tmp_path, nodes, {"x": (4, 6)}, shapes={"shape": [8, 3]})


def test_views_that_do_not_nest_are_refused(tmp_path: Path) -> None:
    nodes = [
        node("Relu", ["x"], ["h"]),
        node("Reshape", ["h", "shape"], ["v"]),
        node("Relu", ["v"], ["y"]),
    ]
    with pytest.raises(BadInputError, match="in ways that do not nest"):
        read(tmp_path, nodes, {"x": (2, 3)}, shapes={"shape": [3, 2]})


def test_a_padded_convolution_reads_over_the_border(tmp_path: Path) -> None:
    nodes = [
        node("Conv", ["x", "w"], ["h"], kernel_shape=[1, 1]),
        node("Relu", ["h"], ["r"]),
        node("Conv", ["r", "d"], ["y"], kernel_shape=[3, 3], pads=[1] * 4, group=4),
    ]
    weights = {"w": (4, 2, 1, 1), "d": (4, 1, 3, 3)}
    found = read(tmp_path, nodes, {"x": (1, 2, 6, 6)}, weights)
    assert lines(found) == [
        "h[oc,oh,ow] = x[ic,oh,ow] * w[oc,ic]",
        "r[oc,oh,ow] = h[oc,oh,ow]",
        "y[oc,oh1,ow1] = r[oc,oh1+kh,ow1+kw] * d[oc,kh,kw]",
    ]
    assert found.workload.elements("r") == 4 * 6 * 6  # the border is no part of it
    assert found.workload.size["oh1"] == 6


def test_a_strided_convolution_skips_rows(tmp_path: Path) -> None:
    nodes = [
        node("Relu", ["x"], ["h"]),
        node("Conv", ["h", "w"], ["y"], kernel_shape=[1, 1], strides=[2, 2]),
    ]
    found = read(tmp_path, nodes, {"x": (1, 2, 6, 6)}, {"w": (3, 2, 1, 1)})
    assert lines(found)[-1] == "y[oc,oh,ow] = h[d,2*oh,2*ow] * w[oc,d]"


def test_norms_biases_and_residuals(tmp_path: Path) -> None:
    # the norm's scale and the bias are folded; the residual is a step of its own
    nodes = [
        node("LayerNormalization", ["x", "scale", "shift"], ["h"], axis=-1),
        node("Gemm", ["h", "w", "b"], ["g"]),
        node("Softmax", ["g"], ["s"]),
        node("Add", ["s", "x"], ["y"]),
    ]
    weights = {"scale": (6,), "shift": (6,), "w": (6, 6), "b": (6,)}
    found = read(tmp_path, nodes, {"x": (5, 6)}, weights)
    assert lines(found) == [
        "h[d,d1] = x[d,d1]",
        "g[d,n] = h[d,d1] * w[d1,n]",
        "s[d,n] = g[d,n]",
        "y[d,n] = s[d,n] * x[d,n]",
    ]
    assert found.folded == (
        "operator h: folds scale in",
        "operator h: folds shift in",
        "operator g: folds b in",
    )


def test_a_sum_of_three_is_two_einsums(tmp_path: Path) -> None:
    nodes = [node("Sum", ["x", "y", "z"], ["s"])]
    found = read(tmp_path, nodes, {name: (4, 3) for name in "xyz"})
    assert lines(found) == [
        "s_1[d,d1] = x[d,d1] * y[d,d1]",
        "s[d,d1] = s_1[d,d1] * z[d,d1]",
    ]


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        pytest.param(
            [node("Gather", ["x", "rows"], ["y"])],
            r"operator y \(gather\) is no einsum: its data tell which elements",
            id="gather",
        ),
        pytest.param(
            [node("Relu", ["x"], ["h"]), node("Concat", ["h", "x"], ["y"], axis=0)],
            r"operator y\[1\] \(copy\) is no einsum: it writes a part of y, as y\[0\]",
            id="concat",
        ),
        pytest.param(
            [
                node("Relu", ["x"], ["h"]),
                node("Slice", ["h", "at", "end"], ["s"]),
                node("Add", ["h", "s"], ["y"]),
            ],
            r"operator s \(copy\) is no einsum: it touches a part of h",
            id="slice",
        ),
        pytest.param(
            [node("Transpose", ["x"], ["t"]), node("MatMul", ["x", "t"], ["y"])],
            r"operator y \(matmul\) is no einsum: it uses x twice",
            id="twice",
        ),
    ],
)
def test_what_is_no_einsum_is_refused_by_name(
    tmp_path: Path, nodes: list[Any], message: str
) -> None:
    with pytest.raises(BadInputError, match=message):
        read(
            tmp_path,
            nodes,
            {"x": (4, 4)},
            shapes={"at": [0], "end": [1], "rows": [0, 2]},
        )


def test_an_onnx_file_is_a_fusion_workload() -> None:
    example = Path(__file__).parents[3] / "examples" / "decoder_block.onnx"
    workload = load_fusion_workload(str(example), {"batch": 2, "context": 128})
    # 512 wide, 8 heads of 64: the scores of layer 0 against 128 cached tokens
    scores = workload.einsum("layer0_scores")
    assert [workload.size[rank] for rank in scores.ranks] == [2, 8, 128, 2, 32]
    with pytest.raises(BadInputError, match="symbolic dimensions without a number"):
        load_fusion_workload(str(example))
