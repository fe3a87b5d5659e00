"""Referees: small, slow, obvious judges of plans; they import nouns only."""

from elkhound.model.referee.allocation import AllocationVerdict, judge_allocation
from elkhound.model.referee.fusion import FusionVerdict, judge_fusion
from elkhound.model.referee.placement import PlacementVerdict, judge_placement
from elkhound.model.referee.schedule import Verdict, judge

__all__ = [
    "AllocationVerdict",
    "FusionVerdict",
    "PlacementVerdict",
    "Verdict",
    "judge",
    "judge_allocation",
    "judge_fusion",
    "judge_placement",
]
