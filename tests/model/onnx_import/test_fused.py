"""Operators of ONNX Runtime's optimiser, and those whose results the data decides."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from elkhound.model.errors import BadInputError
from elkhound.model.graph import Pass

CONTRIB = "com.microsoft"


def contrib(op: str, inputs: Any, outputs: Any = ("y",), **attributes: Any) -> Any:
    return helper.make_node(op, inputs, outputs, domain=CONTRIB, **attributes)


def node(op: str, inputs: Any, outputs: Any = ("y",), **attributes: Any) -> Any:
    return helper.make_node(op, inputs, outputs, **attributes)


def spaces(report: Any) -> list[tuple[str, dict[str, int]]]:
    return [(o.kind.value, o.einsum.sizes) for o in report.graph.operators]


PRODUCTS = [
    # (node, inputs, weights, multiply-accumulates, kinds)
    pytest.param(
        contrib("FusedMatMul", "xw", transA=1, transB=1, alpha=0.5),
        {"x": (2, 4, 3)},
        {"w": (5, 4)},
        2 * 3 * 5 * 4,
        ["matmul"],
        id="matmul",
    ),
    pytest.param(
        contrib("FusedMatMul", "xz", transBatchA=1),
        {"x": (3, 2, 4), "z": (2, 4, 5)},  # x is seen as (2, 3, 4)
        {},
        2 * 3 * 5 * 4,
        ["batched-matmul"],
        id="matmul-batch-turned",
    ),
    pytest.param(
        contrib("FusedGemm", "xwb", activation="LeakyRelu", transB=1),
        {"x": (2, 3)},
        {"w": (6, 3), "b": (6,)},
        2 * 6 * 3,
        ["matmul", "activation"],
        id="gemm",
    ),
    pytest.param(
        contrib("FusedConv", "xwbz", activation="Relu", pads=[1, 1, 1, 1]),
        {"x": (1, 4, 8, 8), "z": (1, 6, 8, 8)},
        {"w": (6, 4, 3, 3), "b": (6,)},
        6 * 8 * 8 * 4 * 3 * 3,
        ["conv", "elementwise", "activation"],
        id="conv",
    ),
    pytest.param(
        contrib("NhwcConv", "xw", pads=[1, 1, 1, 1]),
        {"x": (1, 8, 8, 4)},
        {"w": (6, 3, 3, 4)},
        6 * 8 * 8 * 4 * 3 * 3,
        ["conv"],
        id="conv-channels-last",
    ),
    pytest.param(
        contrib("NhwcFusedConv", "xw", activation="Relu"),
        {"x": (1, 8, 8, 4)},
        {"w": (6, 4, 3, 3)},
        6 * 6 * 6 * 4 * 3 * 3,
        ["conv", "activation"],
        id="fused-conv-channels-last",
    ),
    pytest.param(
        contrib("GroupNorm", "xgg", groups=2, activation=1),
        {"x": (1, 8, 8, 4)},
        {"g": (4,)},
        0,
        ["norm", "activation"],
        id="group-norm",
    ),
    pytest.param(
        contrib("SkipGroupNorm", "xggsg", groups=2, activation=0),
        {"x": (1, 8, 8, 4), "s": (1, 4)},
        {"g": (4,)},
        0,
        ["elementwise", "elementwise", "norm"],
        id="skip-group-norm",
    ),
    pytest.param(
        contrib("BiasSplitGelu", "xb"),
        {"x": (1, 8, 6)},
        {"b": (6,)},
        0,
        ["elementwise", "copy", "copy", "activation"],
        id="bias-split-gelu",
    ),
    pytest.param(
        contrib("BiasAdd", "xbs"),
        {"x": (1, 8, 6), "s": (1, 8, 6)},
        {"b": (6,)},
        0,
        ["elementwise", "elementwise"],
        id="bias-add",
    ),
]


@pytest.mark.parametrize(("made", "inputs", "weights", "macs", "kinds"), PRODUCTS)
def test_a_fused_operator_costs_what_it_was_fused_from(
    files: Any, made: Any, inputs: Any, weights: Any, macs: int, kinds: list[str]
) -> None:
    report = files.read([made], inputs, "y", weights=weights)
    assert report.graph.macs == macs
    assert [kind for kind, _ in spaces(report)] == kinds
    assert report.unsupported == ()


def test_an_activation_that_is_none_is_refused(files: Any) -> None:
    bad = contrib("FusedGemm", "xw", activation="Sine")
    with pytest.raises(BadInputError, match="activation Sine, must be one of Clip"):
        files.read([bad], {"x": (2, 3)}, "y", weights={"w": (3, 6)})


def experts(inputs: Any, **attributes: Any) -> Any:
    return contrib("MoE", inputs, activation_type="silu", k=2, **attributes)


def test_all_experts_work_when_tokens_reach_them(files: Any) -> None:
    # 6 tokens · 2 choices = 12 visits to 4 experts: 3 each, three layers of 16 · 32
    report = files.read(
        [experts(["x", "r", "u", "", "d", "", "u"])],
        {"x": (6, 16), "r": (6, 4)},
        "y",
        weights={"u": (4, 32, 16), "d": (4, 16, 32)},
    )
    assert report.graph.macs == 12 * 3 * 16 * 32
    streamed = sum(report.graph.streamed_bytes(o) for o in report.graph.operators)
    assert streamed == 3 * 4 * 16 * 32 * 2
    kinds = [kind for kind, _ in spaces(report)]
    assert kinds[0] == "softmax"  # the router is there too
    assert report.graph.tensor["y"].shape == (6, 16)


def test_one_token_streams_the_experts_it_chose(files: Any) -> None:
    # 1 token · 2 choices: 2 of 8 experts, two layers of 16 · 32 and their biases
    report = files.read(
        [experts(["x", "r", "u", "b", "d", "c"])],
        {"x": (1, 1, 16), "r": (1, 8)},
        "y",
        weights={"u": (8, 32, 16), "b": (8, 32), "d": (8, 16, 32), "c": (8, 16)},
    )
    assert report.graph.macs == 2 * 2 * 16 * 32
    streamed = sum(report.graph.streamed_bytes(o) for o in report.graph.operators)
    assert streamed == 2 * (2 * 16 * 32 + 32 + 16) * 2


def test_quantised_experts_stream_their_bits_and_scales(files: Any) -> None:
    # 2 of 8 experts, 4 bits a weight: 16 · 32 / 2 bytes a layer; a scale per output
    report = files.read(
        [
            contrib(
                "QMoE",
                ["x", "r", "u", "s", "", "d", "t"],
                k=2,
                activation_type="silu",
                expert_weight_bits=4,
            )
        ],
        {"x": (1, 16), "r": (1, 8)},
        "y",
        weights={"s": (8, 32), "t": (8, 16)},
        constants={
            "u": np.zeros((8, 32, 8), np.uint8),
            "d": np.zeros((8, 16, 16), np.uint8),
        },
    )
    assert report.graph.macs == 2 * 2 * 16 * 32
    streamed = sum(report.graph.streamed_bytes(o) for o in report.graph.operators)
    assert streamed == 2 * (2 * 16 * 32 // 2 + (32 + 16) * 2)
    assert any(Pass.DECODE in o.einsum.passes for o in report.graph.operators)


def test_weights_that_are_not_the_experts_are_refused(files: Any) -> None:
    with pytest.raises(BadInputError, match=r"weights \[4, 32, 15\] of 4 experts"):
        files.read(
            [experts(["x", "r", "u", "", "u"])],
            {"x": (6, 16), "r": (6, 4)},
            "y",
            weights={"u": (4, 32, 15)},
        )


def test_a_table_of_four_bits_streams_the_rows_taken(files: Any) -> None:
    # three rows of 32 elements in 4 bits, and two scales of 2 bytes each
    gather = contrib("GatherBlockQuantized", "wis", block_size=16, bits=4)
    report = files.read(
        [node("Cast", "x", "i", to=TensorProto.INT64), gather],
        {"x": (1, 3)},
        "y",
        weights={"s": (100, 2)},
        constants={"w": np.zeros((100, 16), np.uint8)},
    )
    streamed = [report.graph.streamed_bytes(o) for o in report.graph.operators]
    assert streamed == [0, 3 * 32 // 2, 3 * 2 * 2, 0]
    assert report.graph.tensor["y"].dtype.name == "float16"


def test_quantised_attention_projects_like_the_plain_one(files: Any) -> None:
    # 5 tokens of 8 to q, k, v of 8: 5 · 8 · 24; scores and mix 2 · 5 · 5 · 8
    nodes = [
        node("QuantizeLinear", "xs", "q"),
        contrib("QAttention", "qwbss", num_heads=2),
    ]
    report = files.read(
        nodes,
        {"x": (1, 5, 8)},
        "y",
        constants={
            "w": np.zeros((8, 24), np.int8),
            "b": np.zeros(24, np.float32),
            "s": np.float32(1),
        },
    )
    assert report.graph.macs == 5 * 8 * 24 + 2 * 5 * 5 * 8
    projection = next(o for o in report.graph.operators if o.einsum.macs == 960)
    assert report.graph.streamed_bytes(projection) == 8 * 24 + 24 * 4


def test_quantised_scales_of_either_domain_are_the_same(files: Any) -> None:
    constants = {"s": np.float32(0.1), "z": np.uint16(3)}
    nodes = [contrib("QuantizeLinear", "xsz", "q"), contrib("DequantizeLinear", "qsz")]
    report = files.read(nodes, {"x": (4, 8)}, "y", constants=constants)
    assert report.graph.tensor["q"].dtype.name == "uint16"
    assert [o.einsum.passes for o in report.graph.operators] == [(Pass.UNARY,)] * 2


def test_boxes_are_planned_at_the_most_that_may_stay(files: Any) -> None:
    # 3 classes · 10 boxes; each box taken is compared with all 100
    report = files.read(
        [node("NonMaxSuppression", "bsm", "i"), node("Cast", "i", to=1)],
        {"b": (1, 100, 4), "s": (1, 3, 100)},
        "y",
        constants={"m": np.array([10])},
    )
    assert report.graph.tensor["i"].shape == (30, 3)
    kept = next(o for o in report.graph.operators if o.name == "i.kept")
    assert kept.einsum.sizes == {"b": 1, "c": 3, "k": 10, "n": 100, "f": 4}
    assert kept.einsum.passes == (Pass.REDUCE, Pass.REDUCE)
    assert any("planned with 30, the most" in w for w in report.warnings)


@pytest.mark.parametrize(
    ("made", "shape", "dtype"),
    [
        pytest.param(node("NonZero", "x", "i"), (2, 20), "int64", id="non-zero"),
        pytest.param(node("Unique", "x", "i"), (20,), "float16", id="unique"),
        pytest.param(
            node("Compress", "xb", "i", axis=1), (4, 5), "float16", id="compress"
        ),
    ],
)
def test_what_the_data_decides_is_planned_whole_and_said(
    files: Any, made: Any, shape: tuple[int, ...], dtype: str
) -> None:
    nodes = [node("Cast", "z", "b", to=9), made, node("Cast", "i", to=1)]
    report = files.read(nodes, {"x": (4, 5), "z": (5,)}, "y")
    assert report.graph.tensor["i"].shape == shape
    assert report.graph.tensor["i"].dtype.name == dtype
    assert any("the most" in warning for warning in report.warnings)


def test_places_of_constants_are_known(files: Any) -> None:
    # the old exporter's way to write a range
    ones = numpy_helper.from_array(np.ones(1, np.int64))
    nodes = [
        node("ConstantOfShape", "n", "o", value=ones),
        node("NonZero", "o", "p"),
        node("Squeeze", "pa", "q"),
        node("Gather", "xq"),
    ]
    constants = {"n": np.array([4]), "a": np.array([0])}
    report = files.read(nodes, {"x": (4, 5)}, "y", constants=constants)
    assert [o.name for o in report.graph.operators] == ["y"]
    taken = files.read(
        [node("Compress", "xb", axis=1)],
        {"x": (4, 5)},
        "y",
        constants={"b": np.array([True, False, True, False, False])},
    )
    assert taken.graph.tensor["y"].shape == (4, 2)


def test_a_spectrum_takes_logarithmically_many_sweeps(files: Any) -> None:
    # 1 + (16000 − 400) // 160 = 98 frames of 400 / 2 + 1 = 201 bins; ⌈log₂ 400⌉ = 9
    report = files.read(
        [node("STFT", "xhw")],
        {"x": (1, 16000, 1)},
        "y",
        constants={"h": np.array(160)},
        weights={"w": (400,)},
    )
    assert report.graph.tensor["y"].shape == (1, 98, 201, 2)
    assert report.graph.operators[0].einsum.passes == (Pass.ELEMENTWISE,) * 45
    whole = files.read([node("DFT", "x")], {"x": (1, 256, 1)}, "y")
    assert whole.graph.tensor["y"].shape == (1, 256, 2)
    assert len(whole.graph.operators[0].einsum.passes) == 5 * 8


def test_windows_and_filters_are_weights(files: Any) -> None:
    # 400 / 2 + 1 = 201 bins to 80 mel bins
    nodes = [node("MelWeightMatrix", "abslu", "w"), node("MatMul", "xw")]
    report = files.read(
        nodes,
        {"x": (3, 201)},
        "y",
        constants={
            **{"a": np.array(80), "b": np.array(400), "s": np.array(16000)},
            **{"l": np.float32(0), "u": np.float32(8000)},
        },
    )
    assert report.graph.macs == 3 * 201 * 80
    nodes = [node("HannWindow", "n", "w"), node("Mul", "xw")]
    report = files.read(nodes, {"x": (3, 400)}, "y", constants={"n": np.array(400)})
    assert report.graph.streamed_bytes(report.graph.operators[0]) == 400 * 4


def test_regions_are_read_bilinearly(files: Any) -> None:
    report = files.read(
        [node("RoiAlign", "xri", output_height=7, output_width=7, sampling_ratio=2)],
        {"x": (1, 8, 20, 20), "r": (10, 4)},
        "y",
        constants={"i": np.zeros(10, np.int64)},
    )
    assert report.graph.tensor["y"].shape == (10, 8, 7, 7)
    # 2 · 2 samples of 4 neighbours
    assert report.graph.operators[0].einsum.passes.count(Pass.GATHER) == 16


def test_noise_is_made_anew(files: Any) -> None:
    nodes = [node("RandomNormalLike", "x", "r"), node("Add", "xr")]
    report = files.read(nodes, {"x": (3, 4)}, "y")
    assert [name for name in report.graph.tensor] == ["x", "r", "y"]


def test_a_bias_by_distance_reads_its_table(files: Any) -> None:
    nodes = [contrib("RelativePositionBias", "wqk", "b"), node("Add", "xb")]
    report = files.read(
        nodes,
        {"x": (1, 4, 5, 5)},
        "y",
        weights={"w": (32, 4)},
        constants={"q": np.array(5), "k": np.array(5)},
    )
    assert report.graph.tensor["b"].shape == (1, 4, 5, 5)
    assert report.graph.streamed_bytes(report.graph.operators[0]) == 32 * 4 * 2
