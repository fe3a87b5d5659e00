"""Reductions, softmax and norms: operators with row statistics."""

from __future__ import annotations

from elkhound.model.graph import Operator, OperatorKind, Pass
from elkhound.model.onnx_import.lower.operand import UNINDEXED, Call, grid
from elkhound.model.passes import (
    LAYER_NORM_PASSES,
    LAYER_NORM_ROUNDS,
    RMS_NORM_PASSES,
    RMS_NORM_ROUNDS,
    SOFTMAX_PASSES,
    SOFTMAX_ROUNDS,
)


def reduce(call: Call) -> tuple[Operator, ...]:
    """Reduction over `axes`, which the output keeps with extent 1 or drops."""
    whole, out = call.first, call.output
    sizes, axes = grid(whole.shape)
    if len(out.shape) == len(whole.shape):
        kept = [
            UNINDEXED if extent == 1 else axis
            for axis, extent in zip(axes, out.shape, strict=True)
        ]
    else:
        reduced = _reduced_axes(call)
        kept = [axis for index, axis in enumerate(axes) if index not in reduced]
    return (
        call.operator(
            OperatorKind.REDUCE,
            sizes or {"d0": 1},
            [whole.access(axes)],
            out.access(kept),
            (Pass.REDUCE,),
        ),
    )


def softmax(call: Call) -> tuple[Operator, ...]:
    """Softmax over `axis`; before opset 13 over it and all that follow."""
    rank = len(call.first.shape)
    old = call.node.version < 13
    axis = call.node.integer("axis", 1 if old else -1) % max(rank, 1)
    rows = range(axis, rank) if old else range(axis, axis + 1)
    return (_rowwise(call, OperatorKind.SOFTMAX, rows, SOFTMAX_PASSES, SOFTMAX_ROUNDS),)


def layer_norm(call: Call) -> tuple[Operator, ...]:
    """Mean and variance over `axis` and all that follow; scale and bias optional."""
    return (_norm(call, LAYER_NORM_PASSES, LAYER_NORM_ROUNDS, 2),)


def rms_norm(call: Call) -> tuple[Operator, ...]:
    """Root mean square over `axis` and all that follow; scale optional."""
    return (_norm(call, RMS_NORM_PASSES, RMS_NORM_ROUNDS, 1),)


def _norm(
    call: Call, passes: tuple[Pass, ...], rounds: int, parameters: int
) -> Operator:
    rank = len(call.first.shape)
    axis = call.node.integer("axis", -1) % max(rank, 1)
    given = sum(1 for operand in call.inputs[1:] if operand is not None)
    used = passes[: len(passes) - max(0, parameters - given)]
    return _rowwise(call, OperatorKind.NORM, range(axis, rank), used, rounds)


def _rowwise(
    call: Call,
    kind: OperatorKind,
    rows: range,
    passes: tuple[Pass, ...],
    rounds: int,
) -> Operator:
    whole = call.first
    sizes, axes = grid(whole.shape)
    weights = [
        operand.access(axes[len(axes) - len(operand.shape) :])
        for operand in call.inputs[1:]
        if operand is not None and not operand.folded
    ]
    return call.operator(
        kind,
        sizes or {"d0": 1},
        [whole.access(axes), *weights],
        call.output.access(axes),
        passes,
        rows=tuple(f"d{axis}" for axis in rows if f"d{axis}" in sizes),
        rounds=rounds,
    )


def _reduced_axes(call: Call) -> set[int]:
    axes = call.node.integers("axes")
    if axes is None:  # ArgMax and ArgMin
        axes = (call.node.integer("axis", 0),)
    return {axis % len(call.first.shape) for axis in axes}
