"""Products between DequantizeLinear and QuantizeLinear: integer products."""

from __future__ import annotations

from dataclasses import replace

from elkhound.model.onnx_import.patterns.net import Match, Net
from elkhound.model.onnx_import.source import Node

PRODUCTS = ("Conv", "Gemm", "MatMul")


def quantised(net: Net, node: Node) -> Match | None:
    """Match Q(product(DQ(x), DQ(w))), a Relu before Q or not: a quantised product.

    The DequantizeLinear of x may have other readers: they keep it.
    """
    if node.op != "QuantizeLinear":
        return None
    between: tuple[Node, ...] = ()
    product = net.maker(node.inputs[0], *PRODUCTS)
    relu = net.maker(node.inputs[0], "Relu")
    if relu is not None:
        between, product = (relu,), net.maker(relu.inputs[0], *PRODUCTS)
    if product is None or len(product.inputs) < 2:
        return None
    source = net.maker(product.inputs[0], "DequantizeLinear")
    weight = net.maker(product.inputs[1], "DequantizeLinear")
    members = (product, *between, node)
    if source is None or weight is None or not net.closed(members, node.outputs[0]):
        return None
    second = weight.inputs[0] if _is_computed(net, weight) else product.inputs[1]
    fused = replace(
        product,
        name=node.name,
        inputs=(source.inputs[0], second, *product.inputs[2:]),
        outputs=node.outputs,
        attributes={**product.attributes, "requantize": 1},
    )
    return Match("quantised", members, fused)


def _is_computed(net: Net, node: Node) -> bool:
    return not net.values[node.inputs[0]].constant
