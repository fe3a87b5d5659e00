"""The smallest SRAM in which a problem has a plan."""

from __future__ import annotations

from dataclasses import dataclass

from elkhound.experiments.source import ModelFlags, read_source
from elkhound.model.allocation import AllocationProblem
from elkhound.model.errors import BadInputError, InfeasibleError
from elkhound.model.fusion.problem import FusionProblem
from elkhound.model.schedule import ScheduleProblem


@dataclass(frozen=True, slots=True)
class MinCapacity:
    """What a problem needs at least, and what it is given.

    Parameters
    ----------
    smallest_capacity_bytes : int
        There is a plan in so many bytes, and none in one less.
    needed_by : str
        What fills them.
    available_bytes : int
        Capacity of the problem.
    """

    smallest_capacity_bytes: int
    needed_by: str
    available_bytes: int


def min_capacity(model: str, flags: ModelFlags) -> MinCapacity:
    """Return the smallest capacity for MODEL, whether or not its own suffices.

    For a schedule it is max_i (min_o own bytes + r_i): that much every operator needs
    alone, and preloading each just before its own execute needs no more.
    """
    try:
        problem = read_source(model, flags).problem
    except InfeasibleError as error:  # a model, of which no problem can be made
        needed, available = error.smallest_capacity_bytes, error.available_bytes
        if needed is None or available is None:
            raise
        return MinCapacity(needed, error.where, available)
    if isinstance(problem, ScheduleProblem):
        largest = max(problem.operators, key=lambda operator: operator.least_bytes)
        return MinCapacity(
            largest.least_bytes, f"operator {largest.name}", problem.sram_bytes
        )
    if isinstance(problem, AllocationProblem):
        needed = sum(min(o.size_bytes for o in i.options) for i in problem.items)
        return MinCapacity(needed, "all items", problem.capacity_bytes)
    if isinstance(problem, FusionProblem):
        raise BadInputError(
            "has no effect on a fusion problem",
            code="no-effect",
            where="--min-capacity",
        )
    raise BadInputError(
        "has no effect on a placement problem: its least height is what `place` with "
        "minimise looks for",
        code="no-effect",
        where="--min-capacity",
    )
