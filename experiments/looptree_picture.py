"""A LoopTree as a picture in text, with the iterations and bits of every node."""

from __future__ import annotations

from collections.abc import Iterator

from elkhound.model.fusion import (
    ComputeNode,
    FusionWorkload,
    Loop,
    LoopTree,
    Node,
    Split,
    Store,
)
from elkhound.model.fusion.mapping import computed
from elkhound.model.fusion.occupancy import Reservation, reservations

Extents = dict[str, dict[str, int]]


def looptree_picture(workload: FusionWorkload, tree: LoopTree) -> str:
    """Return loops, storage and compute from outer to inner, branches side by side.

    Storage shows the bits it reserves in one unit of its memory. The mapping is legal.
    """
    extents = {e.name: {r: workload.size[r] for r in e.ranks} for e in workload.einsums}
    reserved = iter(reservations(workload, tree))
    return "\n".join(_lines(tree.nodes, extents, reserved)) + "\n"


def _lines(
    nodes: tuple[Node, ...], extents: Extents, reserved: Iterator[Reservation]
) -> Iterator[str]:
    names = computed(nodes)
    left = {name: dict(extents[name]) for name in names}
    for node in nodes:
        match node:
            case Store():
                bits = next(reserved).size_bits
                yield f"[ {node.memory}: {node.tensor} ]  {_bits(bits)}"
            case Loop():
                yield _loop(node, left[names[0]][node.rank_of(names[0])])
                for name in names:
                    left[name][node.rank_of(name)] = node.tile_size
            case ComputeNode():
                yield f"( {node.einsum} on {node.unit} )"
            case Split():
                last = len(node.branches) - 1
                for number, branch in enumerate(node.branches):
                    first, rest = ("└─ ", "   ") if number == last else ("├─ ", "│  ")
                    for i, line in enumerate(_lines(branch, left, reserved)):
                        yield (rest if i else first) + line


def _loop(loop: Loop, extent: int) -> str:
    count, ragged = divmod(extent, loop.tile_size)
    steps = f"{count} × {loop.tile_size}" + (f" + {ragged}" if ragged else "")
    where = f" over {loop.over}" if loop.over is not None else ""
    word = "spatial-for" if loop.over is not None else "for"
    return f"{word} {loop.rank} in {steps}{where}"


def _bits(count: int) -> str:
    for unit, size in (("GiB", 2**33), ("MiB", 2**23), ("KiB", 2**13)):
        if count >= size:
            return f"{count / size:.4g} {unit}"
    return f"{count} bit"
