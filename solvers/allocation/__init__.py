"""Exact methods for allocation: they agree, or something is wrong."""

from elkhound.solvers.allocation.brute_force import BruteForce
from elkhound.solvers.allocation.cp_sat import CpSat
from elkhound.solvers.allocation.knapsack import KnapsackDp
from elkhound.solvers.allocation.milp import Milp

__all__ = ["BruteForce", "CpSat", "KnapsackDp", "Milp"]
