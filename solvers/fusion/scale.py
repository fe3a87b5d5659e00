"""Costs as integers, with the error that this brings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scale:
    """How much one integer of the model stands for.

    Parameters
    ----------
    least : tuple of float
        Per einsum, the cost that counts as 0.
    unit : float
        Cost per integer.
    is_exact : bool
        Whether every cost is a multiple of it; else costs are rounded down, and a sum
        is less than one unit per einsum too small.
    """

    least: tuple[float, ...]
    unit: float
    is_exact: bool

    @classmethod
    def of(cls, costs: Sequence[Sequence[float]], most: int) -> Scale:
        """Return the finest unit with which no sum exceeds `most`.

        Parameters
        ----------
        costs : sequence of sequence of float
            Of every option, per einsum.
        """
        least = tuple(min(own) for own in costs)
        above = {c - low for own, low in zip(costs, least, strict=True) for c in own}
        reach = sum(max(own) - low for own, low in zip(costs, least, strict=True))
        if all(value.is_integer() for value in above):
            divisor = math.gcd(*(int(value) for value in above)) or 1
            if reach / divisor <= most:
                return cls(least, float(divisor), is_exact=True)
        return cls(least, reach / most, is_exact=False)

    def down(self, einsum: int, cost: float) -> int:
        """Return an option's cost in units."""
        return math.floor((cost - self.least[einsum]) / self.unit)

    def room(self, total: float) -> int:
        """Return how many units a total leaves; no choice within it needs more."""
        above = total - sum(self.least)
        return math.floor(above / self.unit + _SLACK * (1 + abs(total) / self.unit))

    def total(self, units: float) -> float:
        """Return the least cost that this many units stand for."""
        return sum(self.least) + units * self.unit

    @property
    def error(self) -> float:
        """How much rounding down may hide."""
        return 0.0 if self.is_exact else len(self.least) * self.unit


_SLACK = 1e-12  # relative; sums of floats in different orders
