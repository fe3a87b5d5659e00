"""Nouns: chip, graph, options, problems, plans, referee. Imports nothing of ours.

The nouns are imported at once. What reads files or searches options loads its
libraries (pydantic, PyYAML, onnx, NumPy) only when its name is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from elkhound.model.allocation import (
    Allocation,
    AllocationItem,
    AllocationOption,
    AllocationProblem,
    Allocator,
)
from elkhound.model.chip import AllToAll, Chip, Core, Hbm, Mesh2D
from elkhound.model.dtype import DTYPES, DType
from elkhound.model.errors import (
    BadInputError,
    ContradictionError,
    ElkhoundError,
    InfeasibleError,
)
from elkhound.model.graph import (
    Access,
    Axis,
    Dimension,
    Einsum,
    Graph,
    Home,
    Operator,
    OperatorKind,
    Pass,
    Tensor,
)
from elkhound.model.limits import Limits
from elkhound.model.program import Program, program_of
from elkhound.model.result import Bound, BoundKind, Method, OrderClass, Result, Status
from elkhound.model.schedule import (
    Contention,
    OptionPayload,
    Schedule,
    ScheduleOperator,
    ScheduleOption,
    ScheduleProblem,
    TensorSplit,
)

if TYPE_CHECKING:
    from elkhound.model.io import load_chip, load_graph
    from elkhound.model.options import schedule_problem

_LOADED_ON_USE = {
    "load_chip": "elkhound.model.io",
    "load_graph": "elkhound.model.io",
    "schedule_problem": "elkhound.model.options",
}

__all__ = [
    "DTYPES",
    "Access",
    "AllToAll",
    "Allocation",
    "AllocationItem",
    "AllocationOption",
    "AllocationProblem",
    "Allocator",
    "Axis",
    "BadInputError",
    "Bound",
    "BoundKind",
    "Chip",
    "Contention",
    "ContradictionError",
    "Core",
    "DType",
    "Dimension",
    "Einsum",
    "ElkhoundError",
    "Graph",
    "Hbm",
    "Home",
    "InfeasibleError",
    "Limits",
    "Mesh2D",
    "Method",
    "Operator",
    "OperatorKind",
    "OptionPayload",
    "OrderClass",
    "Pass",
    "Program",
    "Result",
    "Schedule",
    "ScheduleOperator",
    "ScheduleOption",
    "ScheduleProblem",
    "Status",
    "Tensor",
    "TensorSplit",
    "load_chip",
    "load_graph",
    "program_of",
    "schedule_problem",
]


def __getattr__(name: str) -> object:
    if name not in _LOADED_ON_USE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LOADED_ON_USE[name]), name)
