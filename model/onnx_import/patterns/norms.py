"""LayerNorm and RMSNorm written as primitive operators."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from elkhound.model.onnx_import.patterns.net import Match, Net
from elkhound.model.onnx_import.shapes.standard import reduced_axes
from elkhound.model.onnx_import.source import Node


@dataclass(frozen=True, slots=True)
class Centred:
    """What a norm scales: x itself, or x less its row mean."""

    source: str
    members: tuple[Node, ...]
    is_centred: bool


def norm(net: Net, node: Node) -> Match | None:
    """Match x / √(mean(x²) + ε) · w, or the same of x − mean(x), plus b.

    Known variants: Div by Sqrt, Mul by Reciprocal or by 1 / Sqrt or by Pow −½; the
    square as Pow or Mul; x − mean(x) computed once or twice; Casts before and behind.
    """
    for numerator, radicand, tail in _divisions(net, node):
        found = _mean_square(net, radicand)
        if found is None:
            continue
        squared, axis, statistics = found
        whole = _centred(net, numerator, axis)
        again = _centred(net, squared, axis)
        if whole.source != again.source or whole.is_centred != again.is_centred:
            continue
        members = (*whole.members, *again.members, *statistics, *tail, node)
        return _with_affine(net, node, whole, axis, members)
    return None


def _divisions(net: Net, node: Node) -> Iterator[tuple[str, str, tuple[Node, ...]]]:
    """Yield (numerator, radicand, nodes between) of a division by a root."""
    if node.op == "Div":
        root = net.maker(node.inputs[1], "Sqrt")
        if root is not None:
            yield node.inputs[0], root.inputs[0], (root,)
    if node.op != "Mul":
        return
    for numerator, factor in (node.inputs, node.inputs[::-1]):
        inverse = net.maker(factor, "Reciprocal", "Div", "Pow")
        if inverse is None:
            continue
        if inverse.op == "Pow":
            if net.is_number(inverse.inputs[1], -0.5):
                yield numerator, inverse.inputs[0], (inverse,)
            continue
        if inverse.op == "Div" and not net.is_number(inverse.inputs[0], 1.0):
            continue
        root = net.maker(inverse.inputs[-1], "Sqrt")
        if root is not None:
            yield numerator, root.inputs[0], (root, inverse)


def _mean_square(net: Net, radicand: str) -> tuple[str, int, tuple[Node, ...]] | None:
    """Return (what is squared, first row axis, nodes) of mean(x²) + ε."""
    add = net.maker(radicand, "Add")
    if add is None:
        return None
    for mean_name, epsilon in (add.inputs, add.inputs[::-1]):
        mean = net.maker(mean_name, "ReduceMean")
        axis = _row_axis(net, mean) if mean is not None else None
        if mean is None or axis is None or not net.is_scalar(epsilon):
            continue
        square = net.maker(mean.inputs[0], "Pow", "Mul")
        if square is None:
            continue
        left, right = square.inputs
        if (left == right) if square.op == "Mul" else net.is_number(right, 2.0):
            return left, axis, (square, mean, add)
    return None


def _row_axis(net: Net, mean: Node) -> int | None:
    """Return the first of the last axes that a mean reduces and keeps."""
    inputs = [net.values.get(name) if name else None for name in mean.inputs]
    whole = inputs[0]
    if whole is None or not mean.integer("keepdims", 1):
        return None
    axes = reduced_axes(mean, inputs)
    rank = len(whole.shape)
    if not axes or axes != tuple(range(rank - len(axes), rank)):
        return None
    return axes[0] - rank


def _centred(net: Net, name: str, axis: int) -> Centred:
    """Return what a value is: x − mean(x) of some x, or just itself."""
    plain, casts = net.before_cast(name)
    less = net.maker(plain, "Sub")
    if less is not None:
        mean = net.maker(less.inputs[1], "ReduceMean")
        if (
            mean is not None
            and mean.inputs[0] == less.inputs[0]
            and _row_axis(net, mean) == axis
        ):
            return Centred(less.inputs[0], (mean, less, *casts), True)
    return Centred(name, (), False)


def _with_affine(
    net: Net, node: Node, whole: Centred, axis: int, members: tuple[Node, ...]
) -> Match | None:
    """Take in the weight, the bias and the Casts around, where they are there."""
    last = node
    parameters: list[str] = []
    row = net.values[whole.source].shape[axis:]
    for op in ("Mul", "Add") if whole.is_centred else ("Mul",):
        cast = net.only_reader(last.outputs[0], "Cast")
        before = cast or last
        step = net.only_reader(before.outputs[0], op)
        weight = net.other(step, before.outputs[0]) if step is not None else None
        if step is None or weight is None or not _is_row(net, weight, row):
            break
        parameters.append(weight)
        members = (*members, *((cast,) if cast is not None else ()), step)
        last = step
    closing = net.only_reader(last.outputs[0], "Cast")
    opening = net.before_cast(whole.source)
    if opening[1] and closing is not None and _same_type(net, opening[0], closing):
        last, members = closing, (*members, closing)
    for source, casts in (opening, (whole.source, ())):
        all_members = tuple({n.name: n for n in (*casts, *members)}.values())
        if net.closed(all_members, last.outputs[0]):
            return _match(net, whole, axis, source, parameters, all_members, last)
    return None


def _is_row(net: Net, name: str, row: tuple[int, ...]) -> bool:
    """Tell whether a value is a parameter with one element per row position."""
    shape = net.values[name].shape
    return (
        net.is_parameter(name)
        and net.values[name].elements == math.prod(row)
        and shape[max(0, len(shape) - len(row)) :]
        == row[max(0, len(row) - len(shape)) :]
    )


def _same_type(net: Net, name: str, cast: Node) -> bool:
    return net.values[name].dtype == net.values[cast.outputs[0]].dtype


def _match(
    net: Net,
    whole: Centred,
    axis: int,
    source: str,
    parameters: list[str],
    members: tuple[Node, ...],
    last: Node,
) -> Match:
    op = "LayerNormalization" if whole.is_centred else "RMSNormalization"
    fused = Node(
        name=last.name,
        op=op,
        inputs=(source, *parameters),
        outputs=last.outputs,
        attributes={"axis": axis},
        version=23,
    )
    return Match("layer-norm" if whole.is_centred else "rms-norm", members, fused)
