"""How often each loop of a group of ranks may iterate, and what that multiplies.

Where tiles divide, a choice of tiles for a rank is an ordered factorisation of its size
into the slots where it may loop. Ranks that index the same tensors are *twins*: outside
fused blocks they count as one rank of the product of their sizes, because a divisor
chain of a product always splits into chains of its factors. Ragged tiles are chains of
their own for every rank.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import numpy.typing as npt

from elkhound.model.fusion.mapspace import Mapspace, Tiles
from elkhound.model.fusion.pmappings.ragged import chains
from elkhound.model.fusion.pmappings.shape import EinsumShape
from elkhound.model.fusion.pmappings.templates import Template

Ints = npt.NDArray[np.int64]
Indices = npt.NDArray[np.intp]


@cache
def divisors(number: int) -> tuple[int, ...]:
    """Return the divisors of a number, rising.

    Examples
    --------
    >>> divisors(12)
    (1, 2, 3, 4, 6, 12)
    """
    found = [1]
    rest, prime = number, 2
    while prime * prime <= rest:
        power, base = 1, list(found)
        while rest % prime == 0:
            rest //= prime
            power *= prime
            found += [power * d for d in base]
        prime += 1
    if rest > 1:
        found += [rest * d for d in found]
    return tuple(sorted(found))


@cache
def factorisations(number: int, most: tuple[int | None, ...]) -> Ints:
    """Return all ordered factorisations, one column per factor, each at most `most`."""
    if not most:
        return np.ones((1 if number == 1 else 0, 0), np.int64)
    if len(most) == 1:
        fits = most[0] is None or number <= most[0]
        return np.array([[number]] if fits else np.empty((0, 1)), np.int64)
    parts = []
    for first in divisors(number):
        if most[0] is not None and first > most[0]:
            break
        rest = factorisations(number // first, most[1:])
        parts.append(np.insert(rest, 0, first, axis=1))
    return np.concatenate(parts)


def rank_groups(shape: EinsumShape, tiles: Tiles) -> tuple[tuple[int, ...], ...]:
    """Return ranks above size 1: twins together, and ranks that share an axis.

    Ragged tiles of twins do not multiply, so that there each stands alone. Ranks that
    share an axis with others, or step along it, form a group of their own, which
    `is_plain` tells apart.
    """
    live = [rank for rank, size in enumerate(shape.sizes) if size > 1]
    bundle = {rank: {rank} for rank in live}
    for axes in shape.axes:
        for terms in axes:
            together = set[int]()
            for rank, _ in terms:
                together |= bundle.get(rank, set())
            for rank in together:
                bundle[rank] = together
    groups: dict[tuple[object, ...], list[int]] = {}
    for rank in live:
        if is_plain(shape, tuple(bundle[rank])) and tiles is Tiles.DIVISORS:
            used = tuple(rank in dims for dims in shape.dimensions)
            groups.setdefault(("twins", used), []).append(rank)
        else:
            groups.setdefault(("halo", *sorted(bundle[rank])), []).append(rank)
    return tuple(tuple(group) for group in groups.values()) or ((),)


def is_plain(shape: EinsumShape, group: tuple[int, ...]) -> bool:
    """Whether every rank of a group parts every tensor that it indexes."""
    return all(
        rank in parting
        for rank in group
        for dims, parting in zip(shape.dimensions, shape.parting, strict=True)
        if rank in dims
    )


@dataclass(frozen=True, eq=False)
class GroupTiles:
    """Choices of iterations for a group of ranks in a template.

    Parameters
    ----------
    ranks : tuple of int
        The group.
    plain : bool
        Whether loops outside fused blocks are those of the twins' product.
    factors : array of choices × ranks × slots
        Iterations; for twins, those outside fused blocks stand at the first rank.
    extent : array of choices
        What the loops of plain ranks cut: a size, or the part of it that is left.
    fused_code, fused_loops : array of choices
        Equal for equal iterations in fused blocks, and how many loops those are.
    below : array of choices × ranks × slots, or None
        Largest extent below every slot; None: tiles divide, so that factors tell.
    """

    ranks: tuple[int, ...]
    plain: bool
    factors: Ints
    extent: Ints
    fused_code: Ints
    fused_loops: Ints
    below: Ints | None = None

    def __len__(self) -> int:
        return len(self.factors)

    def taken(self, rows: Indices) -> GroupTiles:
        """Return some choices."""
        return GroupTiles(
            self.ranks,
            self.plain,
            self.factors[rows],
            self.extent[rows],
            self.fused_code[rows],
            self.fused_loops[rows],
            None if self.below is None else self.below[rows],
        )

    def times(self, other: GroupTiles, mine: Indices, its: Indices) -> GroupTiles:
        """Return pairs of choices: fused loops of one, private loops of the other."""
        return GroupTiles(
            self.ranks,
            self.plain,
            self.factors[mine] * other.factors[its],
            self.extent[mine] * other.extent[its],
            self.fused_code[mine],
            self.fused_loops[mine],
            self._below(other, mine, its),
        )

    def _below(self, other: GroupTiles, mine: Indices, its: Indices) -> Ints | None:
        """Return extents of pairs: the others' are what is left above their loops."""
        if self.below is None or other.below is None:
            return None
        return self.below[mine] + other.below[its] - self.below[mine][:, :, -1:]

    def extents(self, shape: EinsumShape) -> Ints:
        """Return what is left below every slot: choices × ranks × slots.

        Of twins only in fused blocks; outside they share factors.
        """
        if self.below is not None:
            return self.below
        sizes = np.array([shape.sizes[rank] for rank in self.ranks], np.int64)
        return np.asarray(sizes[:, None] // self.factors.cumprod(axis=2))


def fused_tiles(
    shape: EinsumShape, template: Template, group: tuple[int, ...], space: Mapspace
) -> GroupTiles:
    """Return every choice of iterations in fused blocks."""
    slots = template.slots
    most_fused = space.max_fused_loops_per_rank
    most = tuple(None if s.fan_out is None else s.fan_out.size for s in slots)
    fused = [
        [s for s in template.allowed[rank] if slots[s].block < template.fused_blocks]
        for rank in group
    ]
    if space.tiles is not Tiles.DIVISORS:
        sizes = [shape.sizes[rank] for rank in group]
        own_chains = [
            chains(size, tuple(most[s] for s in own), space.tiles, most_fused)
            for size, own in zip(sizes, fused, strict=True)
        ]
        found = _ragged(group, sizes, own_chains, fused, len(slots))
        return replace(
            found,
            fused_code=np.arange(len(found)),
            fused_loops=(found.factors > 1).sum(axis=(1, 2)),
        )
    choices = [
        list(_fused_choices(shape.sizes[rank], own, most, most_fused))
        for rank, own in zip(group, fused, strict=True)
    ]
    index = _every([len(own) for own in choices])
    count = index.shape[1]
    factors = np.ones((count, len(group), len(slots)), np.int64)
    for i, own in enumerate(fused):
        chosen = np.array(choices[i], np.int64).reshape(len(choices[i]), len(own))
        factors[:, i, own] = chosen[index[i]]
    return GroupTiles(
        group,
        is_plain(shape, group),
        factors,
        factors.prod(axis=(1, 2)),
        np.arange(count),
        (factors > 1).sum(axis=(1, 2)),
    )


def private_tiles(
    shape: EinsumShape,
    template: Template,
    group: tuple[int, ...],
    left: Ints,
    space: Mapspace,
) -> GroupTiles:
    """Return every choice of iterations outside fused blocks.

    Parameters
    ----------
    left : array
        What the fused loops leave: of each rank, or of plain ranks together.
    """
    slots = template.slots
    most = tuple(None if s.fan_out is None else s.fan_out.size for s in slots)
    plain = is_plain(shape, group)
    private = [
        [s for s in template.allowed[rank] if slots[s].block >= template.fused_blocks]
        for rank in group
    ]
    if space.tiles is not Tiles.DIVISORS:
        sizes = [int(size) for size in left]
        own_chains = [
            np.full((1, len(own)), size)
            if shape.copy
            else chains(size, tuple(most[s] for s in own), space.tiles)
            for size, own in zip(sizes, private, strict=True)
        ]
        return _ragged(group, sizes, own_chains, private, len(slots))
    total = int(left.prod())
    if not group:
        inner = []
    elif shape.copy:
        inner = [np.ones((1, len(own)), np.int64) for own in private]
    elif plain:
        inner = [factorisations(total, tuple(most[slot] for slot in private[0]))]
        inner += [np.ones((1, len(own)), np.int64) for own in private[1:]]
    else:
        inner = [
            factorisations(int(size), tuple(most[slot] for slot in own))
            for size, own in zip(left, private, strict=True)
        ]
    index = _every([len(rows) for rows in inner])
    count = index.shape[1]
    factors = np.ones((count, len(group), len(slots)), np.int64)
    for i, own in enumerate(private):
        factors[:, i, own] = inner[i][index[i]]
    none = np.zeros(count, np.int64)
    return GroupTiles(group, plain, factors, np.full(count, total), none, none)


def _ragged(
    group: tuple[int, ...],
    sizes: list[int],
    own_chains: list[Ints],
    own_slots: list[list[int]],
    slots: int,
) -> GroupTiles:
    """Return all combinations of the ranks' chains of tiles in their slots."""
    index = _every([len(rows) for rows in own_chains])
    count = index.shape[1]
    above = np.ones((count, len(group), slots + 1), np.int64)
    for i, (size, rows, own) in enumerate(
        zip(sizes, own_chains, own_slots, strict=True)
    ):
        above[:, i] = size
        for column, slot in enumerate(own):
            above[:, i, slot + 1 :] = rows[index[i], column][:, None]
    none = np.zeros(count, np.int64)
    below = above[:, :, 1:]
    factors = -(-above[:, :, :-1] // below)
    return GroupTiles(group, False, factors, none, none, none, below)


def _every(counts: list[int]) -> Ints:
    """Return all combinations of indices below some counts: counts × combinations."""
    index = np.zeros((0, 1), np.int64)
    for count in counts:
        rows = index.shape[1]
        own = np.tile(np.arange(count), rows)
        index = np.concatenate([index.repeat(count, axis=1), own[None, :]])
    return index


def _fused_choices(
    size: int, slots: list[int], most: tuple[int | None, ...], most_fused: int
) -> Iterator[tuple[int, ...]]:
    """Yield iterations in the fused slots: any divisors whose product divides."""
    if not slots:
        yield ()
        return
    for first in divisors(size):
        limit = most[slots[0]]
        if (limit is not None and first > limit) or (first > 1 and most_fused == 0):
            break
        left = most_fused - (first > 1)
        for rest in _fused_choices(size // first, slots[1:], most, left):
            yield (first, *rest)


def stacked(parts: Sequence[GroupTiles]) -> GroupTiles:
    """Return the choices of all parts of one group."""
    first = parts[0]
    return GroupTiles(
        first.ranks,
        first.plain,
        np.concatenate([part.factors for part in parts]),
        np.concatenate([part.extent for part in parts]),
        np.concatenate([part.fused_code for part in parts]),
        np.concatenate([part.fused_loops for part in parts]),
        None
        if first.below is None
        else np.concatenate([part.below for part in parts if part.below is not None]),
    )
