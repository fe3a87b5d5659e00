"""One pass over the nodes that gives every value type, shape and constness."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from elkhound.model.dtype import DTYPES, DType
from elkhound.model.errors import BadInputError
from elkhound.model.onnx_import.constants import fold
from elkhound.model.onnx_import.operators import (
    ELEMENTWISE,
    REDUCTIONS,
    UNARY,
    VIEWS,
)
from elkhound.model.onnx_import.reader import dtype_of
from elkhound.model.onnx_import.shapes import (
    contrib,
    internal,
    moves,
    rowwise,
    standard,
)
from elkhound.model.onnx_import.shapes.standard import Rule, Shape, UnknownError
from elkhound.model.onnx_import.source import Declared, Node, Source, Value
from elkhound.model.onnx_import.symbols import symbol_name

BOOLEAN = frozenset(
    {"And", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Not"}
    | {"Or", "Xor", "IsNaN", "IsInf"}
)
LARGEST_ELEMENTS = 10**15
NEVER_CONSTANT = frozenset(
    {"elkhound::Load", "elkhound::Free"}
    | {"Bernoulli", "RandomNormalLike", "RandomUniformLike"}
)
TYPED = {  # the attribute that states a result's element type
    "Cast": "to",
    "Bernoulli": "dtype",
    "EyeLike": "dtype",
    "RandomNormalLike": "dtype",
    "RandomUniformLike": "dtype",
    "BlackmanWindow": "output_datatype",
    "HammingWindow": "output_datatype",
    "HannWindow": "output_datatype",
    "MelWeightMatrix": "output_datatype",
}
INDEX = frozenset({"ArgMax", "ArgMin", "NonZero", "Shape", "Size"})
CAST_TARGETS = {  # onnx.TensorProto numbers
    1: "float32",
    2: "uint8",
    3: "int8",
    4: "uint16",
    5: "int16",
    6: "int32",
    7: "int64",
    9: "bool",
    10: "float16",
    11: "float64",
    12: "uint32",
    13: "uint64",
    16: "bfloat16",
    17: "float8e4m3fn",
    18: "float8e4m3fnuz",
    19: "float8e5m2",
    20: "float8e5m2fnuz",
    21: "uint4",
    22: "int4",
    23: "float4e2m1",
    24: "float8e8m0",
    25: "uint2",
    26: "int2",
}

RULES: Mapping[str, Rule] = {
    **dict.fromkeys(UNARY, standard.same),
    **dict.fromkeys(ELEMENTWISE, standard.broadcast),
    **dict.fromkeys(REDUCTIONS, standard.reduce),
    **dict.fromkeys(("Identity", "Dropout"), standard.same),
    **moves.RULES,
    **internal.RULES,
    **standard.RULES,
    **rowwise.RULES,
    **contrib.RULES,
}


def input_values(
    source: Source, read: frozenset[str], bind: Mapping[str, int]
) -> dict[str, Value]:
    """Return the constants, and the inputs that some node reads.

    Parameters
    ----------
    source : Source
        Inputs and constants.
    read : frozenset of str
        What nodes read.
    bind : mapping of str to int
        Extents of the symbols.
    """
    values = dict(source.constants)
    for declared in source.inputs:
        if declared.name in read:
            values[declared.name] = _input_value(declared, bind)
    return values


def _input_value(declared: Declared, bind: Mapping[str, int]) -> Value:
    owner = f"input {declared.name}"
    dtype = dtype_of(declared.dtype, owner)
    if declared.dims is None:
        raise BadInputError(f"{owner}: declares no shape", code="unknown-rank")
    shape = tuple(
        dim if isinstance(dim, int) else bind[symbol_name(declared, axis)]
        for axis, dim in enumerate(declared.dims)
    )
    _refuse_empty(owner, declared.name, shape)
    return Value(dtype=dtype, shape=shape)


def node_values(
    source: Source, node: Node, values: Mapping[str, Value]
) -> dict[str, Value]:
    """Return what is known of a node's outputs, those apart that are known already.

    Parameters
    ----------
    source : Source
        What onnx inferred and the file declares.
    node : Node
        Any plain node.
    values : mapping of str to Value
        Its inputs.
    """
    inputs = [values[name] if name else None for name in node.inputs]
    data = fold(node, inputs)
    constant = data is not None or all(v is None or v.constant for v in inputs)
    constant = constant and node.op not in NEVER_CONSTANT
    made: dict[str, Value] = {}
    own = _own_shapes(node, inputs)
    for index, name in enumerate(node.outputs):
        if not name or name in values:  # absent, or declared by an expansion
            continue
        known = source.inferred.get(name)
        shape = known.shape if known is not None else None
        if index == 0 and data is not None:
            shape = data.shape
        if shape is None and own is None:
            own = _declared_shapes(source, node, inputs)
        if shape is None and own is not None:
            shape = own[index] if index < len(own) else None
        if shape is None:
            continue  # an optional output that nothing may read
        _refuse_resized(node, inputs, shape)
        stated = known.dtype if known is not None else None
        dtype = (
            dtype_of(stated, f"tensor {name}")
            if stated
            else _own_dtype(node, inputs, index)
        )
        if not constant:
            _refuse_empty(f"node {node.name} ({node.op})", name, shape)
        made[name] = Value(
            dtype, shape, constant=constant, data=data if index == 0 else None
        )
    return made


def _refuse_resized(node: Node, inputs: Sequence[Value | None], shape: Shape) -> None:
    """Refuse a view of another number of elements, which onnx lets through."""
    whole = inputs[0] if inputs else None
    if node.op in VIEWS and whole is not None and math.prod(shape) != whole.elements:
        raise BadInputError(
            f"node {node.name} ({node.op}): {list(whole.shape)} cannot be reshaped "
            f"to {list(shape)}",
            code="bad-shape",
        )


def _own_shapes(node: Node, inputs: Sequence[Value | None]) -> list[Shape] | None:
    """Return what our rule says; None where there is none, or it cannot know.

    It is asked even where onnx knows: onnx lets shapes through that do not fit.
    """
    if node.op not in RULES:
        return None
    try:
        return RULES[node.op](node, inputs)
    except UnknownError:
        return None
    except (ValueError, IndexError, ZeroDivisionError, OverflowError) as error:
        raise BadInputError(
            f"node {node.name} ({node.op}): {error}", code="bad-shape"
        ) from None


def _declared_shapes(
    source: Source, node: Node, inputs: Sequence[Value | None]
) -> list[Shape]:
    """Return what the file states, where neither onnx nor a rule of ours can tell."""
    declared = [source.declared.get(name) for name in node.outputs]
    stated = [d.shape for d in declared if d is not None and d.shape is not None]
    if len(stated) == len(node.outputs):
        return stated
    if node.op not in RULES:
        free = node.op == "elkhound::Free"
        raise BadInputError(
            f"node {node.name}{'' if free else f' ({node.op})'}: the shape of "
            f"{node.outputs[0]} is unknown",
            code="unknown-shape",
            hint="the model does not state it; a file for --unknown can" * free,
        )
    try:
        return RULES[node.op](node, inputs)
    except UnknownError as error:
        raise BadInputError(
            f"node {node.name} ({node.op}): {error}", code="bad-shape"
        ) from None


def _own_dtype(node: Node, inputs: Sequence[Value | None], output: int) -> DType:
    stated = node.text("result_type", "")
    if stated:
        return DTYPES[stated]
    if node.op == "QuantizeLinear":
        return _quantised(node, inputs)
    if node.op in BOOLEAN or (node.op == "Dropout" and output == 1):
        return DTYPES["bool"]
    if node.op in INDEX:
        return DTYPES["int64"]
    attribute = TYPED.get(node.op, "")
    if attribute in node.attributes:
        return _stated_type(node, attribute)
    if attribute == "output_datatype":
        return DTYPES["float32"]
    if node.op == "ConstantOfShape":
        fill = node.tensor("value")
        return DTYPES["float32"] if fill is None else fill.dtype
    index = {"Where": 1, "DequantizeLinear": 1, "OneHot": 2}.get(node.op, 0)
    value = inputs[index] if index < len(inputs) else None
    if value is None:
        raise BadInputError(
            f"node {node.name} ({node.op}): the type of {node.outputs[0]} is unknown",
            code="unsupported-type",
        )
    return value.dtype


def _stated_type(node: Node, attribute: str) -> DType:
    number = node.integer(attribute, 0)
    if number not in CAST_TARGETS:
        raise BadInputError(
            f"node {node.name} ({node.op}): attribute {attribute} is {number}, no "
            f"number of an element type that can be planned",
            code="unsupported-type",
        )
    return DTYPES[CAST_TARGETS[number]]


def _quantised(node: Node, inputs: Sequence[Value | None]) -> DType:
    """Return the type of a QuantizeLinear: its zero point's, or as it says."""
    zero = inputs[2] if len(inputs) > 2 else None
    if zero is not None:
        return zero.dtype
    return DTYPES[CAST_TARGETS.get(node.integer("output_dtype", 0), "uint8")]


def _refuse_empty(owner: str, tensor: str, shape: Shape) -> None:
    for axis, extent in enumerate(shape):
        if extent < 1:
            raise BadInputError(
                f"{owner}: tensor {tensor} has extent {extent} on axis {axis}, "
                f"must be at least 1",
                code="empty-dimension",
            )
    if math.prod(shape) > LARGEST_ELEMENTS:
        raise BadInputError(
            f"{owner}: tensor {tensor} of shape {list(shape)} has more than 10^15 "
            f"elements",
            code="too-large",
        )
