"""Tiles in bulk: extents of many tiles at once, as NumPy arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from elkhound.model.graph import Access

Integers = NDArray[np.int64]
Tile = Mapping[str, Integers]
"""Extents by dimension name; entry i of every array belongs to tile i."""


def volume(tile: Tile, names: Iterable[str]) -> Integers:
    """Return Π extents of the named dimensions, 1 for none."""
    result = np.ones(_count(tile), dtype=np.int64)
    for name in names:
        result = result * tile[name]
    return result


def touched(access: Access, tile: Tile) -> Integers:
    """Return the elements each tile touches, as `Access.elements` does for one."""
    result = np.ones(_count(tile), dtype=np.int64)
    for axis in access.axes:
        extent = np.ones_like(result)
        for name, coefficient in axis.terms:
            extent = extent + coefficient * (tile[name] - 1)
        result = result * extent
    return result


def ceil_divide(numerator: Integers, denominator: Integers | int) -> Integers:
    """Return ⌈numerator / denominator⌉ elementwise, in integers."""
    quotient: Integers = -(-numerator // denominator)
    return quotient


def _count(tile: Tile) -> int:
    return len(next(iter(tile.values()))) if tile else 1
