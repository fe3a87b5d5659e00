"""What a mapping holds at once, by the reservation tree of the paper (§5.1).

Storage right above a split moves into the branches in which it is live; then a branch
needs the sum of what it reserves, and a split the most that one of its branches needs.
"""

from __future__ import annotations

from dataclasses import dataclass

from elkhound.model.fusion.accelerator import Accelerator
from elkhound.model.fusion.mapping import Loop, LoopTree, Node, Split, Store, computed
from elkhound.model.fusion.physics import REFERENCE, Physics
from elkhound.model.fusion.workload import FusionWorkload

Extents = dict[str, dict[str, int]]


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A tile above a split, with the steps of its first and last user."""

    bits: int
    first: int
    last: int


def peak_bits(
    accelerator: Accelerator,
    workload: FusionWorkload,
    tree: LoopTree,
    physics: Physics = REFERENCE,
) -> dict[str, int]:
    """Return the most bits at once in one unit of every memory."""
    extents = {e.name: {r: workload.size[r] for r in e.ranks} for e in workload.einsums}
    return {
        memory.name: _Need(workload, tree, memory.name, physics).of(
            tree.nodes, extents, (), ()
        )
        for memory in accelerator.memories
    }


class _Need:
    """The recursion over the tree for one memory."""

    def __init__(
        self, workload: FusionWorkload, tree: LoopTree, memory: str, physics: Physics
    ) -> None:
        self.double_buffer = physics.double_buffer
        self.workload = workload
        self.memory = memory
        self.step = {name: i for i, name in enumerate(computed(tree.nodes))}

    def of(
        self,
        nodes: tuple[Node, ...],
        extents: Extents,
        waiting: tuple[_Waiting, ...],
        stored_above: tuple[str, ...],
    ) -> int:
        """Return what a node list needs, with the tiles that wait above it."""
        names = computed(nodes)
        first, last = self.step[names[0]], self.step[names[-1]]
        live = [w for w in waiting if w.first <= last and first <= w.last]
        extents = {name: dict(extents[name]) for name in names}
        stored = list(stored_above)
        falling: Store | None = None  # sinks through loops that index its tensor
        held = 0
        for node in nodes:
            if isinstance(node, Loop):
                if not _iterates(node, extents):
                    continue
                if falling is None or not self._sinks(falling, node, names, stored):
                    live += self._landed(falling, names, extents, stored)
                    falling = None
                held += sum(tile.bits for tile in live)
                live = []
                for name in names:
                    extents[name][node.rank_of(name)] = node.tile_size
                continue
            live += self._landed(falling, names, extents, stored)
            falling = None
            if isinstance(node, Store):
                falling = node
                stored.append(node.tensor)
            elif isinstance(node, Split):
                held += max(
                    self.of(branch, extents, tuple(live), tuple(stored))
                    for branch in node.branches
                )
                live = []
        return held + sum(tile.bits for tile in live)

    def _users(self, tensor: str, names: tuple[str, ...]) -> list[str]:
        return [n for n in names if tensor in self.workload.einsum(n).tensors]

    def _sinks(
        self, store: Store, loop: Loop, names: tuple[str, ...], stored: list[str]
    ) -> bool:
        """Whether a tile may as well be held inside the loop.

        Not a backing store's, and only if the loop cuts an axis on its own.
        """
        user = self._users(store.tensor, names)[0]
        access = self.workload.einsum(user).access(store.tensor)
        cut = ((loop.rank_of(user), 1),)
        return stored.count(store.tensor) > 1 and cut in [a.terms for a in access.axes]

    def _landed(
        self,
        store: Store | None,
        names: tuple[str, ...],
        extents: Extents,
        stored: list[str],
    ) -> list[_Waiting]:
        """Return the tile of a store of this memory, which waits for its branches."""
        if store is None or store.memory != self.memory:
            return []
        users = self._users(store.tensor, names)
        access = self.workload.einsum(users[0]).access(store.tensor)
        size = access.elements(extents[users[0]])
        size *= dict(self.workload.bits)[store.tensor]
        whole = self.workload.size
        if self.double_buffer and any(
            extent < whole[rank] for rank, extent in extents[users[0]].items()
        ):
            size *= 2  # loops above replace it
        backing = stored.count(store.tensor) == 1
        if backing and store.tensor in self.workload.persistent:
            users = list(names)
        steps = [self.step[user] for user in users]
        return [_Waiting(size, min(steps), max(steps))]


def _iterates(loop: Loop, extents: Extents) -> bool:
    return any(loop.tile_size < e[loop.rank_of(n)] for n, e in extents.items())
