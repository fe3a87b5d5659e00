"""Convolutions, poolings and LRN: einsums with halo axes."""

from __future__ import annotations

from elkhound.model.graph import Access, Axis, Operator, OperatorKind, Pass
from elkhound.model.onnx_import.lower.operand import (
    UNINDEXED,
    Call,
    Operand,
    grid,
    indexed,
)
from elkhound.model.onnx_import.shapes import windows
from elkhound.model.onnx_import.shapes.windows import Window
from elkhound.model.passes import MATMUL_BIAS_PASSES, MATMUL_PASSES

SPATIAL = {1: ("w",), 2: ("h", "w"), 3: ("d", "h", "w")}


def conv(call: Call) -> tuple[Operator, ...]:
    """O[n, g, oc, o…] = Σ I[n, g, ic, o·stride + k·dilation …] · W[g, oc, ic, k…].

    Groups are a dimension of their own, only where there are several; the channel
    axes of image, kernel and output are then seen as (g, channels of a group).
    """
    image, kernel, out = call.first, call.second, call.output
    group = call.node.integer("group", 1)
    window = windows.of(call.node, image.shape[2:], kernel.shape[2:])
    sizes = {"n": out.shape[0]}
    if group > 1:
        sizes["g"] = group
    sizes |= {"oc": kernel.shape[0] // group, "ic": kernel.shape[1]}
    outputs, kernels = _positions(out.shape[2:], window, sizes)
    groups = [indexed("g")] if group > 1 else []
    halo = _halo(outputs, kernels, window)
    taps = [indexed(name) for name in kernels]
    spread = [indexed(name) for name in outputs]
    bias = call.input(2)
    inputs = [
        _grouped(image, group, 1, [indexed("n"), *groups, indexed("ic"), *halo]),
        _grouped(kernel, group, 0, [*groups, indexed("oc"), indexed("ic"), *taps]),
        None if bias is None else _grouped(bias, group, 0, [*groups, indexed("oc")]),
    ]
    return (
        call.operator(
            OperatorKind.CONV,
            sizes,
            inputs,
            _grouped(out, group, 1, [indexed("n"), *groups, indexed("oc"), *spread]),
            MATMUL_PASSES if bias is None else MATMUL_BIAS_PASSES,
        ),
    )


def columns(call: Call) -> tuple[Operator, ...]:
    """C[n, g, oc, i…, k…] = Σ I[n, g, ic, i…] · W[g, ic, oc, k…] of a ConvTranspose.

    Where kernels do not overlap, C is the output, seen as (i, k) on every axis.
    """
    image, kernel, out = call.first, call.second, call.output
    group = call.node.integer("group", 1)
    rank = len(image.shape) - 2
    names = _names(rank)
    places, taps = [f"i{n}" for n in names], [f"k{n}" for n in names]
    sizes = {"n": image.shape[0]}
    if group > 1:
        sizes["g"] = group
    sizes |= {"oc": kernel.shape[1], "ic": image.shape[1] // group}
    sizes.update(zip(places, image.shape[2:], strict=True))
    sizes.update(zip(taps, kernel.shape[2:], strict=True))
    groups = [indexed("g")] if group > 1 else []
    spread = [indexed(name) for name in places]
    inner = [indexed(name) for name in taps]
    if call.node.integer("apart", 0):
        target, bias = out, call.input(2)
        for axis in range(rank - 1, -1, -1):
            pair = (image.shape[axis + 2], kernel.shape[axis + 2])
            target = target.split(axis + 2, pair)
        tail = [axis for both in zip(spread, inner, strict=True) for axis in both]
    else:
        target, bias, tail = out, None, [*spread, *inner]
    inputs = [
        _grouped(image, group, 1, [indexed("n"), *groups, indexed("ic"), *spread]),
        _grouped(kernel, group, 0, [*groups, indexed("ic"), indexed("oc"), *inner]),
        None if bias is None else _grouped(bias, group, 0, [*groups, indexed("oc")]),
    ]
    return (
        call.operator(
            OperatorKind.CONV,
            sizes,
            inputs,
            _grouped(target, group, 1, [indexed("n"), *groups, indexed("oc"), *tail]),
            MATMUL_PASSES if bias is None else MATMUL_BIAS_PASSES,
        ),
    )


def fold(call: Call) -> tuple[Operator, ...]:
    """Sum the columns of a ConvTranspose that fall on the same output."""
    out, bias = call.output, call.input(1)
    overlaps = call.node.integer("overlaps", 1)
    sizes, axes = grid(out.shape)
    sizes["overlap"] = overlaps
    seen = (*out.shape, overlaps)
    columns_seen = Operand(call.first.root, seen, tuple(range(len(seen))))
    inputs = [columns_seen.access([*axes, indexed("overlap")])]
    if bias is not None and not bias.folded:
        inputs.append(bias.access([axes[1]]))
    passes = (Pass.REDUCE, *((Pass.ELEMENTWISE,) if bias is not None else ()))
    return (
        call.operator(OperatorKind.REDUCE, sizes, inputs, out.access(axes), passes),
    )


def pool(call: Call) -> tuple[Operator, ...]:
    """O[n, c, o…] = reduce over k of I[n, c, o·stride + k·dilation …]."""
    image, out = call.first, call.output
    kernel = call.node.integers("kernel_shape") or image.shape[2:]
    window = windows.of(call.node, image.shape[2:], kernel)
    sizes = {"n": out.shape[0], "c": out.shape[1]}
    outputs, kernels = _positions(out.shape[2:], window, sizes)
    channels = [indexed("n"), indexed("c")]
    return (
        call.operator(
            OperatorKind.POOL,
            sizes,
            [image.access([*channels, *_halo(outputs, kernels, window)])],
            out.access([*channels, *(indexed(name) for name in outputs)]),
            (Pass.REDUCE,),
        ),
    )


def global_pool(call: Call) -> tuple[Operator, ...]:
    """O[n, c] = reduce over all positions of I[n, c, …]."""
    image, out = call.first, call.output
    names = _names(len(image.shape) - 2)
    sizes = {"n": image.shape[0], "c": image.shape[1]}
    sizes |= dict(zip(names, image.shape[2:], strict=True))
    channels = [indexed("n"), indexed("c")]
    return (
        call.operator(
            OperatorKind.POOL,
            sizes,
            [image.access([*channels, *(indexed(name) for name in names)])],
            out.access([*channels, *[UNINDEXED] * len(names)]),
            (Pass.REDUCE,),
        ),
    )


def local_response(call: Call) -> tuple[Operator, ...]:
    """LRN: x / (bias + α Σ x²)^β, the sum over a window of channels.

    Passes: square, window sum, power, division.
    """
    image, out = call.first, call.output
    names = _names(len(image.shape) - 2)
    sizes = {"n": image.shape[0], "c": image.shape[1]}
    sizes |= dict(zip(names, image.shape[2:], strict=True))
    sizes["window"] = min(call.node.integer("size", 1), image.shape[1])
    spread = [indexed(name) for name in names]
    across = Axis((("c", 1), ("window", 1)))
    return (
        call.operator(
            OperatorKind.NORM,
            sizes,
            [image.access([indexed("n"), across, *spread])],
            out.access([indexed("n"), indexed("c"), *spread]),
            (Pass.UNARY, Pass.REDUCE, Pass.UNARY, Pass.ELEMENTWISE),
        ),
    )


def _names(rank: int) -> tuple[str, ...]:
    return SPATIAL.get(rank) or tuple(f"s{axis}" for axis in range(rank))


def _positions(
    outputs: tuple[int, ...], window: Window, sizes: dict[str, int]
) -> tuple[list[str], list[str]]:
    """Add output and kernel positions to the sizes; return their names."""
    names = _names(len(outputs))
    output_names = [f"o{name}" for name in names]
    kernel_names = [f"k{name}" for name in names]
    sizes.update(zip(output_names, outputs, strict=True))
    sizes.update(zip(kernel_names, window.kernel, strict=True))
    return output_names, kernel_names


def _halo(outputs: list[str], kernels: list[str], window: Window) -> list[Axis]:
    return [
        Axis(((output, stride), (tap, dilation)))
        for output, tap, stride, dilation in zip(
            outputs, kernels, window.strides, window.dilations, strict=True
        )
    ]


def _grouped(whole: Operand, group: int, channel: int, axes: list[Axis]) -> Access:
    """Return an access whose channel axis is seen as (group, channels of a group)."""
    if group == 1:
        return whole.access(axes)
    split = (group, whole.shape[channel] // group)
    return whole.split(channel, split).access(axes)
