"""A LoopTree as scopes: node lists with the tiles that move in each.

A scope's loops in time run around its body: an einsum's innermost steps, or branches
one after the other. A storage node belongs to the scope whose loops stand below it. One
with no loop between it and the split is filled by the branch that uses it, which is
when room is reserved for it.
"""

from __future__ import annotations

from dataclasses import dataclass

from elkhound.model.fusion.mapping import Loop, LoopTree, Node, Split, Store, computed
from elkhound.model.fusion.workload import FusionWorkload
from elkhound.model.graph import Access
from elkhound.simpy_chip.fused.tiles import Path, path_of


@dataclass(frozen=True, eq=False)
class Carrier:
    """What fills a storage node for one einsum, and writes its output back.

    Parameters
    ----------
    path, access
        The einsum and its tensor.
    above, holder : int
        Positions of the holder it comes from and of its own.
    position : int
        Where its own node sinks to, past loops in time that cut the tensor in parts.
    depth : int
        How many of its scope's loops replace its tile.
    """

    path: Path
    access: Access
    above: int
    holder: int
    position: int
    depth: int

    @property
    def is_output(self) -> bool:
        """Whether tiles are written back."""
        return self.access is self.path.einsum.output

    @property
    def name(self) -> str:
        """Tensor and memory."""
        return f"{self.access.tensor} in {self.path.memory(self.holder)}"


@dataclass(frozen=True, eq=False)
class Scope:
    """A node list to run.

    Parameters
    ----------
    loops : tuple of int
        Positions of the loops in time around its body.
    paths : tuple of Path
        Of the einsums in it.
    carriers : tuple of Carrier
        From outer to inner.
    branches : tuple of Scope
        The body; empty: the innermost steps of its only einsum.
    """

    loops: tuple[int, ...]
    paths: tuple[Path, ...]
    carriers: tuple[Carrier, ...]
    branches: tuple[Scope, ...]


Placed = tuple[int, Store]


def scope_of(workload: FusionWorkload, tree: LoopTree) -> Scope:
    """Return the scope of a whole tree without loops of one step."""
    paths = tuple(path_of(workload, nodes) for nodes in tree.paths)
    return _scope(paths, tree.nodes, 0, ())


def _scope(
    every: tuple[Path, ...],
    nodes: tuple[Node, ...],
    start: int,
    handed_down: tuple[Placed, ...],
) -> Scope:
    names, last = computed(nodes), nodes[-1]
    paths = tuple(path for path in every if path.einsum.name in names)
    loops = [start + i for i, node in enumerate(nodes) if isinstance(node, Loop)]
    below = loops[-1] if loops else -1
    stores = handed_down + tuple(
        (start + i, node) for i, node in enumerate(nodes) if isinstance(node, Store)
    )
    splits = isinstance(last, Split)
    own = tuple(s for s in stores if not splits or s[0] < below)
    in_time = [at for at in loops if _in_time(paths[0].nodes[at])]
    end = start + len(nodes) - 1
    carriers = tuple(
        carrier
        for at, store in own
        for path in paths
        if (carrier := _carrier(path, at, store, start, end, in_time)) is not None
    )
    if not splits:
        deepest = max((c.position for c in carriers), default=0)
        in_time = [at for at in in_time if at < deepest]
    passed = tuple(s for s in stores if splits and s not in own)
    branches = tuple(
        _scope(every, branch, end, passed)
        for branch in (last.branches if isinstance(last, Split) else ())
    )
    return Scope(tuple(in_time), paths, carriers, branches)


def _in_time(node: Node) -> bool:
    return isinstance(node, Loop) and node.over is None


def _carrier(
    path: Path, at: int, store: Store, start: int, end: int, in_time: list[int]
) -> Carrier | None:
    """Return what fills a node for an einsum, if it uses it and does not back it."""
    einsum = path.einsum
    if einsum.copy or store.tensor not in einsum.tensors:
        return None
    above = [holder for holder in path.holders(store.tensor) if holder < at]
    if not above:
        return None
    access = einsum.access(store.tensor)
    apart = {axis.terms[0][0] for axis in access.axes if axis.plain}
    position = at + 1
    while start <= at and position < end:
        node = path.nodes[position]
        if not (isinstance(node, Loop) and node.over is None):
            break
        if node.rank_of(einsum.name) not in apart:
            break
        position += 1
    depth = sum(loop < position for loop in in_time)
    return Carrier(path, access, above[-1], at, position, depth)
