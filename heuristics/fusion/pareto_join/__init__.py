"""The FFM mapper: group, prune and join partial mappings (paper §6)."""

from elkhound.heuristics.fusion.pareto_join.join import Joined, join

__all__ = ["Joined", "join"]
