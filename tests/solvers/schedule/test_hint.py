"""The hint of the gate model: a value for every variable, and together a solution."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from oracles.small_schedules import small_problems
from ortools.sat.python import cp_model

from elkhound.model.limits import Limits
from elkhound.model.result import OrderClass
from elkhound.model.schedule import Schedule, ScheduleProblem
from elkhound.model.stopwatch import Stopwatch
from elkhound.model.timing import timeline
from elkhound.solvers.schedule.amounts import amounts_of
from elkhound.solvers.schedule.brute_force import BruteForce
from elkhound.solvers.schedule.gate_model import GateModel
from elkhound.solvers.schedule.hint import add_hint
from elkhound.solvers.schedule.reduce import reduce
from elkhound.solvers.schedule.replay import replay


@pytest.mark.parametrize("order", [OrderClass.free(), OrderClass.identity()], ids=str)
@settings(derandomize=True, deadline=None, max_examples=60)
@given(instance=small_problems())
def test_the_hint_alone_is_a_solution_at_the_horizon(
    order: OrderClass, instance: ScheduleProblem
) -> None:
    if instance.misfit is not None:
        return
    limits: Limits[Schedule] = Limits(seconds=60)
    left = reduce(instance).problem
    plan = BruteForce(order).solve(left, limits).plan
    assert plan is not None
    amounts = amounts_of(left)
    times = replay(left, amounts, plan)
    assert times.makespan * amounts.cycles_unit.size == timeline(left, plan).makespan

    gates = GateModel(left, amounts, order, times.makespan, Stopwatch(60))
    add_hint(gates, plan, times)
    hinted = list(gates.model.proto.solution_hint.vars)
    assert sorted(hinted) == list(range(len(gates.model.proto.variables)))

    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.fix_variables_to_their_hinted_value = True
    assert solver.solve(gates.model) == cp_model.OPTIMAL
    assert solver.objective_value == times.makespan
    assert gates.read(tuple(solver.response_proto.solution)) == plan
