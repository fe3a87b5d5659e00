"""Every plan of a tiny problem, and the best by the referee."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product
from math import prod

from elkhound.model.referee import Verdict, judge
from elkhound.model.result import OrderClass
from elkhound.model.schedule import Schedule, ScheduleProblem


def all_plans(problem: ScheduleProblem) -> Iterator[Schedule]:
    """Every gate vector with every option vector, fitting or not."""
    gates: list[tuple[int | None, ...]] = [
        tuple(range(j + 1)) if operator.streams else (None,)
        for j, operator in enumerate(problem.operators)
    ]
    options = [range(len(operator.options)) for operator in problem.operators]
    for gate_vector in product(*gates):
        for option_vector in product(*options):
            yield Schedule(gate_vector, option_vector)


def plan_count(problem: ScheduleProblem) -> int:
    """How many `all_plans` gives."""
    return prod(
        len(operator.options) * (j + 1 if operator.streams else 1)
        for j, operator in enumerate(problem.operators)
    )


@cache
def feasible_verdicts(problem: ScheduleProblem) -> tuple[Verdict, ...]:
    """The referee's word on every plan that it accepts."""
    verdicts = (judge(problem, plan) for plan in all_plans(problem))
    return tuple(verdict for verdict in verdicts if verdict.feasible)


def optimum(problem: ScheduleProblem, order: OrderClass) -> int | None:
    """The least makespan the referee grants to any plan of the order class."""
    makespans = [
        verdict.objective
        for verdict in feasible_verdicts(problem)
        if verdict.objective is not None and verdict.belongs_to(order)
    ]
    return min(makespans, default=None)
