"""Fronts of energy against latency, whose values are sums in different orders."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar

ROUNDING = 1e-9
"""Relative; values that are nearer are one value."""


class Point(Protocol):
    """Anything with an energy and a latency."""

    @property
    def energy(self) -> float:
        """What it costs."""

    @property
    def latency(self) -> float:
        """How long it takes."""


P = TypeVar("P", bound=Point)


def front(points: Iterable[P]) -> tuple[P, ...]:
    """Return the points that no other beats in both, by rising latency.

    A point that only rounding tells from another is left out.
    """
    kept: list[P] = []
    for point in sorted(points, key=lambda each: (each.latency, each.energy)):
        if kept and point.energy >= kept[-1].energy * (1 - ROUNDING):
            continue
        while kept and kept[-1].latency >= point.latency * (1 - ROUNDING):
            kept.pop()
        kept.append(point)
    return tuple(kept)
