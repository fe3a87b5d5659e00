"""Exact choice of partial mappings: CP-SAT, MILP and brute force."""
