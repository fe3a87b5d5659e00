"""Operators whose results are as long as the data says: planned at their longest."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from elkhound.model.dtype import DTYPES
from elkhound.model.graph import Pass
from elkhound.model.onnx_import.expand.expansion import Expansion
from elkhound.model.onnx_import.shapes.standard import normal_axis
from elkhound.model.onnx_import.source import Value
from elkhound.model.onnx_import.user_operators import OutputCost


def suppression(do: Expansion) -> None:
    """NonMaxSuppression: sort every class, compare each box taken with all others."""
    boxes, scores = do.name(0), do.name(1)
    batch, count, _ = do.shape(boxes)
    _, classes, scored = do.shape(scores)
    if scored != count:
        raise ValueError(f"{scored} scores for {count} boxes")
    limit = do.given(2)
    data = do.value(limit).data if limit else None
    most = count if data is None else int(data.reshape(-1)[0])
    taken = max(1, min(count, most))
    order = do.emit(
        "elkhound::ArgSort", [scores], "sorted", {"axis": -1}, dtype=DTYPES["int64"]
    )
    rows = batch * classes * taken
    _note(do, rows)
    index = DTYPES["int64"]
    ends = [do.constant(n, [v]) for n, v in (("from", 0), ("to", taken), ("axis", 2))]
    best = do.emit("Slice", [order, *ends], "best")
    shape = (batch, classes, taken)
    kept = do.fresh("kept")
    do.declare(kept, Value(index, shape))
    compared = OutputCost(
        shape,
        index.name,
        (Pass.REDUCE, Pass.REDUCE),  # intersection and union with every box
        equation="bck,bnf->bck",
    )
    attributes = {"costs": [compared]}
    do.emit("elkhound::User", [best, boxes], "kept", attributes, outputs=[kept])
    _written(do, 0, [kept], (rows, 3), index.name, (Pass.GATHER,))


def non_zero(do: Expansion) -> None:
    """NonZero: the indices of all elements, if none is zero."""
    source = do.name(0)
    shape = do.shape(source)
    _kept(do, [source], (max(1, len(shape)), math.prod(shape)), DTYPES["int64"].name)


def compress(do: Expansion) -> None:
    """Compress: all slices of the axis, or as many as a constant condition takes."""
    source, condition = do.name(0), do.value(do.name(1))
    shape = do.shape(source)
    axis = do.node.attributes.get("axis")
    if axis is None:
        shape, place = (math.prod(shape),), 0
    else:
        place = normal_axis(do.node.integer("axis", 0), len(shape))
    kept = shape[place]
    if condition.data is not None:
        kept = int(condition.data.astype(bool).sum())
    else:
        _note(do, kept)
    shape = (*shape[:place], kept, *shape[place + 1 :])
    _written(do, 0, [source], shape, do.value(source).dtype.name, (Pass.GATHER,))


def unique(do: Expansion) -> None:
    """Write every element, sorted; its indices, inverse and counts."""
    source = do.name(0)
    if do.node.attributes.get("axis") is not None:
        raise ValueError("distinct slices of an axis cannot be planned")
    count = math.prod(do.shape(source))
    flat = do.reshape(source, (count,), "flat")
    index = do.emit(
        "elkhound::ArgSort", [flat], "sorted", {"axis": 0}, dtype=DTYPES["int64"]
    )
    _note(do, count)
    element = do.value(source).dtype.name
    for place in range(4):
        if do.output(place):
            inputs = [index] if place else [flat, index]
            dtype = "int64" if place else element
            _written(do, place, inputs, (count,), dtype, (Pass.GATHER,))


def _kept(do: Expansion, inputs: list[str], shape: tuple[int, ...], dtype: str) -> None:
    _note(do, shape[-1])
    _written(do, 0, inputs, shape, dtype, (Pass.UNARY, Pass.GATHER))


def _written(
    do: Expansion,
    place: int,
    inputs: list[str],
    shape: tuple[int, ...],
    dtype: str,
    passes: tuple[Pass, ...],
) -> None:
    """Write one output, for which every input is read once."""
    do.declare(do.output(place), Value(DTYPES[dtype], shape))
    do.emit(
        "elkhound::User",
        inputs,
        f"output{place}" if place else "",
        {"costs": [OutputCost(shape, dtype, passes)]},
        outputs=[do.output(place)],
    )


def _note(do: Expansion, count: int) -> None:
    do.note(f"its data decides how much it keeps; planned with {count}, the most")


def region_align(do: Expansion) -> None:
    """RoiAlign: four neighbours of every sample, weighed and summed.

    Without a sampling ratio two samples on either axis of a bin.
    """
    image, rois = do.name(0), do.name(1)
    ratio = do.node.integer("sampling_ratio", 0) or 2
    height, width = (do.node.integer(f"output_{s}", 1) for s in ("height", "width"))
    shape = (do.shape(rois)[0], do.shape(image)[1], height, width)
    samples = ratio * ratio
    passes = (Pass.GATHER, Pass.ELEMENTWISE) * (4 * samples)
    _written(do, 0, [image, rois], shape, do.value(image).dtype.name, passes)


def transform(do: Expansion) -> None:
    """DFT: ⌈log₂ n⌉ sweeps of butterflies over real and imaginary parts.

    A butterfly is a product and a sum of complex numbers: ten operations for two
    outputs, five elementwise passes.
    """
    source = do.name(0)
    shape = list(do.shape(source))
    axis = normal_axis(do.node.integer("axis", 1), len(shape))
    if do.node.version >= 20:
        data = do.value(do.given(2)).data if do.given(2) else None
        if do.given(2) and data is None:
            raise ValueError("its axis is not a known constant")
        axis = normal_axis(-2 if data is None else int(data.reshape(-1)[0]), len(shape))
    length = shape[axis]
    if do.given(1):
        stated = do.value(do.given(1)).data
        if stated is None:
            raise ValueError("its length is not a known constant")
        length = int(stated.reshape(-1)[0])
    shape[axis] = length // 2 + 1 if do.node.integer("onesided", 0) else length
    shape[-1] = 2
    _transformed(do, [source], tuple(shape), length)


def short_transform(do: Expansion) -> None:
    """STFT: a DFT of every frame of the signal, behind a window."""
    signal, step = do.name(0), do.value(do.name(1)).data
    if step is None:
        raise ValueError("its frame step is not a known constant")
    batch, samples = do.shape(signal)[:2]
    window, stated = do.given(2), do.given(3)
    length = do.shape(window)[0] if window else 0
    if stated:
        data = do.value(stated).data
        if data is None:
            raise ValueError("its frame length is not a known constant")
        length = int(data.reshape(-1)[0])
    hop = int(step.reshape(-1)[0])
    if hop < 1 or not 1 <= length <= samples:
        raise ValueError(f"frames of {length} every {hop} of {samples} samples")
    frames = 1 + (samples - length) // hop
    bins = length // 2 + 1 if do.node.integer("onesided", 1) else length
    inputs = [signal, *([window] if window else [])]
    _transformed(do, inputs, (batch, frames, bins, 2), length)


def _transformed(
    do: Expansion, inputs: list[str], shape: tuple[int, ...], length: int
) -> None:
    sweeps = max(1, (length - 1).bit_length())
    passes = (Pass.ELEMENTWISE,) * (5 * sweeps)
    _written(do, 0, inputs, shape, do.value(inputs[0]).dtype.name, passes)


EXPANSIONS: Mapping[str, Callable[[Expansion], None]] = {
    "Compress": compress,
    "DFT": transform,
    "NonMaxSuppression": suppression,
    "NonZero": non_zero,
    "RoiAlign": region_align,
    "STFT": short_transform,
    "Unique": unique,
}
