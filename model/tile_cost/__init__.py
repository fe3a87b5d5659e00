"""Cycles of one tile on one core, from its shape."""

from __future__ import annotations

from elkhound.model.tile_cost.cost import TileCost, einsum_cycles
from elkhound.model.tile_cost.device import Blocks, Device, MatmulSwap
from elkhound.model.tile_cost.kinds import TileKind

__all__ = ["Blocks", "Device", "MatmulSwap", "TileCost", "TileKind", "einsum_cycles"]
