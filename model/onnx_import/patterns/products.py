"""What follows a product or a row: softmax from its parts, biases, scales."""

from __future__ import annotations

from dataclasses import replace

from elkhound.model.onnx_import.operators import VIEWS
from elkhound.model.onnx_import.patterns.net import Match, Net
from elkhound.model.onnx_import.shapes.standard import reduced_axes
from elkhound.model.onnx_import.source import Node


def softmax(net: Net, node: Node) -> Match | None:
    """Match e / Σe with e = exp(x − max x), or exp(x), over one axis."""
    total = net.maker(node.inputs[1], "ReduceSum") if node.op == "Div" else None
    exp = net.maker(node.inputs[0], "Exp") if total is not None else None
    if total is None or exp is None or total.inputs[0] != exp.outputs[0]:
        return None
    axis = _single_axis(net, total)
    if axis is None:
        return None
    source: str = exp.inputs[0]
    members: tuple[Node, ...] = (exp, total, node)
    less = net.maker(source, "Sub")
    highest = net.maker(less.inputs[1], "ReduceMax") if less is not None else None
    if less is not None and highest is not None:
        same = highest.inputs[0] == less.inputs[0]
        if same and _single_axis(net, highest) == axis:
            source, members = less.inputs[0], (highest, less, *members)
    if not net.closed(members, node.outputs[0]):
        return None
    fused = Node(
        node.name, "Softmax", (source,), node.outputs, {"axis": axis}, version=13
    )
    return Match("softmax", members, fused)


def bias(net: Net, node: Node) -> Match | None:
    """Match x · W + b, b one element per column."""
    if node.op != "MatMul" or len(node.inputs) != 2:
        return None
    add = net.only_reader(node.outputs[0], "Add")
    vector = net.other(add, node.outputs[0]) if add is not None else None
    if add is None or vector is None or not net.is_parameter(vector):
        return None
    columns = net.values[node.outputs[0]].shape[-1:]
    value = net.values[vector]
    if columns == (1,) or value.shape[-1:] != columns or value.elements != columns[0]:
        return None
    if net.values[add.outputs[0]].shape != net.values[node.outputs[0]].shape:
        return None
    fused = replace(
        node, name=add.name, inputs=(*node.inputs, vector), outputs=add.outputs
    )
    return Match("bias", (node, add), fused)


def scale(net: Net, node: Node) -> Match | None:
    """Match a product with a constant of one element behind a computing operator.

    The device folds it into that operator's last pass (model/passes.py), so the node
    becomes a view.
    """
    if node.op not in ("Mul", "Div"):
        return None
    candidates = [node.inputs] + ([node.inputs[::-1]] if node.op == "Mul" else [])
    for whole, factor in candidates:
        same_shape = net.values[whole].shape == net.values[node.outputs[0]].shape
        if net.is_scalar(factor) and same_shape and _scalable(net, whole):
            fused = Node(node.name, "Identity", (whole,), node.outputs)
            return Match("scale", (node,), fused)
    return None


def _scalable(net: Net, name: str) -> bool:
    """Tell whether a value, behind views, is computed and read by nothing else."""
    maker = net.made.get(name)
    while maker is not None and maker.op in VIEWS:
        if len(net.readers[name]) != 1 or name in net.outputs:
            return False
        name = maker.inputs[0]
        maker = net.made.get(name)
    alone = len(net.readers[name]) == 1 and name not in net.outputs
    return maker is not None and alone and not net.values[name].constant


def _single_axis(net: Net, node: Node) -> int | None:
    inputs = [net.values.get(name) if name else None for name in node.inputs]
    axes = reduced_axes(node, inputs)
    return axes[0] if len(axes) == 1 and node.integer("keepdims", 1) else None
