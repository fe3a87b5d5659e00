"""Operators that compute each output element from the same element of the inputs."""

from __future__ import annotations

from elkhound.model.graph import Access, Axis, Operator, OperatorKind, Pass
from elkhound.model.onnx_import.lower.operand import (
    Call,
    Operand,
    broadcast_access,
    grid,
    indexed,
)
from elkhound.model.onnx_import.operators import ACTIVATIONS
from elkhound.model.passes import (
    GEGLU_PASSES,
    GELU_PASSES,
    SILU_PASSES,
    SWIGLU_PASSES,
)

ACTIVATION_PASSES = {
    "Gelu": GELU_PASSES,
    "HardSwish": SILU_PASSES,
    "Mish": SILU_PASSES,
    "Swish": SILU_PASSES,
    "elkhound::GeGLU": GEGLU_PASSES,
    "elkhound::SwiGLU": SWIGLU_PASSES,
}


def elementwise(call: Call) -> tuple[Operator, ...]:
    """Arithmetic with broadcasting; constants of one element belong to the operator."""
    real = [o for o in call.inputs if o is not None and not o.folded]
    passes = (Pass.ELEMENTWISE,) * (len(real) - 1) or (Pass.UNARY,)
    return (_spread(call, OperatorKind.ELEMENTWISE, real, passes),)


def unary(call: Call) -> tuple[Operator, ...]:
    """One operand; limits and slopes belong to the operator."""
    activation = call.node.op in ACTIVATIONS
    kind = OperatorKind.ACTIVATION if activation else OperatorKind.ELEMENTWISE
    passes = ACTIVATION_PASSES.get(call.node.op, (Pass.UNARY,))
    return (_spread(call, kind, [call.first], passes),)


def gated(call: Call) -> tuple[Operator, ...]:
    """Activation with a gate."""
    real = [o for o in call.inputs if o is not None and not o.folded]
    passes = ACTIVATION_PASSES[call.node.op]
    return (_spread(call, OperatorKind.ACTIVATION, real, passes),)


def free(call: Call) -> tuple[Operator, ...]:
    """Lower an unknown operator that the user lets go for nothing."""
    return ()


def rescale(call: Call) -> tuple[Operator, ...]:
    """QuantizeLinear, DequantizeLinear: scale and zero point for all, or per place.

    A scale per axis indexes that axis; one per block sees it as (blocks, block).
    """
    image, out = call.first, call.output
    block = call.node.integer("block_size", 0)
    axis = call.node.integer("axis", 1) % max(len(image.shape), 1)
    scales = [o for o in call.inputs[1:] if o is not None and not o.folded]
    blocks = 1
    if block and len(image.shape) and image.shape[axis] % block == 0:
        blocks = image.shape[axis] // block
        image = image.split(axis, (blocks, block))
        out = out.split(axis, (blocks, block))
    sizes, axes = grid(image.shape)
    return (
        call.operator(
            OperatorKind.ELEMENTWISE,
            sizes or {"d0": 1},
            [image.access(axes), *(_scale(s, axis, axes, blocks) for s in scales)],
            out.access(axes),
            (Pass.UNARY,),
        ),
    )


def _scale(scale: Operand, axis: int, axes: list[Axis], blocks: int) -> Access:
    if len(scale.shape) == 1:
        return scale.access([axes[axis]])
    kept = axes if blocks == 1 else [*axes[: axis + 1], *axes[axis + 2 :]]
    return scale.access(kept[: len(scale.shape)])


def batch_norm(call: Call) -> tuple[Operator, ...]:
    """Normalise with known statistics: x · scale + shift, two vectors each."""
    image = call.first
    sizes, axes = grid(image.shape)
    channel = [axes[1]] if len(axes) > 1 else [axes[0]]
    vectors = [o.access(channel) for o in call.inputs[1:] if o is not None]
    return (
        call.operator(
            OperatorKind.NORM,
            sizes,
            [image.access(axes), *vectors],
            call.output.access(axes),
            (Pass.ELEMENTWISE, Pass.ELEMENTWISE),
        ),
    )


def _spread(
    call: Call, kind: OperatorKind, inputs: list[Operand], passes: tuple[Pass, ...]
) -> Operator:
    sizes, axes = grid(call.output.shape)
    if not sizes:  # a single element
        sizes, axes = {"d0": 1}, [indexed("d0")] * bool(axes) + axes[1:]
    accesses = [broadcast_access(operand, axes) for operand in inputs]
    return call.operator(kind, sizes, accesses, call.output.access(axes), passes)
