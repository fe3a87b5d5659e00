"""Operators that ONNX Runtime's optimiser fuses, as the plain ones they came from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from elkhound.model.graph import Pass
from elkhound.model.onnx_import.expand.expansion import Expansion
from elkhound.model.onnx_import.source import Value
from elkhound.model.onnx_import.user_operators import OutputCost

ACTIVATIONS = ("Clip", "HardSigmoid", "LeakyRelu", "Relu", "Sigmoid", "Tanh")
CONV_ATTRIBUTES = ("auto_pad", "dilations", "group", "pads", "strides")


def fused_product(do: Expansion) -> None:
    """FusedMatMul: MatMul of operands seen transposed; alpha is part of it.

    transBatchA rotates the batch axes: (m, b…, k) is seen as (b…, m, k).
    """
    names = [do.name(0), do.name(1)]
    for index, side in enumerate("AB"):
        rank = len(do.shape(names[index]))
        order = list(range(rank))
        if do.node.integer(f"transBatch{side}", 0) and rank > 2:
            order = [*order[1:-1], 0, order[-1]]
        if do.node.integer(f"trans{side}", 0) and rank > 1:
            order[-2:] = order[-1], order[-2]
        if order != sorted(order):
            names[index] = do.transpose(names[index], order, f"{side}.turned")
    do.emit("MatMul", names, "", outputs=[do.output(0)])


def fused_gemm(do: Expansion) -> None:
    """FusedGemm: Gemm, then an activation."""
    attributes = {k: do.node.integer(k, 0) for k in ("transA", "transB")}
    inputs = [do.name(0), do.name(1), *([do.given(2)] if do.given(2) else [])]
    _activated(do, lambda out: do.emit("Gemm", inputs, *_main(out, do, attributes)))


def fused_conv(do: Expansion) -> None:
    """FusedConv: Conv, then a sum with input 3, then an activation."""
    inputs = [do.name(0), do.name(1), *([do.given(2)] if do.given(2) else [])]
    _conv(do, inputs, do.given(3), channels_last=False)


def nhwc_conv(do: Expansion) -> None:
    """NhwcConv, NhwcFusedConv: image (and kernel) with the channels last."""
    image = do.transpose(do.name(0), _channels_first(do, 0), "channels_first")
    kernel = do.name(1)
    if do.node.op.endswith("NhwcConv"):
        kernel = do.transpose(kernel, _channels_first(do, 1), "kernel")
    inputs = [image, kernel, *([do.given(2)] if do.given(2) else [])]
    _conv(do, inputs, do.given(3), channels_last=True)


def _channels_first(do: Expansion, index: int) -> list[int]:
    rank = len(do.shape(do.name(index)))
    return [0, rank - 1, *range(1, rank - 1)]


def _channels_last(rank: int) -> list[int]:
    return [0, *range(2, rank), 1]


def _conv(
    do: Expansion, inputs: Sequence[str], added: str, *, channels_last: bool
) -> None:
    given = do.node.attributes
    attributes = {key: given[key] for key in CONV_ATTRIBUTES if key in given}

    def product(out: str) -> str:
        if not channels_last and not added:
            return do.emit("Conv", inputs, *_main(out, do, attributes))
        name = do.emit("Conv", inputs, "product", attributes)
        if channels_last:
            rank = len(do.shape(name))
            output = "" if added else out
            name = do.transpose(name, _channels_last(rank), "last", output=output)
        if added:
            named = [out] if out else []
            name = do.emit("Add", [name, added], "sum", outputs=named)
        return name

    _activated(do, product)


def _main(
    out: str, do: Expansion, attributes: Mapping[str, object]
) -> tuple[str, Mapping[str, object]]:
    """Return suffix and attributes of the node before the activation, if any."""
    return ("product" if do.node.text("activation", "") else ""), attributes


def _activated(do: Expansion, product: Callable[[str], str]) -> None:
    """Write a product under the output's name, or with its activation behind it."""
    activation = do.node.text("activation", "")
    if not activation:
        name = product(do.output(0))
        if name != do.output(0):
            do.emit("Identity", [name], "named", outputs=[do.output(0)])
        return
    if activation not in ACTIVATIONS:
        raise ValueError(
            f"activation {activation}, must be one of {', '.join(ACTIVATIONS)}"
        )
    do.emit(activation, [product("")], "", outputs=[do.output(0)])


def bias_add(do: Expansion) -> None:
    """BiasAdd: x + bias + skip."""
    total = do.emit("Add", [do.name(0), do.name(1)], "biased")
    do.emit("Add", [total, do.name(2)], "", outputs=[do.output(0)])


def bias_split_gelu(do: Expansion) -> None:
    """BiasSplitGelu: of x + bias, the first half times the GELU of the second."""
    total = do.emit("Add", [do.name(0), do.name(1)], "biased")
    shape = do.shape(total)
    half = shape[-1] // 2
    left, right = do.split(total, (half, shape[-1] - half), len(shape) - 1, "half")
    gate = do.emit("Gelu", [right], "gate")
    do.emit("Mul", [left, gate], "", outputs=[do.output(0)])


def group_norm(do: Expansion) -> None:
    """GroupNorm, SkipGroupNorm: x (+ skip + bias), norm of groups, perhaps SiLU."""
    total = do.name(0)
    if do.node.op.endswith("SkipGroupNorm"):
        terms = [name for name in (do.name(3), do.given(4)) if name]
        for number, term in enumerate(terms):
            if len(do.shape(term)) == 2:  # (batch, channels), alike at every position
                batch, channels = do.shape(term)
                term = do.reshape(term, (batch, 1, 1, channels), f"skip{number}")
            last = number == len(terms) - 1 and do.output(1)
            outputs = [do.output(1)] if last else []
            total = do.emit("Add", [total, term], f"sum{number}", outputs=outputs)
    rank = len(do.shape(total))
    last_axis = do.node.integer("channels_last", 1) == 1
    if last_axis:
        order = [0, rank - 1, *range(1, rank - 1)]
        total = do.transpose(total, order, "channels_first")
    silu = do.node.integer("activation", 0) == 1
    plain = [] if silu or last_axis else [do.output(0)]
    normal = do.emit(
        "GroupNormalization",
        [total, do.name(1), do.name(2)],
        "norm",
        {"num_groups": do.node.integer("groups", 1)},
        outputs=plain,
        version=21,
    )
    if silu:
        outputs = [] if last_axis else [do.output(0)]
        normal = do.emit("Swish", [normal], "silu", outputs=outputs)
    if last_axis:
        do.transpose(normal, _channels_last(rank), "", output=do.output(0))


def position_bias(do: Expansion) -> None:
    """RelativePositionBias: a row of the table for every query and key."""
    lengths = [do.value(do.name(index)).data for index in (1, 2)]
    if any(length is None for length in lengths):
        raise ValueError("its lengths are not known constants")
    queries, keys = (int(n.reshape(-1)[0]) for n in lengths if n is not None)
    table = do.value(do.name(0))
    heads = table.shape[1]
    shape = (1, heads, queries, keys)
    do.declare(do.output(0), Value(table.dtype, shape))
    cost = OutputCost(shape, table.dtype.name, (Pass.UNARY, Pass.GATHER), reads=(0,))
    attributes = {"costs": [cost]}
    do.emit("elkhound::User", [do.name(0)], "", attributes, outputs=[do.output(0)])


EXPANSIONS: Mapping[str, Callable[[Expansion], None]] = {
    "com.microsoft::BiasAdd": bias_add,
    "com.microsoft::BiasSplitGelu": bias_split_gelu,
    "com.microsoft::FusedConv": fused_conv,
    "com.microsoft::FusedGemm": fused_gemm,
    "com.microsoft::FusedMatMul": fused_product,
    "com.microsoft::GroupNorm": group_norm,
    "com.microsoft::NhwcConv": nhwc_conv,
    "com.microsoft::NhwcFusedConv": nhwc_conv,
    "com.microsoft::RelativePositionBias": position_bias,
    "com.microsoft::SkipGroupNorm": group_norm,
}
