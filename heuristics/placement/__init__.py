"""Addresses one buffer after another: best fit and first fit."""

from elkhound.heuristics.placement.fit import ORDERS, BestFit, FirstFit

__all__ = ["ORDERS", "BestFit", "FirstFit"]
