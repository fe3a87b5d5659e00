"""The chip's transfer times for many sizes at once."""

from __future__ import annotations

import math

import numpy as np

from elkhound.model.chip import Chip
from elkhound.model.tile_cost.tile import Integers, ceil_divide

INT64_ROOM = 2**62


def exchange_cycles(chip: Chip, sizes: Integers, cores_used: Integers) -> Integers:
    """Return `chip.exchange_cycles` of every pair of bytes per core and cores used."""
    crossing = cores_used > chip.cores_per_chip
    rate = chip.links.exchange_bytes_per_second
    near = _cycles(sizes, chip.clock_hz, rate)
    if not crossing.any():
        return near
    permille = chip.links.cross_chip_permille
    far = _cycles(sizes, chip.clock_hz * permille, rate * 1000)
    return np.where(crossing, far, near)


def inbound_cycles(chip: Chip, sizes: Integers) -> Integers:
    """Return `chip.inbound_cycles` of every number of bytes per core."""
    return _cycles(sizes, chip.clock_hz, chip.links.inbound_bytes_per_second)


def port_cycles(chip: Chip, sizes: Integers) -> Integers:
    """Return the least cycles in which a tile's bytes cross a core's SRAM port."""
    return ceil_divide(sizes, chip.core.sram_port_bytes_per_cycle)


def _cycles(sizes: Integers, numerator: int, denominator: int) -> Integers:
    """Return ⌈sizes · numerator / denominator⌉, exact whatever the magnitudes."""
    factor = math.gcd(numerator, denominator)
    top, bottom = numerator // factor, denominator // factor
    if int(sizes.max(initial=0)) * top + bottom < INT64_ROOM:
        return ceil_divide(sizes * top, bottom)
    exact = [-(-int(size) * top // bottom) for size in sizes]
    return np.array(exact, dtype=np.int64)
