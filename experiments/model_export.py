"""Models of exact methods as files that other solvers read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from elkhound.experiments.kinds import kind_of
from elkhound.experiments.source import Source
from elkhound.model.errors import BadInputError
from elkhound.model.result import OrderClass
from elkhound.model.schedule import ScheduleProblem

SUFFIXES = {"lp": (".lp",), "mps": (".mps",), "cp-sat": (".pb", ".pbtxt")}
"""Endings of the file by format; CP-SAT's protocol buffer is binary or text."""


@dataclass(frozen=True, slots=True)
class ExportedModel:
    """What a written model is.

    Parameters
    ----------
    method : str
        The method whose model it is, with the order class.
    cycles_per_unit : int
        Cycles that one unit of its objective stands for.
    rounding_error : int
        Cycles by which its optimum may exceed the problem's.
    """

    method: str
    cycles_per_unit: int
    rounding_error: int


def export_model(
    source: Source, form: str, order: OrderClass, output: Path
) -> ExportedModel:
    """Write the model of a schedule problem.

    Parameters
    ----------
    form : str
        A key of `SUFFIXES`: the MILP as `lp` or `mps`, or the `cp-sat` gate model.
    order : OrderClass
        Preload orders that the model holds.

    Raises
    ------
    BadInputError
        If the problem is no schedule, or the file's name ends otherwise.
    InfeasibleError
        If an operator fits in no option: such a problem has no model.
    """
    problem = source.problem
    if not isinstance(problem, ScheduleProblem):
        raise BadInputError(
            "only schedule problems are exported as models",
            code="no-model",
            where=source.name,
        )
    if output.suffix not in SUFFIXES[form]:
        raise BadInputError(
            f"{output} must end in {' or '.join(SUFFIXES[form])} for format {form}",
            code="bad-suffix",
            where="--output",
        )
    kind_of(problem).require_feasible(problem)
    if form == "cp-sat":
        from elkhound.solvers.schedule.cp_sat import CpSat

        amounts = CpSat(order).export(problem, output)
    else:
        from elkhound.solvers.schedule.milp import Milp

        amounts = Milp(order).export(problem, output)
    return ExportedModel(
        f"{'cp-sat' if form == 'cp-sat' else 'milp'}:order={order}",
        amounts.cycles_unit.size,
        amounts.rounding_error(problem),
    )
