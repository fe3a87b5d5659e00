"""The referee of fusion: walks each einsum's path and adds up what the loops repeat.

It keeps, for every rank variable, the multiset of tile extents that the loops so far
visit, and sums tiles one by one; nothing is multiplied out beforehand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

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
from elkhound.model.fusion.physics import REFERENCE, Physics
from elkhound.model.fusion.workload import FusionEinsum, FusionWorkload
from elkhound.model.graph import Access
from elkhound.model.referee.fusion_capacity import peak_bits
from elkhound.model.referee.fusion_rules import broken_rules


@dataclass(frozen=True, slots=True)
class FusionVerdict:
    """What a mapping costs, or why it is none.

    Parameters
    ----------
    energy, latency : float or None
        In the accelerator's units; None if a rule is broken, capacity included.
    peak_bits : dict of str to int
        Most bits at once in one unit of each memory; empty if the tree is broken.
    violations : tuple of str
        One line per broken rule.
    """

    energy: float | None
    latency: float | None
    peak_bits: dict[str, int]
    violations: tuple[str, ...]

    @property
    def feasible(self) -> bool:
        """Whether no rule is broken."""
        return not self.violations


def judge_fusion(
    accelerator: Accelerator,
    workload: FusionWorkload,
    tree: LoopTree,
    physics: Physics = REFERENCE,
) -> FusionVerdict:
    """Decide whether a mapping is legal and fits, and what it costs."""
    lines = broken_rules(accelerator, workload, tree)
    if lines:
        return FusionVerdict(None, None, {}, lines)
    peaks = peak_bits(accelerator, workload, tree, physics)
    over = tuple(
        f"memory {memory.name}: holds {peaks[memory.name]} bits at once, has "
        f"{memory.size_bits}"
        for memory in accelerator.memories
        if memory.size_bits is not None and peaks[memory.name] > memory.size_bits
    )
    if over:
        return FusionVerdict(None, None, peaks, over)
    energy = latency = 0.0
    leak = sum(part.leak for part in accelerator.parts)
    for group in _groups(workload, tree, physics):
        busy: dict[str, float] = {}
        for path in group:
            used, cycles_of = _einsum_cost(accelerator, workload, path, physics)
            energy += used * accelerator.energy_scale
            for part, own in cycles_of.items():
                busy[part] = busy.get(part, 0.0) + own
        cycles = max(busy.values(), default=0.0)
        energy += leak * cycles * accelerator.energy_scale
        latency += cycles * accelerator.cycle_time
    return FusionVerdict(energy, latency, peaks, ())


def _groups(
    workload: FusionWorkload, tree: LoopTree, physics: Physics
) -> list[list[tuple[Node, ...]]]:
    """Return the paths by what runs at once."""
    if not physics.overlap:
        return [[path] for path in tree.paths]
    paths = iter(tree.paths)
    return [
        [next(paths) for _ in range(einsums)]
        for einsums in _together(workload, tree.nodes)
    ]


def _together(workload: FusionWorkload, nodes: tuple[Node, ...]) -> Iterator[int]:
    """Yield how many einsums in a row stand under one loop; 1 for one under none."""
    names = computed(nodes)
    for node in nodes:
        if isinstance(node, Split):
            for branch in node.branches:
                yield from _together(workload, branch)
            return
        if isinstance(node, Loop):
            whole = workload.size[node.rank_of(names[0])]
            if node.tile_size < whole:
                break
    yield len(names)


@dataclass(frozen=True, slots=True)
class _Traffic:
    """Bits read and written; each for all units, and for the busiest one."""

    read: tuple[int, int]
    write: tuple[int, int]


def _einsum_cost(
    accelerator: Accelerator,
    workload: FusionWorkload,
    path: tuple[Node, ...],
    physics: Physics,
) -> tuple[float, dict[str, float]]:
    """Return energy in the parts' unit, and cycles of every part."""
    last = path[-1]
    if not isinstance(last, ComputeNode):
        raise TypeError("a path ends in compute")
    einsum = workload.einsum(last.einsum)
    traffic: list[tuple[str, _Traffic]] = []
    energy = 0.0
    cycles: dict[str, float] = {}
    if einsum.copy:
        traffic = _copy_traffic(workload, einsum, path)
    else:
        for access in einsum.accesses:
            traffic += _tensor_traffic(
                accelerator, workload, einsum, access, path, physics
            )
        every, one = _Tiles(workload, einsum), _Tiles(workload, einsum)
        for node in path:
            if isinstance(node, Loop):
                rank = node.rank_of(einsum.name)
                every.enter(rank, node.tile_size, shared=False)
                one.enter(rank, node.tile_size, shared=node.over is not None)
        unit = accelerator.unit(last.unit)
        energy = every.points() * unit.energy
        cycles[unit.name] = unit.cycles(one.points())
    for memory in accelerator.memories:
        own = [each for name, each in traffic if name == memory.name]
        read, write = (sum(t.read[0] for t in own), sum(t.write[0] for t in own))
        energy += read * memory.read_energy + write * memory.write_energy
        busiest = (sum(t.read[1] for t in own), sum(t.write[1] for t in own))
        cycles[memory.name] = memory.cycles(*busiest)
    return energy, cycles


def _copy_traffic(
    workload: FusionWorkload, einsum: FusionEinsum, path: tuple[Node, ...]
) -> list[tuple[str, _Traffic]]:
    source, copy = einsum.tensors
    stores = [node for node in path if isinstance(node, Store)]
    here = next(s.memory for s in stores if s.tensor == source)
    there = next(s.memory for s in stores if s.tensor == copy)
    if here == there:
        return []
    bits = dict(workload.bits)[source] * workload.elements(source)
    moved = (bits, bits)
    return [(here, _Traffic(moved, (0, 0))), (there, _Traffic((0, 0), moved))]


class _Tiles:
    """For every rank variable, how often the loops so far visit a tile extent."""

    def __init__(self, workload: FusionWorkload, einsum: FusionEinsum) -> None:
        self.of = {rank: Counter({workload.size[rank]: 1}) for rank in einsum.ranks}

    def copy(self) -> _Tiles:
        """Return the same multisets, to go on differently."""
        other = object.__new__(_Tiles)
        other.of = {rank: Counter(visits) for rank, visits in self.of.items()}
        return other

    def enter(self, rank: str, tile: int, *, shared: bool) -> None:
        """Cut every extent into tiles; a shared loop keeps only the largest one."""
        cut: Counter[int] = Counter()
        for extent, times in self.of[rank].items():
            full, rest = divmod(extent, tile)
            if shared:
                cut[min(extent, tile)] += times
                continue
            cut[tile] += full * times
            cut[rest] += times
        self.of[rank] = Counter({e: n for e, n in cut.items() if e and n})

    def elements(self, access: Access) -> int:
        """Return the elements of all visited tiles of a tensor together."""
        total = 1
        for axis in access.axes:
            ranks = [rank for rank, _ in axis.terms]
            summed = 0
            for tiles in product(*(self.of[rank].items() for rank in ranks)):
                times = 1
                for _, n in tiles:
                    times *= n
                extents = dict(zip(ranks, (extent for extent, _ in tiles), strict=True))
                summed += times * axis.extent(extents)
            total *= summed
        for rank in self.of.keys() - access.dimensions:
            total *= self.of[rank].total()
        return total

    def points(self) -> int:
        """Return the points of the iteration space in all visited tiles."""
        total = 1
        for visits in self.of.values():
            total *= sum(extent * times for extent, times in visits.items())
        return total


class _Walk:
    """Views of the loops that a tensor's tiles have gone through.

    Scope ``all`` counts every unit, ``one`` a single unit of the last holder's memory.
    With `first`, repetitions in time of the same tile are left out, and with
    `merge_reads` those in other units.
    """

    def __init__(
        self, workload: FusionWorkload, einsum: FusionEinsum, *, merge_reads: bool
    ) -> None:
        self.merge_reads = merge_reads
        # whether units sum over a rank apart: those entered, those of the last holder
        self.apart = self.apart_above = False
        start = _Tiles(workload, einsum)
        keys = [(scope, first) for scope in ("all", "one") for first in (False, True)]
        # what the next holder receives, and the same without sharing across units
        self.next = {key: start.copy() for key in keys}
        self.bare = {key: start.copy() for key in keys}

    def enter(self, rank: str, loop: Loop, *, indexes: bool, shares: bool) -> None:
        """Go through a loop."""
        spatial = loop.over is not None
        merges = self.merge_reads and spatial and not indexes and not shares
        seen = self.bare["all", False].of[rank]
        if merges and any(extent > loop.tile_size for extent in seen):
            self.apart = True
        for (_, first), view in self.next.items():
            once = shares or (first and merges)
            again = not indexes and (once if spatial else first)
            view.enter(rank, loop.tile_size, shared=again)
        for (scope, first), view in self.bare.items():
            again = scope == "one" if spatial else not indexes and first
            view.enter(rank, loop.tile_size, shared=again or (first and merges))

    def pass_holder(self) -> None:
        """Go on below a holder: only what stands below it may still be shared."""
        self.apart_above = self.apart
        self.next = {key: view.copy() for key, view in self.bare.items()}


@dataclass(frozen=True, slots=True)
class _Crossing:
    """Elements between a holder and the one above it: on the way down, and up.

    Counted for all units, for one unit of the memory above, and of the holder itself.
    """

    every: tuple[int, int]
    above: tuple[int, int]
    own: tuple[int, int]


_NOTHING = _Crossing((0, 0), (0, 0), (0, 0))


def _tensor_traffic(
    accelerator: Accelerator,
    workload: FusionWorkload,
    einsum: FusionEinsum,
    access: Access,
    path: tuple[Node, ...],
    physics: Physics,
) -> list[tuple[str, _Traffic]]:
    """Return what a tensor's transfers do to every memory that holds it."""
    is_output = access is einsum.output

    def moved(
        views: dict[tuple[str, bool], _Tiles], scope: str, *, merges: bool = False
    ) -> tuple[int, int]:
        filled = views[scope, False].elements(access)
        if not is_output:
            return filled, 0
        first = 0 if merges else views[scope, True].elements(access)
        return filled - first, filled

    walk = _Walk(workload, einsum, merge_reads=physics.merge_reads)
    memories: list[str] = []
    crossings: list[_Crossing] = []
    for node in path:
        if isinstance(node, Loop):
            rank = node.rank_of(einsum.name)
            shares = False
            if node.over is not None:
                fan_out = accelerator.fan_out(node.over)
                shares = fan_out.reduction if is_output else fan_out.multicast
            indexes = rank in access.dimensions
            walk.enter(rank, node, indexes=indexes, shares=shares)
            continue
        if isinstance(node, Store):
            if node.tensor != access.tensor:
                continue
            memories.append(node.memory)
        crossing = _Crossing(
            moved(walk.next, "all"),
            moved(walk.next, "one", merges=walk.apart_above),
            moved(walk.bare, "one", merges=walk.apart),
        )
        crossings.append(crossing)
        walk.pass_holder()
    crossings[0] = _NOTHING  # the backing store's content comes from nowhere
    bits = dict(workload.bits)[access.tensor]
    return [
        (memory, _traffic(bits, holder, child))
        for memory, holder, child in zip(
            memories, crossings[:-1], crossings[1:], strict=True
        )
    ]


def _traffic(bits: int, holder: _Crossing, child: _Crossing) -> _Traffic:
    """Add up what a memory sends down and up, and what it receives."""
    (down, up), (child_down, child_up) = holder.every, child.every
    (own_down, own_up), (unit_down, unit_up) = holder.own, child.above
    return _Traffic(
        read=(bits * (up + child_down), bits * (own_up + unit_down)),
        write=(bits * (down + child_up), bits * (own_down + unit_up)),
    )
