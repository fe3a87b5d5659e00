"""What holds for every schedule heuristic, on any problem a file may hold."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from oracles.plans import optimum

from elkhound.heuristics.allocation import DeltaEfficiency, DeltaHullFill
from elkhound.heuristics.schedule import Basic, ElkDyn, Static
from elkhound.heuristics.schedule.shapes import shape_numbers
from elkhound.model.allocation import Allocation, AllocationProblem, Allocator
from elkhound.model.instances import SCHEDULE_FAMILIES, random_schedule
from elkhound.model.limits import Limits
from elkhound.model.referee import judge
from elkhound.model.result import Method, OrderClass, Status
from elkhound.model.schedule import (
    Contention,
    OptionPayload,
    Schedule,
    ScheduleOperator,
    ScheduleOption,
    ScheduleProblem,
)
from elkhound.solvers.allocation import KnapsackDp

Heuristic = Method[ScheduleProblem, Schedule]

LIMITS: Limits[Schedule] = Limits(seconds=600, workers=1)
HEURISTICS: list[Heuristic] = [
    Basic(),
    Static(),
    ElkDyn(DeltaEfficiency()),
    ElkDyn(DeltaHullFill()),
    ElkDyn(KnapsackDp()),
]
each_heuristic = pytest.mark.parametrize("heuristic", HEURISTICS, ids=lambda h: h.name)
often = settings(derandomize=True, deadline=None, max_examples=200)


@st.composite
def options(draw: st.DrawFn, streams: bool) -> ScheduleOption:
    """Draw any numbers that an option may have, preload above execute bytes too."""
    preload_bytes = draw(st.integers(0, 8)) if streams else 0
    least = 1 if streams and preload_bytes == 0 else 0
    preload_cycles = draw(st.integers(least, 9)) if streams else 0
    execute_cycles = draw(st.integers(0, 9))
    return ScheduleOption(
        execute_plan=draw(st.integers(0, 1)),
        execute_bytes=draw(st.integers(0, 8)),
        preload_bytes=preload_bytes,
        preload_cycles=preload_cycles,
        preload_link_cycles=draw(st.integers(0, preload_cycles)),
        execute_cycles=execute_cycles,
        execute_link_cycles=draw(st.integers(0, execute_cycles)),
    )


@st.composite
def problems(
    draw: st.DrawFn, most_operators: int = 4, most_options: int = 2
) -> ScheduleProblem:
    """Draw a problem of any rule, with or without K, that may have no plan."""
    count = draw(st.integers(1, most_operators))
    operators = []
    for i in range(count):
        streams = draw(st.booleans()) or draw(st.booleans())
        drawn = draw(st.lists(options(streams), min_size=1, max_size=most_options))
        resident_bytes = draw(st.sampled_from([0, 0, 1, 3]))
        operators.append(ScheduleOperator(f"op{i}", tuple(drawn), resident_bytes))
    return ScheduleProblem(
        sram_bytes=draw(st.integers(4, 30)),
        operators=tuple(operators),
        contention=draw(st.sampled_from(Contention)),
        link_stretch_permille=draw(st.sampled_from([1000, 977, 330])),
        max_outstanding=draw(st.sampled_from([None, None, 0, 1, 2])),
    )


@each_heuristic
@given(problem=problems())
@often
def test_no_heuristic_beats_the_optimum(
    heuristic: Heuristic, problem: ScheduleProblem
) -> None:
    best = optimum(problem, OrderClass.identity())
    result = heuristic.solve(problem, LIMITS)
    if best is None:
        assert result.status is Status.INFEASIBLE
    elif result.plan is None:
        assert heuristic.name == "static"
        assert result.status is Status.UNKNOWN
    else:
        verdict = judge(problem, result.plan)
        assert verdict.violations == ()
        assert verdict.objective == result.objective
        assert verdict.order == result.order == OrderClass.identity()
        assert result.status is Status.FEASIBLE
        assert result.bound is None
        assert verdict.objective is not None
        assert verdict.objective >= best


@each_heuristic
@given(problem=problems(most_operators=10, most_options=3))
@settings(derandomize=True, deadline=None, max_examples=100)
def test_every_plan_fits(heuristic: Heuristic, problem: ScheduleProblem) -> None:
    result = heuristic.solve(problem, LIMITS)
    if result.plan is not None:
        verdict = judge(problem, result.plan)
        assert verdict.violations == ()
        assert verdict.objective == result.objective


@each_heuristic
@pytest.mark.parametrize("family", SCHEDULE_FAMILIES)
def test_the_same_problem_gets_the_same_plan(heuristic: Heuristic, family: str) -> None:
    problem = random_schedule(7, 20, family, options=(3, 3))
    # Equal, but not the same objects: what is shared may not matter.
    copied = replace(
        problem,
        operators=tuple(
            replace(operator, options=tuple(replace(o) for o in operator.options))
            for operator in problem.operators
        ),
    )
    first = heuristic.solve(problem, LIMITS)
    again = heuristic.solve(copied, LIMITS)
    assert first.plan == again.plan
    assert first.statistics == again.statistics


@each_heuristic
def test_an_operator_that_fits_nowhere_is_proved_infeasible(
    heuristic: Heuristic,
) -> None:
    problem = random_schedule(3, 6, "balanced", feasible=False)
    result = heuristic.solve(problem, LIMITS)
    assert (result.status, result.plan) == (Status.INFEASIBLE, None)


def small_states(problem: ScheduleProblem) -> ScheduleProblem:
    """Give every option an execute plan of its own: no preload state can shrink."""
    return replace(
        problem,
        operators=tuple(
            replace(
                operator,
                options=tuple(
                    replace(option, execute_plan=k)
                    for k, option in enumerate(operator.options)
                ),
            )
            for operator in problem.operators
        ),
    )


@given(problem=problems(most_operators=8, most_options=3))
@often
def test_the_induction_promises_no_less_than_it_keeps(
    problem: ScheduleProblem,
) -> None:
    # Without states to shrink, the times counted backwards are a timetable that the
    # program can keep; starting earlier can only end earlier.
    result = ElkDyn(DeltaEfficiency()).solve(small_states(problem), LIMITS)
    if result.objective is not None:
        assert result.objective <= int(result.statistics["backward_cycles"])


def test_operators_are_alike_whatever_their_payload_names() -> None:
    problem = random_schedule(1, 2, "balanced", options=(2, 2))
    first, other = problem.operators
    second = replace(other, options=first.options)
    problem = replace(problem, operators=(first, second))
    assert shape_numbers(problem) == [0, 0]
    named = tuple(
        replace(o, payload=OptionPayload((), (), 1, 1, 0, k, 0, 0))
        for k, o in enumerate(second.options)
    )
    renamed = replace(problem, operators=(first, replace(second, options=named)))
    assert shape_numbers(renamed) == [0, 0]
    slower = (replace(second.options[0], preload_cycles=99), *second.options[1:])
    changed = replace(problem, operators=(first, replace(second, options=slower)))
    assert shape_numbers(changed) == [0, 1]


class Asked:
    """An allocator that remembers what it was asked."""

    name = "asked"

    def __init__(self, allocator: Allocator) -> None:
        self.allocator = allocator
        self.problems: list[AllocationProblem] = []

    def allocate(self, problem: AllocationProblem) -> Allocation | None:
        self.problems.append(problem)
        return self.allocator.allocate(problem)


@pytest.mark.parametrize("contention", Contention)
def test_equal_layers_ask_the_allocator_once(contention: Contention) -> None:
    problem = random_schedule(
        5, 200, "layers", options=(4, 3), contention=contention, max_outstanding=6
    )
    asked = Asked(DeltaEfficiency())
    result = ElkDyn(asked).solve(problem, LIMITS)
    questions = [(p.capacity_bytes, p.items) for p in asked.problems]
    assert len(set(questions)) == len(questions)
    calls, hits = (int(result.statistics[k]) for k in ("allocator_calls", "memo_hits"))
    assert calls == len(questions)
    assert calls + hits >= 200
    assert calls + hits <= 200 * 7  # p = 0 … 6
    # 50 equal layers of 4 operators: at most one layer in five asks something new.
    assert calls * 5 <= calls + hits


def test_a_limit_on_allocator_calls_leaves_the_rest_without_overlap() -> None:
    problem = random_schedule(5, 40, "balanced", options=(3, 3))
    whole = ElkDyn(DeltaEfficiency()).solve(problem, LIMITS)
    cut = ElkDyn(DeltaEfficiency()).solve(
        problem, replace(LIMITS, deterministic_work=30)
    )
    assert cut.plan is not None
    assert judge(problem, cut.plan).feasible
    assert int(cut.statistics["allocator_calls"]) < int(
        whole.statistics["allocator_calls"]
    )
    # Operators before the one where the calls ran out are covered by nothing.
    gates = [gate for gate in cut.plan.gates if gate is not None]
    covered = [j for j, gate in enumerate(cut.plan.gates) if gate not in (None, j)]
    assert covered
    assert min(covered) > 0
    assert all(first <= second for first, second in pairwise(gates))


def test_an_allocator_without_an_answer_leaves_the_plan_unknown() -> None:
    class Silent:
        name = "silent"

        def allocate(self, problem: AllocationProblem) -> Allocation | None:
            return None

    result = ElkDyn(Silent()).solve(random_schedule(1, 4), LIMITS)
    assert result.method == "elk-dyn:allocator=silent"
    assert (result.status, result.plan) == (Status.UNKNOWN, None)


def test_an_allocator_that_overbooks_is_found_out() -> None:
    class Greedy:
        name = "greedy"

        def allocate(self, problem: AllocationProblem) -> Allocation | None:
            return Allocation((0,) * len(problem.items))

    with pytest.raises(RuntimeError, match="elk-dyn:allocator=greedy: planned more"):
        ElkDyn(Greedy()).solve(random_schedule(1, 8, "tight-sram"), LIMITS)
