"""Cycles of one tile on one core, from its shape."""

from __future__ import annotations

from elkhound.model.tile_cost.cost import TileCost, einsum_cycles
from elkhound.model.tile_cost.device import Blocks, Device, MatmulSwap
from elkhound.model.tile_cost.fitted import FittedCost, Tiles, fitted_to
from elkhound.model.tile_cost.kinds import DIMENSIONS, TileKind
from elkhound.model.tile_cost.measured import MeasuredCost, measured_cost
from elkhound.model.tile_cost.tile_csv import read_tiles, write_tiles

__all__ = [
    "DIMENSIONS",
    "Blocks",
    "Device",
    "FittedCost",
    "MatmulSwap",
    "MeasuredCost",
    "TileCost",
    "TileKind",
    "Tiles",
    "einsum_cycles",
    "fitted_to",
    "measured_cost",
    "read_tiles",
    "write_tiles",
]
