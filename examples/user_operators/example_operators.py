"""Operators of a custom runtime, described for Elkhound.

    pip install examples/user_operators

An entry point in the group ``elkhound.operators``, named after the operator type, loads
a function from a node to what it costs; `elkhound import` finds it by itself.
"""

from __future__ import annotations

from elkhound.model.graph import Pass
from elkhound.model.onnx_import import OperatorCall, OutputCost, StandIn
from elkhound.model.passes import SOFTMAX_PASSES


def window_attention(call: OperatorCall) -> list[OutputCost]:
    """Attention in windows of `window` tokens; outputs: mix, and scores.

    q, k and v have shape (batch, tokens, width); a window attends to itself alone.
    """
    batch, tokens, width = call.shapes[0]
    window, heads = call.attributes["window"], call.attributes["heads"]
    if tokens % window or width % heads:
        raise ValueError(f"{tokens} tokens in windows of {window}, {heads} heads")
    blocks = batch * tokens // window
    seen = (blocks, window, heads, width // heads)
    scores = OutputCost(
        shape=(blocks, heads, window, window),
        dtype=call.dtypes[0],
        passes=(Pass.MATMUL, *SOFTMAX_PASSES),
        reads=(0, 1),
        equation="bihd,bjhd->bhij",
        views=(seen, seen),
    )
    mix = OutputCost(
        shape=(batch, tokens, width),
        dtype=call.dtypes[0],
        passes=(Pass.MATMUL,),
        reads=(0, 2),  # as many products as weights · v
        equation="bihd,bjhd->bihd",
        views=(seen, seen),
        result=seen,
    )
    return [mix, scores]


def swish_norm(call: OperatorCall) -> StandIn:
    """RMS norm whose activation is free on this runtime: the norm stands in for it."""
    return StandIn("RMSNormalization", inputs=(0, 1), attributes={"axis": -1})
