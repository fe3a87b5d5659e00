"""Cycles of one tile on one core, from its shape."""

from __future__ import annotations

from elkhound.model.tile_cost.device import Device, MatmulSwap

__all__ = ["Device", "MatmulSwap"]
