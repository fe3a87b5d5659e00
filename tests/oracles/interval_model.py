"""The optimum by start times: intervals and a cumulative SRAM, without gates.

Comparable with the gate formulation where accounting SRAM by time is the same as
reserving it at issue: no option with preload_bytes > execute_bytes, and no execute of
0 cycles (it would take no space at any time). Contention: `none`, and `stretch`, where
E_i runs unstretched only if every later preload with link work starts after it. The
`charge` rule asks before which execute a preload is *issued*, which start times alone
do not tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ortools.sat.python import cp_model

from elkhound.model.schedule import Contention, ScheduleProblem


def is_comparable(problem: ScheduleProblem) -> bool:
    """Whether both accountings of SRAM have the same optimum."""
    return problem.contention is not Contention.CHARGE and all(
        option.execute_bytes >= option.preload_bytes and option.execute_cycles > 0
        for operator in problem.operators
        for option in operator.options
    )


def interval_optimum(problem: ScheduleProblem, *, identity: bool) -> int | None:
    """Return the least makespan, or None if nothing fits."""
    model = cp_model.CpModel()
    bars = [_bars(model, problem, i) for i in range(len(problem.operators))]
    for earlier, later in pairwise(bars):
        model.add(later.execute_start >= earlier.execute_end)
    streaming = [bars[i] for i in problem.streaming]
    model.add_no_overlap([bar.preload for bar in streaming])
    if identity:
        for earlier, later in pairwise(streaming):
            model.add(later.preload_start >= earlier.preload_end)
    _sram(model, problem, bars)
    if problem.contention is Contention.STRETCH:
        _unstretched_executes_overlap_no_later_preload(model, problem, bars)
    model.minimize(bars[-1].execute_end)

    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    status = solver.solve(model)
    if status == cp_model.INFEASIBLE:
        return None
    assert status == cp_model.OPTIMAL, solver.status_name(status)
    return round(solver.objective_value)


@dataclass(frozen=True)
class _Bars:
    """Gantt bars of one operator: its preload, the wait until E starts, its execute."""

    takes: list[cp_model.IntVar]
    unstretched: cp_model.IntVar
    preload_start: cp_model.IntVar
    preload_end: cp_model.IntVar
    execute_start: cp_model.IntVar
    execute_end: cp_model.IntVar
    preload: cp_model.IntervalVar
    held: cp_model.IntervalVar
    execute: cp_model.IntervalVar
    preload_bytes: cp_model.IntVar
    execute_bytes: cp_model.IntVar


def _bars(model: cp_model.CpModel, problem: ScheduleProblem, i: int) -> _Bars:
    options = problem.operators[i].options
    takes = [model.new_bool_var("") for _ in options]
    model.add_exactly_one(takes)
    unstretched = model.new_bool_var("")

    def chosen(values: Sequence[int]) -> cp_model.IntVar:
        variable = model.new_int_var(min(values), max(values), "")
        for take, value in zip(takes, values, strict=True):
            model.add(variable == value).only_enforce_if(take)
        return variable

    horizon = _horizon(problem)
    times = [model.new_int_var(0, horizon, "") for _ in range(4)]
    preload_start, preload_end, execute_start, execute_end = times
    longer = [_longer(problem, o.execute_link_cycles) for o in options]
    cycles = [o.execute_cycles for o in options]
    run = model.new_int_var(0, horizon, "")
    plain, stretched = (
        chosen(cycles),
        chosen([c + x for c, x in zip(cycles, longer, strict=True)]),
    )
    model.add(run == plain).only_enforce_if(unstretched)
    model.add(run == stretched).only_enforce_if(~unstretched)
    fetch = chosen([o.preload_cycles for o in options])
    waiting = model.new_int_var(0, horizon, "")
    model.add(preload_end <= execute_start)
    return _Bars(
        takes,
        unstretched,
        preload_start,
        preload_end,
        execute_start,
        execute_end,
        model.new_interval_var(preload_start, fetch, preload_end, ""),
        model.new_interval_var(preload_start, waiting, execute_start, ""),
        model.new_interval_var(execute_start, run, execute_end, ""),
        chosen([o.preload_bytes for o in options]),
        chosen([o.execute_bytes for o in options]),
    )


def _sram(model: cp_model.CpModel, problem: ScheduleProblem, bars: list[_Bars]) -> None:
    """Let the bars alive at any time fit; K + 1 of them where K is given."""
    intervals = [bar.execute for bar in bars]
    sizes: list[cp_model.LinearExprT] = [
        bar.execute_bytes + operator.resident_bytes
        for bar, operator in zip(bars, problem.operators, strict=True)
    ]
    intervals += [bars[i].held for i in problem.streaming]
    sizes += [bars[i].preload_bytes for i in problem.streaming]
    model.add_cumulative(intervals, sizes, problem.sram_bytes)
    if problem.max_outstanding is not None:
        ones = [1] * len(intervals)
        model.add_cumulative(intervals, ones, problem.max_outstanding + 1)


def _unstretched_executes_overlap_no_later_preload(
    model: cp_model.CpModel, problem: ScheduleProblem, bars: list[_Bars]
) -> None:
    for i, bar in enumerate(bars):
        for j in problem.streaming:
            if j <= i:
                continue
            for take, option in zip(
                bars[j].takes, problem.operators[j].options, strict=True
            ):
                if option.preload_link_cycles > 0:
                    model.add(bars[j].preload_start >= bar.execute_end).only_enforce_if(
                        take, bar.unstretched
                    )


def _longer(problem: ScheduleProblem, link_cycles: int) -> int:
    if problem.contention is Contention.NONE:
        return 0
    return -(-problem.link_stretch_permille * link_cycles // 1000)


def _horizon(problem: ScheduleProblem) -> int:
    """Everything one after another, at its longest."""
    return sum(
        max(
            o.preload_cycles
            + o.execute_cycles
            + _longer(problem, o.execute_link_cycles)
            for o in operator.options
        )
        for operator in problem.operators
    )
