"""Fused mappings on the simulated accelerator: tiles that move through memories."""

from elkhound.simpy_chip.fused.score import (
    EinsumScore,
    FusedScore,
    PortScore,
    Transfer,
    fused_document,
)
from elkhound.simpy_chip.fused.simulation import simulate_mapping
from elkhound.simpy_chip.fused.trace import fused_trace

__all__ = [
    "EinsumScore",
    "FusedScore",
    "PortScore",
    "Transfer",
    "fused_document",
    "fused_trace",
    "simulate_mapping",
]
