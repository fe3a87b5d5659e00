"""The FFM mapper: group, prune and join partial mappings (paper §6)."""

from elkhound.heuristics.fusion.pareto_join.join import Joined, join
from elkhound.heuristics.fusion.pareto_join.method import ParetoJoin

__all__ = ["Joined", "ParetoJoin", "join"]
