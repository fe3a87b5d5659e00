"""Models that contradict themselves: each is one line that names node and value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from onnx import helper

from elkhound.model.errors import BadInputError

X = {"x": (2, 3, 4)}
IMAGE = {"x": (1, 4, 8, 8)}
KERNEL = {"w": (6, 4, 3, 3)}
PACKED = {"x": (1, 5, 48)}
CONTRIB = "com.microsoft"


def case(
    name: str,
    op: str,
    inputs: Sequence[str],
    message: str,
    given: Mapping[str, Any] = X,
    *,
    constants: Mapping[str, Any] | None = None,
    weights: Mapping[str, Any] | None = None,
    outputs: Sequence[str] = ("y",),
    **attributes: Any,
) -> Any:
    """One bad node named `bad`, and what the refusal must say."""
    domain = CONTRIB if op.startswith("+") else ""
    node = helper.make_node(
        op.lstrip("+"), inputs, outputs, name="bad", domain=domain, **attributes
    )
    numbers = {
        key: [value] if isinstance(value, int) else list(value)
        for key, value in (constants or {}).items()
    }
    return pytest.param(node, given, numbers, weights or {}, message, id=name)


CASES = [
    # attributes: wrong type, missing, out of range
    case("text", "Softmax", "x", r"'last' \(STRING\), must be an integer", axis="last"),
    case("floats", "Transpose", "x", r"perm is \[0.5.*list of integers", perm=[0.5]),
    case("missing", "MaxPool", "x", "lacks attribute kernel_shape, a list of", IMAGE),
    case("group", "Conv", "xw", "group is 0, must be an integer from 1", IMAGE,
         weights=KERNEL, group=0),
    case("stride", "Conv", "xw", r"strides is \[0, 1\], must be integers from 1",
         IMAGE, weights=KERNEL, strides=[0, 1]),
    case("dilation", "Conv", "xw", r"dilations is \[-1, 1\]", IMAGE,
         weights=KERNEL, dilations=[-1, 1]),
    case("huge-pads", "Conv", "xw", r"pads is .*from -10\^9 to 10\^9", IMAGE,
         weights=KERNEL, pads=[2**62, 0, 0, 0]),
    case("auto-pad", "Conv", "xw", "did you mean SAME_UPPER", IMAGE,
         weights=KERNEL, auto_pad="SAME_UPER"),
    case("block", "DepthToSpace", "x", "blocksize is -2", IMAGE, blocksize=-2),
    case("window", "LRN", "x", "size is 0", IMAGE, size=0),
    case("element-type", "Cast", "x", "attribute to is 99", to=99),
    case("no-heads", "+GroupQueryAttention", ["x", "", ""],
         "lacks attribute num_heads, an integer", PACKED),
    case("text-heads", "+GroupQueryAttention", ["x", "", ""],
         "num_heads is 'four'", PACKED, num_heads="four", kv_num_heads=2),
    case("few-heads", "+MultiHeadAttention", "xxx", "num_heads is -4", PACKED,
         num_heads=-4),
    case("float-heads", "+Attention", "xw", "num_heads is 4.5", PACKED,
         weights={"w": (48, 144)}, num_heads=4.5),
    case("list-k", "+MatMulNBits", "xws", r"K is \[1.5\]", PACKED,
         weights={"w": (8, 3, 8), "s": (24,)}, K=[1.5], N=8, block_size=16),
    case("bits", "+MatMulNBits", "xws", "bits is 5, must be one of 2, 4, 8", PACKED,
         weights={"w": (8, 3, 8), "s": (24,)}, K=48, N=8, block_size=16, bits=5),
    case("direction", "LSTM", "xwr", "direction is 'sideways'", {"x": (5, 2, 4)},
         weights={"w": (1, 32, 4), "r": (1, 32, 8)}, direction="sideways"),
    case("hidden", "LSTM", "xwr", "hidden_size 9", {"x": (5, 2, 4)},
         weights={"w": (1, 32, 4), "r": (1, 32, 8)}, hidden_size=9),
    # axes
    *(
        case(op, op, "x", f"{op}.: axis 7 of a tensor with 3 axes", axis=7)
        for op in ("Softmax", "LogSoftmax", "Hardmax", "Flatten", "ArgMax")
    ),
    case("concat-axis", "Concat", "xx", "axis 5 of", axis=5),
    case("gather-axis", "Gather", "xi", "axis 4 of", constants={"i": 0}, axis=4),
    case("split-axis", "Split", "xs", "axis 8 of", constants={"s": (1, 1)},
         outputs=("y", "z"), axis=8),
    case("norm-axis", "LayerNormalization", "xw", "axis 6 of", weights={"w": (4,)},
         axis=6),
    case("running-axis", "CumSum", "xa", "axis 7 of", constants={"a": 7}),
    case("top-axis", "TopK", "xk", "axis 7 of", constants={"k": 1},
         outputs=("y", "z"), axis=7),
    case("scale-axis", "DequantizeLinear", "xw", "axis 6 of", weights={"w": (4,)},
         axis=6),
    case("reduced-axis", "ReduceSum", "xa", "axis 5 of", constants={"a": 5}),
    case("reduced-twice", "ReduceSum", "xa", "name one twice",
         constants={"a": (1, 1)}),
    case("inserted-twice", "Unsqueeze", "xa", "name one twice",
         constants={"a": (0, 0)}),
    case("squeezed", "Squeeze", "xa", "are not all 1", constants={"a": 0}),
    # shapes
    case("perm", "Transpose", "x", r"perm \[0, 0, 1\] of a tensor", perm=[0, 0, 1]),
    case("short-perm", "Transpose", "x", r"perm \[1, 0\] of a tensor", perm=[1, 0]),
    case("reshape", "Reshape", "xs", r"cannot be reshaped to \[5, 5\]",
         constants={"s": (5, 5)}),
    case("matmul", "MatMul", "xw", "share no inner extent", weights={"w": (5, 6)}),
    case("batch", "MatMul", "xz", "do not broadcast", {**X, "z": (3, 4, 5)}),
    case("gemm-c", "Gemm", "xwc", r"C \[5\] does not broadcast to \[2, 6\]",
         {"x": (2, 3)}, weights={"w": (3, 6), "c": (5,)}),
    case("broadcast", "Add", "xz", "do not broadcast", {**X, "z": (2, 3, 5)}),
    case("concat", "Concat", "xz", "differ beyond axis 0", {**X, "z": (2, 3)}, axis=0),
    case("groups", "Conv", "xw", "do not fit 3 groups", IMAGE,
         weights={"w": (6, 1, 3, 3)}, group=3),
    case("channels", "Conv", "xw", "do not fit 1 groups", IMAGE,
         weights={"w": (6, 3, 3, 3)}),
    case("conv-bias", "Conv", "xwb", r"bias \[5\] for 6 channels", IMAGE,
         weights={**KERNEL, "b": (5,)}),
    case("kernel", "Conv", "xw", r"kernel_shape \[5, 5\] of kernel", IMAGE,
         weights=KERNEL, kernel_shape=[5, 5]),
    case("strides", "Conv", "xw", r"strides \[1, 1, 1\] of 2 axes", IMAGE,
         weights=KERNEL, strides=[1, 1, 1]),
    case("columns", "ConvTranspose", "xw", "do not fit", IMAGE,
         weights={"w": (4, 2, 3, 3)}, group=3),
    case("split", "Split", "xs", r"cannot be split \[1, 2\]", constants={"s": (1, 2)},
         outputs=("y", "z")),
    case("step", "Slice", "xabcs", "must not be 0",
         constants={"a": 0, "b": 2, "c": 0, "s": 0}),
    case("slice-axis", "Slice", "xabc", r"axes \[6\] of",
         constants={"a": 0, "b": 2, "c": 6}),
    case("slice-ends", "Slice", "xabc", "1 starts, 2 ends",
         constants={"a": 0, "b": (2, 2), "c": 0}),
    case("slice-twice", "Slice", "xabc", "name one twice",
         constants={"a": (0, 0), "b": (1, 2), "c": (1, 1)}),
    case("index", "Gather", "xi", r"index 77 on axis 1 of \[2, 3, 4\]",
         constants={"i": 77}, axis=1),
    case("tuples", "GatherND", "xi", r"indices \[4\] for data",
         constants={"i": (0, 0, 0, 0)}),
    case("updates", "ScatterElements", "xiz", "for data", {**X, "z": (2,)},
         constants={"i": (0, 1)}),
    case("repeats", "Tile", "xs", r"repeats \[5, 3\]", constants={"s": (5, 3)}),
    case("pads", "Pad", "xs", "3 pads for 3 axes", constants={"s": (1, 1, 1)}),
    case("sizes", "Resize", ["x", "", "", "s"], "2 sizes for 3 axes",
         constants={"s": (5, 3)}),
    case("scale", "LayerNormalization", "xw", r"scale \[5\] does not broadcast",
         weights={"w": (5,)}),
    case("channels-scale", "BatchNormalization", "xwwww", r"scale \[5\] for 3 ch",
         weights={"w": (5,)}),
    case("instance-scale", "InstanceNormalization", "xww", r"scale \[5\] for 3 ch",
         weights={"w": (5,)}),
    case("slope", "PRelu", "xw", r"slope \[5\] does not broadcast",
         weights={"w": (5,)}),
    case("triangle", "Trilu", "x", "is no matrix", {"x": (5,)}),
    case("top", "TopK", "xk", "k is 9, must be from 1 to 3", constants={"k": 9},
         outputs=("y", "z"), axis=1),
    case("blocks", "SpaceToDepth", "x", "blocks of 3 do not divide", IMAGE,
         blocksize=3),
    case("heads", "+MultiHeadAttention", "xxx", "width of 48 over 5", PACKED,
         num_heads=5),
    case("elements", "Expand", "xs", r"more than 10\^15 elements", {"x": (1,)},
         constants={"s": 2**60}),
]  # fmt: skip


@pytest.mark.parametrize(("node", "inputs", "constants", "weights", "message"), CASES)
def test_a_node_that_cannot_be_is_refused_by_name(
    files: Any,
    node: Any,
    inputs: Any,
    constants: Any,
    weights: Any,
    message: str,
) -> None:
    end = helper.make_node("Abs", [node.output[0]], ["end"])
    with pytest.raises(BadInputError, match=message) as error:
        files.read([node, end], inputs, "end", constants=constants, weights=weights)
    assert "node bad" in str(error.value)
    assert "\n" not in str(error.value)


def test_more_steps_than_64_bits_count_are_refused(files: Any) -> None:
    # 10^7 in m, n and k: 10^21 multiply-accumulates of tensors of 10^14 elements
    big = (10**7, 10**7)
    with pytest.raises(BadInputError, match=r"more than 10\^18 steps, m=") as error:
        files.read(
            [helper.make_node("MatMul", ["x", "w"], ["y"])],
            {"x": big},
            "y",
            weights={"w": big},
        )
    assert error.value.code == "too-large"


@pytest.mark.parametrize(
    ("inputs", "attributes", "message"),
    [
        pytest.param(["x", "w", "r", "", "n"], {}, "at its full 5 steps", id="lengths"),
        pytest.param(["x", "w", "r"], {"clip": 3.0}, "clip costs nothing", id="clip"),
        pytest.param(
            ["x", "w", "r"], {"input_forget": 1}, "a gate of its own", id="coupled"
        ),
    ],
)
def test_what_a_recurrent_plan_leaves_out_is_said(
    files: Any, inputs: Any, attributes: Any, message: str
) -> None:
    report = files.read(
        [helper.make_node("LSTM", inputs, ["y"], hidden_size=8, **attributes)],
        {"x": (5, 2, 4)},
        "y",
        weights={"w": (1, 32, 4), "r": (1, 32, 8)},
        constants={"n": [5, 3]},
    )
    assert any(message in warning for warning in report.warnings)


def test_full_sequence_lengths_are_nothing_to_say(files: Any) -> None:
    report = files.read(
        [helper.make_node("LSTM", ["x", "w", "r", "", "n"], ["y"], hidden_size=8)],
        {"x": (5, 2, 4)},
        "y",
        weights={"w": (1, 32, 4), "r": (1, 32, 8)},
        constants={"n": [5, 5]},
    )
    assert not any("steps" in warning for warning in report.warnings)
