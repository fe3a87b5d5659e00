"""Output shapes of standard operators, for what onnx's inference leaves open."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from elkhound.model.onnx_import.constants import axes_of, slices
from elkhound.model.onnx_import.shapes import windows
from elkhound.model.onnx_import.source import Node, Value

Shape = tuple[int, ...]
Rule = Callable[[Node, Sequence[Value | None]], list[Shape]]


class ShapeError(ValueError):
    """What does not fit; the caller adds the node's name."""


class UnknownError(ShapeError):
    """A rule that needs elements which are no known constants."""


def need(values: Sequence[Value | None], index: int) -> Value:
    """Return an input that the operator cannot do without."""
    value = values[index] if index < len(values) else None
    if value is None:
        raise ShapeError(f"input {index} is missing")
    return value


def integers(values: Sequence[Value | None], index: int) -> Shape:
    """Return the elements of an input that must be a known constant."""
    data = need(values, index).data
    if data is None:
        raise UnknownError(
            f"input {index} decides the shape but is not a known constant"
        )
    return tuple(int(v) for v in data.reshape(-1))


def normal_axis(axis: int, rank: int) -> int:
    """Return an axis counted from the front."""
    if not -rank <= axis < max(rank, 1):
        raise ShapeError(f"axis {axis} of a tensor with {rank} axes")
    return axis % rank if rank else 0


def broadcast(node: Node, values: Sequence[Value | None]) -> list[Shape]:
    """Numpy broadcasting of all inputs."""
    shapes = [value.shape for value in values if value is not None]
    try:
        return [tuple(int(e) for e in np.broadcast_shapes(*shapes))]
    except ValueError:
        listed = " and ".join(str(list(shape)) for shape in shapes)
        raise ShapeError(f"shapes {listed} do not broadcast") from None


def same(node: Node, values: Sequence[Value | None]) -> list[Shape]:
    """Shape of the first input, for every output."""
    return [need(values, 0).shape] * max(1, len(node.outputs))


def first_only(node: Node, values: Sequence[Value | None]) -> list[Shape]:
    """Shape of the first input, for the first output alone."""
    return [need(values, 0).shape]


def spreads(what: str, shape: Shape, whole: Shape) -> None:
    """Refuse what does not broadcast to a shape, as scales and biases must."""
    pairs = zip(shape[::-1], whole[::-1], strict=False)
    if len(shape) > len(whole) or any(own not in (1, full) for own, full in pairs):
        raise ShapeError(f"{what} {list(shape)} does not broadcast to {list(whole)}")


def matmul(node: Node, values: Sequence[Value | None]) -> list[Shape]:
    """(… m k) × (… k n) → (… m n), leading axes broadcast."""
    left, right = need(values, 0).shape, need(values, 1).shape
    if not left or not right:
        raise ShapeError("a scalar cannot be multiplied as a matrix")
    inner = right[-2] if len(right) > 1 else right[0]
    if left[-1] != inner:
        raise ShapeError(f"shapes {list(left)} and {list(right)} share no inner extent")
    try:
        batch = np.broadcast_shapes(left[:-2], right[:-2])
    except ValueError:
        raise ShapeError(
            f"leading axes of {list(left)} and {list(right)} do not broadcast"
        ) from None
    rows = left[-2:-1] if len(left) > 1 else ()
    columns = right[-1:] if len(right) > 1 else ()
    return [(*(int(e) for e in batch), *rows, *columns)]


def gemm(node: Node, values: Sequence[Value | None]) -> list[Shape]:
    """Matrix product with either operand transposed."""
    left, right = need(values, 0).shape, need(values, 1).shape
    if len(left) != 2 or len(right) != 2:
        raise ShapeError(f"operands {list(left)} and {list(right)} must be matrices")
    m, k = left[::-1] if node.integer("transA", 0) else left
    inner, n = right[::-1] if node.integer("transB", 0) else right
    if k != inner:
        raise ShapeError(f"shapes {list(left)} and {list(right)} share no inner extent")
    if len(values) > 2 and values[2] is not None:
        spreads("C", values[2].shape, (m, n))
    return [(m, n)]


def reshape(node: Node, values: Sequence[Value | None]) -> list[Shape]:
    """Target shape with 0 (copy) and −1 (what remains) resolved."""
    whole = need(values, 0)
    stated = node.integers("shape")
    target = list(integers(values, 1) if stated is None else stated)
    if not node.integer("allowzero", 0):
        for axis, extent in enumerate(target):
            if extent == 0 and axis < len(whole.shape):
                target[axis] = whole.shape[axis]
    if target.count(-1) == 1:
        rest = math.prod(extent for extent in target if extent != -1)
        target[target.index(-1)] = whole.elements // rest if rest else 0
    if any(e < 0 for e in target) or math.prod(target) != whole.elements:
        raise ShapeError(f"{list(whole.shape)} cannot be reshaped to {target}")
    return [tuple(target)]


def transpose(node: Node, values: Sequence[Value | None]) -> list[Shape]:
    """Permuted axes; reversed without `perm`."""
    shape = need(values, 0).shape
    perm = node.integers("perm") or tuple(reversed(range(len(shape))))
    if sorted(perm) != list(range(len(shape))):
        raise ShapeError(f"perm {list(perm)} of a tensor with {len(shape)} axes")
    return [tuple(shape[axis] for axis in perm)]


def flatten(node: Node, values: Sequence[Value | None]) -> list[Shape]:
    """Two axes, cut at `axis`."""
    shape = need(values, 0).shape
    axis = node.integer("axis", 1)
    if not -len(shape) <= axis <= len(shape):
        raise ShapeError(f"axis {axis} of a tensor with {len(shape)} axes")
    axis += len(shape) if axis < 0 else 0
    return [(math.prod(shape[:axis]), math.prod(shape[axis:]))]


def squeeze(node: Node, values: Sequence[Value | None]) -> list[Shape]:
    """Without the named axes of extent 1, or without all of them."""
    shape = need(values, 0).shape
    axes = axes_of(node, [v.data if v is not None else None for v in values])
    if axes is None:
        return [tuple(extent for extent in shape if extent != 1)]
    dropped = {normal_axis(axis, len(shape)) for axis in axes}
    if any(shape[axis] != 1 for axis in dropped):
        raise ShapeError(f"axes {list(axes)} of {list(shape)} are not all 1")
    return [tuple(e for axis, e in enumerate(shape) if axis not in dropped)]


def unsqueeze(node: Node, values: Sequence[Value | None]) -> list[Shape]:
    """With axes of extent 1 inserted."""
    shape = list(need(values, 0).shape)
    axes = axes_of(node, [v.data if v is not None else None for v in values])
    if axes is None:
        raise UnknownError("axes are not a known constant")
    rank = len(shape) + len(axes)
    places = sorted({normal_axis(axis, rank) for axis in axes})
    if len(places) < len(axes):
        raise ShapeError(f"axes {list(axes)} name one twice")
    for axis in places:
        shape.insert(axis, 1)
    return [tuple(shape)]


def reduced_axes(node: Node, values: Sequence[Value | None]) -> Shape:
    """Return the axes a reduction removes, counted from the front."""
    rank = len(need(values, 0).shape)
    axes = axes_of(node, [v.data if v is not None else None for v in values])
    if not axes and len(values) > 1 and values[1] is not None and axes is None:
        raise UnknownError("axes are not a known constant")
    if not axes:
        return () if node.integer("noop_with_empty_axes", 0) else tuple(range(rank))
    places = sorted({normal_axis(axis, rank) for axis in axes})
    if len(places) < len(axes):
        raise ShapeError(f"axes {list(axes)} name one twice")
    return tuple(places)


def reduce(node: Node, values: Sequence[Value | None]) -> list[Shape]:
    """Reduced axes become 1, or go."""
    shape = need(values, 0).shape
    return [_without(shape, reduced_axes(node, values), node.integer("keepdims", 1))]


def arg_reduce(node: Node, values: Sequence[Value | None]) -> list[Shape]:
    """One axis becomes 1, or goes."""
    shape = need(values, 0).shape
    axis = normal_axis(node.integer("axis", 0), len(shape))
    return [_without(shape, (axis,), node.integer("keepdims", 1))]


def _without(shape: Shape, axes: Shape, keep: int) -> Shape:
    if keep:
        return tuple(1 if axis in axes else e for axis, e in enumerate(shape))
    return tuple(e for axis, e in enumerate(shape) if axis not in axes)


def concat(node: Node, values: Sequence[Value | None]) -> list[Shape]:
    """Extents add along `axis`."""
    shapes = [value.shape for value in values if value is not None]
    axis = normal_axis(node.integer("axis", 1), len(shapes[0]))
    rests = {(*shape[:axis], *shape[axis + 1 :]) for shape in shapes}
    if len(rests) > 1:
        listed = ", ".join(str(list(shape)) for shape in shapes)
        raise ShapeError(f"shapes {listed} differ beyond axis {axis}")
    whole = list(shapes[0])
    whole[axis] = sum(shape[axis] for shape in shapes)
    return [tuple(whole)]


def split_extents(node: Node, values: Sequence[Value | None]) -> Shape:
    """Return the extent of each part of a Split."""
    shape = need(values, 0).shape
    axis = normal_axis(node.integer("axis", 0), len(shape))
    parts = node.integers("split")
    if parts is None and len(values) > 1 and values[1] is not None:
        parts = integers(values, 1)
    if parts is None:
        count = len(node.outputs)
        size = -(-shape[axis] // count)
        parts = (*[size] * (count - 1), shape[axis] - size * (count - 1))
    counts = {len(parts), len(node.outputs), node.integer("num_outputs", len(parts))}
    if sum(parts) != shape[axis] or len(counts) > 1:
        raise ShapeError(f"axis {axis} of {list(shape)} cannot be split {list(parts)}")
    return parts


def split(node: Node, values: Sequence[Value | None]) -> list[Shape]:
    """One part per output."""
    shape = need(values, 0).shape
    axis = normal_axis(node.integer("axis", 0), len(shape))
    return [
        (*shape[:axis], extent, *shape[axis + 1 :])
        for extent in split_extents(node, values)
    ]


def slice_(node: Node, values: Sequence[Value | None]) -> list[Shape]:
    """Extent of each axis's slice."""
    shape = need(values, 0).shape
    data = [value.data if value is not None else None for value in values]
    taken = slices(node, data, len(shape))
    if taken is None:
        raise UnknownError("starts or ends are not known constants")
    return [
        tuple(
            len(range(*part.indices(e))) for part, e in zip(taken, shape, strict=True)
        )
    ]


def gather(node: Node, values: Sequence[Value | None]) -> list[Shape]:
    """Axis replaced by the index's axes."""
    shape, index = need(values, 0).shape, need(values, 1).shape
    axis = normal_axis(node.integer("axis", 0), len(shape))
    places = need(values, 1).data
    if not shape:
        raise ShapeError("a scalar has no axis to gather from")
    if places is not None and places.size:
        for place in (int(places.min()), int(places.max())):
            if not -shape[axis] <= place < shape[axis]:
                raise ShapeError(f"index {place} on axis {axis} of {list(shape)}")
    return [(*shape[:axis], *index, *shape[axis + 1 :])]


def expand(node: Node, values: Sequence[Value | None]) -> list[Shape]:
    """Broadcast to a constant shape."""
    try:
        shape = np.broadcast_shapes(need(values, 0).shape, integers(values, 1))
    except ValueError:
        raise ShapeError("shapes do not broadcast") from None
    return [tuple(int(extent) for extent in shape)]


def filled(node: Node, values: Sequence[Value | None]) -> list[Shape]:
    """Shape given by the first input."""
    return [integers(values, 0)]


def range_(node: Node, values: Sequence[Value | None]) -> list[Shape]:
    """As many elements as steps between constants."""
    start, limit, delta = (need(values, i).data for i in range(3))
    if start is None or limit is None or delta is None:
        raise UnknownError("its limits are not known constants")
    steps = math.ceil((limit.item() - start.item()) / delta.item())
    return [(max(0, steps),)]


def shape_of(node: Node, values: Sequence[Value | None]) -> list[Shape]:
    """One extent per axis between `start` and `end`."""
    rank = len(need(values, 0).shape)
    return [(len(range(rank)[node.integer("start", 0) : node.integer("end", rank)]),)]


def window(node: Node, values: Sequence[Value | None]) -> list[Shape]:
    """As many elements as the first input says."""
    return [integers(values, 0)[:1]]


def mel_matrix(node: Node, values: Sequence[Value | None]) -> list[Shape]:
    """(bins of the DFT, mel bins)."""
    return [(integers(values, 1)[0] // 2 + 1, integers(values, 0)[0])]


def scalar(node: Node, values: Sequence[Value | None]) -> list[Shape]:
    """No axis."""
    return [()]


def conv(node: Node, values: Sequence[Value | None]) -> list[Shape]:
    """(n, oc, output positions)."""
    image, kernel = need(values, 0).shape, need(values, 1).shape
    group = node.integer("group", 1)
    if len(image) < 3 or len(kernel) != len(image):
        raise ShapeError(f"image {list(image)} and kernel {list(kernel)} do not fit")
    if group < 1 or image[1] != kernel[1] * group or kernel[0] % group:
        raise ShapeError(
            f"image {list(image)} and kernel {list(kernel)} do not fit {group} groups"
        )
    stated = node.integers("kernel_shape") or kernel[2:]
    if stated != kernel[2:]:
        raise ShapeError(f"kernel_shape {list(stated)} of kernel {list(kernel)}")
    if len(values) > 2 and values[2] is not None and values[2].shape != kernel[:1]:
        raise ShapeError(f"bias {list(values[2].shape)} for {kernel[0]} channels")
    window = windows.of(node, image[2:], kernel[2:])
    return [(image[0], kernel[0], *window.outputs)]


def pool(node: Node, values: Sequence[Value | None]) -> list[Shape]:
    """(n, c, output positions)."""
    image = need(values, 0).shape
    kernel = node.integers("kernel_shape")
    if kernel is None or len(kernel) + 2 != len(image):
        raise ShapeError(f"kernel_shape {kernel} does not fit {list(image)}")
    return [(*image[:2], *windows.of(node, image[2:], kernel).outputs)]


def global_pool(node: Node, values: Sequence[Value | None]) -> list[Shape]:
    """(n, c, 1, …)."""
    shape = need(values, 0).shape
    return [(*shape[:2], *[1] * (len(shape) - 2))]


RULES: Mapping[str, Rule] = {
    "ArgMax": arg_reduce,
    "ArgMin": arg_reduce,
    "AveragePool": pool,
    "Concat": concat,
    "ConstantOfShape": filled,
    "Conv": conv,
    "Expand": expand,
    "Flatten": flatten,
    "Gather": gather,
    "Gemm": gemm,
    "GlobalAveragePool": global_pool,
    "GlobalMaxPool": global_pool,
    "MatMul": matmul,
    "MaxPool": pool,
    "Range": range_,
    "BlackmanWindow": window,
    "HammingWindow": window,
    "HannWindow": window,
    "MelWeightMatrix": mel_matrix,
    "Reshape": reshape,
    "RotaryEmbedding": first_only,
    "Shape": shape_of,
    "Size": scalar,
    "Slice": slice_,
    "Split": split,
    "Squeeze": squeeze,
    "Transpose": transpose,
    "Unsqueeze": unsqueeze,
}
