"""Gives CP-SAT a whole plan to start from: a value for every variable."""

from __future__ import annotations

from elkhound.model.schedule import Schedule
from elkhound.solvers.schedule.gate_model import GateModel
from elkhound.solvers.schedule.replay import Replay


def add_hint(gates: GateModel, plan: Schedule, times: Replay) -> None:
    """Hint every variable of the model with the plan at its earliest times."""
    _hint_choices(gates, plan)
    _hint_issue(gates, plan)
    _hint_contention(gates, plan, times)
    _hint_times(gates, plan, times)


def _issued(plan: Schedule, j: int, i: int) -> bool:
    gate = plan.gates[j]
    return gate is not None and gate <= i


def _hint_choices(gates: GateModel, plan: Schedule) -> None:
    """x_iq, the levels of own and preloaded bytes, and those of long durations."""
    model, amounts = gates.model, gates.amounts
    for i, chosen in enumerate(gates.chosen):
        for q, literal in enumerate(chosen):
            model.add_hint(literal, int(q == plan.options[i]))
        gates.own[i].hint(model, amounts.own[i][plan.options[i]])
    for j, levels in gates.waiting.items():
        levels.hint(model, amounts.preload[j][plan.options[j]])
    for i, values, levels in gates.totals:
        levels.hint(model, values[plan.options[i]])


def _hint_issue(gates: GateModel, plan: Schedule) -> None:
    """y_ji, z_jci and the order literals."""
    model, amounts = gates.model, gates.amounts
    for (j, i), literal in gates.gate_literals.items():
        model.add_hint(literal, int(_issued(plan, j, i)))
    for (j, c, i), literal in gates.held.items():
        size = amounts.preload[j][plan.options[j]]
        taken = _issued(plan, j, i) and size >= gates.waiting[j].values[c]
        model.add_hint(literal, int(taken))
    for (a, b), literal in gates.first.items():
        gate_a, gate_b = plan.gates[a] or 0, plan.gates[b] or 0
        model.add_hint(literal, int(gate_a <= gate_b))


def _hint_contention(gates: GateModel, plan: Schedule, times: Replay) -> None:
    """b_i and [Y_j > 0], or the charged link work."""
    model, amounts = gates.model, gates.amounts
    for i, literal in gates.busy.items():
        model.add_hint(literal, int(times.busy[i]))
    for j, load in gates.loads.items():
        if load is not None and not isinstance(load, int):
            option = gates.problem.operators[j].options[plan.options[j]]
            model.add_hint(load, int(option.preload_link_cycles > 0))
    for j, levels in gates.link.items():
        levels.hint(model, amounts.y[j][plan.options[j]])
    for (j, c, i), literal in gates.charged.items():
        work = amounts.y[j][plan.options[j]]
        charged = plan.gates[j] == i and work >= gates.link[j].values[c]
        model.add_hint(literal, int(charged))


def _hint_times(gates: GateModel, plan: Schedule, times: Replay) -> None:
    """D_i, EE_i, PS_j, PE_j and the prefixes of HBM work."""
    model = gates.model
    for i in range(gates.count):
        model.add_hint(gates.duration[i], times.duration[i])
        model.add_hint(gates.execute_end[i], times.execute_end[i])
    total = 0
    for j in gates.streaming:
        model.add_hint(gates.preload_start[j], times.preload_start[j])
        model.add_hint(gates.preload_end[j], times.preload_end[j])
        total += gates.amounts.h[j][plan.options[j]]
        if j in gates.prefix:
            model.add_hint(gates.prefix[j], total)
