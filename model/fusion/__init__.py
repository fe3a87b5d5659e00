"""Fusion: accelerators, workloads, LoopTree mappings, and what a mapping costs."""

from elkhound.model.fusion.accelerator import Accelerator, Compute, FanOut, Memory
from elkhound.model.fusion.cost import FusionCost, cost_of
from elkhound.model.fusion.looptree_text import mapping_text, parse_mapping
from elkhound.model.fusion.mapping import ComputeNode, LoopTree, Node, Split, Store
from elkhound.model.fusion.mapping import Loop as Loop
from elkhound.model.fusion.workload import FusionEinsum, FusionWorkload

__all__ = [
    "Accelerator",
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
    "Split",
    "Store",
    "cost_of",
    "mapping_text",
    "parse_mapping",
]
