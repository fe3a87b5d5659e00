"""Bits that shared tensors hold in the memories around one einsum."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

from elkhound.model.fusion.compatibility import (
    Compatibility,
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
        return cls(
            tuple(sum(e.bits for e in held if e.memory == name) for name in memories),
            tuple(_by_depth(fresh, name, persistent) for name in memories),
            tuple(_by_depth(gone, name, persistent) for name in memories),
        )


def _by_depth(
    held: Iterable[Exchange | Live], memory: str, persistent: Set[str]
) -> tuple[int, ...]:
    own = [each for each in held if each.memory == memory]
    bits = [0] * (2 + max((each.depth for each in own), default=0))
    for each in own:
        bits[0 if each.tensor in persistent else each.depth + 1] += each.bits
    return tuple(bits)
