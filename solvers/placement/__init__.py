"""Exact methods for placement: a branch and bound of our own, and CP-SAT."""

from elkhound.solvers.placement.cp_sat import CpSat
from elkhound.solvers.placement.search import Search

__all__ = ["CpSat", "Search"]
