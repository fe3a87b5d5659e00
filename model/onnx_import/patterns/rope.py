"""Rotary embedding written as halves that change places, or half by half."""

from __future__ import annotations

from itertools import product

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
            found = _turned(net, halves) if halves is not None else None
            if halves is None or found is None:
                continue
            source, inside = found
            cosine = net.other(plain, source)
            members = (*inside, halves, plain, turned, node)
            if cosine is not None:
                match = _match(net, node, (source, cosine, sine), members)
                if match is not None:
                    return match
    return None


def rope_of_halves(net: Net, node: Node) -> Match | None:
    """Match Concat(a · cos − b · sin, b · cos + a · sin) of the halves a and b of x.

    With the signs the other way round it is the rotation back.
    """
    if node.op != "Concat" or len(node.inputs) != 2:
        return None
    rank = len(net.values[node.outputs[0]].shape)
    ends = [net.maker(name, "Add", "Sub") for name in node.inputs]
    if node.integer("axis", 0) not in (-1, rank - 1):
        return None
    made = [end for end in ends if end is not None]
    if {end.op for end in made} != {"Add", "Sub"}:
        return None
    terms = [net.maker(name, "Mul") for end in made for name in end.inputs]
    factors = [term for term in terms if term is not None]
    if len(factors) < 4:
        return None
    for orders in product((1, -1), repeat=4):
        seen = [f.inputs[::o] for f, o in zip(factors, orders, strict=True)]
        (a, cosine), (b, sine), third, fourth = seen
        if {third, fourth} != {(b, cosine), (a, sine)}:
            continue
        halves = _halves(net, a, b)
        if halves is None:
            continue
        source, cuts = halves
        members = (*cuts, *factors, *made, node)
        return _match(net, node, (source, cosine, sine), members)
    return None


def _match(
    net: Net, node: Node, inputs: tuple[str, str, str], members: tuple[Node, ...]
) -> Match | None:
    same = net.values[inputs[0]].shape == net.values[node.outputs[0]].shape
    members = tuple({member.name: member for member in members}.values())
    if not same or not net.closed(members, node.outputs[0]):
        return None
    return Match(
        "rope", members, Node(node.name, "elkhound::Rope", inputs, node.outputs)
    )


def _turned(net: Net, halves: Node) -> tuple[str, tuple[Node, ...]] | None:
    """Return x of Concat(−x[half:], x[:half])."""
    if len(halves.inputs) != 2:
        return None
    negative = net.maker(halves.inputs[0], "Neg")
    found = _halves(net, halves.inputs[1], negative.inputs[0]) if negative else None
    if negative is None or found is None:
        return None
    return found[0], (*found[1], negative)


def _halves(net: Net, before: str, behind: str) -> tuple[str, tuple[Node, ...]] | None:
    """Return x of its halves, by Slice or by Split."""
    split = net.maker(behind, "Split")
    if split is not None and split.outputs == (before, behind):
        return split.inputs[0], (split,)
    second, first = net.maker(behind, "Slice"), net.maker(before, "Slice")
    if second is None or first is None or second.inputs[0] != first.inputs[0]:
        return None
    source = first.inputs[0]
    width = net.values[source].shape[-1]
    starts = [_number(net, part, 1, "starts") for part in (first, second)]
    even = [net.values[p.outputs[0]].shape[-1] * 2 == width for p in (first, second)]
    if not all(even) or starts != [0, width // 2]:
        return None
    return source, (first, second)


def _number(net: Net, node: Node, index: int, attribute: str) -> int | None:
    stated = node.integers(attribute)
    if stated is not None:
        return stated[0] if len(stated) == 1 else None
    value = net.scalar(node.input(index))
    return None if value is None else int(value)
