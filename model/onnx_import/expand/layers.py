"""Fused layers of com.microsoft, losses, norms: the plain operators behind them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from elkhound.model.onnx_import.expand.expansion import Expansion
from elkhound.model.onnx_import.shapes.moves import (
    conv_transpose as conv_transpose_shape,
)
from elkhound.model.onnx_import.source import Value


def skip_norm(do: Expansion) -> None:
    """Norm of input + skip (+ bias); the sum is an output of its own."""
    simplified = "Simplified" in do.node.op
    source, skip = do.name(0), do.name(1)
    bias = do.given(3) if simplified else do.given(4)
    if bias:
        source = do.emit("Add", [source, bias], "biased")
    total = do.emit("Add", [source, skip], "sum", outputs=_named(do.output(3)))
    _norm(do, total, do.name(2), "" if simplified else do.given(3))


def embed_norm(do: Expansion) -> None:
    """Norm of word + position (+ segment) embedding."""
    ids, segments, words, positions = do.name(0), do.given(1), do.name(2), do.name(3)
    total = do.emit("Gather", [words, ids], "word")
    batch, tokens = do.shape(ids)
    places = do.given(8) or do.constant("places", [list(range(tokens))] * batch)
    where = do.emit("Gather", [positions, places], "position")
    last = _named(do.output(2))
    table = do.given(4)
    total = do.emit("Add", [total, where], "sum", outputs=() if table else last)
    if table:
        if not segments:
            raise ValueError("a segment table without segment ids")
        segment = do.emit("Gather", [table, segments], "segment")
        total = do.emit("Add", [total, segment], "segment_sum", outputs=last)
    if do.output(1):
        mask = do.given(7)
        if mask:
            axis = do.constant("mask_axis", [1])
            do.emit(
                "ReduceSum",
                [mask, axis],
                "mask_index",
                {"keepdims": 0},
                outputs=[do.output(1)],
            )
        else:
            zeros = do.constant("no_mask", [0] * batch, "int32")
            do.emit("Identity", [zeros], "mask_index", outputs=[do.output(1)])
    _norm(do, total, do.name(5), do.name(6))


def _norm(do: Expansion, source: str, scale: str, bias: str) -> None:
    op = "RMSNormalization" if "Simplified" in do.node.op else "LayerNormalization"
    inputs = [name for name in (source, scale, bias) if name]
    do.emit(op, inputs, "", {"axis": -1}, outputs=[do.output(0)], version=23)


def biased_gelu(do: Expansion) -> None:
    """GELU of x + bias; FastGelu may come without."""
    source, bias = do.name(0), do.given(1)
    if bias:
        source = do.emit("Add", [source, bias], "biased")
    do.emit("Gelu", [source], "", outputs=[do.output(0)])


def negative_log_likelihood(do: Expansion) -> None:
    """Pick each target's log probability, weigh it, and reduce."""
    _pick_and_reduce(do, do.name(0), do.name(1), do.given(2))


def cross_entropy(do: Expansion) -> None:
    """LogSoftmax over the classes, then the negative log likelihood."""
    log = do.emit(
        "LogSoftmax",
        [do.name(0)],
        "log",
        {"axis": 1},
        outputs=_named(do.output(1)),
        version=13,
    )
    _pick_and_reduce(do, log, do.name(1), do.given(2))


def _pick_and_reduce(do: Expansion, log: str, target: str, weights: str) -> None:
    reduction = do.node.text("reduction", "mean")
    axis = do.constant("class_axis", [1])
    index = do.emit("Unsqueeze", [target, axis], "index")
    picked = do.emit("GatherElements", [log, index], "picked", {"axis": 1})
    flat = do.emit("Squeeze", [picked, axis], "flat")
    last = _named(do.output(0)) if reduction == "none" and not weights else ()
    loss = do.emit("Neg", [flat], "negative", outputs=last)
    if weights:
        weight = do.emit("Gather", [weights, target], "weight")
        last = _named(do.output(0)) if reduction == "none" else ()
        loss = do.emit("Mul", [loss, weight], "weighted", outputs=last)
    if reduction != "none":
        op = "ReduceSum" if reduction == "sum" else "ReduceMean"
        do.emit(op, [loss], "", {"keepdims": 0}, outputs=[do.output(0)])


def group_norm(do: Expansion) -> None:
    """InstanceNormalization and GroupNormalization: rows of (channels, positions)."""
    source = do.name(0)
    shape = do.shape(source)
    instance = do.node.op == "InstanceNormalization"
    groups = shape[1] if instance else do.node.integer("num_groups", 1)
    if shape[1] % groups:
        raise ValueError(f"{shape[1]} channels in {groups} groups")
    for what, vector in (("scale", do.given(1)), ("bias", do.given(2))):
        if vector and do.shape(vector) not in ((shape[1],), (groups,)):
            raise ValueError(
                f"{what} {list(do.shape(vector))} for {shape[1]} channels in "
                f"{groups} groups"
            )
    do.emit(
        "elkhound::GroupNorm",
        [name for name in (source, do.given(1), do.given(2)) if name],
        "",
        {"groups": groups},
        outputs=[do.output(0)],
    )


def mean_variance(do: Expansion) -> None:
    """MeanVarianceNormalization: statistics over `axes`, no weights."""
    axes = do.node.integers("axes") or (0, 2, 3)
    _rows(do, list(axes), "layer")


def lp_norm(do: Expansion) -> None:
    """LpNormalization: x over the norm of its row."""
    _rows(do, [do.node.integer("axis", -1)], "rms")


def _rows(do: Expansion, axes: list[int], passes: str) -> None:
    attributes = {"axes": axes, "passes": passes}
    do.emit("elkhound::RowNorm", [do.name(0)], "", attributes, outputs=[do.output(0)])


def quick_gelu(do: Expansion) -> None:
    """X · sigmoid(α x): SiLU, at its cost."""
    do.emit("Swish", [do.name(0)], "", outputs=[do.output(0)])


def cast_like(do: Expansion) -> None:
    """CastLike: Cast to the type of the second input."""
    dtype = do.value(do.name(1)).dtype
    do.emit("Cast", [do.name(0)], "", outputs=[do.output(0)], dtype=dtype)


def space_to_depth(do: Expansion) -> None:
    """SpaceToDepth and DepthToSpace: (n, c, h, w) with blocks moved, a copy."""
    n, c, h, w = do.shape(do.name(0))
    block = do.node.integer("blocksize", 1)
    if do.node.op == "SpaceToDepth":
        target = (n, c * block * block, h // block, w // block)
    else:
        target = (n, c // (block * block), h * block, w * block)
    if math.prod(target) != n * c * h * w:
        raise ValueError(f"blocks of {block} do not divide {[n, c, h, w]}")
    dtype = do.value(do.name(0)).dtype
    do.emit(
        "elkhound::Copy",
        [do.name(0)],
        "",
        {"shape": list(target)},
        outputs=[do.output(0)],
        dtype=dtype,
    )


def conv_transpose(do: Expansion) -> None:
    """ConvTranspose: a product, then the sum of what overlaps.

    The product gives every input position its kernel's worth of outputs; without
    overlap that is all.
    """
    image, kernel, bias = do.name(0), do.name(1), do.given(2)
    extents, taps = do.shape(image)[2:], do.shape(kernel)[2:]
    group = do.node.integer("group", 1)
    strides = do.node.integers("strides") or (1,) * len(taps)
    shape = conv_transpose_shape(do.node, do.inputs)[0]
    apart = all(o == e * t for o, e, t in zip(shape[2:], extents, taps, strict=True))
    if apart and strides == taps:
        inputs = [image, kernel, *([bias] if bias else [])]
        attributes = {"group": group, "apart": 1}
        do.declare(do.output(0), Value(do.value(image).dtype, shape))
        do.emit("elkhound::Columns", inputs, "", attributes, outputs=[do.output(0)])
        return
    columns = do.fresh("columns")
    do.declare(columns, Value(do.value(image).dtype, (*shape[:2], *extents, *taps)))
    do.emit(
        "elkhound::Columns",
        [image, kernel],
        "columns",
        {"group": group, "apart": 0},
        outputs=[columns],
    )
    overlaps = math.prod(-(-t // s) for t, s in zip(taps, strides, strict=True))
    do.declare(do.output(0), Value(do.value(image).dtype, shape))
    inputs = [columns, *([bias] if bias else [])]
    do.emit(
        "elkhound::Fold", inputs, "", {"overlaps": overlaps}, outputs=[do.output(0)]
    )


def _named(name: str) -> list[str]:
    return [name] if name else []


EXPANSIONS: Mapping[str, Callable[[Expansion], None]] = {
    "CastLike": cast_like,
    "ConvTranspose": conv_transpose,
    "DepthToSpace": space_to_depth,
    "GroupNormalization": group_norm,
    "InstanceNormalization": group_norm,
    "LpNormalization": lp_norm,
    "MeanVarianceNormalization": mean_variance,
    "NegativeLogLikelihoodLoss": negative_log_likelihood,
    "SoftmaxCrossEntropyLoss": cross_entropy,
    "SpaceToDepth": space_to_depth,
    "com.microsoft::BiasGelu": biased_gelu,
    "com.microsoft::EmbedLayerNormalization": embed_norm,
    "com.microsoft::FastGelu": biased_gelu,
    "com.microsoft::Gelu": biased_gelu,
    "com.microsoft::QuickGelu": quick_gelu,
    "com.microsoft::SkipLayerNormalization": skip_norm,
    "com.microsoft::SkipSimplifiedLayerNormalization": skip_norm,
}
