"""Output shapes of operators that pad, resize, tile, gather and scatter."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from elkhound.model.onnx_import.shapes import standard
from elkhound.model.onnx_import.shapes.standard import (
    Rule,
    Shape,
    ShapeError,
    UnknownError,
    integers,
    need,
    normal_axis,
)
from elkhound.model.onnx_import.source import Node, Value


def pad(node: Node, values: Sequence[Value | None]) -> list[Shape]:
    """Extents plus what is put before and behind; negative pads crop."""
    shape = need(values, 0).shape
    pads = node.integers("pads") or node.integers("paddings")
    if pads is None:
        pads = integers(values, 1)
    axes: Sequence[int] = range(len(shape))
    if len(values) > 3 and values[3] is not None:
        axes = [normal_axis(axis, len(shape)) for axis in integers(values, 3)]
    if len(pads) != 2 * len(axes):
        raise ShapeError(f"{len(pads)} pads for {len(axes)} axes")
    padded = list(shape)
    for index, axis in enumerate(axes):
        padded[axis] += pads[index] + pads[index + len(axes)]
    return [tuple(padded)]


def resize(node: Node, values: Sequence[Value | None]) -> list[Shape]:
    """Stated sizes, or ⌊extent · scale⌋."""
    shape = need(values, 0).shape
    axes = [
        normal_axis(a, len(shape)) for a in node.integers("axes") or range(len(shape))
    ]
    place = {"Upsample": 1}.get(node.op, 1 if node.version < 11 else 2)
    if len(values) > 3 and values[3] is not None and values[3].shape != (0,):
        return [_sized(node, shape, axes, integers(values, 3))]
    scales = node.numbers("scales")
    if scales is None:
        data = need(values, place).data
        if data is None:
            raise UnknownError(f"input {place} decides the shape but is not known")
        scales = tuple(float(v) for v in data.reshape(-1))
    if len(scales) != len(axes):
        raise ShapeError(f"{len(scales)} scales for {len(axes)} axes")
    scaled = list(shape)
    for axis, scale in zip(axes, scales, strict=True):
        scaled[axis] = math.floor(shape[axis] * scale)
    return [tuple(scaled)]


def _sized(node: Node, shape: Shape, axes: Sequence[int], sizes: Shape) -> Shape:
    if len(sizes) != len(axes):
        raise ShapeError(f"{len(sizes)} sizes for {len(axes)} axes")
    policy = node.text("keep_aspect_ratio_policy", "stretch")
    if policy != "stretch":
        ratios = [size / shape[axis] for axis, size in zip(axes, sizes, strict=True)]
        ratio = min(ratios) if policy == "not_larger" else max(ratios)
        sizes = tuple(round(shape[axis] * ratio) for axis in axes)
    sized = list(shape)
    for axis, size in zip(axes, sizes, strict=True):
        sized[axis] = size
    return tuple(sized)


def tile(node: Node, values: Sequence[Value | None]) -> list[Shape]:
    """Extents times repeats."""
    shape, repeats = need(values, 0).shape, integers(values, 1)
    if len(repeats) != len(shape) or min(repeats, default=1) < 0:
        raise ShapeError(f"repeats {list(repeats)} of {list(shape)}")
    return [tuple(e * r for e, r in zip(shape, repeats, strict=True))]


def index_shape(node: Node, values: Sequence[Value | None]) -> list[Shape]:
    """Shape of the index, of as many axes as the data."""
    shape, index = need(values, 0).shape, need(values, 1).shape
    _along(node, shape, index)
    return [index]


def scatter(node: Node, values: Sequence[Value | None]) -> list[Shape]:
    """Shape of the data; an update for every index."""
    shape, index = need(values, 0).shape, need(values, 1).shape
    updates = need(values, 2).shape
    _along(node, shape, index)
    if updates != index:
        raise ShapeError(f"updates {list(updates)} for indices {list(index)}")
    return [shape]


def _along(node: Node, shape: Shape, index: Shape) -> None:
    normal_axis(node.integer("axis", 0), len(shape))
    if len(shape) != len(index):
        raise ShapeError(f"indices {list(index)} for data {list(shape)}")


def scatter_nd(node: Node, values: Sequence[Value | None]) -> list[Shape]:
    """Shape of the data; an update for every index, as large as what it leaves."""
    shape, index = need(values, 0).shape, need(values, 1).shape
    updates = need(values, 2).shape
    if not index or index[-1] > len(shape):
        raise ShapeError(f"indices {list(index)} for data {list(shape)}")
    expected = (*index[:-1], *shape[index[-1] :])
    if updates != expected:
        raise ShapeError(f"updates {list(updates)}, must be {list(expected)}")
    return [shape]


def gather_nd(node: Node, values: Sequence[Value | None]) -> list[Shape]:
    """Index without its last axis, then what one index leaves of the data."""
    shape, index = need(values, 0).shape, need(values, 1).shape
    batch = node.integer("batch_dims", 0)
    if not index or batch + index[-1] > len(shape):
        raise ShapeError(f"indices {list(index)} for data {list(shape)}")
    return [(*index[:-1], *shape[batch + index[-1] :])]


def one_hot(node: Node, values: Sequence[Value | None]) -> list[Shape]:
    """Index with an axis of `depth` inserted."""
    shape = list(need(values, 0).shape)
    depth = integers(values, 1)[0]
    axis = normal_axis(node.integer("axis", -1), len(shape) + 1)
    shape.insert(axis, depth)
    return [tuple(shape)]


def conv_transpose(node: Node, values: Sequence[Value | None]) -> list[Shape]:
    """(n, oc, (extent − 1) · stride + span + output padding − pads)."""
    image, kernel = need(values, 0).shape, need(values, 1).shape
    group, rank = node.integer("group", 1), len(image) - 2
    if len(kernel) != len(image) or image[1] != kernel[0] or kernel[0] % group:
        raise ShapeError(f"image {list(image)} and kernel {list(kernel)} do not fit")
    ones, zeros = (1,) * rank, (0,) * rank
    strides = node.integers("strides") or ones
    dilations = node.integers("dilations") or ones
    pads = node.integers("pads") or zeros * 2
    more = node.integers("output_padding") or zeros
    stated = node.integers("output_shape")
    sized = (strides, dilations, pads[:rank], pads[rank:], more, stated or ones)
    if any(len(given) < rank for given in sized):
        raise ShapeError(f"a step, pad or size per axis: {rank}")
    same = node.text("auto_pad", "NOTSET").startswith("SAME")
    outputs = []
    for axis in range(rank):
        span = 1 + dilations[axis] * (kernel[axis + 2] - 1)
        full = (image[axis + 2] - 1) * strides[axis] + span + more[axis]
        extent = full - pads[axis] - pads[axis + rank]
        outputs.append(image[axis + 2] * strides[axis] if same else extent)
    if stated is not None:
        outputs = list(stated[-rank:])
    return [(image[0], kernel[1] * group, *outputs)]


def grid_sample(node: Node, values: Sequence[Value | None]) -> list[Shape]:
    """(n, c, positions of the grid)."""
    image, grid = need(values, 0).shape, need(values, 1).shape
    return [(*image[:2], *grid[1:-1])]


RULES: Mapping[str, Rule] = {
    "ConvTranspose": conv_transpose,
    "GatherElements": index_shape,
    "GatherND": gather_nd,
    "GlobalLpPool": standard.global_pool,
    "GridSample": grid_sample,
    "LpPool": standard.pool,
    "OneHot": one_hot,
    "Pad": pad,
    "Resize": resize,
    "Scatter": scatter,
    "ScatterElements": scatter,
    "ScatterND": scatter_nd,
    "Tile": tile,
    "Upsample": resize,
}
