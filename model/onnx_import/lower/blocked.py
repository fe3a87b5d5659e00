"""Products with weights of few bits, which have a scale for every block of k."""

from __future__ import annotations

from elkhound.model.graph import Operator, OperatorKind, Pass
from elkhound.model.onnx_import.lower.operand import Call, grid, indexed
from elkhound.model.passes import DECODED_MATMUL_PASSES


def product(call: Call) -> tuple[Operator, ...]:
    """O[…, n] = Σ A[…, kb, ki] · B[n, kb, ki] · scale[n, kb] (+ what came before).

    B, scales and zero points have the shapes that expand/quantised.py declares; the
    node says how many of their blocks it takes, and how much of each.
    """
    left, right, scales, zeros = call.first, call.second, call.input(2), call.input(3)
    blocks, block = call.node.integer("blocks", 0), call.node.integer("block", 0)
    sizes, rows = grid(left.shape[:-1], "b")
    if not sizes:
        sizes = {"m": 1}
    sizes |= {"n": right.shape[0], "kb": blocks, "ki": block}
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
    before = call.input(4)
    if before is not None:
        inputs.append(before.access([*rows, n]))
    return (
        call.operator(
            OperatorKind.MATMUL,
            sizes,
            inputs,
            call.output.access([*rows, n]),
            (*DECODED_MATMUL_PASSES, *((Pass.ELEMENTWISE,) if before else ())),
        ),
    )
