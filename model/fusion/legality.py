"""Whether a LoopTree maps a workload onto an accelerator, and if not, why not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NoReturn

from elkhound.model.errors import BadInputError, nearest
from elkhound.model.fusion.accelerator import Accelerator
from elkhound.model.fusion.mapping import (
    ComputeNode,
    Loop,
    LoopTree,
    Node,
    Split,
    Store,
    computed,
)
from elkhound.model.fusion.workload import FusionEinsum, FusionWorkload

Place = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Path:
    """One einsum's way through the tree, every node with its place in it."""

    einsum: FusionEinsum
    unit: str
    nodes: tuple[tuple[Place, Store | Loop], ...]

    @property
    def loops(self) -> tuple[Loop, ...]:
        return tuple(node for _, node in self.nodes if isinstance(node, Loop))

    def stores(self, tensor: str) -> tuple[tuple[Place, Store], ...]:
        return tuple(
            (place, node)
            for place, node in self.nodes
            if isinstance(node, Store) and node.tensor == tensor
        )


def require_legal(
    accelerator: Accelerator, workload: FusionWorkload, tree: LoopTree
) -> None:
    """Refuse a mapping that is none of this workload on this accelerator.

    Capacity is not looked at: it is part of the cost.

    Raises
    ------
    BadInputError
        Names node, einsum or tensor, and what would be legal.
    """
    check = _Check(accelerator, workload, tree)
    check.names()
    for path in check.paths():
        check.unit(path)
        check.loops(path)
        check.fan_outs(path)
        for tensor in path.einsum.tensors:
            check.holders(path, tensor)
    check.shared_loops(tree.nodes, {e.name: workload.size for e in workload.einsums})
    for tensor in workload.tensors:
        if tensor in workload.intermediates:
            check.handed_over(tensor)


class _Check:
    """The rules, a method each."""

    def __init__(
        self, accelerator: Accelerator, workload: FusionWorkload, tree: LoopTree
    ) -> None:
        self.accelerator = accelerator
        self.workload = workload
        self.tree = tree

    def refuse(self, message: str, hint: str = "") -> NoReturn:
        raise BadInputError(
            message, code="bad-mapping", where=self.tree.name, hint=hint
        )

    def known(self, what: str, name: str, legal: list[str]) -> None:
        if name not in legal:
            hint = nearest(name, legal) if legal else "there is none"
            self.refuse(f"unknown {what} {name}", hint)

    def names(self) -> None:
        """Refuse unknown names, einsums not run once or before their producers."""
        memories = [memory.name for memory in self.accelerator.memories]
        units = [unit.name for unit in self.accelerator.compute]
        einsums = [einsum.name for einsum in self.workload.einsums]
        for node in _all_nodes(self.tree.nodes):
            if isinstance(node, Store):
                self.known("memory", node.memory, memories)
                self.known("tensor", node.tensor, list(self.workload.tensors))
            elif isinstance(node, ComputeNode):
                self.known("einsum", node.einsum, einsums)
                self.known("compute unit", node.unit, units)
            elif isinstance(node, Loop) and node.over is not None:
                labels = [fan_out.label for fan_out, _ in self.accelerator.fan_outs]
                self.known("fan-out", node.over, labels)
        running = computed(self.tree.nodes)
        for einsum in self.workload.einsums:
            if running.count(einsum.name) != 1:
                self.refuse(
                    f"einsum {einsum.name} is computed {running.count(einsum.name)} "
                    "times, must be once"
                )
        for einsum in self.workload.einsums:
            for user in self.workload.users(einsum.output.tensor):
                if running.index(user) < running.index(einsum.name):
                    self.refuse(
                        f"einsum {user} runs before {einsum.name}, its producer"
                    )

    def paths(self) -> tuple[_Path, ...]:
        return tuple(_paths(self.workload, self.tree.nodes))

    def unit(self, path: _Path) -> None:
        """Refuse an einsum on a unit made for another number of tensors."""
        tensors = self.accelerator.unit(path.unit).tensors
        count = len(path.einsum.tensors)
        if tensors not in (None, count):
            self.refuse(
                f"einsum {path.einsum.name} has {count} tensors, {path.unit} computes "
                f"einsums of {tensors}"
            )

    def loops(self, path: _Path) -> None:
        """Refuse loops over foreign ranks, growing tiles, and a last tile above 1."""
        name = path.einsum.name
        extent = {rank: self.workload.size[rank] for rank in path.einsum.ranks}
        for loop in path.loops:
            rank = loop.rank_of(name)
            if rank not in extent:
                self.refuse(
                    f"loop over {rank} stands above einsum {name}, which has no such "
                    f"rank variable and would be computed again in every iteration"
                )
            if loop.tile_size > extent[rank]:
                self.refuse(
                    f"loop over {rank} above einsum {name}: tile is {loop.tile_size}, "
                    f"the one above leaves {extent[rank]}"
                )
            extent[rank] = loop.tile_size
        for rank, left in extent.items():
            if left > 1 and not path.einsum.copy:
                self.refuse(
                    f"einsum {name}: its innermost tile of {rank} is {left}, must be 1"
                )

    def fan_outs(self, path: _Path) -> None:
        """Refuse spatial loops beyond the units, or above storage outside of them."""
        used: dict[str, int] = {}
        extent = dict(self.workload.size)
        level_of = {f.label: level for f, level in self.accelerator.fan_outs}
        own = {f.label for f in self.accelerator.unit(path.unit).fan_outs}
        deepest = self.accelerator.level_above(path.unit)
        entered = 0
        for _, node in path.nodes:
            if isinstance(node, Store):
                self._inside(path, node, entered, deepest)
                continue
            rank = node.rank_of(path.einsum.name)
            if node.over is not None:
                if level_of[node.over] > deepest and node.over not in own:
                    self.refuse(f"{path.unit} does not stand under {node.over}")
                entered = max(entered, level_of[node.over])
                iterations = -(-extent[rank] // node.tile_size)
                used[node.over] = used.get(node.over, 1) * iterations
            extent[rank] = node.tile_size
        for label, count in used.items():
            size = self.accelerator.fan_out(label).size
            if count > size:
                self.refuse(
                    f"einsum {path.einsum.name} uses {count} units of {label}, "
                    f"there are {size}"
                )

    def _inside(self, path: _Path, store: Store, entered: int, deepest: int) -> None:
        level = self.accelerator.level(store.memory)
        if level < entered:
            self.refuse(
                f"[{store.memory}] stores {store.tensor} stands under a spatial loop "
                f"over units inside it"
            )
        if level > deepest and store.tensor in path.einsum.tensors:
            self.refuse(f"{path.unit} of {path.einsum.name} cannot read {store.memory}")

    def holders(self, path: _Path, tensor: str) -> None:
        """Refuse a tensor that does not go through ever deeper memories."""
        name = path.einsum.name
        stores = [store for _, store in path.stores(tensor)]
        if not stores:
            self.refuse(f"einsum {name}: no memory above it stores {tensor}")
        if not self.accelerator.memory(stores[0].memory).backing:
            self.refuse(
                f"einsum {name}: the first memory to hold {tensor} is "
                f"{stores[0].memory}, which is no backing store"
            )
        levels = [self.accelerator.level(store.memory) for store in stores]
        for outer, inner in pairwise(levels):
            if inner <= outer:
                memories = self.accelerator.memories
                self.refuse(
                    f"einsum {name}: {tensor} goes from {memories[outer].name} to "
                    f"{memories[inner].name}, which is not deeper"
                )

    def shared_loops(
        self, nodes: tuple[Node, ...], sizes: dict[str, dict[str, int]]
    ) -> None:
        """Refuse loops that einsums do not step through alike, and unused storage."""
        names = computed(nodes)
        left = {name: dict(sizes[name]) for name in names}
        users = {t for name in names for t in self.workload.einsum(name).tensors}
        for node in nodes:
            if isinstance(node, Store) and node.tensor not in users:
                self.refuse(
                    f"[{node.memory}] stores {node.tensor}: no einsum under it uses it"
                )
            if isinstance(node, Loop):
                extents = {left[name][node.rank_of(name)] for name in names}
                if len(extents) > 1:
                    self.refuse(
                        f"loop over {node.rank}: the einsums under it have different "
                        f"extents left, {sorted(extents)}"
                    )
                for name in names:
                    left[name][node.rank_of(name)] = node.tile_size
            if isinstance(node, Split):
                for branch in node.branches:
                    self.shared_loops(branch, left)

    def handed_over(self, tensor: str) -> None:
        """Refuse a backing store not shared, or under loops that do not index T."""
        users = self.workload.users(tensor)
        paths = [path for path in self.paths() if path.einsum.name in users]
        backing = {path.stores(tensor)[0][0] for path in paths}
        if len(backing) > 1:
            self.refuse(
                f"tensor {tensor}: {users[0]} and its consumers do not share one "
                "storage node that is its first"
            )
        (place,) = backing
        for path in paths:
            access = path.einsum.access(tensor)
            for at, node in path.nodes:
                if at == place:
                    break
                if isinstance(node, Loop):
                    rank = node.rank_of(path.einsum.name)
                    if rank not in access.dimensions:
                        self.refuse(
                            f"loop over {rank} stands above the backing store of "
                            f"{tensor}, which it does not index in {path.einsum.name}"
                        )
                    if not any(a.plain and a.terms[0][0] == rank for a in access.axes):
                        self.refuse(
                            f"loop over {rank} stands above the backing store of "
                            f"{tensor}, whose tiles overlap along it in "
                            f"{path.einsum.name}: parts would be needed before they "
                            "are there"
                        )


def _all_nodes(nodes: tuple[Node, ...]) -> Iterator[Node]:
    for node in nodes:
        yield node
        if isinstance(node, Split):
            for branch in node.branches:
                yield from _all_nodes(branch)


def _paths(
    workload: FusionWorkload,
    nodes: tuple[Node, ...],
    place: Place = (),
    above: tuple[tuple[Place, Store | Loop], ...] = (),
) -> Iterator[_Path]:
    here = above
    for index, node in enumerate(nodes):
        if isinstance(node, Store | Loop):
            here = (*here, ((*place, index), node))
        elif isinstance(node, ComputeNode):
            yield _Path(workload.einsum(node.einsum), node.unit, here)
        else:
            for number, branch in enumerate(node.branches):
                yield from _paths(workload, branch, (*place, index, number), here)
