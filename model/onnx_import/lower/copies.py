"""Operators that move elements and compute nothing."""

from __future__ import annotations

from dataclasses import replace

from elkhound.model.graph import Operator, OperatorKind
from elkhound.model.onnx_import.lower.operand import (
    UNINDEXED,
    Call,
    Operand,
    broadcast_access,
    grid,
)
from elkhound.model.passes import COPY_PASSES, GATHER_PASSES


def copy(call: Call) -> tuple[Operator, ...]:
    """Slice: reads what it keeps, and no more."""
    sizes, axes = grid(call.output.shape)
    return (
        call.operator(
            OperatorKind.COPY,
            sizes or {"d0": 1},
            [call.first.access(axes)],
            call.output.access(axes),
            COPY_PASSES,
        ),
    )


def expand(call: Call) -> tuple[Operator, ...]:
    """Expand: a broadcast tensor, written out."""
    sizes, axes = grid(call.output.shape)
    return (
        call.operator(
            OperatorKind.COPY,
            sizes or {"d0": 1},
            [broadcast_access(call.first, axes)],
            call.output.access(axes),
            COPY_PASSES,
        ),
    )


def concat(call: Call) -> tuple[Operator, ...]:
    """One copy per input, each into its part of the output; empty ones copy nothing."""
    present = [operand for operand in call.inputs if operand is not None]
    parts = [operand for operand in present if 0 not in operand.shape]
    return _parts(call, [(part, call.output) for part in parts])


def split(call: Call) -> tuple[Operator, ...]:
    """One copy per output, each from its part of the input."""
    parts = [operand for operand in call.outputs if operand is not None]
    return _parts(call, [(call.first, part) for part in parts])


def _parts(call: Call, pairs: list[tuple[Operand, Operand]]) -> tuple[Operator, ...]:
    """Copy the smaller of each pair: a whole input, or a whole output."""
    copies = []
    for index, (source, target) in enumerate(pairs):
        shape = tuple(map(min, source.shape, target.shape))
        sizes, axes = grid(shape)
        copied = call.operator(
            OperatorKind.COPY,
            sizes or {"d0": 1},
            [source.access(axes)],
            target.access(axes),
            COPY_PASSES,
        )
        if len(pairs) > 1:
            copied = replace(copied, name=f"{copied.name}[{index}]")
        copies.append(copied)
    return tuple(copies)


def gather(call: Call) -> tuple[Operator, ...]:
    """Rows of a table, as many as there are indices: it streams only those.

    The table is seen through the index's axes, so a tile reads the rows it writes. A
    single row whose place is constant is a slice.
    """
    table, index, out = call.first, call.second, call.output
    axis = call.node.integer("axis", 0) % len(table.shape)
    sizes, axes = grid(out.shape)
    after = axis + len(index.shape)
    if index.folded:
        row = [*axes[:axis], UNINDEXED, *axes[after:]]
        kind, passes = OperatorKind.COPY, COPY_PASSES
        inputs = [table.access(row)]
    else:
        seen = Operand(table.root, out.shape, tuple(range(len(out.shape))))
        kind, passes = OperatorKind.GATHER, GATHER_PASSES
        inputs = [index.access(axes[axis:after]), seen.access(axes)]
    written = out.access(axes)
    return (call.operator(kind, sizes or {"d0": 1}, inputs, written, passes),)
