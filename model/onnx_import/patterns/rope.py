"""Rotary embedding written as halves that change places."""

from __future__ import annotations

from elkhound.model.onnx_import.patterns.net import Match, Net
from elkhound.model.onnx_import.source import Node


def rope(net: Net, node: Node) -> Match | None:
    """Match x · cos + (−second half, first half) · sin."""
    if node.op != "Add":
        return None
    for plain_name, turned_name in (node.inputs, node.inputs[::-1]):
        plain, turned = net.maker(plain_name, "Mul"), net.maker(turned_name, "Mul")
        if plain is None or turned is None:
            continue
        for halves_name, sine in (turned.inputs, turned.inputs[::-1]):
            halves = net.maker(halves_name, "Concat")
            found = _halves(net, halves) if halves is not None else None
            if halves is None or found is None:
                continue
            source, inside = found
            cosine = net.other(plain, source)
            members = (*inside, halves, plain, turned, node)
            if cosine is None or not net.closed(members, node.outputs[0]):
                continue
            if net.values[source].shape != net.values[node.outputs[0]].shape:
                continue
            inputs = (source, cosine, sine)
            fused = Node(node.name, "elkhound::Rope", inputs, node.outputs)
            return Match("rope", members, fused)
    return None


def _halves(net: Net, halves: Node) -> tuple[str, tuple[Node, ...]] | None:
    """Return x of Concat(−x[half:], x[:half]), halves by Slice or by Split."""
    if len(halves.inputs) != 2:
        return None
    negative = net.maker(halves.inputs[0], "Neg")
    if negative is None:
        return None
    behind, before = negative.inputs[0], halves.inputs[1]
    split = net.maker(behind, "Split")
    if split is not None and split.outputs == (before, behind):
        return split.inputs[0], (split, negative)
    second, first = net.maker(behind, "Slice"), net.maker(before, "Slice")
    if second is None or first is None or second.inputs[0] != first.inputs[0]:
        return None
    source = first.inputs[0]
    width = net.values[source].shape[-1]
    starts = [_number(net, part, 1, "starts") for part in (first, second)]
    even = [net.values[p.outputs[0]].shape[-1] * 2 == width for p in (first, second)]
    if not all(even) or starts != [0, width // 2]:
        return None
    return source, (first, second, negative)


def _number(net: Net, node: Node, index: int, attribute: str) -> int | None:
    stated = node.integers(attribute)
    if stated is not None:
        return stated[0] if len(stated) == 1 else None
    value = net.scalar(node.input(index))
    return None if value is None else int(value)
