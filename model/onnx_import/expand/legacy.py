"""Operators of old opsets, said as later ones say it.

Before opset 7 operands were spread over each other where attributes said so, and not
as numpy does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from elkhound.model.onnx_import.expand.expansion import Expansion
from elkhound.model.onnx_import.reader import dtype_of
from elkhound.model.onnx_import.shapes.infer import CAST_TARGETS
from elkhound.model.onnx_import.shapes.standard import normal_axis
from elkhound.model.onnx_import.source import Node

Rewrite = Callable[[Expansion], Node]


def spread(do: Expansion) -> Node:
    """With `broadcast`, B has the extents of some axes of A, from `axis` on.

    Without `axis` they are the last ones, and B of one element goes with every A.
    """
    node = do.node
    whole, part = do.shape(do.name(0)), do.shape(do.name(1))
    later = {k: v for k, v in node.attributes.items() if k not in ("broadcast", "axis")}
    plain = replace(node, attributes=later)
    if whole == part:
        return plain
    if not node.integer("broadcast", 0):
        raise ValueError(
            f"shapes {list(whole)} and {list(part)} differ, and there is no broadcast=1"
        )
    shape: tuple[int, ...] = ()
    if do.value(do.name(1)).elements != 1:
        axis = normal_axis(node.integer("axis", len(whole) - len(part)), len(whole))
        if whole[axis : axis + len(part)] != part:
            raise ValueError(
                f"{list(part)} are not the extents of {list(whole)} from axis {axis} on"
            )
        shape = (*part, *(1,) * (len(whole) - axis - len(part)))
    if shape == part:
        return plain
    seen = do.reshape(do.name(1), shape, "spread")
    return replace(plain, inputs=(node.inputs[0], seen))


def alike(do: Expansion) -> Node:
    """All operands have one shape."""
    shapes = {do.shape(name) for name in do.node.inputs if name}
    if len(shapes) > 1:
        listed = ", ".join(str(list(shape)) for shape in sorted(shapes))
        raise ValueError(f"shapes {listed} differ")
    return do.node


def upsample(do: Expansion) -> Node:
    """Images (n, c, h, w), with an attribute for each scale."""
    node = do.node
    rank = len(do.shape(do.name(0)))
    if rank != 4:
        raise ValueError(f"an image of {rank} axes, must have 4")
    sides = [node.number(f"{side}_scale", 1.0) for side in ("height", "width")]
    if min(sides) < 1:
        raise ValueError(f"scales {sides}, must be at least 1")
    scales = [1.0, 1.0, *sides]
    return replace(
        node, attributes={"mode": node.text("mode", "nearest"), "scales": scales}
    )


def tile(do: Expansion) -> Node:
    """Repeats of one axis; both are inputs."""
    counts = [do.value(do.name(index)).data for index in (1, 2)]
    known = [int(data.reshape(-1)[0]) for data in counts if data is not None]
    if len(known) < 2:
        raise ValueError("its tiles and axis are not known constants")
    rank = len(do.shape(do.name(0)))
    repeats = [1] * rank
    repeats[normal_axis(known[1], rank)] = known[0]
    return replace(do.node, inputs=(do.name(0), do.constant("repeats", repeats)))


def cast(do: Expansion) -> Node:
    """Its element type by name."""
    wanted = dtype_of(do.node.text("to", ""), f"node {do.node.name} (Cast)").name
    number = next(n for n, name in CAST_TARGETS.items() if name == wanted)
    return replace(do.node, attributes={"to": number})


def batch_norm(do: Expansion) -> Node:
    """Scales per channel, as ever since, or per element."""
    if not do.node.integer("spatial", 1):
        raise ValueError("spatial=0, scales per element, cannot be planned")
    return do.node


SPREAD = ("Add", "And", "Div", "Equal", "Greater", "Less", "Mul", "Or", "Pow", "Sub")
LEGACY: Mapping[str, tuple[int, Rewrite]] = {  # the opset from which on all is plain
    **dict.fromkeys((*SPREAD, "Xor"), (7, spread)),
    **dict.fromkeys(("Max", "Mean", "Min", "Sum"), (8, alike)),
    "BatchNormalization": (9, batch_norm),
    "Cast": (6, cast),
    "Tile": (6, tile),
    "Upsample": (7, upsample),
}
