"""Reductions, softmax and norms: operators with row statistics."""

from __future__ import annotations

from collections.abc import Iterable

from elkhound.model.graph import Operator, OperatorKind, Pass
from elkhound.model.onnx_import.lower.operand import (
    UNINDEXED,
    Call,
    broadcast_access,
    grid,
)
from elkhound.model.passes import (
    ADD_PASSES,
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


def running(call: Call) -> tuple[Operator, ...]:
    """CumSum and Hardmax: a scan of every row, then its result for every place."""
    rank = len(call.first.shape)
    axis = call.node.integer("axis", -1)
    rows = range(axis % max(rank, 1), axis % max(rank, 1) + 1)
    return (_rowwise(call, OperatorKind.REDUCE, rows, (Pass.REDUCE, *ADD_PASSES), 1),)


def sort(call: Call) -> tuple[Operator, ...]:
    """Sort indices of every row: ⌈log₂ n⌉ sweeps that compare and exchange."""
    rank = len(call.first.shape)
    axis = call.node.integer("axis", -1) % max(rank, 1)
    sweeps = max(1, (call.first.shape[axis] - 1).bit_length())
    rows = range(axis, axis + 1)
    return (_rowwise(call, OperatorKind.REDUCE, rows, ADD_PASSES * sweeps, sweeps),)


def group_norm(call: Call) -> tuple[Operator, ...]:
    """Layer norm of every group of channels; scale and bias per channel."""
    image, out = call.first, call.output
    groups = call.node.integer("groups", 1)
    split = (groups, image.shape[1] // groups)
    whole, written = image.split(1, split), out.split(1, split)
    sizes, axes = grid(whole.shape)
    vectors = [
        vector.split(0, split).access(axes[1:3])
        if vector.shape == image.shape[1:2]
        else vector.access(axes[1:2])
        for vector in call.inputs[1:]
        if vector is not None and not vector.folded
    ]
    return (
        call.operator(
            OperatorKind.NORM,
            sizes or {"d0": 1},
            [whole.access(axes), *vectors],
            written.access(axes),
            LAYER_NORM_PASSES[: len(LAYER_NORM_PASSES) - 2 + len(call.inputs[1:])],
            rows=tuple(f"d{i}" for i in range(2, len(axes)) if f"d{i}" in sizes),
            rounds=LAYER_NORM_ROUNDS,
        ),
    )


def row_norm(call: Call) -> tuple[Operator, ...]:
    """Norm over any axes, without weights."""
    rank = len(call.first.shape)
    axes = {axis % rank for axis in call.node.integers("axes") or ()}
    layer = call.node.text("passes", "layer") == "layer"
    passes = LAYER_NORM_PASSES[:-2] if layer else RMS_NORM_PASSES[:-1]
    rounds = LAYER_NORM_ROUNDS if layer else RMS_NORM_ROUNDS
    return (_rowwise(call, OperatorKind.NORM, sorted(axes), passes, rounds),)


def _norm(
    call: Call, passes: tuple[Pass, ...], rounds: int, parameters: int
) -> Operator:
    rank = len(call.first.shape)
    axis = call.node.integer("axis", -1) % max(rank, 1)
    given = sum(1 for operand in call.inputs[1:] if operand is not None)
    used = passes[: len(passes) - max(0, parameters - given)]
    rows = range(axis, rank)
    return _rowwise(call, OperatorKind.NORM, rows, used, rounds, weighted=True)


def _rowwise(
    call: Call,
    kind: OperatorKind,
    rows: Iterable[int],
    passes: tuple[Pass, ...],
    rounds: int,
    *,
    weighted: bool = False,
) -> Operator:
    whole = call.first
    sizes, axes = grid(whole.shape)
    weights = [
        broadcast_access(operand, axes)
        for operand in call.inputs[1:]
        if weighted and operand is not None and not operand.folded
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
