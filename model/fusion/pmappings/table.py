"""The partial mappings of one einsum: rows, and classes of rows that fit alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from elkhound.model.fusion.compatibility import Compatibility
from elkhound.model.fusion.pmappings.combine import Candidates

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PmappingTable:
    """All partial mappings of one einsum that are worth keeping.

    A row is a partial mapping; a class is a compatibility under one order of its fused
    loops, and lists the rows that have it. A row whose fused loops may be ordered in
    several ways is in several classes.

    Parameters
    ----------
    einsum : str
        The einsum.
    energy, latency : array of rows
        In the accelerator's units.
    memories : tuple of str
        Memories with a capacity in which tiles of several einsums may lie.
    private_bits : array of rows × memories
        All its nodes but the backing stores of shared tensors.
    above_bits : array of rows × memories × (1 + most fused loops)
        Entry j: of those, persistent tensors and nodes under less than j fused loops.
    classes : tuple of Compatibility
        What others see.
    members : tuple of array
        For every class, its rows.
    sources : tuple of Candidates
        Where the rows come from, for `rebuild`.
    origin : array of rows × 2
        Which source, and which row of it.
    """

    einsum: str
    energy: Floats
    latency: Floats
    memories: tuple[str, ...]
    private_bits: Floats
    above_bits: Floats
    classes: tuple[Compatibility, ...]
    members: tuple[Ints, ...]
    sources: tuple[Candidates, ...]
    origin: Ints

    def __len__(self) -> int:
        return len(self.energy)


@dataclass(frozen=True, slots=True)
class Pick:
    """One partial mapping of one einsum, in one order of its fused loops.

    Parameters
    ----------
    row, group : int
        Row and class of the einsum's table.
    """

    row: int
    group: int
