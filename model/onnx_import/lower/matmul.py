"""MatMul and Gemm as einsums over batch, m, n and k."""

from __future__ import annotations

from elkhound.model.graph import Access, Axis, Operator, OperatorKind, Pass
from elkhound.model.onnx_import.lower.operand import (
    UNINDEXED,
    Call,
    Operand,
    broadcast_access,
    grid,
    indexed,
)
from elkhound.model.passes import MATMUL_BIAS_PASSES, MATMUL_PASSES

M, N, K = indexed("m"), indexed("n"), indexed("k")


def matmul(call: Call) -> tuple[Operator, ...]:
    """O[b…, m, n] = Σₖ A[b…, m, k] · B[b…, k, n] (+ bias[n], a recognised pattern)."""
    left, right, out = call.first, call.second, call.output
    left_batch, right_batch = left.shape[:-2], right.shape[:-2]
    rank = max(len(left_batch), len(right_batch))
    sizes, batch = grid(out.shape[:rank], "b")
    sizes["m"] = left.shape[-2] if len(left.shape) > 1 else 1
    sizes["n"] = right.shape[-1] if len(right.shape) > 1 else 1
    sizes["k"] = left.shape[-1]
    left_axes = [*_batch_axes(batch, left_batch), M, K][-len(left.shape) :]
    right_axes = [*_batch_axes(batch, right_batch), K, N][: max(1, len(right.shape))]
    rows = [M] if len(left.shape) > 1 else []
    columns = [N] if len(right.shape) > 1 else []
    out_axes = [*batch, *rows, *columns]
    bias = call.input(2)
    batched = any(extent > 1 for extent in right_batch)
    return (
        call.operator(
            OperatorKind.BATCHED_MATMUL if batched else OperatorKind.MATMUL,
            sizes,
            [left.access(left_axes), right.access(right_axes), _bias(bias, out_axes)],
            out.access(out_axes),
            MATMUL_PASSES if bias is None else MATMUL_BIAS_PASSES,
        ),
    )


def gemm(call: Call) -> tuple[Operator, ...]:
    """O[m, n] = α · Σₖ A[m, k] · B[k, n] + β · C; either operand may be transposed."""
    left, right, out = call.first, call.second, call.output
    left_axes = [K, M] if call.node.integer("transA", 0) else [M, K]
    right_axes = [N, K] if call.node.integer("transB", 0) else [K, N]
    bias = call.input(2)
    passes: tuple[Pass, ...] = MATMUL_PASSES if bias is None else MATMUL_BIAS_PASSES
    return (
        call.operator(
            OperatorKind.MATMUL,
            {"m": out.shape[0], "n": out.shape[1], "k": left.shape[left_axes.index(K)]},
            [left.access(left_axes), right.access(right_axes), _bias(bias, [M, N])],
            out.access([M, N]),
            passes,
        ),
    )


def _batch_axes(batch: list[Axis], shape: tuple[int, ...]) -> list[Axis]:
    last = batch[len(batch) - len(shape) :]
    return [
        axis if extent > 1 else UNINDEXED
        for axis, extent in zip(last, shape, strict=True)
    ]


def _bias(bias: Operand | None, axes: list[Axis]) -> Access | None:
    if bias is None or bias.folded:
        return None
    return broadcast_access(bias, axes)
