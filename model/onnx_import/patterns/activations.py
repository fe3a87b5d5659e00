"""SiLU, GELU and their gated forms written as primitive operators."""

from __future__ import annotations

import math

from elkhound.model.onnx_import.patterns.net import Match, Net
from elkhound.model.onnx_import.source import Node


def silu(net: Net, node: Node) -> Match | None:
    """Match x · sigmoid(x)."""
    if node.op != "Mul":
        return None
    for source, factor in (node.inputs, node.inputs[::-1]):
        sigmoid = net.maker(factor, "Sigmoid")
        if sigmoid is not None and sigmoid.inputs[0] == source:
            return _match(net, "silu", "Swish", (source,), (sigmoid, node))
    return None


def gelu(net: Net, node: Node) -> Match | None:
    """Match ½ x (1 + erf(x / √2)) or ½ x (1 + tanh(…))."""
    if node.op not in ("Erf", "Tanh"):
        return None
    found = _erf_argument(net, node) if node.op == "Erf" else _tanh_argument(net, node)
    plus = net.only_reader(node.outputs[0], "Add")
    if found is None or plus is None:
        return None
    source, inner = found
    one = net.other(plus, node.outputs[0])
    if one is None or not net.is_number(one, 1.0):
        return None
    products = _half_product(net, source, plus.outputs[0])
    if products is None:
        return None
    return _match(net, "gelu", "Gelu", (source,), (*inner, node, plus, *products))


def gated(net: Net, node: Node) -> Match | None:
    """Match SiLU(gate) · up (SwiGLU) and GELU(gate) · up (GeGLU)."""
    if node.op != "Mul":
        return None
    for factor, up in (node.inputs, node.inputs[::-1]):
        activation = net.maker(factor, "Swish", "Gelu", "com.microsoft::FastGelu")
        if activation is None or len(activation.inputs) != 1 or net.is_parameter(up):
            continue
        if net.values[up].shape == net.values[factor].shape and up != factor:
            name, op = (
                ("swiglu", "elkhound::SwiGLU")
                if activation.op == "Swish"
                else ("geglu", "elkhound::GeGLU")
            )
            gate = activation.inputs[0]
            return _match(net, name, op, (gate, up), (activation, node))
    return None


def _erf_argument(net: Net, erf: Node) -> tuple[str, tuple[Node, ...]] | None:
    """Return x of erf(x / √2) or erf(x · 1/√2)."""
    scaled = net.maker(erf.inputs[0], "Div", "Mul")
    if scaled is None:
        return None
    number = math.sqrt(2) if scaled.op == "Div" else math.sqrt(0.5)
    for source, factor in (scaled.inputs, scaled.inputs[::-1]):
        if net.is_number(factor, number):
            return source, (scaled,)
        if scaled.op == "Div":
            break
    return None


def _tanh_argument(net: Net, tanh: Node) -> tuple[str, tuple[Node, ...]] | None:
    """Return x of tanh(√(2/π) (x + 0.044715 x³)), x³ as Pow or as two products."""
    outer = net.maker(tanh.inputs[0], "Mul")
    if outer is None:
        return None
    for total, factor in (outer.inputs, outer.inputs[::-1]):
        add = net.maker(total, "Add")
        if add is None or not net.is_number(factor, math.sqrt(2 / math.pi)):
            continue
        for source, cubic in (add.inputs, add.inputs[::-1]):
            cube = _scaled_cube(net, cubic, source)
            if cube is not None:
                return source, (*cube, add, outer)
    return None


def _scaled_cube(net: Net, name: str, source: str) -> tuple[Node, ...] | None:
    scaled = net.maker(name, "Mul")
    if scaled is None:
        return None
    for cube_name, factor in (scaled.inputs, scaled.inputs[::-1]):
        cube = net.maker(cube_name, "Pow", "Mul")
        if cube is None or not net.is_number(factor, 0.044715):
            continue
        if cube.op == "Pow":
            if cube.inputs[0] == source and net.is_number(cube.inputs[1], 3.0):
                return (cube, scaled)
            continue
        square_name = net.other(cube, source)
        square = net.maker(square_name, "Mul", "Pow") if square_name else None
        if square is not None and square.inputs[0] == source:
            return (square, cube, scaled)
    return None


def _half_product(net: Net, source: str, sum_name: str) -> tuple[Node, ...] | None:
    """Return the products of x, the sum and ½: (x·½)·s, (x·s)·½ or x·(s·½)."""
    first = net.only_reader(sum_name, "Mul")
    other = net.other(first, sum_name) if first is not None else None
    if first is None or other is None:
        return None
    half = net.maker(other, "Mul")
    if half is not None and other != source:
        number = net.other(half, source)
        if number is not None and net.is_number(number, 0.5):
            return (half, first)
    second = net.only_reader(first.outputs[0], "Mul")
    rest = net.other(second, first.outputs[0]) if second is not None else None
    if second is None or rest is None:
        return None
    if other == source and net.is_number(rest, 0.5):
        return (first, second)
    if net.is_number(other, 0.5) and rest == source:
        return (first, second)
    return None


def _match(
    net: Net, name: str, op: str, inputs: tuple[str, ...], members: tuple[Node, ...]
) -> Match | None:
    last = members[-1]
    if not net.closed(members, last.outputs[0]):
        return None
    fused = Node(name=last.name, op=op, inputs=inputs, outputs=last.outputs)
    return Match(name, members, fused)
