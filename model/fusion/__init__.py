"""Fusion: accelerators, workloads, LoopTree mappings, and what a mapping costs."""

from elkhound.model.fusion.accelerator import Accelerator, Compute, FanOut, Memory
from elkhound.model.fusion.chip_accelerator import ChipEnergy, as_accelerator
from elkhound.model.fusion.cost import FusionCost, cost_of
from elkhound.model.fusion.looptree_text import mapping_text, parse_mapping
from elkhound.model.fusion.mapping import (
    ComputeNode,
    Loop,
    LoopTree,
    Node,
    Split,
    Store,
)
from elkhound.model.fusion.physics import Physics
from elkhound.model.fusion.workload import FusionEinsum, FusionWorkload

__all__ = [
    "Accelerator",
    "ChipEnergy",
    "Compute",
    "ComputeNode",
    "FanOut",
    "FusionCost",
    "FusionEinsum",
    "FusionWorkload",
    "Loop",
    "LoopTree",
    "Memory",
    "Node",
    "Physics",
    "Split",
    "Store",
    "as_accelerator",
    "cost_of",
    "mapping_text",
    "parse_mapping",
]
