"""Einsum of one or two operands, a dimension per letter."""

from __future__ import annotations

from elkhound.model.graph import Access, Operator, OperatorKind, Pass
from elkhound.model.onnx_import.lower.operand import UNINDEXED, Call, Operand, indexed
from elkhound.model.passes import COPY_PASSES, MATMUL_PASSES


def einsum(call: Call) -> tuple[Operator, ...]:
    """O[out] = Σ A[left] · B[right] over the letters that are not in `out`."""
    node = call.node
    left, right, out = (node.text(side, "") for side in ("left", "right", "out"))
    operands = [(call.first, left)]
    if right:
        operands.append((call.second, right))
    sizes: dict[str, int] = {}
    for operand, letters in operands:
        for letter, extent in zip(letters, operand.shape, strict=True):
            sizes[letter] = max(sizes.get(letter, 1), extent)
    summed = set(left + right) - set(out)
    passes: tuple[Pass, ...] = COPY_PASSES
    kind = OperatorKind.COPY
    if right:
        batched = set(left) & set(right) & set(out)
        product = OperatorKind.BATCHED_MATMUL if batched else OperatorKind.MATMUL
        kind = product if summed else OperatorKind.ELEMENTWISE
        passes = MATMUL_PASSES if summed else (Pass.ELEMENTWISE,)
    elif summed:
        kind, passes = OperatorKind.REDUCE, (Pass.REDUCE,)
    return (
        call.operator(
            kind,
            sizes or {"d0": 1},
            [_access(operand, letters) for operand, letters in operands],
            _access(call.output, out),
            passes,
        ),
    )


def _access(operand: Operand, letters: str) -> Access:
    return operand.access(
        [
            indexed(letter) if extent > 1 else UNINDEXED
            for letter, extent in zip(letters, operand.shape, strict=True)
        ]
    )
