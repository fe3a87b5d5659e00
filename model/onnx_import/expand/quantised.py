"""Quantised operators: integer arithmetic, then one pass that rescales.

`requantize` on a node adds that many passes over its output (lower/graph.py): one for
each operand that is brought to a common scale, one for the result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from elkhound.model.dtype import DTYPES, DType
from elkhound.model.onnx_import.expand.expansion import Expansion
from elkhound.model.onnx_import.source import Value

Expand = Callable[[Expansion], None]


@dataclass(frozen=True, slots=True)
class Form:
    """Where a quantised operator keeps its operands.

    Parameters
    ----------
    op : str
        The plain operator.
    operands : tuple of int
        Its inputs, among those of the quantised one.
    zero_point : int or None
        Input of the result's type; None for a result that is not quantised.
    passes : int
        Passes over the result that rescale.
    """

    op: str
    operands: tuple[int, ...]
    zero_point: int | None = None
    passes: int = 1


FORMS: Mapping[str, Form] = {
    "QLinearConv": Form("Conv", (0, 3, 8), 7),
    "QLinearMatMul": Form("MatMul", (0, 3), 7),
    "com.microsoft::QGemm": Form("Gemm", (0, 3, 6), 8),
    "com.microsoft::QLinearConv": Form("Conv", (0, 3, 8), 7),
    "com.microsoft::QLinearAdd": Form("Add", (0, 3), 7, 3),
    "com.microsoft::QLinearMul": Form("Mul", (0, 3), 7, 3),
    "com.microsoft::QLinearSigmoid": Form("Sigmoid", (0,), 4, 2),
    "com.microsoft::QLinearLeakyRelu": Form("LeakyRelu", (0,), 4, 2),
    "com.microsoft::QLinearSoftmax": Form("Softmax", (0,), 4, 2),
    "com.microsoft::QLinearAveragePool": Form("AveragePool", (0,), 4, 2),
    "com.microsoft::QLinearGlobalAveragePool": Form("GlobalAveragePool", (0,), 4, 2),
}


def _plain(form: Form) -> Expand:
    def expand(do: Expansion) -> None:
        dtype = _float(do)
        if form.zero_point is not None:
            zero = do.given(form.zero_point)
            dtype = do.value(zero).dtype if zero else do.value(do.name(0)).dtype
        _write(do, form.op, [do.given(i) for i in form.operands], form.passes, dtype)

    return expand


def _write(
    do: Expansion, op: str, operands: Sequence[str], passes: int, dtype: DType
) -> None:
    """Write the plain operator; operands in it are present up to the last one."""
    inputs = list(operands)
    while inputs and not inputs[-1]:
        inputs.pop()
    attributes = {**do.node.attributes, "requantize": passes}
    do.emit(op, inputs, "", attributes, outputs=[do.output(0)], dtype=dtype)


def _float(do: Expansion) -> DType:
    """Return the type of the scales."""
    scales = [v.dtype for v in do.inputs if v and v.dtype.name.startswith("float")]
    return scales[0] if scales else DTYPES["float32"]


def integer_product(do: Expansion) -> None:
    """MatMulInteger and ConvInteger: int32 sums, not rescaled."""
    op = "Conv" if do.node.op == "ConvInteger" else "MatMul"
    _write(do, op, [do.name(0), do.name(1)], 0, DTYPES["int32"])


def product_to_float(do: Expansion) -> None:
    """com.microsoft::MatMulIntegerToFloat: int32 sums, rescaled, bias added."""
    _biased(do, do.name(0), do.given(6))


def dynamic_product(do: Expansion) -> None:
    """com.microsoft::DynamicQuantizeMatMul: quantise A by its range, then multiply."""
    source = _quantised_by_range(do, do.name(0), ("", "", ""))
    _biased(do, source, do.given(4))


def _biased(do: Expansion, source: str, bias: str) -> None:
    attributes = {"requantize": 1}
    outputs = [] if bias else [do.output(0)]
    name = do.emit(
        "MatMul",
        [source, do.name(1)],
        "product" if bias else "",
        attributes,
        outputs=outputs,
        dtype=_float(do),
    )
    if bias:
        do.emit("Add", [name, bias], "", outputs=[do.output(0)])


def dynamic_quantize(do: Expansion) -> None:
    """DynamicQuantizeLinear: range, scale and zero point, then quantise."""
    outputs = (do.output(0), do.output(1), do.output(2))
    _quantised_by_range(do, do.name(0), outputs)


def _quantised_by_range(
    do: Expansion, source: str, outputs: tuple[str, str, str]
) -> str:
    ends = [
        do.emit(op, [source], name, {"keepdims": 0})
        for op, name in (("ReduceMax", "highest"), ("ReduceMin", "lowest"))
    ]
    byte = DTYPES["uint8"]
    scale = do.emit("Sub", ends, "scale", outputs=[outputs[1]] if outputs[1] else [])
    zero = do.emit(
        "Div",
        [ends[1], scale],
        "zero",
        outputs=[outputs[2]] if outputs[2] else [],
        dtype=byte,
    )
    return do.emit(
        "QuantizeLinear",
        [source, scale, zero],
        "quantised",
        outputs=[outputs[0]] if outputs[0] else [],
        dtype=byte,
    )


def blocked_product(do: Expansion) -> None:
    """com.microsoft::MatMulNBits: weights of few bits, a scale for every block of k.

    The packed bytes (n, blocks, bytes) are `bits`-wide elements (n, k).
    """
    node = do.node
    columns, inner = node.integer("N", 0), node.integer("K", 0)
    bits, block = node.integer("bits", 4), node.integer("block_size", 0)
    width = {2: "uint2", 4: "uint4", 8: "uint8"}.get(bits)
    if width is None or columns < 1 or inner < 1 or block < 1:
        raise ValueError(f"{bits} bits, N {columns}, K {inner}, block {block}")
    if do.shape(do.name(0))[-1] != inner:
        raise ValueError(f"operand {list(do.shape(do.name(0)))} for K {inner}")
    if do.given(4):
        raise ValueError("a reordering of k (g_idx) cannot be planned")
    blocks = -(-inner // block)
    _unpack(do, 1, DTYPES[width], (columns, blocks, block))
    _unpack(do, 2, do.value(do.name(2)).dtype, (columns, blocks))
    if do.given(3):
        stored = do.value(do.given(3)).dtype
        packed = DTYPES[width] if stored.name == "uint8" else stored
        a_byte = 8 // bits if stored.name == "uint8" else 1
        _unpack(do, 3, packed, (columns, -(-blocks // a_byte) * a_byte))
    name = _blocks(do, columns, inner, block)
    if do.given(5):
        do.emit("Add", [name, do.given(5)], "", outputs=[do.output(0)])


def _blocks(do: Expansion, columns: int, inner: int, block: int) -> str:
    """Write the product of the full blocks, to which that of a shorter last one adds.

    What fills the last block up is stored, and neither read nor multiplied.
    """
    full, rest = divmod(inner, block)
    parts = [("blocks", full, block)] * bool(full) + [("rest", 1, rest)] * bool(rest)
    total = ""
    for suffix, count, extent in parts:
        last = suffix == parts[-1][0]
        named = [do.output(0)] if last and not do.given(5) else []
        alone = "" if named else "product"
        inputs = [do.name(0), do.name(1), do.name(2), do.given(3), total]
        total = do.emit(
            "elkhound::BlockedMatMul",
            inputs,
            suffix if len(parts) > 1 else alone,
            {"N": columns, "blocks": count, "block": extent},
            outputs=named,
        )
    return total


def _unpack(do: Expansion, index: int, dtype: DType, shape: tuple[int, ...]) -> None:
    """See a packed parameter as its elements, with those that fill up block or byte."""
    name = do.name(index)
    do.declare(name, Value(dtype, shape, constant=do.value(name).constant))


def plain_scaling(do: Expansion) -> None:
    """QuantizeLinear and DequantizeLinear of com.microsoft: those of ONNX."""
    op = do.node.op.rpartition("::")[2]
    inputs = [name for name in (do.name(0), do.name(1), do.given(2)) if name]
    zero = do.value(inputs[2]).dtype if len(inputs) > 2 else DTYPES["uint8"]
    dtype = zero if op == "QuantizeLinear" else None
    do.emit(
        op,
        inputs,
        "",
        do.node.attributes,
        outputs=[do.output(0)],
        dtype=dtype,
        version=21,
    )


def blocked_gather(do: Expansion) -> None:
    """com.microsoft::GatherBlockQuantized: rows of a table of few bits, and scales.

    Packed bytes (…, rows, bytes) are elements of `bits`; only the rows taken are read.
    """
    node = do.node
    if node.integer("gather_axis", 0) != 0:
        raise ValueError(f"gather_axis {node.integer('gather_axis', 0)}, must be 0")
    table, bits = do.value(do.name(0)), node.integer("bits", 4)
    shape = table.shape
    if table.dtype.name == "uint8" and bits < 8:
        shape = (*shape[:-1], shape[-1] * 8 // bits)
        table = Value(DTYPES[f"uint{bits}"], shape, table.constant)
        do.declare(do.name(0), table)
    block = node.integer("block_size", 128)
    blocks = -(-shape[-1] // block)
    scales = do.shape(do.name(2))
    if scales != (*shape[:-1], blocks):
        raise ValueError(
            f"scales {list(scales)} for blocks of {block} of {list(shape)}"
        )
    if do.given(3):
        stored = do.value(do.given(3)).dtype
        packed = table.dtype if stored.name == "uint8" else stored
        zeros = (*shape[:-1], blocks)
        do.declare(do.given(3), Value(packed, zeros, constant=True))
    rows = [
        do.emit("Gather", [name, do.name(1)], suffix, {"axis": 0})
        for name, suffix in (
            (do.name(0), "rows"),
            (do.name(2), "scales"),
            (do.given(3), "zeros"),
        )
        if name
    ]
    do.emit(
        "DequantizeLinear",
        rows,
        "",
        {"axis": -1, "block_size": block},
        outputs=[do.output(0)],
        version=21,
    )


def attention(do: Expansion) -> None:
    """com.microsoft::QAttention: Attention of quantised inputs and weights."""
    source = do.emit(
        "DequantizeLinear",
        [do.name(0), do.name(3), *([do.given(6)] if do.given(6) else [])],
        "input",
        version=21,
    )
    weights = do.emit(
        "DequantizeLinear",
        [do.name(1), do.name(4), *([do.given(7)] if do.given(7) else [])],
        "weights",
        {"axis": 1},
        version=21,
    )
    inputs = [source, weights, do.name(2), do.given(5), do.given(8)]
    while not inputs[-1]:
        inputs.pop()
    do.emit(
        "com.microsoft::Attention",
        inputs,
        "",
        do.node.attributes,
        outputs=do.node.outputs,
    )


def concat(do: Expansion) -> None:
    """com.microsoft::QLinearConcat: parts in threes behind the result's scale."""
    parts = [name for name in do.node.inputs[2::3] if name]
    _write(do, "Concat", parts, 1, do.value(do.name(1)).dtype)


EXPANSIONS: Mapping[str, Expand] = {
    **{op: _plain(form) for op, form in FORMS.items()},
    "ConvInteger": integer_product,
    "DynamicQuantizeLinear": dynamic_quantize,
    "MatMulInteger": integer_product,
    "com.microsoft::DynamicQuantizeMatMul": dynamic_product,
    "com.microsoft::MatMulIntegerToFloat": product_to_float,
    "com.microsoft::DequantizeLinear": plain_scaling,
    "com.microsoft::GatherBlockQuantized": blocked_gather,
    "com.microsoft::MatMulNBits": blocked_product,
    "com.microsoft::QAttention": attention,
    "com.microsoft::QLinearConcat": concat,
    "com.microsoft::QuantizeLinear": plain_scaling,
}
