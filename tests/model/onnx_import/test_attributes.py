"""Attributes of another type than the operator takes: refused, never left out."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from elkhound.model.errors import BadInputError
from elkhound.model.onnx_import import import_onnx
from elkhound.model.onnx_import.source import Node, Unread

CONTRIB = "com.microsoft"
TENSOR = helper.make_tensor("t", TensorProto.INT64, [1], [3])
# what a file may say in an attribute, and how a refusal calls it
FOUND: Mapping[str, tuple[Any, str]] = {
    "INT": (3, "3 (INT)"),
    "FLOAT": (4.0, "4.0 (FLOAT)"),
    "STRING": ("four", "'four' (STRING)"),
    "INTS": ([3], "[3] (INTS)"),
    "FLOATS": ([4.0], "[4.0] (FLOATS)"),
    "STRINGS": (["a"], "['a'] (STRINGS)"),
    "TENSOR": (TENSOR, "a TENSOR"),
}
WORDS = {
    "INT": "an integer (INT)",
    "INTS": "a list of integers (INTS)",
    "FLOAT": "a number (FLOAT)",
    "STRING": "a text (STRING)",
}
X, IMAGE, TOKENS = {"x": (2, 3, 4)}, {"x": (1, 4, 8, 8)}, {"x": (1, 5, 48)}


def of(
    op: str,
    attribute: str,
    wanted: str,
    inputs: Sequence[str] = "x",
    given: Mapping[str, Any] = X,
    *,
    weights: Mapping[str, Any] | None = None,
    **others: Any,
) -> Any:
    """An attribute of an operator, for which other types are tried."""
    name = f"{op.lstrip('+')}-{attribute}"
    return pytest.param(
        op, attribute, wanted, inputs, given, weights or {}, others, id=name
    )


PACKED = {"w": (8, 3, 8), "s": (24,)}
CASES = [
    of("Softmax", "axis", "INT"),
    of("Concat", "axis", "INT", "xx"),
    of("Flatten", "axis", "INT"),
    of("Transpose", "perm", "INTS"),
    of("MaxPool", "kernel_shape", "INTS", given=IMAGE),
    of("Conv", "group", "INT", "xw", IMAGE, weights={"w": (6, 4, 3, 3)}),
    of("Conv", "auto_pad", "STRING", "xw", IMAGE, weights={"w": (6, 4, 3, 3)}),
    of("Gemm", "transB", "INT", "xw", {"x": (3, 4)}, weights={"w": (4, 5)}),
    of("LayerNormalization", "axis", "INT", "xg", weights={"g": (4,)}),
    of("LayerNormalization", "epsilon", "FLOAT", "xg", weights={"g": (4,)}),
    of("SimplifiedLayerNormalization", "axis", "INT", "xg", weights={"g": (4,)}),
    of("Elu", "alpha", "FLOAT"),
    of("+MultiHeadAttention", "num_heads", "INT", "xxx", TOKENS),
    of("+Attention", "num_heads", "INT", "xw", TOKENS, weights={"w": (48, 144)}),
    of("+Attention", "qkv_hidden_sizes", "INTS", "xw", TOKENS,
       weights={"w": (48, 144)}, num_heads=4),
    of("+GroupQueryAttention", "kv_num_heads", "INT", "xxx", TOKENS, num_heads=4),
    of("+GroupQueryAttention", "do_rotary", "INT", "xxx", TOKENS, num_heads=4,
       kv_num_heads=4),
    of("+GroupQueryAttention", "softcap", "FLOAT", "xxx", TOKENS, num_heads=4,
       kv_num_heads=4),
    of("+MatMulNBits", "bits", "INT", "xws", TOKENS, weights=PACKED, K=48, N=8,
       block_size=16),
    of("+MatMulNBits", "block_size", "INT", "xws", TOKENS, weights=PACKED, K=48, N=8),
    of("+MatMulNBits", "accuracy_level", "INT", "xws", TOKENS, weights=PACKED, K=48,
       N=8, block_size=16),
    of("+SkipLayerNormalization", "epsilon", "FLOAT", "xxg", weights={"g": (4,)}),
    of("+QLinearSoftmax", "axis", "INT", "xszsz", weights={"s": (), "z": ()}),
    of("+QLinearAveragePool", "kernel_shape", "INTS", "xszsz", IMAGE,
       weights={"s": (), "z": ()}),
    of("+FusedMatMul", "transB", "INT", "xx"),
    of("+FusedConv", "activation", "STRING", "xw", IMAGE,
       weights={"w": (6, 4, 3, 3)}),
    of("+GroupNorm", "activation", "INT", "xgg", IMAGE, weights={"g": (8,)}, groups=2),
    of("+MoE", "k", "INT", "xrww", {"x": (5, 8), "r": (5, 4)},
       weights={"w": (4, 8, 8)}),
    of("+MoE", "activation_type", "STRING", "xrww", {"x": (5, 8), "r": (5, 4)},
       weights={"w": (4, 8, 8)}),
    of("+RotaryEmbedding", "interleaved", "INT", "xpcc", TOKENS,
       weights={"p": (1,), "c": (8, 24)}),
    of("+QuickGelu", "alpha", "FLOAT"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("op", "attribute", "wanted", "inputs", "given", "weights", "others"), CASES
)
def test_an_attribute_of_another_type_is_refused(
    files: Any,
    op: str,
    attribute: str,
    wanted: str,
    inputs: Any,
    given: Any,
    weights: Any,
    others: Any,
) -> None:
    domain = CONTRIB if op.startswith("+") else ""
    shown = f"{CONTRIB}::{op[1:]}" if domain else op
    for found, (value, text) in FOUND.items():
        whole = {"FLOAT": "INT"}.get(wanted) == found and bool(domain)
        if found == wanted or whole:  # 3 is a number, if no schema says otherwise
            continue
        node = helper.make_node(
            op.lstrip("+"),
            inputs,
            ["y"],
            name="bad",
            domain=domain,
            **others,
            **{attribute: value},
        )
        with pytest.raises(BadInputError) as error:
            files.read([node], given, "y", weights=weights)
        assert error.value.message == (
            f"node bad ({shown}): attribute {attribute} is {text}, "
            f"must be {WORDS[wanted]}"
        )
        assert error.value.code == "bad-attribute"


READ: Mapping[str, Callable[[Node], Any]] = {
    "INT": lambda node: node.integer("a", 1),
    "FLOAT": lambda node: node.number("a", 1.0),
    "STRING": lambda node: node.text("a", ""),
    "INTS": lambda node: node.integers("a"),
    "FLOATS": lambda node: node.numbers("a"),
    "TENSOR": lambda node: node.tensor("a"),
}
VALUES = {name: value for name, (value, _) in FOUND.items() if name != "TENSOR"}
ALSO = {("FLOAT", "INT"), ("FLOATS", "INTS")}  # whole numbers are numbers


@pytest.mark.parametrize("wanted", READ)
@pytest.mark.parametrize("found", VALUES)
def test_whoever_reads_an_attribute_refuses_another_type(
    wanted: str, found: str
) -> None:
    node = Node("n", "Op", (), ("y",), {"a": VALUES[found]})
    if wanted == found or (wanted, found) in ALSO:
        value = READ[wanted](node)
        assert (list(value) if isinstance(value, tuple) else value) == VALUES[found]
        return
    with pytest.raises(BadInputError, match=rf"n \(Op\): attribute a .*\({wanted}\)$"):
        READ[wanted](node)


@pytest.mark.parametrize("wanted", READ)
def test_an_absent_attribute_is_its_default(wanted: str) -> None:
    value = READ[wanted](Node("n", "Op", (), ("y",)))
    assert value in (1, 1.0, "", None)


@pytest.mark.parametrize("kind", ["of type GRAPHS", "a reference"])
def test_an_attribute_that_no_plan_reads_is_none_of_the_others(kind: str) -> None:
    node = Node("n", "Op", (), ("y",), {"a": Unread(kind)})
    with pytest.raises(BadInputError, match=f"attribute a is {kind}, must be an int"):
        node.integer("a", 0)


UNTYPED = onnx.AttributeProto(name="num_heads", i=4)
REFERENCE = onnx.AttributeProto(
    name="num_heads", ref_attr_name="h", type=onnx.AttributeProto.INT
)
SEVERAL = onnx.AttributeProto(name="num_heads", type=onnx.AttributeProto.TENSORS)


@pytest.mark.parametrize(
    ("attribute", "kind"),
    [
        pytest.param(UNTYPED, "of type UNDEFINED", id="none"),
        pytest.param(REFERENCE, "a reference to an attribute", id="reference"),
        pytest.param(SEVERAL, "of type TENSORS", id="tensors"),
    ],
)
def test_attributes_without_a_value_are_refused(
    files: Any, attribute: Any, kind: str
) -> None:
    node = helper.make_node("MultiHeadAttention", "xxx", ["y"], domain=CONTRIB)
    node.attribute.append(attribute)
    with pytest.raises(BadInputError, match=f"attribute num_heads is {kind}") as error:
        files.read([node], TOKENS, "y")
    assert error.value.code == "bad-attribute"


def test_a_malformed_constant_is_no_unknown_operator(files: Any) -> None:
    nodes = [
        helper.make_node("Constant", [], ["c"], value_int=1.5),
        helper.make_node("Add", ["x", "c"], ["y"]),
    ]
    message = re.escape("(Constant): attribute value_int is 1.5 (FLOAT), must be an")
    with pytest.raises(BadInputError, match=message) as error:
        files.read(nodes, X, "y")
    assert error.value.code == "bad-attribute"


def test_operators_that_a_file_describes_have_attributes_of_their_own(
    files: Any, tmp_path: Any
) -> None:
    # bits of com.microsoft are 2, 4 or 8; those of my.domain are what it likes
    described = tmp_path / "foo.yaml"
    described.write_text("operators:\n  my.domain::Foo: {passes: [unary]}\n")
    node = helper.make_node("Foo", "x", ["y"], domain="my.domain", bits=[0.5])
    report = files.read([node], X, "y", options={"unknown": described})
    assert report.graph.operators[0].einsum.sizes == {"d0": 2, "d1": 3, "d2": 4}


def test_ai_onnx_is_the_standard_domain_too(files: Any) -> None:
    # axes are an input of ReduceSum since opset 13, and an attribute before
    node = helper.make_node("ReduceSum", ["x", "axes"], ["y"], keepdims=0)
    path = files.write([node], X, "y", constants={"axes": np.array([1])})
    model = onnx.load(path)
    model.opset_import[0].domain = "ai.onnx"
    onnx.save(model, path)
    report = import_onnx(path)
    assert report.graph.tensor["y"].shape == (2, 4)
