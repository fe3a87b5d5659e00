"""Bits that shared tensors hold in the memories around one einsum."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

from elkhound.model.fusion.compatibility import (
    Compatibility,
    Copy,
    Exchange,
    Interface,
    Live,
)

Bits = tuple[tuple[int, ...], ...]
"""By memory and depth."""


@dataclass(frozen=True, slots=True)
class Held:
    """Shared tensors around one einsum.

    Parameters
    ----------
    live : tuple of int
        By memory: tensors that are live while it runs, its own included.
    opened, retired : tuple of tuple of int
        By memory and d: tensors directly under d − 1 loops that are live from this
        einsum on, and that no later one uses; d = 0 for those that persist.

    Notes
    -----
    A copy above loops that the einsum shares with an earlier user is one node, which
    the rows of both count: it is taken off all three, which may then be negative.
    """

    live: tuple[int, ...]
    opened: Bits
    retired: Bits

    @classmethod
    def between(
        cls,
        before: Interface,
        own: Compatibility,
        after: Interface,
        memories: Sequence[str],
        persistent: Set[str],
    ) -> Held:
        """Return what an einsum's class holds between two interfaces."""
        known = {live.tensor for live in before.live}
        still = {live.tensor for live in after.live}
        fresh = [e for e in own.exchanges if e.tensor not in known]
        held: list[Exchange | Live] = [*before.live, *fresh]
        gone = [each for each in held if each.tensor not in still]
        used = {exchange.tensor for exchange in own.exchanges}
        twice = [c for live in before.live if live.tensor in used for c in live.copies]
        return cls(
            tuple(_bits(held, name) - _bits(twice, name) for name in memories),
            tuple(_by_depth(fresh, twice, name, persistent) for name in memories),
            tuple(_by_depth(gone, twice, name, persistent) for name in memories),
        )


def _bits(held: Iterable[Exchange | Live | Copy], memory: str) -> int:
    return sum(each.bits for each in held if each.memory == memory)


def _by_depth(
    held: Iterable[Exchange | Live],
    twice: Iterable[Copy],
    memory: str,
    persistent: Set[str],
) -> tuple[int, ...]:
    bits = defaultdict[int, int](int)
    for each in held:
        if each.memory == memory:
            bits[0 if each.tensor in persistent else each.depth + 1] += each.bits
    for copy in twice:
        if copy.memory == memory:
            bits[copy.depth + 1] -= copy.bits
    return tuple(bits[d] for d in range(1 + max(bits, default=1)))
