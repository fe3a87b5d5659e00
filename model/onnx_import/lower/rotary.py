"""Rotary embedding: x · cos + rotated x · sin, an angle for each pair of numbers."""

from __future__ import annotations

from dataclasses import replace

from elkhound.model.graph import Operator, OperatorKind
from elkhound.model.onnx_import.lower.operand import (
    Call,
    Operand,
    broadcast_access,
    grid,
)
from elkhound.model.passes import ROPE_PASSES


def rotary(call: Call) -> tuple[Operator, ...]:
    """Lower the operator: its tables stream only the rows they give.

    x is seen as (batch, heads, positions, 2, half), the tables as (batch, positions,
    half), or (positions, half) where one offset stands for all sequences; what is not
    rotated is copied, at the same cost.
    """
    node, image = call.node, call.first
    contrib = node.op.startswith("com.microsoft")
    tables = call.inputs[2:4] if contrib else call.inputs[1:3]
    half = next((t.shape[-1] for t in tables if t is not None), 1)
    if len(image.shape) == 4:
        batch, heads, positions, width = image.shape
    else:
        batch, positions, hidden = image.shape
        heads = node.integer("num_heads", 0) or max(1, hidden // (2 * half))
        width = hidden // heads
    pairs = (2, half) if width == 2 * half else (width, 1)
    by_head = len(image.shape) == 4
    seen, out = (
        (whole if by_head else whole.split(2, (heads, width))).split(3, pairs)
        for whole in (image, call.output)
    )
    sizes, axes = grid(seen.shape)
    rows, extents = [axes[0], axes[2] if by_head else axes[1]], [batch, positions]
    if contrib and _is_offset(call.input(1)):
        rows, extents = rows[1:], extents[1:]
    whole_table = (*extents, half)
    accesses = [
        Operand(t.root, whole_table, tuple(range(len(whole_table)))).access(
            [*rows, axes[4]]
        )
        for t in tables
        if t is not None
    ]
    return (
        call.operator(
            OperatorKind.ROPE,
            sizes,
            [seen.access(axes), *accesses],
            out.access(axes),
            ROPE_PASSES,
        ),
    )


def _is_offset(positions: Operand | None) -> bool:
    """Tell whether positions are an offset that all sequences share."""
    return positions is not None and positions.shape in ((), (1,))


def rotary_tables(call: Call) -> tuple[Operator, ...]:
    """Lower a pattern: of tables as wide as a row, only one half is read."""
    image, *tables = (o for o in call.inputs if o is not None)
    last = len(image.shape) - 1
    half = image.shape[last] // 2
    seen, out = (whole.split(last, (2, half)) for whole in (image, call.output))
    sizes, axes = grid(seen.shape)
    angles = [*axes[:last], axes[last + 1]]
    accesses = [
        broadcast_access(replace(table, shape=(*table.shape[:-1], half)), angles)
        if table.shape[-1:] == image.shape[-1:]
        else broadcast_access(table, angles)
        for table in tables
        if not table.folded
    ]
    return (
        call.operator(
            OperatorKind.ROPE,
            sizes or {"d0": 1},
            [seen.access(axes), *accesses],
            out.access(axes),
            ROPE_PASSES,
        ),
    )
