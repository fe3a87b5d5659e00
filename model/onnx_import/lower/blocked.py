"""Products with weights of few bits, which have a scale for every block of k."""

from __future__ import annotations

from elkhound.model.graph import Operator, OperatorKind
from elkhound.model.onnx_import.lower.operand import Call, grid, indexed
from elkhound.model.passes import DECODED_MATMUL_PASSES


def product(call: Call) -> tuple[Operator, ...]:
    """O[…, n] = Σ A[…, kb, ki] · B[n, kb, ki] · scale[n, kb].

    B, scales and zero points have the shapes that expand/quantised.py declares.
    """
    left, right, scales, zeros = call.first, call.second, call.input(2), call.input(3)
    columns, blocks, block = right.shape
    sizes, rows = grid(left.shape[:-1], "b")
    if not sizes:
        sizes = {"m": 1}
    sizes |= {"n": columns, "kb": blocks, "ki": block}
    n, kb, ki = indexed("n"), indexed("kb"), indexed("ki")
    inputs = [
        left.split(len(left.shape) - 1, (blocks, block)).access([*rows, kb, ki]),
        right.access([n, kb, ki]),
    ]
    inputs += [
        operand.access([n, kb])
        for operand in (scales, zeros)
        if operand is not None and not operand.folded
    ]
    return (
        call.operator(
            OperatorKind.MATMUL,
            sizes,
            inputs,
            call.output.access([*rows, n]),
            DECODED_MATMUL_PASSES,
        ),
    )
