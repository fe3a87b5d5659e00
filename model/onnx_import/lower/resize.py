"""Images resampled: Resize, Upsample, GridSample."""

from __future__ import annotations

from elkhound.model.graph import Axis, Operator, OperatorKind, Pass
from elkhound.model.onnx_import.lower.operand import (
    UNINDEXED,
    Call,
    Operand,
    grid,
    indexed,
)
from elkhound.model.passes import COPY_PASSES, GATHER_PASSES

TAPS = {"linear": 2, "bilinear": 2, "trilinear": 2, "cubic": 4, "bicubic": 4}


def resize(call: Call) -> tuple[Operator, ...]:
    """Nearest copies; linear and cubic weigh 2 or 4 neighbours on every scaled axis.

    An axis that grows by an integer is seen as (input place, repeat), so a tile reads
    what it needs. One that shrinks reads with that stride; another reads as many places
    as it writes.
    """
    image, out = call.first, call.output
    sizes: dict[str, int] = {}
    read: list[Axis] = []
    written: list[Axis] = []
    target = out
    scaled = 0
    for axis in range(len(out.shape) - 1, -1, -1):
        before, after = image.shape[axis], out.shape[axis]
        scaled += before != after
        name = f"d{axis}"
        if after > before and after % before == 0:
            target = target.split(axis, (before, after // before))
            repeat = f"r{axis}"
            sizes[repeat], sizes[name] = after // before, before
            written[:0] = [indexed(name), indexed(repeat)]
            read.insert(0, indexed(name))
        else:
            sizes[name] = after
            written.insert(0, indexed(name))
            read.insert(0, Axis(((name, max(1, before // after)),)))
    kept = {name: size for name, size in reversed(sizes.items()) if size > 1}
    taps = TAPS.get(call.node.text("mode", "nearest"), 1) ** max(scaled, 1)
    passes = COPY_PASSES if taps == 1 else (Pass.ELEMENTWISE,) * (2 * taps - 1)
    return (
        call.operator(
            OperatorKind.COPY if taps == 1 else OperatorKind.ELEMENTWISE,
            kept or {"d0": 1},
            [image.access(_indexed_by(read, kept))],
            target.access(_indexed_by(written, kept)),
            passes,
        ),
    )


def _indexed_by(axes: list[Axis], kept: dict[str, int]) -> list[Axis]:
    return [
        axis if all(name in kept for name, _ in axis.terms) else UNINDEXED
        for axis in axes
    ]


def grid_sample(call: Call) -> tuple[Operator, ...]:
    """Four neighbours fetched and weighed for each point of a grid."""
    image, points, out = call.first, call.second, call.output
    sizes, axes = grid(out.shape)
    seen = Operand(image.root, out.shape, tuple(range(len(out.shape))))
    place = indexed("place")
    sizes["place"] = points.shape[-1]
    return (
        call.operator(
            OperatorKind.GATHER,
            sizes,
            [points.access([axes[0], *axes[2:], place]), seen.access(axes)],
            out.access(axes),
            GATHER_PASSES * 4 + (Pass.ELEMENTWISE,) * 7,
        ),
    )
