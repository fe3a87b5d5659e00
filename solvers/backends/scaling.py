"""Integer units small enough for CP-SAT: granules of bytes and of cycles."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from elkhound.model.units import ceil_div

ACTIVITY_LIMIT = 2**31
"""No linear constraint may reach this: CP-SAT's presolve has been seen to overflow
and to call wrong plans optimal."""

FLOAT_LIMIT = 2**22
"""What the largest linear constraint of a MILP may reach. With durations beyond it,
HiGHS has been seen to call bounds proved that lie above known plans."""

_FIRST_COARSE_UNIT = 64


@dataclass(frozen=True, slots=True)
class Unit:
    """How many bytes (or cycles) one integer of the model stands for.

    Parameters
    ----------
    size : int
        Bytes or cycles per integer.
    exact : bool
        Whether every amount of the problem is a multiple of it; otherwise amounts
        are rounded up, and the model is stricter than the problem.
    """

    size: int
    exact: bool

    def up(self, amount: int) -> int:
        """Return the amount in units, rounded up: for sizes and durations."""
        return ceil_div(amount, self.size)

    def down(self, amount: int) -> int:
        """Return the amount in units, rounded down: for capacities."""
        return amount // self.size


def unit_for(
    amounts: Iterable[int], worst_activity: int, limit: int = ACTIVITY_LIMIT
) -> Unit:
    """Return the finest safe unit: the gcd, else 64, 128, … until nothing overflows.

    Parameters
    ----------
    amounts : iterable of int
        Every coefficient of the model, in bytes or cycles; not the capacities, which
        may be rounded down without loss once all amounts share a divisor.
    worst_activity : int
        The largest activity of any linear constraint, in bytes or cycles.
    limit : int
        What no activity may reach, in units.

    Examples
    --------
    >>> unit_for([96, 64], worst_activity=10_000)
    Unit(size=32, exact=True)
    >>> unit_for([96, 63], worst_activity=2**33)
    Unit(size=64, exact=False)
    """
    divisor = math.gcd(*amounts) or 1
    size = divisor
    coarse = _FIRST_COARSE_UNIT
    # Half the limit: rounding up adds less than one unit to each of many terms.
    while worst_activity // size >= limit // 2:
        size = coarse if coarse > divisor else divisor
        coarse *= 2
    return Unit(size, exact=divisor % size == 0)
