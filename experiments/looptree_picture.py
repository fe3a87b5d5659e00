"""A LoopTree with the iterations and bits of every node, as labels and as a picture."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

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
from elkhound.model.fusion.physics import REFERENCE, Physics

Extents = dict[str, dict[str, int]]


@dataclass(frozen=True, slots=True)
class Labelled:
    """A node and what to write on it.

    Parameters
    ----------
    kind : str
        ``store``, ``for``, ``spatial-for``, ``compute`` or ``split``.
    text : str
        The label; empty for a split.
    bits : int or None
        Reserved by a storage node in one unit of its memory.
    memory : str or None
        Of a storage node.
    branches : tuple of tuple of Labelled
        Of a split.
    """

    kind: str
    text: str = ""
    bits: int | None = None
    memory: str | None = None
    branches: tuple[tuple[Labelled, ...], ...] = ()


def labelled(
    workload: FusionWorkload, tree: LoopTree, physics: Physics = REFERENCE
) -> tuple[Labelled, ...]:
    """Return the nodes of a legal mapping with their labels, from outer to inner."""
    extents = {e.name: {r: workload.size[r] for r in e.ranks} for e in workload.einsums}
    reserved = iter(reservations(workload, tree, physics))
    return tuple(_labels(tree.nodes, extents, reserved))


def looptree_picture(
    workload: FusionWorkload, tree: LoopTree, physics: Physics = REFERENCE
) -> str:
    """Return loops, storage and compute as text, branches one under the other."""
    return "\n".join(_lines(labelled(workload, tree, physics))) + "\n"


def _labels(
    nodes: tuple[Node, ...], extents: Extents, reserved: Iterator[Reservation]
) -> Iterator[Labelled]:
    names = computed(nodes)
    left = {name: dict(extents[name]) for name in names}
    for node in nodes:
        match node:
            case Store():
                text = f"{node.memory}: {node.tensor}"
                yield Labelled("store", text, next(reserved).size_bits, node.memory)
            case Loop():
                kind = "for" if node.over is None else "spatial-for"
                extent = left[names[0]][node.rank_of(names[0])]
                yield Labelled(kind, _loop(node, extent))
                for name in names:
                    left[name][node.rank_of(name)] = node.tile_size
            case ComputeNode():
                yield Labelled("compute", f"{node.einsum} on {node.unit}")
            case Split():
                branches = (tuple(_labels(b, left, reserved)) for b in node.branches)
                yield Labelled("split", branches=tuple(branches))


def _lines(items: tuple[Labelled, ...]) -> Iterator[str]:
    for item in items:
        if item.bits is not None:
            yield f"[ {item.text} ]  {bits_text(item.bits)}"
        elif item.kind == "compute":
            yield f"( {item.text} )"
        elif not item.branches:
            yield f"{item.kind} {item.text}"
        for number, branch in enumerate(item.branches):
            is_last = number == len(item.branches) - 1
            first, rest = ("└─ ", "   ") if is_last else ("├─ ", "│  ")
            for i, line in enumerate(_lines(branch)):
                yield (rest if i else first) + line


def _loop(loop: Loop, extent: int) -> str:
    count, ragged = divmod(extent, loop.tile_size)
    steps = f"{count} × {loop.tile_size}" + (f" + {ragged}" if ragged else "")
    where = f" over {loop.over}" if loop.over is not None else ""
    return f"{loop.rank} in {steps}{where}"


def bits_text(count: int) -> str:
    """Return bits in the largest unit that they fill."""
    for unit, size in (("GiB", 2**33), ("MiB", 2**23), ("KiB", 2**13)):
        if count >= size:
            return f"{count / size:.4g} {unit}"
    return f"{count} bit"
