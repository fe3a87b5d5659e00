"""Contrib operators of backward passes and of several chips."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from elkhound.model.onnx_import.expand.expansion import Expansion
from elkhound.model.onnx_import.source import Value


def composite(name: str, do: Expansion) -> None:
    """Gradient of a result and one operand: a composite of the operand first."""
    inputs = [do.name(1), do.name(0)]
    if do.shape(inputs[0]) != do.shape(inputs[1]):
        raise ValueError(f"{do.shape(inputs[0])} and {do.shape(inputs[1])} differ")
    rank = len(do.shape(inputs[0]))
    if name == "softmax-gradient" and do.node.integer("axis", -1) % rank != rank - 1:
        raise ValueError("only the last axis is known")
    attributes = {"composite": name}
    do.emit("elkhound::Composite", inputs, "", attributes, outputs=[do.output(0)])


def gather_gradient(do: Expansion) -> None:
    """Rows added where an index says, into a tensor of zeros."""
    data = do.value(do.name(0)).data
    if data is None or do.node.integer("axis", 0) != 0:
        raise ValueError("its shape is not a known constant, or its axis not the first")
    shape = tuple(int(extent) for extent in data.reshape(-1))
    index, grad = do.name(1), do.name(2)
    places = do.reshape(index, (*do.shape(index), 1), "places")
    do.declare(do.output(0), Value(do.value(grad).dtype, shape))
    do.emit("elkhound::Scatter", [grad, places], "", outputs=[do.output(0)])


def all_gather(do: Expansion) -> None:
    """Parts of all chips, one behind the other: as many bytes are read as written."""
    shape = list(do.shape(do.name(0)))
    shape[do.node.integer("axis", 0)] *= do.node.integer("group_size", 1)
    attributes = {"shape": shape}
    do.emit("elkhound::Copy", [do.name(0)], "", attributes, outputs=[do.output(0)])


EXPANSIONS: Mapping[str, Callable[[Expansion], None]] = {
    "com.microsoft::AllGather": all_gather,
    "com.microsoft::GatherGrad": gather_gradient,
    "com.microsoft::GeluGrad": partial(composite, "gelu-gradient"),
    "com.microsoft::QuickGeluGrad": partial(composite, "silu-gradient"),
    "com.microsoft::ReluGrad": partial(composite, "relu-gradient"),
    "com.microsoft::SoftmaxGrad_13": partial(composite, "softmax-gradient"),
}
