"""The paper's way to share SRAM among live operators (§4.3), and one of ours."""

from elkhound.heuristics.allocation.delta import DeltaEfficiency
from elkhound.heuristics.allocation.hull_fill import DeltaHullFill

__all__ = ["DeltaEfficiency", "DeltaHullFill"]
