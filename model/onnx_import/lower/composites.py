"""Composite operators of a backward pass; see model/composites.py."""

from __future__ import annotations

from elkhound.model.composites import COMPOSITES, PRODUCT_SUM_PASSES
from elkhound.model.graph import Operator, OperatorKind
from elkhound.model.onnx_import.lower.operand import (
    UNINDEXED,
    Call,
    Operand,
    broadcast_access,
    grid,
)
from elkhound.model.passes import GATHER_PASSES


def composite(call: Call) -> tuple[Operator, ...]:
    """Every element of the result from those of the inputs, perhaps with row sums."""
    known = COMPOSITES[call.node.text("composite", "")]
    sizes, axes = grid(call.output.shape)
    inputs = [
        operand.access(axes[:-1])
        if name == known.by_row
        else broadcast_access(operand, axes)
        for name, operand in zip(known.inputs, call.inputs, strict=True)
        if operand is not None and not operand.folded
    ]
    last = f"d{len(axes) - 1}"
    return (
        call.operator(
            known.kind,
            sizes or {"d0": 1},
            inputs,
            call.output.access(axes),
            known.passes,
            rows=(last,) if known.rounds and last in sizes else (),
            rounds=known.rounds,
        ),
    )


def product_sum(call: Call) -> tuple[Operator, ...]:
    """Σ a · b over some axes; b may lack axes."""
    sizes, axes = grid(call.first.shape)
    summed = call.node.integers("axes") or ()
    kept = [axis for place, axis in enumerate(axes) if place not in summed]
    return (
        call.operator(
            OperatorKind.REDUCE,
            sizes or {"d0": 1},
            [broadcast_access(o, axes) for o in (call.first, call.second)],
            call.output.access(kept),
            PRODUCT_SUM_PASSES,
        ),
    )


def scatter(call: Call) -> tuple[Operator, ...]:
    """Rows or elements added where an index says, into a tensor of zeros.

    The result is seen through the updates' axes: as much of it is written.
    """
    updates, index, out = call.first, call.second, call.output
    sizes, axes = grid(updates.shape)
    places = axes
    if index.shape != updates.shape:
        places = [*axes[: len(index.shape) - 1], UNINDEXED]
    seen = Operand(out.root, updates.shape, tuple(range(len(updates.shape))))
    return (
        call.operator(
            OperatorKind.GATHER,
            sizes or {"d0": 1},
            [updates.access(axes), index.access(places)],
            seen.access(axes),
            GATHER_PASSES,
        ),
    )
