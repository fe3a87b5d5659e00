"""Referees: small, slow, obvious judges of plans; they import nouns only."""

from elkhound.model.referee.allocation import AllocationVerdict, judge_allocation
from elkhound.model.referee.schedule import Verdict, judge

__all__ = ["AllocationVerdict", "Verdict", "judge", "judge_allocation"]
