"""Operators that move elements and compute nothing."""

from __future__ import annotations

from dataclasses import replace

from elkhound.model.graph import Axis, Operator, OperatorKind, Pass
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
    """One copy per input, each into its part of the output; empty ones copy nothing.

    New K and V, stacked as [2, batch, …, width], are appended to a cache by one copy.
    """
    present = [operand for operand in call.inputs if operand is not None]
    parts = [operand for operand in present if 0 not in operand.shape]
    if len(parts) == 2 and _is_pair(call, parts):
        return (_pair(call, parts),)
    return _parts(call, [(part, call.output) for part in parts])


def _is_pair(call: Call, parts: list[Operand]) -> bool:
    """Tell whether a Concat stacks two equal tensors of rank 3 or more in front."""
    first, second = (part.shape for part in parts)
    rank = len(first)
    in_front = rank > 3 and call.node.integer("axis", 0) % rank == 0
    return in_front and first == second and first[0] == 1


def _pair(call: Call, parts: list[Operand]) -> Operator:
    sizes, axes = grid(call.output.shape)
    inputs = [part.access([UNINDEXED, *axes[1:]]) for part in parts]
    written = call.output.access(axes)
    return call.operator(OperatorKind.COPY, sizes, inputs, written, COPY_PASSES)


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


def moved(call: Call) -> tuple[Operator, ...]:
    """Pad, Tile, Trilu and the like: every output element is one of the input's.

    The input is seen through the output's axes, so padding and repeats are read too.
    """
    sizes, axes = grid(call.output.shape)
    if call.first.shape == call.output.shape:
        source = call.first
    else:
        source = _seen(call.first, call.output.shape)
    return (
        call.operator(
            OperatorKind.COPY,
            sizes or {"d0": 1},
            [source.access(axes)],
            call.output.access(axes),
            COPY_PASSES,
        ),
    )


def gather_elements(call: Call) -> tuple[Operator, ...]:
    """One element of the data per element of the index."""
    table, index, out = call.first, call.second, call.output
    sizes, axes = grid(out.shape)
    seen = _seen(table, out.shape)
    return (
        call.operator(
            OperatorKind.GATHER,
            sizes or {"d0": 1},
            [index.access(axes), seen.access(axes)],
            out.access(axes),
            GATHER_PASSES,
        ),
    )


def gather_nd(call: Call) -> tuple[Operator, ...]:
    """One slice of the data per tuple of the index."""
    table, index, out = call.first, call.second, call.output
    sizes, axes = grid(out.shape)
    places = len(index.shape) - 1
    row = [*axes[:places], UNINDEXED]
    if index.shape[-1] > 1:
        sizes["place"] = index.shape[-1]
        row[-1] = Axis((("place", 1),))
    seen = _seen(table, out.shape)
    return (
        call.operator(
            OperatorKind.GATHER,
            sizes or {"d0": 1},
            [index.access(row), seen.access(axes)],
            out.access(axes),
            GATHER_PASSES,
        ),
    )


def scatter(call: Call) -> tuple[Operator, ...]:
    """Copy the data, then write the updates where the index says."""
    data, index, out = call.first, call.second, call.output
    updates = call.input(2)
    if updates is None:
        raise ValueError("updates are missing")
    sizes, axes = grid(data.shape)
    copied = call.operator(
        OperatorKind.COPY,
        sizes or {"d0": 1},
        [data.access(axes)],
        out.access(axes),
        COPY_PASSES,
    )
    new, places = grid(updates.shape)
    add = call.node.text("reduction", "none") != "none"
    rows = len(index.shape) - 1 if call.node.op == "ScatterND" else len(index.shape)
    row = [*places[:rows], *[UNINDEXED] * (len(index.shape) - rows)]
    written = call.operator(
        OperatorKind.GATHER,
        new or {"d0": 1},
        [index.access(row), updates.access(places)],
        _seen(out, updates.shape).access(places),
        (*((Pass.ELEMENTWISE,) if add else ()), *GATHER_PASSES),
    )
    return (
        replace(copied, name=f"{copied.name}[data]"),
        replace(written, name=f"{written.name}[updates]"),
    )


def one_hot(call: Call) -> tuple[Operator, ...]:
    """Compare every position with the index."""
    index, out = call.first, call.output
    sizes, axes = grid(out.shape)
    axis = call.node.integer("axis", -1) % len(out.shape)
    places = [*axes[:axis], *axes[axis + 1 :]]
    return (
        call.operator(
            OperatorKind.ELEMENTWISE,
            sizes or {"d0": 1},
            [index.access(places)],
            out.access(axes),
            (Pass.ELEMENTWISE,),
        ),
    )


def _seen(operand: Operand, shape: tuple[int, ...]) -> Operand:
    """Return an operand as if it had another shape, in its own storage."""
    return Operand(operand.root, shape, tuple(range(len(shape))))
