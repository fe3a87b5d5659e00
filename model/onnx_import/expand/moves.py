"""Operators that select, sort and scatter, as plain steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from elkhound.model.dtype import DTYPES
from elkhound.model.onnx_import.expand.expansion import Expansion
from elkhound.model.onnx_import.labels import labels_of, pairwise
from elkhound.model.onnx_import.shapes.standard import normal_axis


def top_k(do: Expansion) -> None:
    """Sort the indices of every row, keep the first k, fetch the values."""
    source = do.name(0)
    shape = do.shape(source)
    axis = normal_axis(do.node.integer("axis", -1), len(shape))
    count = do.node.integer("k", 0)
    if len(do.inputs) > 1:
        data = do.value(do.name(1)).data
        if data is None:
            raise ValueError("k is not a known constant")
        count = int(data.reshape(-1)[0])
    if not 1 <= count <= shape[axis]:
        raise ValueError(f"k is {count}, must be from 1 to {shape[axis]}")
    attributes = {"axis": axis}
    kept = count < shape[axis]
    index_output = [do.output(1)] if do.output(1) else []
    index = do.emit(
        "elkhound::ArgSort",
        [source],
        "sorted",
        attributes,
        outputs=() if kept else index_output,
        dtype=DTYPES["int64"],
    )
    if kept:
        bounds = [do.constant(n, [v]) for n, v in (("from", 0), ("to", count))]
        axes = do.constant("axes", [axis])
        index = do.emit("Slice", [index, *bounds, axes], "kept", outputs=index_output)
    if do.output(0):
        do.emit(
            "GatherElements", [source, index], "", attributes, outputs=[do.output(0)]
        )


def einsum(do: Expansion) -> None:
    """Einsum of two operands at a time, from the left."""
    names = list(do.node.inputs)
    ranks = [len(do.shape(name)) for name in names]
    operands, result = labels_of(do.node.text("equation", ""), ranks)
    steps = pairwise(operands, result)
    for number, (left, right, out) in enumerate(steps):
        last = number == len(steps) - 1
        inputs = names[:2] if right is not None else names[:1]
        attributes = {"left": left, "right": right or "", "out": out}
        made = do.emit(
            "elkhound::Einsum",
            inputs,
            "" if last else f"step{number}",
            attributes,
            outputs=[do.output(0)] if last else (),
        )
        names = [made, *names[2:]]


EXPANSIONS: Mapping[str, Callable[[Expansion], None]] = {
    "Einsum": einsum,
    "TopK": top_k,
}
