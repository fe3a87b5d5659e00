"""Mixtures of experts of com.microsoft, for as many experts as tokens can reach.

T tokens with k choices among E experts reach at most e = min(E, T·k) of them, and
⌈T·k / e⌉ tokens each if they spread evenly: that is what is planned, as for built-in
workloads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from elkhound.model.dtype import DTYPES
from elkhound.model.graph import Pass
from elkhound.model.onnx_import.expand.expansion import Expansion
from elkhound.model.onnx_import.source import Value
from elkhound.model.onnx_import.user_operators import OutputCost
from elkhound.model.passes import DECODED_MATMUL_PASSES, MATMUL_PASSES

ACTIVATIONS = {"relu": "Relu", "gelu": "Gelu", "silu": "Swish", "identity": ""}


@dataclass(frozen=True, slots=True)
class Layer:
    """Where the weights of one linear layer of every expert are: input numbers."""

    weights: int
    scales: int | None
    bias: int


FLOAT = (Layer(2, None, 3), Layer(4, None, 5), Layer(6, None, 7))
QUANTISED = (Layer(2, 3, 4), Layer(5, 6, 7), Layer(8, 9, 10))


@dataclass(frozen=True, slots=True)
class Crowd:
    """How many experts work, and on how many tokens each."""

    tokens: int
    hidden: int
    experts: int
    active: int
    each: int


def mixture(do: Expansion) -> None:
    """Route, gather the tokens of every expert, run the experts, add up the choices."""
    source, router = do.name(0), do.name(1)
    *_, hidden = do.shape(source)
    tokens, experts = math.prod(do.shape(source)[:-1]), do.shape(router)[-1]
    choices = do.node.integer("k", 1)
    if choices > experts:
        raise ValueError(f"{choices} choices among {experts} experts")
    active = min(experts, tokens * choices)
    crowd = Crowd(tokens, hidden, experts, active, -(-tokens * choices // active))
    first, second, third = QUANTISED if do.node.op.endswith("QMoE") else FLOAT
    weights = do.emit("Softmax", [router], "router", {"axis": -1})
    k = do.constant("k", [choices])
    chosen, index = do.fresh("chosen"), do.fresh("index")
    do.emit("TopK", [weights, k], "route", {"axis": -1}, outputs=[chosen, index])
    gathered = _moved(
        do,
        [source, index],
        (crowd.active, crowd.each, hidden),
        (Pass.GATHER,),
        "tokens",
    )
    inner = _linear(do, crowd, gathered, first, "up")
    activation = do.node.text("activation_type", "relu")
    if activation == "swiglu":
        inner = _gated(do, inner)
    elif activation not in ACTIVATIONS:
        legal = ", ".join([*ACTIVATIONS, "swiglu"])
        raise ValueError(f"activation_type {activation}, must be one of {legal}")
    elif ACTIVATIONS[activation]:
        inner = do.emit(ACTIVATIONS[activation], [inner], "activation")
    if do.given(third.weights):
        gate = _linear(do, crowd, gathered, third, "gate")
        inner = do.emit("Mul", [inner, gate], "gated")
    outer = _linear(do, crowd, inner, second, "down")
    _moved(
        do,
        [outer, chosen],
        do.shape(source),
        (Pass.ELEMENTWISE, Pass.REDUCE),
        "",
        output=do.output(0),
    )


def _gated(do: Expansion, inner: str) -> str:
    """SwiGLU of a layer twice as wide."""
    shape = do.shape(inner)
    half = shape[-1] // 2
    parts = do.split(inner, (half, shape[-1] - half), len(shape) - 1, "half")
    gate = do.emit("Swish", [parts[0]], "silu")
    return do.emit("Mul", [gate, parts[1]], "swiglu")


def _linear(do: Expansion, crowd: Crowd, source: str, layer: Layer, part: str) -> str:
    """O[e, t, o] = Σ A[e, t, i] · W[e, o, i] (· scale) for the experts that work."""
    inner = do.shape(source)[-1]
    name = do.name(layer.weights)
    stored = do.value(name)
    bits = do.node.integer("expert_weight_bits", 4) if layer.scales else 0
    dtype = DTYPES[f"uint{bits}"] if bits else stored.dtype
    pack = 8 // bits if bits else 1
    outer = math.prod(stored.shape) * pack // (crowd.experts * inner)
    layouts = ((outer, inner // pack), (inner, outer // pack))
    if stored.shape[:1] != (crowd.experts,) or stored.shape[1:] not in layouts:
        raise ValueError(
            f"weights {list(stored.shape)} of {crowd.experts} experts with {inner} "
            f"inputs each"
        )
    used = Value(dtype, (crowd.active, outer, inner), constant=stored.constant)
    inputs = [source, do.parameter(f"{part}.weights", used)]
    equation, views = "eti,eoi->eto", None
    passes: tuple[Pass, ...] = MATMUL_PASSES
    if layer.scales is not None:
        scales = do.value(do.name(layer.scales))
        blocks = max(1, math.prod(scales.shape) // (crowd.experts * outer))
        if math.prod(scales.shape) != crowd.experts * outer * blocks or inner % blocks:
            raise ValueError(f"scales {list(scales.shape)} of {outer} outputs")
        own = Value(scales.dtype, (crowd.active, outer, blocks), scales.constant)
        inputs.append(do.parameter(f"{part}.scales", own))
        equation, passes = "etbi,eobi,eob->eto", DECODED_MATMUL_PASSES
        cut = (blocks, inner // blocks)
        rows = (crowd.active, crowd.each)
        views = ((*rows, *cut), (crowd.active, outer, *cut), None)
    shape = (crowd.active, crowd.each, outer)
    made = do.fresh(part)
    element = do.value(source).dtype
    do.declare(made, Value(element, shape))
    cost = OutputCost(shape, element.name, passes, equation=equation, views=views or ())
    do.emit("elkhound::User", inputs, part, {"costs": [cost]}, outputs=[made])
    if not do.given(layer.bias):
        return made
    bias = do.value(do.given(layer.bias))
    vectors = Value(bias.dtype, (crowd.active, 1, outer), bias.constant)
    added = do.parameter(f"{part}.bias", vectors)
    return do.emit("Add", [made, added], f"{part}.biased")


def _moved(
    do: Expansion,
    inputs: list[str],
    shape: tuple[int, ...],
    passes: tuple[Pass, ...],
    suffix: str,
    output: str = "",
) -> str:
    """Write an operator that reads its inputs once, spread over its output."""
    name = output or do.fresh(suffix)
    dtype = do.value(inputs[0]).dtype
    do.declare(name, Value(dtype, shape))
    cost = OutputCost(shape, dtype.name, passes)
    do.emit("elkhound::User", inputs, suffix, {"costs": [cost]}, outputs=[name])
    return name


EXPANSIONS: Mapping[str, Callable[[Expansion], None]] = {
    "com.microsoft::MoE": mixture,
    "com.microsoft::QMoE": mixture,
}
