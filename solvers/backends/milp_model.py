"""A MILP in PuLP's terms, and what a solver answers about it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pulp

from elkhound.model.errors import BadInputError, ElkhoundError
from elkhound.model.result import Status

Variable = Any  # PuLP has no types
Terms = Iterable[tuple[float, Variable]]

_RELATIVE_TOLERANCE = 1e-9

DIGIT = 2**20
"""Above sizes of this, float solvers have been seen to overlook single bytes of a row,
to cut off plans that fit exactly, and then to prove the wrong optimum."""


class MilpError(ElkhoundError):
    """A MILP solver refused a model or answered something unknown."""


class Model:
    """A MILP to minimise, as sums of (coefficient, variable).

    Parameters
    ----------
    name : str
        Name in written files.
    """

    def __init__(self, name: str) -> None:
        self.lp = pulp.LpProblem(name, pulp.LpMinimize)
        self.rows = 0
        self.carries = 0

    def integer(self, name: str, low: int, high: int) -> Variable:
        """Return a new integer variable in [low, high]."""
        return self.lp.add_variable(name, low, high, "Integer")

    def binary(self, name: str) -> Variable:
        """Return a new variable in {0, 1}."""
        return self.integer(name, 0, 1)

    def continuous(
        self, name: str, low: float = 0, high: float | None = None
    ) -> Variable:
        """Return a new real variable in [low, high]; None for no upper end."""
        return self.lp.add_variable(name, low, high, "Continuous")

    def at_most(self, terms: Terms, right: float) -> None:
        """Require Σ coefficient · variable ≤ right."""
        self._add(terms, pulp.LpConstraintLE, right)

    def fit(self, terms: Iterable[tuple[int, Variable]], room: int) -> None:
        """Require Σ size · variable ≤ room for whole sizes ≥ 0, exact however large.

        With size = B·high + low, room = B·R + r and B = `DIGIT`, the row holds exactly
        if a whole number k ≥ 0 is carried:

            Σ low · variable ≤ r + B·k,   Σ high · variable + k ≤ R.

        The row of the high parts is cut again until no size reaches B.
        """
        rest = [(size, variable) for size, variable in terms if size]
        while max((size for size, _ in rest), default=0) >= DIGIT:
            low = [(size % DIGIT, v) for size, v in rest if size % DIGIT]
            rest = [(size // DIGIT, v) for size, v in rest if size >= DIGIT]
            room, right = divmod(room, DIGIT)
            if low:
                most = sum(size for size, _ in low) // DIGIT + 1
                self.carries += 1
                carry = self.integer(f"k{self.carries}", 0, most)
                self.at_most([*low, (-DIGIT, carry)], right)
                rest.append((1, carry))
        self.at_most(rest, room)

    def at_least(self, terms: Terms, right: float) -> None:
        """Require Σ coefficient · variable ≥ right."""
        self._add(terms, pulp.LpConstraintGE, right)

    def equal(self, terms: Terms, right: float) -> None:
        """Require Σ coefficient · variable = right."""
        self._add(terms, pulp.LpConstraintEQ, right)

    def minimise(self, terms: Terms, constant: float = 0) -> None:
        """Set the objective Σ coefficient · variable + constant."""
        self.lp.setObjective(_expression(terms, constant))

    def write(self, path: Path) -> None:
        """Write the model as `.lp` or `.mps`, by the ending of the name."""
        if path.suffix == ".lp":
            self.lp.writeLP(str(path))
        elif path.suffix == ".mps":
            self.lp.writeMPS(str(path))
        else:
            raise BadInputError(f"{path.name}: a model is written as .lp or .mps")

    def _add(self, terms: Terms, sense: int, right: float) -> None:
        self.rows += 1
        row = pulp.LpConstraint(_expression(terms), sense, rhs=right)
        self.lp.addConstraint(row, f"c{self.rows}")


def _expression(terms: Terms, constant: float = 0) -> Any:
    total: dict[Variable, float] = {}
    for coefficient, variable in terms:
        total[variable] = total.get(variable, 0) + coefficient
    return pulp.LpAffineExpression(total, constant=constant)


@dataclass(frozen=True, slots=True)
class MilpAnswer:
    """What a MILP solver knows at the end of a run.

    Parameters
    ----------
    status : Status
        OPTIMAL only if the solver proved it with objective and bound equal up to
        float tolerance.
    objective, bound : float or None
        Value of the incumbent, and the proven dual bound.
    values : mapping of str to float
        The incumbent, by variable name; empty without one.
    statistics : mapping
        Nodes and size of the model.
    version : str
        Of the solver and of PuLP.
    """

    status: Status
    objective: float | None
    bound: float | None
    values: Mapping[str, float] = field(default_factory=dict)
    statistics: Mapping[str, int | float | str] = field(default_factory=dict)
    version: str = ""

    def value(self, variable: Variable) -> float:
        """Return what the incumbent gives a variable."""
        return self.values[variable.name]


def settle(proved: bool, objective: float | None, bound: float | None) -> Status:
    """Return the status of a run that ended with this incumbent and bound."""
    if objective is None:
        return Status.UNKNOWN
    if not proved or bound is None:
        return Status.FEASIBLE
    tolerance = _RELATIVE_TOLERANCE * abs(objective) + 1e-6
    return Status.OPTIMAL if objective - bound <= tolerance else Status.FEASIBLE


def statistics(model: Model, nodes: int | None) -> dict[str, int | float | str]:
    """Return the size of the model and of the search tree."""
    counts: dict[str, int | float | str] = {
        "model_variables": model.lp.numVariables(),
        "model_constraints": model.rows,
    }
    if nodes is not None:
        counts["nodes"] = nodes
    return counts
