"""Operators that keep their input's shape, and what scales and axes they take."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from elkhound.model.onnx_import.shapes.standard import (
    Rule,
    Shape,
    ShapeError,
    first_only,
    need,
    normal_axis,
    spreads,
)
from elkhound.model.onnx_import.source import Node, Value


def rows(node: Node, values: Sequence[Value | None]) -> list[Shape]:
    """Shape of the input; `axis` is one of its."""
    shape = need(values, 0).shape
    normal_axis(node.integer("axis", 1 if node.version < 13 else -1), len(shape))
    return [shape]


def running(node: Node, values: Sequence[Value | None]) -> list[Shape]:
    """Shape of the input; the axis is an input of its own."""
    shape, axis = need(values, 0).shape, need(values, 1).data
    if axis is not None:
        normal_axis(int(axis.reshape(-1)[0]), len(shape))
    return [shape]


def triangle(node: Node, values: Sequence[Value | None]) -> list[Shape]:
    """Shape of the input, matrices."""
    shape = need(values, 0).shape
    if len(shape) < 2:
        raise ShapeError(f"{list(shape)} is no matrix")
    return [shape]


def normalised(node: Node, values: Sequence[Value | None]) -> list[Shape]:
    """Shape of the input; scale and bias broadcast to it."""
    shape = need(values, 0).shape
    normal_axis(node.integer("axis", -1), len(shape))
    for what, value in zip(("scale", "bias"), values[1:3], strict=False):
        if value is not None:
            spreads(what, value.shape, shape)
    return [shape]


def batch_norm(node: Node, values: Sequence[Value | None]) -> list[Shape]:
    """Shape of the input; one scale, bias, mean and variance per channel."""
    shape = need(values, 0).shape
    channels = shape[1] if len(shape) > 1 else 1
    for what, value in zip(
        ("scale", "bias", "mean", "variance"), values[1:5], strict=False
    ):
        if value is not None and len(value.shape) == 1 and value.shape != (channels,):
            raise ShapeError(f"{what} {list(value.shape)} for {channels} channels")
    return [shape]


def slope(node: Node, values: Sequence[Value | None]) -> list[Shape]:
    """Shape of the input; the slope broadcasts to it, or is one per channel."""
    shape, own = need(values, 0).shape, need(values, 1).shape
    if own != shape[1:2]:  # as it was before opset 7
        spreads("slope", own, shape)
    return [shape]


def scaled(node: Node, values: Sequence[Value | None]) -> list[Shape]:
    """Shape of the input; a scale for all, or per place of `axis`, or per block."""
    shape, scale = need(values, 0).shape, need(values, 1).shape
    if math.prod(scale) > 1 and len(scale) == 1:
        axis = normal_axis(node.integer("axis", 1), len(shape))
        if scale[0] != shape[axis]:
            raise ShapeError(f"{scale[0]} scales for axis {axis} of {list(shape)}")
    return [shape]


RULES: Mapping[str, Rule] = {
    **dict.fromkeys(("Softmax", "LogSoftmax", "Hardmax"), rows),
    **dict.fromkeys(("LRN", "ReverseSequence"), first_only),
    **dict.fromkeys(("QuantizeLinear", "DequantizeLinear"), scaled),
    **dict.fromkeys(("LayerNormalization", "RMSNormalization"), normalised),
    "BatchNormalization": batch_norm,
    "CumSum": running,
    "PRelu": slope,
    "SimplifiedLayerNormalization": normalised,
    "Trilu": triangle,
    "com.microsoft::SimplifiedLayerNormalization": normalised,
}
