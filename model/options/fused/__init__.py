"""Options of fused operators: a chain that keeps its intermediates where they are."""

from __future__ import annotations

from elkhound.model.options.fused.group import Group, possible_groups
from elkhound.model.options.fused.options import fused_options
from elkhound.model.options.fused.partition import Fused, fuse
from elkhound.model.options.fused.plans import MemberPlans
from elkhound.model.options.fused.problem import (
    FusedProblem,
    fused_problem,
    fused_steps,
)
from elkhound.model.options.fused.table import Join

__all__ = [
    "Fused",
    "FusedProblem",
    "Group",
    "Join",
    "MemberPlans",
    "fuse",
    "fused_options",
    "fused_problem",
    "fused_steps",
    "possible_groups",
]
