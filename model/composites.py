"""Operators of a backward pass as steps of plain ONNX operators.

A built-in workload takes its passes from here, its ONNX file the steps, and the import
recognises the steps as the operator: so all three cost the same.

Steps read ``name = Operator(operands)``. Operands are inputs, earlier steps, numbers,
or one of ``epsilon`` (a small constant), ``columns`` (the last extent of the result)
and ``zero_one``; reductions and softmax are over the last axis and keep it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from elkhound.model.graph import OperatorKind, Pass
from elkhound.model.passes import (
    LAYER_NORM_PASSES,
    RMS_NORM_PASSES,
    SOFTMAX_PASSES,
    SOFTMAX_ROUNDS,
)

CONSTANTS = ("epsilon", "columns", "zero_one")


@dataclass(frozen=True, slots=True)
class Step:
    """One plain operator of a composite one."""

    name: str
    op: str
    operands: tuple[str, ...]


@dataclass(frozen=True)
class Composite:
    """An operator over the elements of its result, or over its rows.

    Parameters
    ----------
    name : str
        Shown in the report of what was recognised.
    kind : OperatorKind
        Of the one operator.
    inputs : tuple of str
        Its operands in order; the first has the result's shape.
    passes : tuple of Pass
        What the device does.
    text : str
        The steps, a line each; the last makes the result.
    rounds : int
        Statistics rounds over the last axis; 0 where elements are apart.
    by_row : str
        An operand with one element for each row.
    """

    name: str
    kind: OperatorKind
    inputs: tuple[str, ...]
    passes: tuple[Pass, ...]
    text: str
    rounds: int = 0
    by_row: str = ""

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The steps in order."""
        found = re.findall(r"(\w+) = (\w+)\(([^)]*)\)", self.text)
        return tuple(
            Step(name, op, tuple(part.strip() for part in operands.split(",")))
            for name, op, operands in found
        )


def number(operand: str) -> float | None:
    """Return the number that an operand of a step is, if it is one."""
    try:
        return float(operand)
    except ValueError:
        return None


# y · gradient, row sum, gradient − sum, · y.
_SOFTMAX_GRADIENT_PASSES = (
    Pass.ELEMENTWISE,
    Pass.REDUCE,
    Pass.ELEMENTWISE,
    Pass.ELEMENTWISE,
)
# Of the normalised x̂: · weight, · x̂, row mean, x̂ · mean, difference, · 1/σ.
_RMS_GRADIENT_PASSES = (
    Pass.ELEMENTWISE,
    Pass.ELEMENTWISE,
    Pass.REDUCE,
    Pass.ELEMENTWISE,
    Pass.ELEMENTWISE,
    Pass.ELEMENTWISE,
)
# The same, and the row mean of the gradient taken off.
_LAYER_GRADIENT_PASSES = (*_RMS_GRADIENT_PASSES, Pass.REDUCE, Pass.ELEMENTWISE)

SOFTMAX_GRADIENT = Composite(
    "softmax-gradient",
    OperatorKind.SOFTMAX,
    ("y", "g"),
    _SOFTMAX_GRADIENT_PASSES,
    """
    product = Mul(y, g)
    total = ReduceSum(product)
    rest = Sub(g, total)
    result = Mul(y, rest)
    """,
    rounds=1,
)
LOSS_GRADIENT = Composite(
    "loss-gradient",
    OperatorKind.SOFTMAX,
    ("x", "labels"),
    (*SOFTMAX_PASSES, Pass.ELEMENTWISE),
    """
    made = Softmax(x)
    place = OneHot(labels, columns, zero_one)
    wanted = Cast(place)
    result = Sub(made, wanted)
    """,
    rounds=SOFTMAX_ROUNDS,
    by_row="labels",
)
RMS_NORM_GRADIENT = Composite(
    "rms-norm-gradient",
    OperatorKind.NORM,
    ("x", "g", "w"),
    (*RMS_NORM_PASSES[:-1], *_RMS_GRADIENT_PASSES),
    """
    square = Mul(x, x)
    mean = ReduceMean(square)
    shifted = Add(mean, epsilon)
    root = Sqrt(shifted)
    inverse = Reciprocal(root)
    hat = Mul(x, inverse)
    weighted = Mul(g, w)
    product = Mul(weighted, hat)
    share = ReduceMean(product)
    along = Mul(hat, share)
    rest = Sub(weighted, along)
    result = Mul(rest, inverse)
    """,
    rounds=2,
)
LAYER_NORM_GRADIENT = Composite(
    "layer-norm-gradient",
    OperatorKind.NORM,
    ("x", "g", "w"),
    (*LAYER_NORM_PASSES[:-2], *_LAYER_GRADIENT_PASSES),
    """
    centre = ReduceMean(x)
    centred = Sub(x, centre)
    square = Mul(centred, centred)
    mean = ReduceMean(square)
    shifted = Add(mean, epsilon)
    root = Sqrt(shifted)
    inverse = Reciprocal(root)
    hat = Mul(centred, inverse)
    weighted = Mul(g, w)
    product = Mul(weighted, hat)
    share = ReduceMean(product)
    along = Mul(hat, share)
    offset = ReduceMean(weighted)
    less = Sub(weighted, offset)
    rest = Sub(less, along)
    result = Mul(rest, inverse)
    """,
    rounds=4,
)

_TANH = """
    y = Tanh(x)
    square = Mul(y, y)
    slope = Sub(1, square)
"""
_SIGMOID = """
    y = Sigmoid(x)
    below = Sub(1, y)
    slope = Mul(y, below)
"""
_SILU = """
    y = Sigmoid(x)
    below = Sub(1, y)
    product = Mul(x, below)
    above = Add(product, 1)
    slope = Mul(y, above)
"""
_GELU = """
    scaled = Mul(x, 0.70710678)
    erf = Erf(scaled)
    above = Add(erf, 1)
    chance = Mul(above, 0.5)
    square = Mul(x, x)
    power = Mul(square, -0.5)
    bell = Exp(power)
    density = Mul(bell, 0.39894228)
    product = Mul(x, density)
    slope = Add(chance, product)
"""
_RELU = """
    above = Greater(x, 0)
    result = Where(above, g, 0)
"""


def _slope(name: str, text: str, *, gated: bool = False) -> Composite:
    """Return the derivative times g, and times the other side of a gate."""
    product = "both = Mul(g, up)\n result = Mul(both, slope)"
    inputs = ("x", "up", "g") if gated else ("x", "g")
    return Composite(
        name,
        OperatorKind.ACTIVATION,
        inputs,
        (Pass.UNARY, *(Pass.ELEMENTWISE,) * (len(inputs) - 1)),
        text + (product if gated else "result = Mul(g, slope)"),
    )


TANH_GRADIENT = _slope("tanh-gradient", _TANH)
SIGMOID_GRADIENT = _slope("sigmoid-gradient", _SIGMOID)
SILU_GRADIENT = _slope("silu-gradient", _SILU)
SILU_GATE_GRADIENT = _slope("silu-gate-gradient", _SILU, gated=True)
GELU_GRADIENT = _slope("gelu-gradient", _GELU)
GELU_GATE_GRADIENT = _slope("gelu-gate-gradient", _GELU, gated=True)
RELU_GRADIENT = Composite(
    "relu-gradient",
    OperatorKind.ACTIVATION,
    ("x", "g"),
    (Pass.UNARY, Pass.ELEMENTWISE),
    _RELU,
)

COMPOSITES: Mapping[str, Composite] = {
    composite.name: composite
    for composite in (
        LAYER_NORM_GRADIENT,
        RMS_NORM_GRADIENT,
        LOSS_GRADIENT,
        SOFTMAX_GRADIENT,
        GELU_GATE_GRADIENT,
        SILU_GATE_GRADIENT,
        GELU_GRADIENT,
        SILU_GRADIENT,
        RELU_GRADIENT,
        TANH_GRADIENT,
        SIGMOID_GRADIENT,
    )
}
PRODUCT_SUM_PASSES = (Pass.REDUCE, Pass.REDUCE)  # · the other operand, sum
