"""Operators that users describe, an einsum per output."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from elkhound.model.graph import Access, Axis, Operator, OperatorKind, Pass
from elkhound.model.onnx_import.lower.operand import (
    UNINDEXED,
    Call,
    Operand,
    broadcast_access,
    grid,
    indexed,
)
from elkhound.model.onnx_import.user_operators import OutputCost, letters, viewed
from elkhound.model.units import ceil_div


def described(call: Call) -> tuple[Operator, ...]:
    """Lower an operator to what its description says, output by output."""
    costs = call.node.attributes.get("costs")
    operators = []
    for index, (out, cost) in enumerate(
        zip(call.outputs, costs if isinstance(costs, list) else [], strict=True)
    ):
        if out is None:
            continue
        lower = _by_equation if cost.equation else _by_output
        operator = lower(call, out, cost)
        name = f"{operator.name}[{index}]" if index else operator.name
        operators.append(replace(operator, name=name))
    return tuple(operators)


def _by_equation(call: Call, out: Operand, cost: OutputCost) -> Operator:
    """O[out] from A[first], B[second] … over the letters of an equation."""
    shapes = [None if o is None else o.shape for o in call.inputs]
    operands, result, sizes = letters(cost, shapes)
    present = _read(call, cost)
    seen = viewed(cost, shapes)
    inputs = [
        _access(_seen(operand, shape), own)
        for operand, shape, own in zip(present, seen, operands, strict=True)
    ]
    target = tuple(sizes[letter] for letter in result)
    kind = OperatorKind.ELEMENTWISE
    if Pass.MATMUL in cost.passes:
        batched = set(operands[0]) & set(operands[1]) & set(result)
        kind = OperatorKind.BATCHED_MATMUL if batched else OperatorKind.MATMUL
    elif set(sizes) - set(result):
        kind = OperatorKind.REDUCE
    return call.operator(
        kind,
        sizes or {"d0": 1},
        inputs,
        _access(_seen(out, target), result),
        cost.passes,
    )


def _by_output(call: Call, out: Operand, cost: OutputCost) -> Operator:
    """Every input read once, spread over the output's elements.

    One that broadcasts does; a larger one gives each output element its share.
    """
    sizes, axes = grid(out.shape)
    real = [operand for operand in _read(call, cost) if not operand.folded]
    whole = [o for o in real if not _spreads(o.shape, out.shape)]
    shares = [ceil_div(_elements(o), _elements(out)) for o in whole]
    if max(shares, default=1) > 1:
        sizes["share"] = max(shares)
    inputs = list(_accesses(real, out, axes, sizes.get("share", 1)))
    kind = OperatorKind.REDUCE if "share" in sizes else OperatorKind.ELEMENTWISE
    return call.operator(
        kind, sizes or {"d0": 1}, inputs, out.access(axes), cost.passes
    )


def _read(call: Call, cost: OutputCost) -> list[Operand]:
    shapes = [None if o is None else o.shape for o in call.inputs]
    read = [call.input(place) for place in cost.places(shapes)]
    return [operand for operand in read if operand is not None]


def _accesses(
    operands: list[Operand], out: Operand, axes: list[Axis], share: int
) -> Iterator[Access]:
    for operand in operands:
        if _spreads(operand.shape, out.shape):
            yield broadcast_access(operand, axes)
        elif _elements(operand) <= _elements(out):
            yield _seen(operand, out.shape).access(axes)
        else:
            shape = (*out.shape, share)
            yield _seen(operand, shape).access([*axes, indexed("share")])


def _seen(operand: Operand, shape: tuple[int, ...]) -> Operand:
    if shape == operand.shape:
        return operand
    return Operand(operand.root, shape, tuple(range(len(shape))))


def _access(operand: Operand, own: str) -> Access:
    return operand.access(
        [
            indexed(letter) if extent > 1 else UNINDEXED
            for letter, extent in zip(own, operand.shape, strict=True)
        ]
    )


def _elements(operand: Operand) -> int:
    return math.prod(operand.shape)


def _spreads(shape: tuple[int, ...], whole: tuple[int, ...]) -> bool:
    pairs = zip(shape[::-1], whole[::-1], strict=False)
    return len(shape) <= len(whole) and all(own in (1, all_) for own, all_ in pairs)
