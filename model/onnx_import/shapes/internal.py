"""Output shapes of the operators that expansions write (``elkhound::``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from elkhound.model.onnx_import.shapes import standard
from elkhound.model.onnx_import.shapes.standard import Rule, Shape, need
from elkhound.model.onnx_import.source import Node, Value


def attention(node: Node, values: Sequence[Value | None]) -> list[Shape]:
    """(batch, query heads, queries, width of the values)."""
    query, value = need(values, 0).shape, need(values, 2).shape
    return [(*query[:3], value[3])]


def copy(node: Node, values: Sequence[Value | None]) -> list[Shape]:
    """As stated, else the shape of what is copied."""
    return [node.integers("shape") or need(values, 0).shape]


def blocked(node: Node, values: Sequence[Value | None]) -> list[Shape]:
    """(…, N)."""
    return [(*need(values, 0).shape[:-1], node.integer("N", 0))]


def einsum(node: Node, values: Sequence[Value | None]) -> list[Shape]:
    """One extent per letter of the result."""
    extents: dict[str, int] = {}
    for index, side in enumerate(("left", "right")):
        letters = node.text(side, "")
        if not letters:
            continue
        for letter, own in zip(letters, need(values, index).shape, strict=True):
            if extents.setdefault(letter, own) not in (own, 1) and own != 1:
                raise ValueError(f"{letter} is {extents[letter]} and {own}")
            extents[letter] = max(extents[letter], own)
    return [tuple(extents[letter] for letter in node.text("out", ""))]


RULES: Mapping[str, Rule] = {
    "elkhound::ArgSort": standard.first_only,
    "elkhound::Attention": attention,
    "elkhound::BlockedMatMul": blocked,
    "elkhound::Composite": standard.first_only,
    "elkhound::Copy": copy,
    "elkhound::Einsum": einsum,
    "elkhound::GroupNorm": standard.first_only,
    "elkhound::Load": copy,
    "elkhound::RowNorm": standard.first_only,
}
