"""Fused mappings on the simulated accelerator: tiles that move through memories."""

from elkhound.simpy_chip.fused.score import (
    EinsumScore,
    FusedScore,
    PortScore,
    Transfer,
    fused_document,
)
from elkhound.simpy_chip.fused.simulation import simulate_mapping

__all__ = [
    "EinsumScore",
    "FusedScore",
    "PortScore",
    "Transfer",
    "fused_document",
    "simulate_mapping",
]
