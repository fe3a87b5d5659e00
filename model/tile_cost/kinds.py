"""What a core is asked to do with a tile: kinds of tiles, and their dimensions."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from elkhound.model.graph import Access, Einsum, Pass
from elkhound.model.tile_cost.tile import Integers, Tile, touched, volume


class TileKind(StrEnum):
    """A kind of work whose cycles are predicted from its dimensions alone."""

    MATMUL = "matmul"
    ELEMENTWISE = "elementwise"
    UNARY = "unary"
    REDUCE = "reduce"
    SLICE = "slice"
    GATHER = "gather"


DIMENSIONS: Mapping[TileKind, tuple[str, ...]] = {
    TileKind.MATMUL: ("b", "m", "n", "k"),
    TileKind.ELEMENTWISE: ("elements",),
    TileKind.UNARY: ("elements",),
    TileKind.REDUCE: ("elements",),
    TileKind.SLICE: ("elements",),
    TileKind.GATHER: ("elements", "indices"),
}
"""Dimensions of a kind: b products of m×k by k×n; output elements (of a reduce, input
elements); of a gather, all elements gathered and the indices that name them."""

Dimensions = tuple[Integers, ...]
"""One array per dimension of a kind; entry i of every array belongs to tile i."""


def work_of(sweep: Pass, einsum: Einsum, tile: Tile) -> tuple[TileKind, Dimensions]:
    """Return the kind of work of a pass, and its dimensions for every tile."""
    if sweep is Pass.MATMUL:
        names = matmul_dimensions(einsum)
        return TileKind.MATMUL, tuple(volume(tile, own) for own in names)
    if sweep is Pass.REDUCE:
        return TileKind.REDUCE, (volume(tile, tile),)
    if sweep is Pass.DECODE:
        return TileKind.UNARY, (touched(einsum.inputs[1], tile),)
    if sweep is Pass.ROW_UNARY:
        return TileKind.UNARY, (volume(tile, row_names(einsum)),)
    output = touched(einsum.output, tile)
    if sweep is Pass.GATHER:
        return TileKind.GATHER, (output, volume(tile, index_names(einsum)))
    return TileKind(sweep), (output,)


def matmul_dimensions(
    einsum: Einsum,
) -> tuple[list[str], list[str], list[str], list[str]]:
    """Return the dimensions that play b, m, n and k in a matmul pass.

    By the first two inputs: b indexes both and the output, n the second and the
    output, every reduced dimension is k, the rest is m. So a convolution's kernel and
    input channels are k, its output channels n, batch and output positions m, and a
    group is b.
    """
    first, second = _matmul_operands(einsum)
    left, right = first.dimensions, second.dimensions
    b, m, n, k = [], [], [], []
    for dimension in einsum.dimensions:
        name = dimension.name
        if name not in einsum.output.dimensions:
            k.append(name)
        elif name in left and name in right:
            b.append(name)
        elif name in right:
            n.append(name)
        else:
            m.append(name)
    return b, m, n, k


def row_names(einsum: Einsum) -> list[str]:
    """Return the dimensions that number the rows of a softmax or norm."""
    return [
        d.name
        for d in einsum.dimensions
        if d.name in einsum.output.dimensions and d.name not in einsum.row_dimensions
    ]


def index_names(einsum: Einsum) -> list[str]:
    """Return the dimensions that number the indices of a gather.

    Those of the indices where they are an input (the input with the fewest
    dimensions), else those of the first axis of the data.
    """
    if len(einsum.inputs) > 1:
        indices = min(einsum.inputs, key=lambda access: len(access.dimensions))
        names = indices.dimensions
    elif einsum.inputs and einsum.inputs[0].axes:
        names = frozenset(name for name, _ in einsum.inputs[0].axes[0].terms)
    else:
        names = frozenset()
    return [d.name for d in einsum.dimensions if d.name in names]


def _matmul_operands(einsum: Einsum) -> tuple[Access, Access]:
    if not einsum.inputs:
        raise ValueError("a matmul pass needs an input")
    return einsum.inputs[0], einsum.inputs[min(1, len(einsum.inputs) - 1)]
