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
def best_verdicts(problem: ScheduleProblem) -> tuple[Verdict, ...]:
    """The best of all plans of each order and window, by the referee."""
    best: dict[tuple[OrderClass, int], tuple[int, Verdict]] = {}
    for plan in all_plans(problem):
        verdict = judge(problem, plan)
        if verdict.objective is not None:
            kind = verdict.order, verdict.window
            if kind not in best or verdict.objective < best[kind][0]:
                best[kind] = verdict.objective, verdict
    return tuple(verdict for _, verdict in best.values())


def optimum(problem: ScheduleProblem, order: OrderClass) -> int | None:
    """The least makespan the referee grants to any plan of the order class."""
    makespans = [
        verdict.objective
        for verdict in best_verdicts(problem)
        if verdict.objective is not None and verdict.belongs_to(order)
    ]
    return min(makespans, default=None)
