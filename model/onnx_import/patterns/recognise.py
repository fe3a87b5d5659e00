"""All patterns, one after the other, each swept over the graph once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from elkhound.model.onnx_import.patterns.activations import gated, gelu, silu
from elkhound.model.onnx_import.patterns.attention import attention
from elkhound.model.onnx_import.patterns.composites import (
    composite,
    product_sum,
    scatter_into,
)
from elkhound.model.onnx_import.patterns.net import Match, Net
from elkhound.model.onnx_import.patterns.norms import norm
from elkhound.model.onnx_import.patterns.products import bias, scale, softmax
from elkhound.model.onnx_import.patterns.quantised import quantised
from elkhound.model.onnx_import.patterns.rope import rope, rope_of_halves
from elkhound.model.onnx_import.report import PatternMatch
from elkhound.model.onnx_import.source import Node, Value

Pattern = Callable[[Net, Node], Match | None]

# Larger patterns first (those of a backward pass); gated needs what silu and gelu make.
PATTERNS: tuple[Pattern, ...] = (
    composite,
    product_sum,
    norm,
    softmax,
    attention,
    rope,
    rope_of_halves,
    gelu,
    silu,
    gated,
    bias,
    scale,
    quantised,
)


def recognise(
    nodes: Sequence[Node],
    values: dict[str, Value],
    outputs: Sequence[str],
    zeros: frozenset[str] = frozenset(),
) -> tuple[tuple[Node, ...], tuple[PatternMatch, ...]]:
    """Return the nodes with patterns replaced by one node each, and what was found.

    Parameters
    ----------
    nodes : sequence of Node
        Execution order.
    values : dict of str to Value
        Types, shapes, known constants; patterns add what they make.
    outputs : sequence of str
        Values that leave the graph.
    zeros : frozenset of str
        Constants that hold nothing but zeros.
    """
    current = tuple(nodes)
    behind: dict[str, tuple[str, ...]] = {}
    found: dict[str, PatternMatch] = {}
    for pattern in (scatter_into(zeros), *PATTERNS):
        current, matches = _sweep(pattern, current, values, outputs)
        for match in matches:
            names: list[str] = []
            for node in match.members:
                found.pop(node.name, None)
                names.extend(behind.pop(node.name, (node.name,)))
            behind[match.fused.name] = tuple(names)
            found[match.fused.name] = PatternMatch(
                match.pattern, match.fused.name, tuple(names)
            )
    ordered = [found[node.name] for node in current if node.name in found]
    return current, tuple(ordered)


def _sweep(
    pattern: Pattern,
    nodes: tuple[Node, ...],
    values: dict[str, Value],
    outputs: Sequence[str],
) -> tuple[tuple[Node, ...], list[Match]]:
    """Replace all matches of one pattern that share no node; earlier ones first."""
    net = Net(nodes, values, outputs)
    matches: list[Match] = []
    taken: dict[str, Match] = {}
    for node in nodes:
        match = pattern(net, node)
        if match is not None and not any(m.name in taken for m in match.members):
            matches.append(match)
            taken.update((member.name, match) for member in match.members)
    result = []
    for node in nodes:
        if node.name not in taken:
            result.append(node)
        elif node.outputs[:1] == taken[node.name].fused.outputs[:1]:
            result.append(taken[node.name].fused)
    return tuple(result), matches
