"""Partition search: the ways to run an operator on all cores of a chip."""

from __future__ import annotations

from elkhound.model.options.front import four_field_front
from elkhound.model.options.problem import schedule_problem
from elkhound.model.options.search import operator_options, searched
from elkhound.model.options.shape import distinct_operators
from elkhound.model.options.spill import Spilled, spill_to_fit
from elkhound.model.options.table import Searched

__all__ = [
    "Searched",
    "Spilled",
    "distinct_operators",
    "four_field_front",
    "operator_options",
    "schedule_problem",
    "searched",
    "spill_to_fit",
]
