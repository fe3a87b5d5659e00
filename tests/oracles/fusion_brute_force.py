"""The best mapping of two chained einsums on two memories, by trying every nest.

Nothing is known here of which loops are useless: every order of storage nodes, every
chain of tiles in every place, every order of shared loops, costed one by one by the
referee. Given the shared part, the two branches do not influence each other except
through the buffer, so they are tried apart and combined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import permutations, product
from math import prod

from elkhound.model.fusion.accelerator import Accelerator
from elkhound.model.fusion.cost import cost_of
from elkhound.model.fusion.mapping import (
    ComputeNode,
    Loop,
    LoopTree,
    Node,
    Split,
    Store,
)
from elkhound.model.fusion.workload import FusionEinsum, FusionWorkload
from elkhound.model.referee import judge_fusion

Sizes = dict[str, int]
Cut = Callable[[int], list[int]]


@dataclass(frozen=True)
class Tried:
    """One branch under one shared part.

    Parameters
    ----------
    energy, latency : float
        Of its einsum.
    bits : int
        Buffer while it runs, the exchanged tensor included.
    above : int
        What of that stands above shared loops.
    """

    energy: float
    latency: float
    bits: int
    above: int


def front(
    accelerator: Accelerator, workload: FusionWorkload, *, ragged: bool = False
) -> list[tuple[float, float]]:
    """Return (energy, latency) of the best mappings, no point beaten by another.

    Tiles divide what they cut, or, if ragged, are of every size.
    """
    cut = _every_size if ragged else _divisors
    points = {*_apart(accelerator, workload, cut), *_fused(accelerator, workload, cut)}
    return [
        (e, t)
        for e, t in sorted(points)
        if not any((f <= e and s <= t) and (f, s) != (e, t) for f, s in points)
    ]


def _apart(
    accelerator: Accelerator, workload: FusionWorkload, cut: Cut
) -> Iterator[tuple[float, float]]:
    """Everything in main memory: the einsums share nothing."""
    size = accelerator.memories[1].size_bits or 0
    tried = []
    for own in workload.einsums:
        left = {rank: workload.size[rank] for rank in own.ranks}
        tails = _tails(accelerator, own, left, own.tensors, cut)
        tried.append(
            [_judged(accelerator, workload, own, (), {}, tail, None) for tail in tails]
        )
    for first, second in product(*tried):
        if max(first.bits, second.bits) <= size:
            yield first.energy + second.energy, first.latency + second.latency


def _fused(
    accelerator: Accelerator, workload: FusionWorkload, cut: Cut
) -> Iterator[tuple[float, float]]:
    """The exchanged tensor in the buffer, under every set of loops that index it."""
    size = accelerator.memories[1].size_bits or 0
    producer, consumer = workload.einsums
    exchanged = producer.output
    ranks = sorted(exchanged.dimensions)
    for chosen in product(*(cut(workload.size[rank]) for rank in ranks)):
        loops = [
            Loop(rank, tile)
            for rank, tile in zip(ranks, chosen, strict=True)
            if tile < workload.size[rank]
        ]
        for order in permutations(loops):
            sides = [
                list(_side(accelerator, workload, own, order, exchanged.tensor, cut))
                for own in (producer, consumer)
            ]
            for first, second in product(*map(_kept, sides)):
                bits = max(first.bits + second.above, second.bits + first.above)
                if bits <= size:
                    yield (
                        first.energy + second.energy,
                        first.latency + second.latency,
                    )


def _kept(tried: list[Tried]) -> list[Tried]:
    """Leave out what another one beats: it would only be tried in vain."""
    unique = list(dict.fromkeys(tried))
    return [
        a
        for a in unique
        if not any(
            b != a
            and b.energy <= a.energy
            and b.latency <= a.latency
            and b.bits <= a.bits
            and b.above <= a.above
            for b in unique
        )
    ]


def _side(
    accelerator: Accelerator,
    workload: FusionWorkload,
    own: FusionEinsum,
    order: tuple[Loop, ...],
    exchanged: str,
    cut: Cut,
) -> Iterator[Tried]:
    """One einsum's branch, its copies above, between or below the shared loops."""
    private = [tensor for tensor in own.tensors if tensor != exchanged]
    left = {rank: workload.size[rank] for rank in own.ranks}
    left |= {loop.rank: loop.tile_size for loop in order}
    for places in product([None, *range(len(order))], repeat=len(private)):
        copies = {
            tensor: place
            for tensor, place in zip(private, places, strict=True)
            if place is not None
        }
        free = tuple(tensor for tensor in private if tensor not in copies)
        for tail in _tails(accelerator, own, left, free, cut):
            yield _judged(accelerator, workload, own, order, copies, tail, exchanged)


def _judged(
    accelerator: Accelerator,
    workload: FusionWorkload,
    own: FusionEinsum,
    order: tuple[Loop, ...],
    copies: dict[str, int],
    tail: tuple[Node, ...],
    exchanged: str | None,
) -> Tried:
    """Cost one branch beside a plain nest of the other, and that nest beside none."""
    plain = {
        e.name: tuple(_plain(accelerator, workload, e, order)) for e in workload.einsums
    }
    verdicts = [
        judge_fusion(
            _unlimited(accelerator),
            workload,
            _tree(accelerator, workload, order, held, plain | branch, exchanged),
        )
        for held, branch in ((copies, {own.name: tail}), (copies, {}), ({}, {}))
    ]
    assert not any(verdict.violations for verdict in verdicts), verdicts[0].violations
    mine, above, alone = verdicts
    other = next(e for e in workload.einsums if e is not own)
    energy, latency = _alone(accelerator, workload, other, order, exchanged)
    buffer = accelerator.memories[1].name
    assert mine.energy is not None
    assert mine.latency is not None
    return Tried(
        round(mine.energy - energy, 6),
        round(mine.latency - latency, 6),
        mine.peak_bits[buffer],
        above.peak_bits[buffer] - alone.peak_bits[buffer],
    )


def _alone(
    accelerator: Accelerator,
    workload: FusionWorkload,
    other: FusionEinsum,
    order: tuple[Loop, ...],
    exchanged: str | None,
) -> tuple[float, float]:
    """What the other einsum's plain nest costs: no node of its own is above it."""
    plain = {
        e.name: tuple(_plain(accelerator, workload, e, order)) for e in workload.einsums
    }
    tree = _tree(accelerator, workload, order, {}, plain, exchanged)
    cost = cost_of(accelerator, workload, tree)
    return cost.energy_by_einsum[other.name], cost.latency_by_einsum[other.name]


def _unlimited(accelerator: Accelerator) -> Accelerator:
    main, buffer = accelerator.memories
    return replace(accelerator, memories=(main, replace(buffer, size_bits=None)))


def _tree(
    accelerator: Accelerator,
    workload: FusionWorkload,
    order: tuple[Loop, ...],
    copies: dict[str, int],
    branches: dict[str, tuple[Node, ...]],
    exchanged: str | None,
) -> LoopTree:
    main, buffer = (memory.name for memory in accelerator.memories)
    nodes: list[Node] = [Store(main, t) for t in workload.tensors if t != exchanged]
    for depth, loop in enumerate(order):
        nodes += [Store(buffer, t) for t, place in copies.items() if place == depth]
        nodes.append(loop)
    if exchanged is not None:
        nodes.append(Store(buffer, exchanged))
    nodes.append(Split(tuple(branches[e.name] for e in workload.einsums)))
    return LoopTree(tuple(nodes))


def _plain(
    accelerator: Accelerator,
    workload: FusionWorkload,
    own: FusionEinsum,
    order: tuple[Loop, ...],
) -> Iterator[Node]:
    left = {rank: workload.size[rank] for rank in own.ranks}
    left |= {loop.rank: loop.tile_size for loop in order}
    yield from (Loop(rank, 1) for rank, size in left.items() if size > 1)
    yield ComputeNode(own.name, accelerator.compute[0].name)


def _tails(
    accelerator: Accelerator,
    own: FusionEinsum,
    left: Sizes,
    free: tuple[str, ...],
    cut: Cut,
) -> Iterator[tuple[Node, ...]]:
    """Every choice and order of copies, with every chain of tiles between them."""
    buffer = accelerator.memories[1].name
    for count in range(len(free) + 1):
        for stored in permutations(free, count):
            for nodes, rest in _blocks(left, [Store(buffer, t) for t in stored], cut):
                for spread in _spread(accelerator, rest, cut):
                    yield (
                        *nodes,
                        *(Loop(r, n) for r, n in spread.items() if n < rest[r]),
                        *_spatial(accelerator, spread),
                        ComputeNode(own.name, accelerator.compute[0].name),
                    )


def _spread(accelerator: Accelerator, left: Sizes, cut: Cut) -> Iterator[Sizes]:
    """Every tile to lay over the compute units: one iteration to each."""
    fans = accelerator.compute[0].fan_outs
    if not fans:
        yield dict.fromkeys(left, 1)
        return
    for chosen in product(*(cut(size) for size in left.values())):
        if prod(chosen) <= fans[0].size:
            yield dict(zip(left, chosen, strict=True))


def _spatial(accelerator: Accelerator, spread: Sizes) -> Iterator[Loop]:
    for fan in accelerator.compute[0].fan_outs:
        yield from (Loop(r, 1, fan.label) for r, n in spread.items() if n > 1)


def _blocks(
    left: Sizes, stores: list[Store], cut: Cut
) -> Iterator[tuple[list[Node], Sizes]]:
    if not stores:
        yield [], left
        return
    for chosen in product(*(cut(size) for size in left.values())):
        rest = dict(zip(left, chosen, strict=True))
        loops = [Loop(r, tile) for r, tile in rest.items() if tile < left[r]]
        for nodes, inner in _blocks(rest, stores[1:], cut):
            yield [*loops, stores[0], *nodes], inner


def _divisors(size: int) -> list[int]:
    return [tile for tile in range(1, size + 1) if size % tile == 0]


def _every_size(size: int) -> list[int]:
    return list(range(1, size + 1))
