"""Partition search: the ways to run an operator on all cores of a chip."""

from __future__ import annotations

from elkhound.model.options.front import four_field_front
from elkhound.model.options.problem import schedule_problem
from elkhound.model.options.search import operator_options

__all__ = ["four_field_front", "operator_options", "schedule_problem"]
