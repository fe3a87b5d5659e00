"""Preload states: how much of a core's share HBM delivers, and how much its peers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from elkhound.model.chip import Chip
from elkhound.model.options.divisors import divisors_up_to
from elkhound.model.options.execute_plan import SYNCS_PER_TRANSFER
from elkhound.model.options.front import first_of_equal, pareto_rows
from elkhound.model.options.rates import exchange_cycles
from elkhound.model.tile_cost.tile import Integers, ceil_divide


@dataclass(frozen=True, slots=True)
class PreloadStates:
    """The front of one plan's preload states, by rising preload_bytes.

    Parameters
    ----------
    shares : array
        g of every input, one row per state; 1 for resident inputs.
    preload_bytes : array
        Σ ⌈piece_T / g_T⌉ over streamed inputs.
    distribute_bytes, distribute_cycles : array
        What peers send before compute, and how long that takes.
    """

    shares: Integers
    preload_bytes: Integers
    distribute_bytes: Integers
    distribute_cycles: Integers


def preload_states(
    chip: Chip,
    pieces: tuple[int, ...],
    holders: tuple[int, ...],
    cores_used: int,
) -> PreloadStates:
    """Return a plan's exact front over (preload_bytes, distribute_cycles).

    Parameters
    ----------
    pieces, holders : tuple of int
        By input: bytes of the piece a core holds, and R_T / f_T, the cores that hold
        the same piece; g divides the latter. 0 and 1 for resident inputs.
    cores_used : int
        Cores of the plan.
    """
    shares = _all_shares(holders)
    held = np.broadcast_to(np.array(pieces, dtype=np.int64), shares.shape)
    delivered = ceil_divide(held, shares).sum(axis=1)
    missing = held.sum(axis=1) - delivered
    cycles = exchange_cycles(chip, missing, np.full_like(missing, cores_used))
    syncs = SYNCS_PER_TRANSFER * (shares > 1).sum(axis=1)
    cycles = cycles + syncs * chip.links.sync_cycles
    points = np.column_stack([delivered, cycles])
    front = pareto_rows(points)
    front = front[first_of_equal(points[front])]
    return PreloadStates(shares[front], delivered[front], missing[front], cycles[front])


def _all_shares(holders: tuple[int, ...]) -> Integers:
    """Return every combination of g over the inputs, lexicographically."""
    if not holders:
        return np.ones((1, 0), dtype=np.int64)
    table = divisors_up_to(max(holders))
    choices = [np.array(table.of(count), dtype=np.int64) for count in holders]
    grids = np.meshgrid(*choices, indexing="ij")
    return np.column_stack([grid.ravel() for grid in grids])
