"""How often each loop of a group of ranks may iterate, and what that multiplies.

Tiles divide, so a choice of tiles for a rank is an ordered factorisation of its size
into the slots where it may loop. Ranks that index the same tensors are *twins*: outside
fused blocks they count as one rank of the product of their sizes, because a divisor
chain of a product always splits into chains of its factors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
import numpy.typing as npt

from elkhound.model.fusion.pmappings.counts import OPERATIONS, Column
from elkhound.model.fusion.pmappings.shape import EinsumShape
from elkhound.model.fusion.pmappings.templates import Template

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


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
    """All choices of iterations for a group of ranks in a template.

    Parameters
    ----------
    ranks : tuple of int
        The group.
    plain : bool
        Whether loops outside fused blocks are those of the twins' product.
    factors : array of choices × ranks × slots
        Iterations; for twins, those outside fused blocks stand at the first rank.
    fused_code : array of choices
        Equal for equal iterations in fused blocks.
    """

    ranks: tuple[int, ...]
    plain: bool
    factors: Ints
    fused_code: Ints

    def __len__(self) -> int:
        return len(self.factors)


def group_tiles(
    shape: EinsumShape, template: Template, group: tuple[int, ...], most_fused: int
) -> GroupTiles:
    """Return every choice of iterations that rules and fan-outs leave a group.

    Parameters
    ----------
    most_fused : int
        Most loops with iterations in fused blocks over one rank.
    """
    plain = is_plain(shape, group)
    slots = template.slots
    most = tuple(None if s.fan_out is None else s.fan_out.size for s in slots)
    fused = [
        [s for s in template.allowed[rank] if slots[s].block < template.fused_blocks]
        for rank in group
    ]
    private = [
        [s for s in template.allowed[rank] if slots[s].block >= template.fused_blocks]
        for rank in group
    ]
    choices = [
        list(_fused_choices(shape.sizes[rank], own, most, most_fused))
        for rank, own in zip(group, fused, strict=True)
    ]
    blocks = []
    for chosen in product(*choices):
        rest = [
            shape.sizes[rank] // _product(factors)
            for rank, factors in zip(group, chosen, strict=True)
        ]
        if shape.copy:
            inner = [np.ones((1, len(own)), np.int64) for own in private]
        elif plain:
            merged = factorisations(
                _product(rest), tuple(most[slot] for slot in private[0])
            )
            inner = [merged, *(np.ones((1, len(own)), np.int64) for own in private[1:])]
        else:
            inner = [
                factorisations(size, tuple(most[slot] for slot in own))
                for size, own in zip(rest, private, strict=True)
            ]
        blocks.append(_filled(len(slots), fused, chosen, private, inner))
    code = np.repeat(np.arange(len(blocks)), [len(block) for block in blocks])
    return GroupTiles(group, plain, np.concatenate(blocks), code)


def _product(numbers: tuple[int, ...] | list[int]) -> int:
    result = 1
    for number in numbers:
        result *= number
    return result


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


def _filled(
    slot_count: int,
    fused: list[list[int]],
    chosen: tuple[tuple[int, ...], ...],
    private: list[list[int]],
    inner: list[Ints],
) -> Ints:
    """Return the cross product of the ranks' private loops under chosen fused ones."""
    counts = [len(rows) for rows in inner]
    index = np.indices(counts).reshape(len(counts), -1)
    filled = np.ones((index.shape[1], len(fused), slot_count), np.int64)
    for i, (own, factors) in enumerate(zip(fused, chosen, strict=True)):
        filled[:, i, own] = factors
        filled[:, i, private[i]] = inner[i][index[i]]
    return filled


@dataclass(frozen=True, slots=True)
class Multipliers:
    """What a group's choices multiply, under one template."""

    shape: EinsumShape
    template: Template
    shares: tuple[tuple[bool, bool], ...]  # per slot: by multicast, by reduction

    def column(self, tiles: GroupTiles, column: Column) -> Floats:
        """Return a group's factor of a count, for each of its choices."""
        product_of = np.ones(len(tiles))
        tensor = column.tensor
        if tensor == OPERATIONS:
            spatial = [i for i, s in enumerate(self.template.slots) if s.fan_out]
            size = _product([self.shape.sizes[rank] for rank in tiles.ranks])
            return np.asarray(size / tiles.factors[:, :, spatial].prod(axis=(1, 2)))
        for index, rank in enumerate(tiles.ranks):
            counted = [
                i
                for i, slot in enumerate(self.template.slots)
                if slot.block < column.node and not self._once(column, i, rank)
            ]
            product_of *= tiles.factors[:, index, counted].prod(axis=1)
        if tensor >= 0:
            product_of *= self._extent(tiles, tensor, column.node, sinks=False)
        return product_of

    def _once(self, column: Column, index: int, rank: int) -> bool:
        slot = self.template.slots[index]
        indexes = rank in self.shape.dimensions[column.tensor]
        if slot.fan_out is None:
            return column.first and not indexes
        if slot.block < column.unit:
            return True
        by_output = column.tensor == self.shape.output
        shared = self.shares[index][by_output] and slot.block >= column.parent
        return shared and not indexes

    def tile(self, tiles: GroupTiles, tensor: int, node: int) -> Floats:
        """Return a group's factor of a tensor's tile where a node has sunk to."""
        return self._extent(tiles, tensor, node, sinks=node in self.template.sunk)

    def _extent(
        self, tiles: GroupTiles, tensor: int, node: int, *, sinks: bool
    ) -> Floats:
        slots = self.template.slots
        above = [i for i, slot in enumerate(slots) if slot.block < node]
        spatial = [i for i, s in enumerate(slots) if s.block == node and s.fan_out]
        parts = self.shape.parting[tensor]
        extents = {}
        for index, rank in enumerate(tiles.ranks):
            through = above + spatial if sinks and rank in parts else above
            iterations = tiles.factors[:, index, through].prod(axis=1)
            extents[rank] = (self.shape.sizes[rank], iterations)
        if tiles.plain:  # one division, exact for twins too
            if not tiles.ranks or tiles.ranks[0] not in self.shape.dimensions[tensor]:
                return np.ones(len(tiles))
            size = _product([size for size, _ in extents.values()])
            return np.asarray(size / np.prod([n for _, n in extents.values()], axis=0))
        product_of = np.ones(len(tiles))
        for terms in self.shape.axes[tensor]:
            mine = [(*extents[rank], c) for rank, c in terms if rank in extents]
            if mine:
                product_of *= 1 + sum(c * (size / n - 1) for size, n, c in mine)
        return product_of
