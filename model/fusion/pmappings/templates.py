"""Templates: which memories hold which tensors in which order, loops where they may be.

A template is a list of storage nodes, main memory's first, with a block of loops after
main memory and after every other node. Block i follows node i; node 0 is main memory.
A block with a shared tensor's backing store below it is *fused*. Temporal loops stand
in a block unless

(a) the block is fused and the rank does not index every shared tensor whose backing
    store, outside main memory, is below;
(b) the node above is no backing store and the rank indexes it: it would sink (with
    `Mapspace.ordered_loops`, in a fused block, only if the loop comes first);
(c) the block is not fused, a node follows, and the rank neither indexes that node nor
    indexes the one above through overlapping tiles: the node would better be raised.

Spatial loops stand last in the block that enters their level.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, permutations, product

from elkhound.model.fusion.accelerator import Accelerator, Compute, FanOut
from elkhound.model.fusion.mapspace import Mapspace
from elkhound.model.fusion.pmappings.shape import EinsumShape

MAIN = 0


@dataclass(frozen=True, slots=True)
class Slot:
    """A place for one loop per rank: in time, or over a fan-out.

    Parameters
    ----------
    block : int
        The block it stands in.
    fan_out : FanOut or None
        None: in time.
    """

    block: int
    fan_out: FanOut | None


@dataclass(frozen=True)
class Template:
    """One arrangement of storage nodes, and where each rank may have loops.

    Parameters
    ----------
    unit : str
        The compute unit.
    in_main : tuple of int
        Tensors in main memory.
    nodes : tuple of (int, int)
        (level, tensor) of the other storage nodes; node i is entry i − 1.
    slots : tuple of Slot
        From outer to inner.
    allowed : tuple of tuple of int
        For every rank, the slots it may use.
    fused_blocks : int
        Blocks above the last shared backing store outside main memory.
    sinkable, sunk : frozenset of int
        Nodes that sink through the spatial loops of their block if it has no others,
        and those of them for which the template says that it has none.
    """

    unit: str
    in_main: tuple[int, ...]
    nodes: tuple[tuple[int, int], ...]
    slots: tuple[Slot, ...]
    allowed: tuple[tuple[int, ...], ...]
    fused_blocks: int
    sinkable: frozenset[int]
    sunk: frozenset[int]

    def holders(self, tensor: int) -> tuple[int, ...]:
        """Return the nodes that hold a tensor, 0 for main memory, then compute."""
        return self._holders[tensor]

    @cached_property
    def _holders(self) -> dict[int, tuple[int, ...]]:
        found = {tensor: [0] for tensor in self.in_main}
        for node, (_, tensor) in enumerate(self.nodes, start=1):
            found.setdefault(tensor, []).append(node)
        return {t: (*own, len(self.nodes) + 1) for t, own in found.items()}

    def level(self, node: int) -> int:
        """Return the level of a node; main memory's is 0."""
        return self.nodes[node - 1][0] if node else MAIN

    def is_backing(self, node: int) -> bool:
        """Whether a node is the first to hold its tensor."""
        return node == 0 or self.holders(self.nodes[node - 1][1])[0] == node

    def sinking(self, shape: EinsumShape, block: int) -> frozenset[int]:
        """Return the ranks whose loops the node above a block would sink through."""
        if self.is_backing(block):
            return frozenset()
        return shape.parting[self.nodes[block - 1][1]]

    @cached_property
    def exchanges(self) -> tuple[tuple[int, int], ...]:
        """(tensor, node) of every backing store outside main memory."""
        return tuple(
            (tensor, node)
            for node, (_, tensor) in enumerate(self.nodes, start=1)
            if self.is_backing(node)
        )


def templates(
    accelerator: Accelerator, shape: EinsumShape, space: Mapspace
) -> Iterator[Template]:
    """Yield every template of a shape."""
    for unit in accelerator.compute:
        if unit.tensors not in (None, len(shape.axes)):
            continue
        depth = accelerator.level_above(unit.name) + 1
        for held in _storage(accelerator, shape, depth, (), space.fuse):
            if shape.copy:
                held = _only_backing(held)
            orders = (permutations(sorted(tensors)) for tensors in held[1:])
            for order in product(*orders):
                nodes = tuple(
                    (level, tensor)
                    for level, tensors in enumerate(order, start=1)
                    for tensor in tensors
                )
                in_main = tuple(sorted(held[MAIN]))
                yield from _arranged(accelerator, shape, unit, in_main, nodes, space)
        if shape.copy:
            return


Held = tuple[frozenset[int], ...]


def _storage(
    accelerator: Accelerator,
    shape: EinsumShape,
    depth: int,
    above: Held,
    fuse: bool,
) -> Iterator[Held]:
    """Yield which tensors each level holds, between `keep` and `may_keep`."""
    everything = frozenset(shape.tensors)
    stored = frozenset[int]().union(*above)
    if len(above) == depth:
        if stored == everything:
            yield above
        return
    memory = accelerator.memories[len(above)]
    keep = _named(memory.keep, shape, stored)
    may_keep = _named(memory.may_keep, shape, stored) | keep
    if not above and not fuse:
        fixed = frozenset(t for t in shape.tensors if shape.shared[t])
        keep, may_keep = keep | fixed, may_keep | fixed
    if not memory.backing:
        keep, may_keep = keep & stored, may_keep & stored
    optional = sorted(may_keep - keep)
    for count in range(len(optional) + 1):
        for chosen in combinations(optional, count):
            held = keep | frozenset(chosen)
            yield from _storage(accelerator, shape, depth, (*above, held), fuse)


def _named(
    words: tuple[str, ...], shape: EinsumShape, stored: frozenset[int]
) -> frozenset[int]:
    everything = frozenset(shape.tensors)
    intermediates = frozenset(t for t in everything if shape.intermediate[t])
    output = frozenset({shape.output})
    sets = {
        "all": everything,
        "nothing": frozenset[int](),
        "intermediates": intermediates,
        "not-intermediates": everything - intermediates,
        "not-above": everything - stored,
        "input": frozenset({0}),
        "output": output,
        "weight": everything - output - {0},
    }
    return frozenset[int]().union(*(sets[word] for word in words))


def _only_backing(held: Held) -> Held:
    """Return the first level of each tensor: a copy uses no other."""
    seen: frozenset[int] = frozenset()
    kept = []
    for tensors in held:
        kept.append(tensors - seen)
        seen |= tensors
    return tuple(kept)


def _arranged(
    accelerator: Accelerator,
    shape: EinsumShape,
    unit: Compute,
    in_main: tuple[int, ...],
    nodes: tuple[tuple[int, int], ...],
    space: Mapspace,
) -> Iterator[Template]:
    """Yield the template of a node order, with and without sinking spatially."""
    draft = Template(unit.name, in_main, nodes, (), (), 0, frozenset(), frozenset())
    fused = max(
        (
            node
            for tensor, node in draft.exchanges
            if shape.shared[tensor] or shape.persistent[tensor]
        ),
        default=0,
    )
    slots = _slots(accelerator, unit, nodes, timed_only=shape.copy)
    allowed = tuple(
        tuple(
            index
            for index, slot in enumerate(slots)
            if _may_loop(shape, draft, fused, slot, rank, space)
        )
        for rank in range(len(shape.sizes))
    )
    sinkable = tuple(_sinkable(accelerator, shape, draft, fused, slots, allowed))
    timed = {slot.block: i for i, slot in enumerate(slots) if slot.fan_out is None}
    for count in range(len(sinkable) + 1):
        for sunk in combinations(sinkable, count):
            closed = {timed[node] for node in sunk}
            yield Template(
                unit.name,
                in_main,
                nodes,
                slots,
                tuple(tuple(s for s in own if s not in closed) for own in allowed),
                fused,
                frozenset(sinkable),
                frozenset(sunk),
            )


def _slots(
    accelerator: Accelerator,
    unit: Compute,
    nodes: tuple[tuple[int, int], ...],
    *,
    timed_only: bool,
) -> tuple[Slot, ...]:
    """Return every block's slots: in time first, then fan-outs entered after it."""
    last = len(accelerator.memories)
    deepest = accelerator.level_above(unit.name)
    reached = [
        (level, fan_out)
        for fan_out, level in accelerator.fan_outs
        if level <= deepest or fan_out in unit.fan_outs
    ]
    levels = [MAIN, *(level for level, _ in nodes), last]
    slots = []
    for block in range(len(nodes) + 1):
        slots.append(Slot(block, None))
        if not timed_only:
            slots += [
                Slot(block, fan_out)
                for level, fan_out in sorted(reached, key=lambda each: each[0])
                if levels[block] < level <= levels[block + 1] and fan_out.size > 1
            ]
    return tuple(slots)


def _may_loop(
    shape: EinsumShape,
    template: Template,
    fused: int,
    slot: Slot,
    rank: int,
    space: Mapspace,
) -> bool:
    """Decide by rules (a), (b), (c), and by the ranks of a fan-out."""
    block = slot.block
    if slot.fan_out is not None and not _may_spread(shape, slot.fan_out, rank):
        return False
    if block < fused:
        for tensor, node in template.exchanges:
            if node <= block:
                continue
            if shape.persistent[tensor]:
                return False
            if shape.shared[tensor] and rank not in shape.parting[tensor]:
                return False
    if slot.fan_out is not None:
        return True
    if shape.copy:
        return block < fused
    may_follow = space.ordered_loops and block < fused
    if not may_follow and rank in template.sinking(shape, block):
        return False
    if block >= fused and block < len(template.nodes):
        below = template.nodes[block][1]
        if rank not in shape.dimensions[below]:
            previous = [template.nodes[block - 1][1]] if block else template.in_main
            return any(rank in shape.dimensions[t] - shape.parting[t] for t in previous)
    return True


def _may_spread(shape: EinsumShape, fan_out: FanOut, rank: int) -> bool:
    match fan_out.ranks:
        case "not-input":
            return rank not in shape.dimensions[0]
        case "not-output":
            return rank not in shape.dimensions[shape.output]
        case _:
            return True


def _sinkable(
    accelerator: Accelerator,
    shape: EinsumShape,
    template: Template,
    fused: int,
    slots: tuple[Slot, ...],
    allowed: tuple[tuple[int, ...], ...],
) -> Iterator[int]:
    """Yield limited nodes that a spatial loop may follow, where they may sink."""
    for node, (level, tensor) in enumerate(template.nodes, start=1):
        if node < fused or template.is_backing(node):
            continue
        if accelerator.memories[level].size_bits is None:
            continue
        spatial = {
            index
            for index, slot in enumerate(slots)
            if slot.block == node and slot.fan_out is not None
        }
        if any(spatial & set(allowed[rank]) for rank in shape.parting[tensor]):
            yield node
