"""Attention written as two products and a softmax, with cache, mask, shared heads."""

from __future__ import annotations

from dataclasses import dataclass

from elkhound.model.onnx_import.patterns.net import Match, Net
from elkhound.model.onnx_import.source import Node, Value

KEYS_TURNED = (0, 1, 3, 2)  # (batch, heads, tokens, width) → (…, width, tokens)


@dataclass(frozen=True, slots=True)
class Source:
    """Keys or values: new ones, perhaps behind a cache, perhaps of fewer heads."""

    new: str
    past: str = ""
    present: str = ""
    members: tuple[Node, ...] = ()


def attention(net: Net, node: Node) -> Match | None:
    """Match softmax(q · kᵀ · scale + mask) · v over (batch, heads, tokens, width).

    Keys and values may be a Concat of a cache and new tokens, and a few heads repeated
    by Unsqueeze, Expand and Reshape: both are read where they are. Without cache, mask
    or shared heads there is nothing to gain and nothing is matched.
    """
    if node.op != "MatMul" or len(net.values[node.outputs[0]].shape) != 4:
        return None
    name, casts = net.before_cast(node.inputs[0])
    softmax = net.maker(name, "Softmax")
    if softmax is None:
        return None
    if softmax.integer("axis", -1 if softmax.version >= 13 else 1) not in (-1, 3):
        return None
    found = _scores(net, softmax.inputs[0])
    if found is None:
        return None
    product, masks, between = found
    turned = net.maker(product.inputs[1], "Transpose")
    if turned is None or turned.integers("perm") != KEYS_TURNED:
        return None
    key, value = _source(net, turned.inputs[0]), _source(net, node.inputs[1])
    if (key.past == "") != (value.past == ""):
        return None
    chain = (turned, *key.members, *value.members)
    if not masks and not key.members and not value.members:
        return None
    members = (*chain, product, *between, softmax, *casts, node)
    results = {node.outputs[0], key.present, value.present}
    if not _closed(net, members, results) or not _fits(
        net, product.inputs[0], key, value
    ):
        return None
    query = product.inputs[0]
    return Match("attention", members, _fused(net, node, query, key, value, masks))


def _scores(
    net: Net, name: str
) -> tuple[Node, tuple[str, ...], tuple[Node, ...]] | None:
    """Return the product behind scales, masks and Casts, and what lies between."""
    masks: tuple[str, ...] = ()
    between: tuple[Node, ...] = ()
    shape = net.values[name].shape
    for _ in range(6):
        product = net.maker(name, "MatMul")
        if product is not None:
            return product, masks, between
        step = net.maker(name, "Add", "Mul", "Div", "Cast")
        if step is None:
            return None
        between = (step, *between)
        name = step.inputs[0]
        if step.op in ("Mul", "Div"):
            if not net.is_scalar(step.inputs[1]):
                return None
        elif step.op == "Add":
            if net.values[step.inputs[0]].shape != shape:
                name = step.inputs[1]
            mask = net.other(step, name)
            if mask is None or net.values[name].shape != shape:
                return None
            masks = (mask, *masks)
    return None


def _source(net: Net, name: str) -> Source:
    """Return what keys or values are made of."""
    members: tuple[Node, ...] = ()
    repeat = net.maker(name, "Reshape")
    spread = net.maker(repeat.inputs[0], "Expand") if repeat is not None else None
    apart = net.maker(spread.inputs[0], "Unsqueeze") if spread is not None else None
    if repeat is not None and spread is not None and apart is not None:
        before, whole = net.values[apart.inputs[0]].shape, net.values[name].shape
        middle = net.values[spread.outputs[0]].shape
        if (
            len(before) == len(whole) == 4
            and net.values[apart.outputs[0]].shape == (*before[:2], 1, *before[2:])
            and middle[:2] == before[:2]
            and middle[3:] == before[2:]
        ):
            members, name = (apart, spread, repeat), apart.inputs[0]
    joined = net.maker(name, "Concat")
    if (
        joined is not None
        and len(joined.inputs) == 2
        and joined.integer("axis", 0) in (2, -2)
        and joined.inputs[0] not in net.made
        and not net.values[joined.inputs[0]].constant
    ):
        present = name if name in net.outputs else ""
        past, new = joined.inputs
        return Source(new, past, present, (joined, *members))
    return Source(name, members=members)


def _closed(net: Net, members: tuple[Node, ...], results: set[str]) -> bool:
    """Tell whether nothing outside reads what members make, but the last result.

    The extended caches may leave the graph, but nobody else may read them.
    """
    inside = {member.name for member in members}
    last = members[-1].outputs[0]
    return all(
        (name == last or all(reader.name in inside for reader in net.readers[name]))
        and (name in results or name not in net.outputs)
        for member in members
        for name in member.outputs
        if name
    )


def _fits(net: Net, query: str, key: Source, value: Source) -> bool:
    shapes = [net.values[name].shape for name in (query, key.new, value.new)]
    if any(len(shape) != 4 for shape in shapes):
        return False
    q, k, v = shapes
    return k[:3] == v[:3] and q[0] == k[0] and q[1] % k[1] == 0 and q[3] == k[3]


def _fused(
    net: Net,
    node: Node,
    query: str,
    key: Source,
    value: Source,
    masks: tuple[str, ...],
) -> Node:
    batch, heads, queries, width = net.values[node.outputs[0]].shape
    cached = net.values[key.past].shape[2] if key.past else 0
    tokens = cached + net.values[key.new].shape[2]
    dtype = net.values[node.outputs[0]].dtype
    scores = Value(dtype, (batch, heads, queries, tokens))
    made = [net.make(f"{node.name}.{n}", scores) for n in ("scores", "weights")]
    if cached:
        whole = Value(dtype, (batch, heads, queries, width))
        made.append(net.make(f"{node.name}.cached", whole))
    return Node(
        name=node.name,
        op="elkhound::Attention",
        inputs=(query, key.new, value.new, key.past, value.past, *masks),
        outputs=(node.outputs[0], key.present, value.present, *made),
        attributes={"cached": cached},
    )
