"""A placement problem as maximal sets of buffers alive together."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter

from elkhound.model.placement import Buffer, neighbours

Getter = Callable[[Sequence[int]], tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Cliques:
    """Buffers by number, in the order of their lifetimes, and their cliques.

    A clique is a maximal set of buffers alive at one step. Cliques are numbered in
    time; each buffer belongs to a contiguous range of them, and two buffers conflict
    if and only if their ranges meet. Buffers of 0 bytes are left out.

    Parameters
    ----------
    unit_bytes : int
        Greatest common divisor of all sizes; every size below is in this unit.
    index : tuple of int
        Place of each buffer in the problem.
    size : tuple of int
        In units.
    duration : tuple of int
        In steps.
    first, last : tuple of int
        Buffer j belongs to the cliques first_j ≤ t < last_j.
    members : tuple of tuple of int
        Buffers of each clique.
    conflicts : tuple of tuple of int
        Buffers that share a clique with each.
    twins : tuple of tuple of int
        Other buffers of the same range and size.
    range_mask : tuple of int
        The range as a bit mask over cliques.
    of_clique, of_conflicts : tuple of callable
        Pick from a list what belongs to the members of a clique, or to the conflicts
        of a buffer. At least two values each time, so a lone one comes twice.
    """

    unit_bytes: int
    index: tuple[int, ...]
    size: tuple[int, ...]
    duration: tuple[int, ...]
    first: tuple[int, ...]
    last: tuple[int, ...]
    members: tuple[tuple[int, ...], ...]
    conflicts: tuple[tuple[int, ...], ...]
    twins: tuple[tuple[int, ...], ...]
    range_mask: tuple[int, ...]
    of_clique: tuple[Getter, ...]
    of_conflicts: tuple[Getter | None, ...]

    @property
    def liveness(self) -> int:
        """The most units alive together."""
        sums = (sum(self.size[j] for j in members) for members in self.members)
        return max(sums, default=0)


def cliques_of(buffers: Sequence[Buffer]) -> Cliques:
    """Return the cliques of buffers."""
    index = [k for k, buffer in enumerate(buffers) if buffer.size_bytes]
    index.sort(key=lambda k: (buffers[k].start_step, buffers[k].end_step))
    kept = [buffers[k] for k in index]
    unit = math.gcd(*(b.size_bytes for b in kept)) or 1
    steps = _clique_steps(kept)
    ranges = [_range(b, steps) for b in kept]
    sizes = [b.size_bytes // unit for b in kept]
    numbers = range(len(kept))
    members: list[list[int]] = [[] for _ in steps]
    for j in numbers:
        for t in range(*ranges[j]):
            members[t].append(j)
    conflicts = neighbours(kept)  # `kept` starts in order, so each is sorted
    twins = [
        tuple(
            k for k in conflicts[j] if ranges[k] == ranges[j] and sizes[k] == sizes[j]
        )
        for j in numbers
    ]
    return Cliques(
        unit_bytes=unit,
        index=tuple(index),
        size=tuple(sizes),
        duration=tuple(b.end_step - b.start_step for b in kept),
        first=tuple(a for a, _ in ranges),
        last=tuple(b for _, b in ranges),
        members=tuple(map(tuple, members)),
        conflicts=tuple(map(tuple, conflicts)),
        twins=tuple(twins),
        range_mask=tuple((1 << b) - (1 << a) for a, b in ranges),
        of_clique=tuple(_getter(tuple(m)) for m in members),
        of_conflicts=tuple(_getter(tuple(c)) if c else None for c in conflicts),
    )


def _clique_steps(buffers: Sequence[Buffer]) -> list[int]:
    """Return the steps at which a maximal set is alive.

    A start step is one if some buffer alive then ends before or at the next start:
    otherwise the next set contains this one.
    """
    if not buffers:
        return []
    starts = sorted({b.start_step for b in buffers})
    ends = sorted(b.end_step for b in buffers)
    steps = []
    place = 0
    for step, following in zip(starts, [*starts[1:], math.inf], strict=True):
        while place < len(ends) and ends[place] <= step:
            place += 1
        if place < len(ends) and ends[place] <= following:
            steps.append(step)
    return steps


def _range(buffer: Buffer, steps: Sequence[int]) -> tuple[int, int]:
    """Return the first clique that holds a buffer, and the one behind the last."""
    return bisect_left(steps, buffer.start_step), bisect_left(steps, buffer.end_step)


def _getter(places: tuple[int, ...]) -> Getter:
    return itemgetter(*places) if len(places) > 1 else itemgetter(*places, *places)
