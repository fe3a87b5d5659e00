"""Capacity while partial mappings are joined: sums in a branch, peaks over branches.

At an interface with k shared loops, a row carries for every memory

    above[j] = Σ of the bits on the open path under less than j loops, j ≤ k
    peak[j]  = the most that a past einsum needs which shares j loops with the next

An einsum that shares j loops with a past one holds its own nodes under less than j
loops while the past one runs, and the other way round (paper §5.2: 2·k + 1 numbers).
Live tensors are not in these sums: how many bits they hold follows from the interface.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Reserved:
    """Reservations of many rows.

    Parameters
    ----------
    above, peak : array of rows × memories × (k + 1)
        See the module.
    """

    above: Floats
    peak: Floats

    def taken(self, rows: npt.NDArray[np.int64]) -> Reserved:
        """Return some rows."""
        return Reserved(self.above[rows], self.peak[rows])


@dataclass(frozen=True, slots=True)
class Step:
    """What one more einsum of a class reserves, apart from its private nodes.

    Parameters
    ----------
    held_bits : array of memories
        Live tensors while it runs, its own included.
    opened : array of memories × depths
        Entry j: tensors live from this einsum on, under less than j loops.
    retired : array of memories × depths
        Entry j: tensors whose last user it is, under less than j loops.
    shared : int
        Loops that it shares with the next einsum.
    """

    held_bits: Floats
    opened: Floats
    retired: Floats
    shared: int


def reserved_by_none(memories: int) -> Reserved:
    """Return the reservations before the first einsum."""
    return Reserved(np.zeros((1, memories, 1)), np.zeros((1, memories, 1)))


def after(
    past: Reserved, private: Floats, above: Floats, step: Step, capacity: Floats
) -> tuple[Reserved, npt.NDArray[np.bool_]]:
    """Return the reservations after an einsum, and which rows fit.

    Parameters
    ----------
    private : array of rows × memories
        The einsum's nodes, shared backing stores left out.
    above : array of rows × memories × depths
        Entry j: those under less than j loops.
    """
    k, shared = past.above.shape[2] - 1, step.shared
    peak = past.peak + above[:, :, : k + 1] + step.opened[:, : k + 1]
    own = private + past.above[:, :, k] + step.held_bits
    fits = np.asarray((peak <= capacity[:, None]).all(axis=(1, 2)))
    fits &= np.asarray((own <= capacity).all(axis=1))
    path = np.minimum(np.arange(shared + 1), k)
    held = past.above[:, :, path] + above[:, :, : shared + 1]
    held = held + step.retired[:, : shared + 1]
    folded = np.zeros((len(own), own.shape[1], shared + 1))
    common = min(k, shared)
    folded[:, :, : common + 1] = peak[:, :, : common + 1]
    if k > shared:
        folded[:, :, shared] = peak[:, :, shared:].max(axis=2)
    folded[:, :, shared] = np.maximum(folded[:, :, shared], own)
    return Reserved(held, folded), fits
