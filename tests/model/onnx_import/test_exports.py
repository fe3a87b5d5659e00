"""What exporters of whole models write, in small: shapes by Shape, Range and Where."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto, helper

node = helper.make_node
GENAI = "com.microsoft"


def ints(*values: int) -> Any:
    return np.array(values, np.int64)


def heads() -> list[Any]:
    """Projections of h to q, k (turned) and v, as (batch, heads, tokens, width)."""
    made = []
    for name, turned in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
        made += [
            node("MatMul", ["h", f"w{name}"], [f"{name}0"]),
            node("Reshape", [f"{name}0", "heads"], [f"{name}1"]),
            node("Transpose", [f"{name}1"], [name], perm=turned),
        ]
    return made


def test_the_encoder_of_a_speech_model(files: Any) -> None:
    # 64·80·3 at 3000 places, 64·64·3 at 1500
    nodes = [
        node("Conv", ["x", "w1"], ["c1"], pads=[1, 1]),
        node("Gelu", ["c1"], ["g1"]),
        node("Conv", ["g1", "w2"], ["c2"], pads=[1, 1], strides=[2]),
        node("Transpose", ["c2"], ["t"], perm=[0, 2, 1]),
        node("Add", ["t", "p"], ["y"]),
    ]
    weights = {"w1": (64, 80, 3), "w2": (64, 64, 3), "p": (1500, 64)}
    inputs = {"x": ("batch", 80, 3000)}
    options = {"bind": {"batch": 1}}
    graph = files.read(
        nodes, inputs, "y", weights=weights, opset=20, options=options
    ).graph
    assert graph.macs == 64 * 80 * 3 * 3000 + 64 * 64 * 3 * 1500


def test_a_vision_transformer_with_its_class_token(files: Any) -> None:
    nodes = [
        node("Conv", ["x", "wp"], ["p"], strides=[16, 16]),
        node("Shape", ["p"], ["s"]),
        node("Slice", ["s", "zero", "two", "zero"], ["front"]),
        node("Concat", ["front", "rest"], ["target"], axis=0),
        node("Reshape", ["p", "target"], ["flat"]),
        node("Transpose", ["flat"], ["tokens"], perm=[0, 2, 1]),
        node("Concat", ["class", "tokens"], ["all"], axis=1),
        node("Add", ["all", "places"], ["h"]),
        node("MatMul", ["h", "w"], ["qkv"]),
        node("Reshape", ["qkv", "five"], ["apart"]),
        node("Transpose", ["apart"], ["three"], perm=[2, 0, 3, 1, 4]),
        node("Gather", ["three", "i0"], ["q"]),
        node("Gather", ["three", "i1"], ["k"]),
        node("Gather", ["three", "i2"], ["v"]),
        node("Transpose", ["k"], ["kt"], perm=[0, 1, 3, 2]),
        node("MatMul", ["q", "kt"], ["scores"]),
        node("Softmax", ["scores"], ["weights"], axis=-1),
        node("MatMul", ["weights", "v"], ["y"]),
    ]
    weights = {"wp": (64, 3, 16, 16), "class": (1, 1, 64), "places": (1, 17, 64)}
    constants = {
        **{"zero": ints(0), "two": ints(2), "rest": ints(-1)},
        **{"five": ints(0, 17, 3, 4, 16), "i0": np.int64(0), "i1": np.int64(1)},
        "i2": np.int64(2),
    }
    graph = files.read(
        nodes,
        {"x": (1, 3, 64, 64)},
        "y",
        weights={**weights, "w": (64, 192)},
        constants=constants,
    ).graph
    # 16 patches of 768, 17 tokens to 192, scores and mix of 4 heads of 16
    assert graph.macs == 64 * 768 * 16 + 17 * 64 * 192 + 2 * 4 * 17 * 17 * 16


def test_attention_biased_by_distance(files: Any) -> None:
    # the buckets of T5, written out from Range, Where and Log: constants, all of them
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Gather", ["s", "i1"], ["n"]),
        node("Range", ["i0", "n", "i1"], ["r"]),
        node("Unsqueeze", ["r", "a1"], ["rows"]),
        node("Unsqueeze", ["r", "a0"], ["columns"]),
        node("Sub", ["columns", "rows"], ["far"]),
        node("Abs", ["far"], ["distance"]),
        node("Less", ["distance", "i8"], ["near"]),
        node("Cast", ["distance"], ["real"], to=TensorProto.FLOAT),
        node("Log", ["real"], ["log"]),
        node("Cast", ["log"], ["whole"], to=TensorProto.INT64),
        node("Where", ["near", "distance", "whole"], ["bucket"]),
        node("Gather", ["table", "bucket"], ["b0"]),
        node("Transpose", ["b0"], ["b1"], perm=[2, 0, 1]),
        node("Unsqueeze", ["b1", "a0"], ["bias"]),
        node("Gather", ["words", "x"], ["h"]),
        *heads(),
        node("MatMul", ["q", "k"], ["scores"]),
        node("Add", ["scores", "bias"], ["biased"]),
        node("Softmax", ["biased"], ["weights"], axis=-1),
        node("MatMul", ["weights", "v"], ["y"]),
    ]
    constants = {
        **{"i0": np.int64(0), "i1": np.int64(1), "i8": np.int64(8)},
        **{"a0": ints(0), "a1": ints(1), "heads": ints(0, 0, 4, 16)},
    }
    square = {f"w{name}": (64, 64) for name in "qkv"}
    options = {"bind": {"seq": 12}}
    report = files.read(
        nodes,
        {"x": (1, "seq")},
        "y",
        weights={"table": (32, 4), "words": (100, 64), **square},
        constants=constants,
        options=options,
    )
    assert report.graph.macs == 3 * 12 * 64 * 64 + 2 * 4 * 12 * 12 * 16
    names = [operator.name for operator in report.graph.operators]
    assert not {"far", "distance", "bucket"} & set(names)


def test_a_block_of_a_diffusion_model(files: Any) -> None:
    nodes = [
        node("Reshape", ["x", "grouped"], ["g0"]),
        node("InstanceNormalization", ["g0", "ones", "ones"], ["g1"]),
        node("Shape", ["x"], ["s"]),
        node("Reshape", ["g1", "s"], ["g2"]),
        node("Mul", ["g2", "scale"], ["g3"]),
        node("Sigmoid", ["g3"], ["gate"]),
        node("Mul", ["g3", "gate"], ["a"]),
        node("Conv", ["a", "w"], ["c"], pads=[1, 1, 1, 1]),
        node("Resize", ["c", "", "twice"], ["up"], mode="nearest"),
        node("Conv", ["up", "w"], ["y"], pads=[1, 1, 1, 1]),
    ]
    constants = {
        "grouped": ints(0, 8, -1),
        "ones": np.ones(8, np.float16),
        "twice": np.array([1, 1, 2, 2], np.float32),
    }
    report = files.read(
        nodes,
        {"x": (1, 32, 16, 16)},
        "y",
        weights={"scale": (32, 1, 1), "w": (32, 32, 3, 3)},
        constants=constants,
    )
    assert report.graph.macs == 32 * 32 * 9 * (16 * 16 + 32 * 32)
    assert report.pattern_counts["silu"] == 1


def test_a_decoder_layer_of_int4_weights(files: Any) -> None:
    def product(left: str, name: str, out: str, inner: int, outer: int) -> Any:
        sizes: dict[str, Any] = {"K": inner, "N": outer, "bits": 4, "block_size": 32}
        inputs = [left, f"w{name}", f"s{name}"]
        return node("MatMulNBits", inputs, [out], domain=GENAI, **sizes)

    nodes = [
        node("SimplifiedLayerNormalization", ["x", "g"], ["n"], axis=-1),
        product("n", "q", "qkv", 64, 128),
        node(
            "GroupQueryAttention",
            ["qkv", "", "", "pk", "pv", "lengths", "total", "cos", "sin"],
            ["a", "ok", "ov"],
            domain=GENAI,
            num_heads=4,
            kv_num_heads=2,
            do_rotary=1,
        ),
        product("a", "o", "o", 64, 64),
        node(
            "SkipSimplifiedLayerNormalization",
            ["x", "o", "g"],
            ["m", "", "", "sum"],
            domain=GENAI,
        ),
        product("m", "u", "u", 64, 256),
        node("Split", ["u", "halves"], ["gate", "up"], axis=-1),
        node("Sigmoid", ["gate"], ["sg"]),
        node("Mul", ["gate", "sg"], ["silu"]),
        node("Mul", ["silu", "up"], ["inner"]),
        product("inner", "d", "d", 128, 64),
        node("Add", ["sum", "d"], ["y"]),
    ]
    cache = (1, 2, 15, 16)
    packed = {"q": (128, 2, 16), "o": (64, 2, 16), "u": (256, 2, 16), "d": (64, 4, 16)}
    report = files.read(
        nodes,
        {"x": (1, 1, 64), "pk": cache, "pv": cache},
        ["y", "ok", "ov"],
        weights={
            **{"g": (64,), "cos": (128, 8), "sin": (128, 8)},
            **{f"s{k}": (shape[0] * shape[1],) for k, shape in packed.items()},
        },
        constants={
            **{f"w{k}": np.zeros(shape, np.uint8) for k, shape in packed.items()},
            **{"halves": ints(128, 128), "lengths": np.array([15], np.int32)},
            "total": np.array(16, np.int32),
        },
        opset=21,
    )
    products = 64 * 128 + 64 * 64 + 64 * 256 + 128 * 64
    assert report.graph.macs == products + 2 * 4 * 16 * 16  # 16 tokens are attended to
    assert report.graph.tensor["ok"].shape == (1, 2, 16, 16)


def test_a_transducer_that_loops_over_the_frames(files: Any) -> None:
    names = ("i", "on", "e", "h", "c")
    body = helper.make_graph(
        [
            node("Gather", ["x", "i"], ["frame"], axis=1),
            node(
                "LSTM",
                ["e", "W", "R", "", "", "h", "c"],
                ["ys", "h2", "c2"],
                hidden_size=16,
            ),
            node("Squeeze", ["h2", "a0"], ["state"]),
            node("Add", ["frame", "state"], ["joint"]),
            node("MatMul", ["joint", "w"], ["logits"]),
            node("ArgMax", ["logits"], ["token"], axis=-1, keepdims=0),
            node("Gather", ["words", "token"], ["word"]),
            node("Unsqueeze", ["word", "a0"], ["e2"]),
            node("Identity", ["on"], ["on2"]),
        ],
        "body",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT16, None) for n in names],
        [
            helper.make_tensor_value_info(n, TensorProto.FLOAT16, None)
            for n in ("on2", "e2", "h2", "c2", "token")
        ],
    )
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Gather", ["s", "i1"], ["frames"]),
        node("Loop", ["frames", "", "z", "h0", "h0"], ["a", "b", "d", "y"], body=body),
    ]
    report = files.read(
        nodes,
        {"x": (1, "frames", 16), "z": (1, 1, 16)},
        "y",
        weights={
            **{"W": (1, 64, 16), "R": (1, 64, 16), "w": (16, 30)},
            **{"words": (30, 16), "h0": (1, 1, 16)},
        },
        constants={"i1": np.int64(1), "a0": ints(0)},
        options={"bind": {"frames": 5}},
    )
    assert report.graph.macs == 5 * (2 * 64 * 16 + 16 * 30)
    assert report.graph.tensor["y"].shape == (5, 1)
