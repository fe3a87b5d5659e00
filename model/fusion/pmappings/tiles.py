"""How often each loop of a group of ranks may iterate, and what that multiplies.

Tiles divide, so a choice of tiles for a rank is an ordered factorisation of its size
into the slots where it may loop. Ranks that index the same tensors are *twins*: outside
fused blocks they count as one rank of the product of their sizes, because a divisor
chain of a product always splits into chains of its factors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

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


def rank_groups(shape: EinsumShape) -> tuple[tuple[int, ...], ...]:
    """Return ranks above size 1: twins together, and ranks that share an axis.

    Ranks that share an axis with others, or step along it, form a group of their own,
    which `is_plain` tells apart.
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
        if is_plain(shape, tuple(bundle[rank])):
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
    """

    ranks: tuple[int, ...]
    plain: bool
    factors: Ints
    extent: Ints
    fused_code: Ints
    fused_loops: Ints

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
        )


def fused_tiles(
    shape: EinsumShape, template: Template, group: tuple[int, ...], most_fused: int
) -> GroupTiles:
    """Return every choice of iterations in fused blocks.

    Parameters
    ----------
    most_fused : int
        Most loops with iterations in fused blocks over one rank.
    """
    slots = template.slots
    most = tuple(None if s.fan_out is None else s.fan_out.size for s in slots)
    fused = [
        [s for s in template.allowed[rank] if slots[s].block < template.fused_blocks]
        for rank in group
    ]
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
    shape: EinsumShape, template: Template, group: tuple[int, ...], left: Ints
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
    )
