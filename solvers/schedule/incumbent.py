"""The plan a schedule solver starts from, checked before it is trusted."""

from __future__ import annotations

from dataclasses import dataclass

from elkhound.model.limits import Limits
from elkhound.model.result import OrderClass
from elkhound.model.schedule import Schedule, ScheduleProblem
from elkhound.model.timing import fits, timeline


@dataclass(frozen=True, slots=True)
class Incumbent:
    """A feasible plan and its makespan in cycles."""

    plan: Schedule
    value: int


def evaluate(problem: ScheduleProblem, plan: Schedule) -> Incumbent:
    """Return a legal plan with its makespan."""
    return Incumbent(plan, timeline(problem, plan).makespan)


def warm_start(
    problem: ScheduleProblem, limits: Limits[Schedule], order: OrderClass
) -> Incumbent | None:
    """Return the warm start if it is a feasible plan of the order class.

    A plan outside the class would set a horizon that no plan of the class meets.
    """
    plan = limits.warm_start
    if plan is None or not _is_legal(problem, plan) or not fits(problem, plan):
        return None
    return evaluate(problem, plan) if belongs(plan, order) else None


def one_by_one(problem: ScheduleProblem) -> Incumbent:
    """Return the plan that overlaps nothing: every preload just before its execute.

    It belongs to every order class, and fits if there is no misfit. Each operator
    takes the fitting option with the least h + t.
    """
    options = []
    for operator in problem.operators:
        room = problem.sram_bytes - operator.resident_bytes
        fitting = (q for q, o in enumerate(operator.options) if o.own_bytes <= room)
        options.append(
            min(
                fitting,
                key=lambda q: (
                    operator.options[q].preload_cycles
                    + operator.options[q].execute_cycles
                ),
            )
        )
    gates = tuple(j if o.streams else None for j, o in enumerate(problem.operators))
    return evaluate(problem, Schedule(gates, tuple(options)))


def better(first: Incumbent | None, second: Incumbent | None) -> Incumbent | None:
    """Return the one with the smaller makespan; the first on a tie."""
    if first is None or second is None:
        return first or second
    return second if second.value < first.value else first


def belongs(plan: Schedule, order: OrderClass) -> bool:
    """Whether the plan's preload order is one of the class."""
    gated = [(j, gate) for j, gate in enumerate(plan.gates) if gate is not None]
    if order.window is not None:
        return all(gate >= j - order.window for j, gate in gated)
    if order == OrderClass.identity():
        gates = [gate for _, gate in gated]
        return gates == sorted(gates)
    return True


def _is_legal(problem: ScheduleProblem, plan: Schedule) -> bool:
    count = len(problem.operators)
    if len(plan.gates) != count or len(plan.options) != count:
        return False
    for j, operator in enumerate(problem.operators):
        gate = plan.gates[j]
        if (gate is not None) != operator.streams:
            return False
        if gate is not None and not 0 <= gate <= j:
            return False
        if not 0 <= plan.options[j] < len(operator.options):
            return False
    return True
