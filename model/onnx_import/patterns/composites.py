"""Composite operators recognised by their steps; sums of products; sums into zeros."""

from __future__ import annotations

from collections.abc import Callable

from elkhound.model.composites import COMPOSITES, CONSTANTS, Composite, number
from elkhound.model.onnx_import.patterns.net import Match, Net
from elkhound.model.onnx_import.shapes.standard import reduced_axes
from elkhound.model.onnx_import.source import Node

EITHER_WAY = frozenset({"Add", "Mul"})
Found = tuple[dict[str, str], tuple[Node, ...]]


def composite(net: Net, node: Node) -> Match | None:
    """Match the steps of any composite of `model/composites.py` that ends in a node."""
    for known in COMPOSITES.values():
        if known.steps[-1].op != node.op:
            continue
        found = _Steps(net, known).of(known.steps[-1].name, node.outputs[0], {})
        if found is None:
            continue
        names = [found[i] for i in known.inputs]
        inside = {step.name: net.made[found[step.name]] for step in known.steps}
        members = tuple(inside.values())
        shapes = [net.values[name].shape for name in (names[0], node.outputs[0])]
        if shapes[0] != shapes[1] or not net.closed(members, node.outputs[0]):
            continue
        fused = Node(
            node.name,
            "elkhound::Composite",
            tuple(names),
            node.outputs,
            {"composite": known.name},
        )
        return Match(known.name, members, fused)
    return None


class _Steps:
    """Lays the steps of a composite over the nodes of a graph."""

    def __init__(self, net: Net, known: Composite) -> None:
        self.net = net
        self.known = known
        self.steps = {step.name: step for step in known.steps}

    def of(
        self, operand: str, value: str, bound: dict[str, str]
    ) -> dict[str, str] | None:
        """Return what operands are if this one is `value`; None if it cannot be."""
        if operand in bound:
            return bound if bound[operand] == value else None
        wanted = number(operand)
        if wanted is not None:
            return bound if self._is(value, wanted) else None
        if operand in CONSTANTS:
            return bound if self.net.values[value].constant else None
        step = self.steps.get(operand)
        if step is None:  # an input
            return {**bound, operand: value}
        node = self.net.maker(value, step.op)
        if node is None or not self._along_rows(node):
            return None
        read = tuple(name for name in node.inputs if name)[: len(step.operands)]
        if len(read) < len(step.operands):
            return None
        orders = [read, read[::-1]] if step.op in EITHER_WAY else [read]
        for order in orders:
            found: dict[str, str] | None = {**bound, operand: value}
            for own, other in zip(step.operands, order, strict=True):
                found = None if found is None else self.of(own, other, found)
            if found is not None:
                return found
        return None

    def _is(self, value: str, wanted: float) -> bool:
        known = self.net.scalar(value)
        return known is not None and abs(known - wanted) <= 4e-3 * abs(wanted)

    def _along_rows(self, node: Node) -> bool:
        """Tell whether a reduction or softmax is over the last axis, and keeps it."""
        rank = len(self.net.values[node.inputs[0]].shape)
        if node.op == "Softmax":
            return node.integer("axis", -1) % rank == rank - 1
        if node.op not in ("ReduceSum", "ReduceMean"):
            return True
        values = [self.net.values.get(name) if name else None for name in node.inputs]
        kept = bool(node.integer("keepdims", 1))
        return kept and reduced_axes(node, values) == (rank - 1,)


def product_sum(net: Net, node: Node) -> Match | None:
    """Match Σ a · b over some axes but the last, of which nothing is kept."""
    if node.op != "ReduceSum" or node.integer("keepdims", 1):
        return None
    product = net.maker(node.inputs[0], "Mul")
    if product is None or not net.closed((product, node), node.outputs[0]):
        return None
    left, right = product.inputs
    if left == right:  # a sum of squares belongs to a norm
        return None
    whole = net.values[product.outputs[0]].shape
    if net.values[left].shape != whole or net.is_scalar(right):
        return None
    values = [net.values.get(name) if name else None for name in node.inputs]
    axes = reduced_axes(node, values)
    if not axes or len(whole) - 1 in axes:
        return None
    fused = Node(
        node.name,
        "elkhound::ProductSum",
        (left, right),
        node.outputs,
        {"axes": list(axes)},
    )
    return Match("product-sum", (product, node), fused)


def scatter_into(zeros: frozenset[str]) -> Callable[[Net, Node], Match | None]:
    """Return the pattern of rows, or elements, added into a tensor of zeros."""

    def scattered(net: Net, node: Node) -> Match | None:
        if node.op not in ("ScatterND", "ScatterElements"):
            return None
        data, index, updates = node.inputs
        if data not in zeros or node.text("reduction", "none") != "add":
            return None
        if node.op == "ScatterND" and net.values[index].shape[-1] != 1:
            return None
        members: tuple[Node, ...] = (node,)
        cast = net.maker(index, "Cast")  # indices may have to be wider than they are
        if cast is not None and net.closed((cast, node), node.outputs[0]):
            members, index = (cast, node), cast.inputs[0]
        inputs = (updates, index)
        fused = Node(node.name, "elkhound::Scatter", inputs, node.outputs)
        return Match("scatter", members, fused)

    return scattered
