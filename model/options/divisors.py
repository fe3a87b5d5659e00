"""Divisors of all small integers, as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from elkhound.model.tile_cost.tile import Integers


@dataclass(frozen=True, slots=True)
class Divisors:
    """The divisors of 1 … limit, ascending, one list after another.

    Parameters
    ----------
    values : array
        The divisors of n stand from ``start[n]``, ``count[n]`` of them.
    start, count : array
        By n; entry 0 is unused.
    """

    values: Integers
    start: Integers
    count: Integers

    def of(self, number: int) -> list[int]:
        """Return the divisors of one number, ascending."""
        first = int(self.start[number])
        return [int(v) for v in self.values[first : first + int(self.count[number])]]

    def tuples(self, length: int) -> Integers:
        """Return, for each n, how many `length`-tuples have a product dividing n."""
        ways = np.ones_like(self.count)
        owner = np.repeat(np.arange(len(self.count)), self.count)
        for _ in range(length):
            ways = np.bincount(
                owner, weights=ways[self.values], minlength=len(ways)
            ).astype(np.int64)
        return ways


def divisors_up_to(limit: int) -> Divisors:
    """Return the divisors of 1 … limit, and perhaps of some more numbers."""
    return _divisors(1 << (limit - 1).bit_length())


@lru_cache(maxsize=8)
def _divisors(limit: int) -> Divisors:
    """Return the divisors of 1 … limit."""
    multiples = [
        np.arange(d, limit + 1, d, dtype=np.int64) for d in range(1, limit + 1)
    ]
    number = np.concatenate(multiples)
    divisor = np.repeat(
        np.arange(1, limit + 1, dtype=np.int64), [len(m) for m in multiples]
    )
    order = np.argsort(number, kind="stable")
    count = np.bincount(number, minlength=limit + 1).astype(np.int64)
    return Divisors(divisor[order], np.cumsum(count) - count, count)
