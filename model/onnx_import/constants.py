"""Folding of small constants: what export writes to compute shapes and scales."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from elkhound.model.onnx_import.source import Data, Node, Value

SMALL = 4096  # elements; a larger constant is a weight, known by its shape alone

Fold = Callable[[Node, Sequence[Data | None]], Data | None]


def fold(node: Node, inputs: Sequence[Value | None]) -> Data | None:
    """Return the elements of a node's first output, or None where they stay unknown.

    Parameters
    ----------
    node : Node
        Any node.
    inputs : sequence of Value or None
        Its inputs; None for an absent optional.
    """
    if node.op in ("Shape", "Size") and inputs and inputs[0] is not None:
        return _extents(node, inputs[0])
    if node.op not in FOLDS:
        return None
    data = [value.data if value is not None else None for value in inputs]
    unknown = any(
        value is not None and value.data is None and value.shape != (0,)
        for value in inputs
    )
    if unknown:
        return None
    try:
        with np.errstate(all="ignore", invalid="raise"):
            result = FOLDS[node.op](node, data)
    except (ValueError, IndexError, TypeError, ArithmeticError):
        return None  # the shape rules say what is wrong, naming the node
    return result if result is not None and result.size <= SMALL else None


def _extents(node: Node, value: Value) -> Data:
    if node.op == "Size":
        return np.array(value.elements)
    start = node.integer("start", 0)
    end = node.integer("end", len(value.shape))
    return np.array(value.shape, dtype=np.int64)[start:end]


def axes_of(node: Node, data: Sequence[Data | None]) -> tuple[int, ...] | None:
    """Return an operator's axes: an attribute, or since opset 13 its second input."""
    axes = node.integers("axes")
    if axes is None and len(data) > 1 and data[1] is not None:
        axes = tuple(int(axis) for axis in data[1].reshape(-1))
    return axes


def slices(node: Node, data: Sequence[Data | None], rank: int) -> list[slice] | None:
    """Return what a Slice node takes of each axis; None where it is not constant."""
    starts, ends = node.integers("starts"), node.integers("ends")
    axes, steps = node.integers("axes"), None
    if starts is None or ends is None:
        given = [None if d is None else [int(v) for v in d.reshape(-1)] for d in data]
        given += [None] * (5 - len(given))
        if given[1] is None or given[2] is None:
            return None
        starts, ends = tuple(given[1]), tuple(given[2])
        axes = None if given[3] is None else tuple(given[3])
        steps = given[4]
    axes = tuple(range(len(starts))) if axes is None else axes
    if {len(starts), len(ends), len(steps or starts)} != {len(axes)}:
        raise ValueError(
            f"{len(starts)} starts, {len(ends)} ends and {len(steps or starts)} steps "
            f"for {len(axes)} axes"
        )
    if not all(-rank <= axis < rank for axis in axes):
        raise ValueError(f"axes {list(axes)} of a tensor with {rank} axes")
    if len({axis % rank for axis in axes}) < len(axes):
        raise ValueError(f"axes {list(axes)} name one twice")
    if steps and not all(steps):
        raise ValueError(f"steps {list(steps)}, must not be 0")
    taken = [slice(None)] * rank
    for index, axis in enumerate(axes):
        step = steps[index] if steps else 1
        end: int | None = ends[index]
        if step < 0 and ends[index] < -(2**31) + 1:
            end = None  # the whole axis, backwards
        taken[axis] = slice(starts[index], end, step)
    return taken


def _binary(apply: Callable[..., Data]) -> Fold:
    def run(node: Node, data: Sequence[Data | None]) -> Data | None:
        return np.asarray(apply(*(d for d in data if d is not None)))

    return run


def _divide(left: Data, right: Data) -> Data:
    if left.dtype.kind == "i" and right.dtype.kind == "i":
        if not np.all(right):
            raise ValueError("division by zero")
        floor, rest = np.divmod(left, right)
        return np.asarray(floor + ((rest != 0) & (np.sign(left) != np.sign(right))))
    return np.asarray(np.true_divide(left, right))


def _cast(node: Node, data: Sequence[Data | None]) -> Data | None:
    integer = node.integer("to", 1) in (2, 3, 4, 5, 6, 7, 9, 12, 13, 21, 22)
    if data[0] is None:
        return None
    return data[0].astype(np.int64 if integer else np.float64)


def _gather(node: Node, data: Sequence[Data | None]) -> Data | None:
    table, rows = data[0], data[1]
    if table is None or rows is None:
        return None
    return np.asarray(
        np.take(table, rows.astype(np.int64), axis=node.integer("axis", 0))
    )


def _concat(node: Node, data: Sequence[Data | None]) -> Data | None:
    return np.concatenate(
        [d for d in data if d is not None], axis=node.integer("axis", 0)
    )


def _slice(node: Node, data: Sequence[Data | None]) -> Data | None:
    whole = data[0]
    if whole is None:
        return None
    taken = slices(node, data, whole.ndim)
    return None if taken is None else np.asarray(whole[tuple(taken)])


def _reshape(node: Node, data: Sequence[Data | None]) -> Data | None:
    whole, target = data[0], data[1]
    if whole is None or target is None:
        return None
    shape = [int(extent) for extent in target]
    if not node.integer("allowzero", 0):
        shape = [extent or whole.shape[axis] for axis, extent in enumerate(shape)]
    return whole.reshape(shape)


def _unsqueeze(node: Node, data: Sequence[Data | None]) -> Data | None:
    axes = axes_of(node, data)
    return None if data[0] is None or axes is None else np.expand_dims(data[0], axes)


def _squeeze(node: Node, data: Sequence[Data | None]) -> Data | None:
    return None if data[0] is None else np.squeeze(data[0], axes_of(node, data))


def _transpose(node: Node, data: Sequence[Data | None]) -> Data | None:
    return None if data[0] is None else np.transpose(data[0], node.integers("perm"))


def _range(node: Node, data: Sequence[Data | None]) -> Data | None:
    start, limit, delta = (d.item() for d in data if d is not None)
    if delta == 0:
        raise ValueError("a range of step 0")
    if (limit - start) / delta > SMALL:
        return None
    return np.arange(start, limit, delta)


def _filled(node: Node, data: Sequence[Data | None]) -> Data | None:
    if data[0] is None:
        return None
    shape = [int(extent) for extent in data[0]]
    value = node.tensor("value")
    fill = np.array([0.0]) if value is None else value.data
    if fill is None or math.prod(shape) > SMALL:
        return None
    return np.full(shape, fill.reshape(-1)[0])


def _expand(node: Node, data: Sequence[Data | None]) -> Data | None:
    if data[0] is None or data[1] is None:
        return None
    target = np.broadcast_shapes(data[0].shape, tuple(int(e) for e in data[1]))
    return None if math.prod(target) > SMALL else np.broadcast_to(data[0], target)


def _product(node: Node, data: Sequence[Data | None]) -> Data | None:
    axes = axes_of(node, data)
    keep = bool(node.integer("keepdims", 1))
    if data[0] is None:
        return None
    whole = np.asarray(data[0], dtype=np.float64 if data[0].dtype.kind == "f" else int)
    return np.asarray(np.prod(whole, axes, keepdims=keep))


def _nonzero(node: Node, data: Sequence[Data | None]) -> Data | None:
    return None if data[0] is None else np.array(np.nonzero(np.atleast_1d(data[0])))


def _same(node: Node, data: Sequence[Data | None]) -> Data | None:
    return data[0]


FOLDS: Mapping[str, Fold] = {
    "Add": _binary(np.add),
    "Sub": _binary(np.subtract),
    "Mul": _binary(np.multiply),
    "Div": _binary(_divide),
    "Pow": _binary(np.power),
    "Min": _binary(lambda *d: np.minimum.reduce(np.broadcast_arrays(*d))),
    "Max": _binary(lambda *d: np.maximum.reduce(np.broadcast_arrays(*d))),
    "Equal": _binary(np.equal),
    "Greater": _binary(np.greater),
    "Less": _binary(np.less),
    "Not": _binary(np.logical_not),
    "Where": _binary(np.where),
    "Neg": _binary(np.negative),
    "Abs": _binary(np.abs),
    "Sqrt": _binary(np.sqrt),
    "Reciprocal": _binary(lambda d: np.true_divide(1.0, d)),
    "Floor": _binary(np.floor),
    "Ceil": _binary(np.ceil),
    "Cast": _cast,
    "Concat": _concat,
    "ConstantOfShape": _filled,
    "Expand": _expand,
    "Gather": _gather,
    "Identity": _same,
    "NonZero": _nonzero,
    "Range": _range,
    "ReduceProd": _product,
    "Reshape": _reshape,
    "Slice": _slice,
    "Squeeze": _squeeze,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
}
