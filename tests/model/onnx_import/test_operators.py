from __future__ import annotations

from typing import Any

import pytest
from onnx import helper

from elkhound.model.graph import Home, OperatorKind, Pass
from elkhound.model.passes import (
    GELU_PASSES,
    LAYER_NORM_PASSES,
    RMS_NORM_PASSES,
    SILU_PASSES,
    SOFTMAX_PASSES,
)

MATMUL, ELEMENTWISE, UNARY = Pass.MATMUL, Pass.ELEMENTWISE, Pass.UNARY
REDUCE, SLICE, GATHER = Pass.REDUCE, Pass.SLICE, Pass.GATHER
node = helper.make_node

IMAGE = (2, 6, 9, 8)

CASES = [
    # (nodes, inputs, weights, kind, iteration space, passes)
    pytest.param(
        [node("MatMul", ["x", "w"], ["y"])],
        {"x": (3, 4)},
        {"w": (4, 5)},
        OperatorKind.MATMUL,
        {"m": 3, "n": 5, "k": 4},
        (MATMUL,),
        id="matmul",
    ),
    pytest.param(
        [node("MatMul", ["x", "z"], ["y"])],
        {"x": (2, 7, 3, 4), "z": (7, 4, 5)},
        {},
        OperatorKind.BATCHED_MATMUL,
        {"b0": 2, "b1": 7, "m": 3, "n": 5, "k": 4},
        (MATMUL,),
        id="matmul-broadcast-batch",
    ),
    pytest.param(
        [node("MatMul", ["x", "w"], ["y"])],
        {"x": (4,)},
        {"w": (4, 5)},
        OperatorKind.MATMUL,
        {"m": 1, "n": 5, "k": 4},
        (MATMUL,),
        id="matmul-vector",
    ),
    pytest.param(
        [node("Gemm", ["x", "w", "c"], ["y"], transA=1, transB=1)],
        {"x": (4, 3)},
        {"w": (5, 4), "c": (5,)},
        OperatorKind.MATMUL,
        {"m": 3, "n": 5, "k": 4},
        (MATMUL, ELEMENTWISE),
        id="gemm-transposed-with-bias",
    ),
    pytest.param(
        [node("Conv", ["x", "w", "c"], ["y"], strides=[2, 1], pads=[1, 1, 1, 1])],
        {"x": IMAGE},
        {"w": (5, 6, 3, 3), "c": (5,)},
        OperatorKind.CONV,
        # oh = (9 + 2 - 3) // 2 + 1 = 5, ow = (8 + 2 - 3) + 1 = 8
        {"n": 2, "oc": 5, "ic": 6, "oh": 5, "ow": 8, "kh": 3, "kw": 3},
        (MATMUL, ELEMENTWISE),
        id="conv-2d",
    ),
    pytest.param(
        [node("Conv", ["x", "w"], ["y"], group=3, dilations=[2])],
        {"x": (1, 6, 9)},
        {"w": (12, 2, 3)},
        OperatorKind.CONV,
        # the kernel spans 1 + 2 · 2 = 5: ow = 9 - 5 + 1 = 5
        {"n": 1, "g": 3, "oc": 4, "ic": 2, "ow": 5, "kw": 3},
        (MATMUL,),
        id="conv-1d-grouped-dilated",
    ),
    pytest.param(
        [node("Conv", ["x", "w"], ["y"], auto_pad="SAME_UPPER", strides=[2, 2, 2])],
        {"x": (1, 2, 5, 6, 7)},
        {"w": (3, 2, 3, 3, 3)},
        OperatorKind.CONV,
        # SAME: ⌈5/2⌉, ⌈6/2⌉, ⌈7/2⌉
        {"n": 1, "oc": 3, "ic": 2, "od": 3, "oh": 3, "ow": 4}
        | {"kd": 3, "kh": 3, "kw": 3},
        (MATMUL,),
        id="conv-3d-same",
    ),
    pytest.param(
        [node("MaxPool", ["x"], ["y"], kernel_shape=[3, 2], strides=[2, 2])],
        {"x": IMAGE},
        {},
        OperatorKind.POOL,
        {"n": 2, "c": 6, "oh": 4, "ow": 4, "kh": 3, "kw": 2},
        (REDUCE,),
        id="max-pool",
    ),
    pytest.param(
        [node("AveragePool", ["x"], ["y"], kernel_shape=[2, 3], ceil_mode=1)],
        {"x": IMAGE},
        {},
        OperatorKind.POOL,
        {"n": 2, "c": 6, "oh": 8, "ow": 6, "kh": 2, "kw": 3},
        (REDUCE,),
        id="average-pool",
    ),
    pytest.param(
        [node("GlobalAveragePool", ["x"], ["y"])],
        {"x": IMAGE},
        {},
        OperatorKind.POOL,
        {"n": 2, "c": 6, "h": 9, "w": 8},
        (REDUCE,),
        id="global-average-pool",
    ),
    pytest.param(
        [node("LRN", ["x"], ["y"], size=5)],
        {"x": IMAGE},
        {},
        OperatorKind.NORM,
        {"n": 2, "c": 6, "h": 9, "w": 8, "window": 5},
        (UNARY, REDUCE, UNARY, ELEMENTWISE),
        id="lrn",
    ),
    pytest.param(
        [node("BatchNormalization", ["x", "s", "b", "m", "v"], ["y"])],
        {"x": IMAGE},
        {"s": (6,), "b": (6,), "m": (6,), "v": (6,)},
        OperatorKind.NORM,
        {"d0": 2, "d1": 6, "d2": 9, "d3": 8},
        (ELEMENTWISE, ELEMENTWISE),
        id="batch-norm",
    ),
    *(
        pytest.param(
            [node(op, ["x", "z"], ["y"])],
            {"x": (3, 1, 4), "z": (5, 1)},
            {},
            OperatorKind.ELEMENTWISE,
            {"d0": 3, "d1": 5, "d2": 4},
            (ELEMENTWISE,),
            id=op,
        )
        for op in ("Add", "Sub", "Mul", "Div", "Pow", "Min", "Max", "Less", "Equal")
    ),
    pytest.param(
        [node("Less", ["x", "z"], ["c"]), node("Where", ["c", "x", "z"], ["y"])],
        {"x": (3, 4), "z": (3, 4)},
        {},
        OperatorKind.ELEMENTWISE,
        {"d0": 3, "d1": 4},
        (ELEMENTWISE, ELEMENTWISE),
        id="Where",
    ),
    *(
        pytest.param(
            [node(op, ["x"], ["y"])],
            {"x": (3, 4)},
            {},
            kind,
            {"d0": 3, "d1": 4},
            passes,
            id=op,
        )
        for kind, passes, ops in (
            (
                OperatorKind.ACTIVATION,
                (UNARY,),
                ["Relu", "Sigmoid", "Tanh", "HardSigmoid", "LeakyRelu"],
            ),
            (
                OperatorKind.ELEMENTWISE,
                (UNARY,),
                ["Erf", "Sqrt", "Exp", "Neg", "Reciprocal", "Clip"],
            ),
            (OperatorKind.ACTIVATION, SILU_PASSES, ["HardSwish"]),
        )
        for op in ops
    ),
    pytest.param(
        [node("Cast", ["x"], ["y"], to=1)],
        {"x": (3, 4)},
        {},
        OperatorKind.ELEMENTWISE,
        {"d0": 3, "d1": 4},
        (UNARY,),
        id="cast",
    ),
    *(
        pytest.param(
            [node(op, ["x"], ["y"], axes=[-1], keepdims=0)],
            {"x": (3, 4)},
            {},
            OperatorKind.REDUCE,
            {"d0": 3, "d1": 4},
            (REDUCE,),
            id=op,
        )
        for op in ("ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd")
    ),
    pytest.param(
        [node("Softmax", ["x"], ["y"], axis=-1)],
        {"x": (3, 4)},
        {},
        OperatorKind.SOFTMAX,
        {"d0": 3, "d1": 4},
        SOFTMAX_PASSES,
        id="softmax",
    ),
    pytest.param(
        [node("LayerNormalization", ["x", "s", "b"], ["y"])],
        {"x": (3, 4)},
        {"s": (4,), "b": (4,)},
        OperatorKind.NORM,
        {"d0": 3, "d1": 4},
        LAYER_NORM_PASSES,
        id="layer-norm",
    ),
    pytest.param(
        [node("LayerNormalization", ["x", "s"], ["y"])],
        {"x": (3, 4)},
        {"s": (4,)},
        OperatorKind.NORM,
        {"d0": 3, "d1": 4},
        LAYER_NORM_PASSES[:-1],  # no bias to add
        id="layer-norm-without-bias",
    ),
    pytest.param(
        [node("SimplifiedLayerNormalization", ["x", "s"], ["y"])],
        {"x": (3, 4)},
        {"s": (4,)},
        OperatorKind.NORM,
        {"d0": 3, "d1": 4},
        RMS_NORM_PASSES,
        id="simplified-layer-norm",
    ),
    pytest.param(
        [node("FastGelu", ["x"], ["y"], domain="com.microsoft")],
        {"x": (3, 4)},
        {},
        OperatorKind.ACTIVATION,
        {"d0": 3, "d1": 4},
        GELU_PASSES,
        id="fast-gelu",
    ),
]


@pytest.mark.parametrize(
    ("nodes", "inputs", "weights", "kind", "sizes", "passes"), CASES
)
def test_an_operator_becomes_the_einsum_it_computes(
    files: Any,
    nodes: Any,
    inputs: Any,
    weights: Any,
    kind: OperatorKind,
    sizes: Any,
    passes: tuple[Pass, ...],
) -> None:
    graph = files.read(nodes, inputs, "y", weights=weights).graph
    operator = graph.operators[-1]
    assert operator.kind is kind
    assert operator.einsum.sizes == sizes
    assert operator.einsum.passes == passes
    # every weight streams, once and whole
    expected = sum(graph.tensor[name].size_bytes for name in weights)
    assert graph.streamed_bytes(operator) >= expected
    # the output is written whole
    written = operator.einsum.output
    elements = graph.tensor["y"].size_bytes * 8 // graph.tensor["y"].dtype.bits
    assert written.elements(operator.einsum.sizes) == elements


@pytest.mark.parametrize(
    ("op", "opset", "passes"),
    [
        pytest.param("Gelu", 20, GELU_PASSES, id="gelu"),
        pytest.param("Swish", 24, SILU_PASSES, id="swish"),
        pytest.param("Mish", 18, SILU_PASSES, id="mish"),
    ],
)
def test_late_opset_activations_are_known(
    files: Any, op: str, opset: int, passes: tuple[Pass, ...]
) -> None:
    nodes = [node(op, ["x"], ["y"])]
    graph = files.read(nodes, {"x": (3, 4)}, "y", opset=opset).graph
    assert graph.operators[0].einsum.passes == passes


def test_rms_normalization_reduces_the_axes_from_axis_on(files: Any) -> None:
    nodes = [node("RMSNormalization", ["x", "s"], ["y"], axis=1)]
    weights = {"s": (3, 4)}
    graph = files.read(nodes, {"x": (2, 3, 4)}, "y", weights=weights, opset=23).graph
    einsum = graph.operators[0].einsum
    assert einsum.row_dimensions == ("d1", "d2")
    assert einsum.statistics_rounds == 1
    assert einsum.inputs[1].dimensions == {"d1", "d2"}


def test_softmax_before_opset_13_runs_over_all_axes_behind(files: Any) -> None:
    nodes = [node("Softmax", ["x"], ["y"], axis=1)]
    old = files.read(nodes, {"x": (2, 3, 4)}, "y", opset=11).graph.operators[0]
    new = files.read(nodes, {"x": (2, 3, 4)}, "y", opset=13).graph.operators[0]
    assert old.einsum.row_dimensions == ("d1", "d2")
    assert new.einsum.row_dimensions == ("d1",)


def test_an_opset_18_reduction_takes_its_axes_from_a_constant(files: Any) -> None:
    # Equal extents: only the axis says which of them goes.
    nodes = [node("ReduceSum", ["x", "axes"], ["y"], keepdims=0)]
    graph = files.read(
        nodes, {"x": (4, 4)}, "y", constants={"axes": [0]}, opset=18
    ).graph
    assert graph.operators[0].einsum.reduced == ("d0",)
    assert graph.tensor["y"].shape == (4,)


def test_a_halo_axis_has_stride_and_dilation(files: Any) -> None:
    nodes = [node("Conv", ["x", "w"], ["y"], strides=[2], dilations=[3])]
    graph = files.read(nodes, {"x": (1, 2, 20)}, "y", weights={"w": (4, 2, 3)}).graph
    image = graph.operators[0].einsum.inputs[0]
    assert image.axes[-1].terms == (("ow", 2), ("kw", 3))
    # ow = (20 - 7) // 2 + 1 = 7 outputs read 1 + 2·6 + 3·2 = 19 of 20 positions
    assert image.axes[-1].extent(graph.operators[0].einsum.sizes) == 19


def test_gather_streams_only_the_rows_it_touches(files: Any) -> None:
    nodes = [
        node("Cast", ["x"], ["rows"], to=7),
        node("Gather", ["table", "rows"], ["y"]),
    ]
    graph = files.read(nodes, {"x": (2, 3)}, "y", weights={"table": (1000, 8)}).graph
    gather = graph.operators[1]
    assert gather.kind is OperatorKind.GATHER
    assert gather.einsum.passes == (GATHER,)
    assert graph.streamed_bytes(gather) == 2 * 3 * 8 * 2  # of 16,000 bytes


def test_gather_of_one_constant_row_is_a_slice(files: Any) -> None:
    nodes = [node("Gather", ["x", "first"], ["y"], axis=1)]
    graph = files.read(nodes, {"x": (2, 3, 4)}, "y", constants={"first": 0}).graph
    assert graph.operators[0].einsum.passes == (SLICE,)
    assert graph.operators[0].einsum.sizes == {"d0": 2, "d1": 4}


def test_concat_copies_each_part_once(files: Any) -> None:
    nodes = [node("Concat", ["x", "z"], ["y"], axis=1)]
    graph = files.read(nodes, {"x": (2, 3), "z": (2, 5)}, "y").graph
    assert [o.name for o in graph.operators] == ["y[0]", "y[1]"]
    assert [o.einsum.sizes["d1"] for o in graph.operators] == [3, 5]
    assert {o.einsum.output.tensor for o in graph.operators} == {"y"}


def test_new_k_and_v_are_stacked_by_one_copy(files: Any) -> None:
    nodes = [node("Concat", ["k", "v"], ["kv"], axis=0)]
    (append,) = files.read(
        nodes, {"k": (1, 2, 3, 5), "v": (1, 2, 3, 5)}, "kv"
    ).graph.operators
    assert append.einsum.sizes == {"d0": 2, "d1": 2, "d2": 3, "d3": 5}
    assert [a.tensor for a in append.einsum.inputs] == ["k", "v"]
    assert all(a.elements(append.einsum.sizes) == 30 for a in append.einsum.inputs)


def test_a_norm_may_have_a_scale_for_each_batch(files: Any) -> None:
    nodes = [node("LayerNormalization", ["x", "scale"], ["y"], axis=-1)]
    (norm,) = files.read(
        nodes, {"x": (4, 3, 8), "scale": (4, 1, 8)}, "y"
    ).graph.operators
    scale = norm.einsum.inputs[1]
    assert scale.dimensions == {"d0", "d2"}
    assert scale.elements(norm.einsum.sizes) == 4 * 8


def test_what_is_written_in_parts_is_held_from_its_first_part(files: Any) -> None:
    nodes = [
        node("Concat", ["x", "z", "u"], ["c"], axis=1),
        node("Relu", ["c"], ["y"]),
    ]
    graph = files.read(nodes, {"x": (2, 3), "z": (2, 5), "u": (2, 4)}, "y").graph
    # bytes on one core: z 20, u 16, c 48. Step 0 holds z and u, 1 holds u and c,
    # 2 holds c, 3 reads it.
    assert graph.held_bytes(1) == (20 + 16, 16 + 48, 48, 0)


def test_split_copies_each_part_once(files: Any) -> None:
    nodes = [
        node("Split", ["x", "sizes"], ["a", "b"], axis=1),
        node("Mul", ["a", "a"], ["y"]),
        node("Relu", ["b"], ["z"]),
    ]
    graph = files.read(
        nodes, {"x": (2, 8)}, ["y", "z"], constants={"sizes": [3, 5]}
    ).graph
    copies = [o for o in graph.operators if o.kind is OperatorKind.COPY]
    assert [o.einsum.output.tensor for o in copies] == ["a", "b"]
    assert [o.einsum.sizes["d1"] for o in copies] == [3, 5]


def test_slice_of_a_weight_streams_what_it_keeps(files: Any) -> None:
    nodes = [
        node("Slice", ["w", "starts", "ends", "axes"], ["part"]),
        node("MatMul", ["x", "part"], ["y"]),
    ]
    report = files.read(
        nodes,
        {"x": (2, 4)},
        "y",
        weights={"w": (4, 8000)},
        constants={"starts": [0], "ends": [4000], "axes": [1]},
    )
    # A slice of a constant is a constant: cut once, before the chip runs.
    assert [o.name for o in report.graph.operators] == ["y"]
    assert report.graph.streamed_bytes(report.graph.operators[0]) == 4 * 4000 * 2


def test_an_operand_read_twice_alike_is_one_access(files: Any) -> None:
    graph = files.read([node("Mul", ["x", "x"], ["y"])], {"x": (3, 4)}, "y").graph
    assert len(graph.operators[0].einsum.inputs) == 1
    assert graph.operators[0].einsum.passes == (ELEMENTWISE,)


def test_a_constant_of_one_element_is_no_tensor(files: Any) -> None:
    nodes = [node("Div", ["x", "c"], ["y"])]
    graph = files.read(nodes, {"x": (3, 4)}, "y", weights={"c": (1, 1)}).graph
    assert [t.name for t in graph.tensors] == ["x", "y"]
    assert graph.operators[0].einsum.passes == (UNARY,)


def test_a_vector_operand_is_streamed(files: Any) -> None:
    nodes = [node("Mul", ["x", "c"], ["y"])]
    graph = files.read(nodes, {"x": (3, 4)}, "y", weights={"c": (4,)}).graph
    assert graph.tensor["c"].home is Home.HBM
    assert graph.operators[0].einsum.inputs[1].dimensions == {"d1"}


def test_rotary_embedding_reads_half_a_head_of_each_table(files: Any) -> None:
    nodes = [node("RotaryEmbedding", ["x", "cos", "sin"], ["y"])]
    inputs = {"x": (2, 8, 3, 64), "cos": (2, 3, 32), "sin": (2, 3, 32)}
    operator = files.read(nodes, inputs, "y", opset=23).graph.operators[0]
    assert operator.kind is OperatorKind.ROPE
    sizes = operator.einsum.sizes
    assert [a.elements(sizes) for a in operator.einsum.inputs] == [3072, 192, 192]
