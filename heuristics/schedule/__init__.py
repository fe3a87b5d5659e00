"""The planners that the Elk paper compares."""

from elkhound.heuristics.schedule.basic import Basic
from elkhound.heuristics.schedule.elk import ElkDyn, ElkFull
from elkhound.heuristics.schedule.static import Static

__all__ = ["Basic", "ElkDyn", "ElkFull", "Static"]
