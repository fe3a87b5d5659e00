"""A chosen amount as a sum of steps, for the CP-SAT model."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ortools.sat.python import cp_model
from ortools.sat.python.cp_model import IntVar

Expression = cp_model.LinearExpr | int


class Levels:
    """An amount chosen among an operator's options, as a sum of steps.

    With distinct values v_0 < v_1 < …, a_c = [amount ≥ v_c]:
    amount = v_0 + Σ_{c ≥ 1} (v_c − v_{c−1}) a_c. However many options there are, the
    coefficients add up to the largest value, so that no sum overflows.
    """

    def __init__(
        self,
        model: cp_model.CpModel,
        name: str,
        values: Sequence[int],
        chosen: Sequence[IntVar],
    ) -> None:
        distinct = sorted(set(values))
        self.least = distinct[0]
        self.steps = [b - a for a, b in pairwise(distinct)]
        self.reached = [model.new_bool_var(f"{name}≥{value}") for value in distinct[1:]]
        self.values = distinct[1:]
        # a_c − a_{c+1} = Σ of the options at level c; a_0 = 1.
        ladder: list[IntVar | int] = [1, *self.reached, 0]
        by_level: dict[int, list[IntVar]] = {value: [] for value in distinct}
        for value, option in zip(values, chosen, strict=True):
            by_level[value].append(option)
        for level, value in enumerate(distinct):
            if self.reached:
                here, above = ladder[level], ladder[level + 1]
                model.add(here - above == sum(by_level[value]))

    def amount(self) -> Expression:
        """Return the amount as an expression."""
        return cp_model.LinearExpr.weighted_sum(self.reached, self.steps) + self.least

    def hint(self, model: cp_model.CpModel, value: int) -> None:
        """Hint the steps of one of the values."""
        for threshold, literal in zip(self.values, self.reached, strict=True):
            model.add_hint(literal, int(value >= threshold))
