"""What must hold of the exact optimum when a problem is changed."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracles.plans import all_plans, optimum

from elkhound.model.instances import SCHEDULE_FAMILIES, random_schedule
from elkhound.model.referee import judge
from elkhound.model.result import OrderClass
from elkhound.model.schedule import (
    Contention,
    ScheduleOperator,
    ScheduleOption,
    ScheduleProblem,
)

repeatably = settings(derandomize=True, deadline=None, max_examples=40)
IDENTITY, FREE = OrderClass.identity(), OrderClass.free()
orders = st.sampled_from([IDENTITY, FREE])


@st.composite
def problems(draw: st.DrawFn) -> ScheduleProblem:
    """Three operators, two to four options each, any rule and limit: ≤ 384 plans."""
    return random_schedule(
        draw(st.integers(0, 10_000)),
        3,
        draw(st.sampled_from(sorted(SCHEDULE_FAMILIES))),
        options=draw(st.sampled_from([(1, 2), (2, 1), (2, 2)])),
        contention=draw(st.sampled_from(Contention)),
        link_stretch_permille=draw(st.sampled_from([1000, 977, 330])),
        max_outstanding=draw(st.sampled_from([None, 1])),
    )


def best(problem: ScheduleProblem, order: OrderClass) -> int:
    """The optimum of a problem that has one."""
    value = optimum(problem, order)
    assert value is not None
    return value


def with_options(
    problem: ScheduleProblem, i: int, options: tuple[ScheduleOption, ...]
) -> ScheduleProblem:
    operators = list(problem.operators)
    operators[i] = replace(operators[i], options=options)
    return replace(problem, operators=tuple(operators))


def scaled(
    problem: ScheduleProblem, *, times: int = 1, sizes: int = 1
) -> ScheduleProblem:
    """All durations and all sizes multiplied."""

    def option(o: ScheduleOption) -> ScheduleOption:
        return ScheduleOption(
            o.execute_plan,
            o.execute_bytes * sizes,
            o.preload_bytes * sizes,
            o.preload_cycles * times,
            o.preload_link_cycles * times,
            o.execute_cycles * times,
            o.execute_link_cycles * times,
        )

    operators = tuple(
        ScheduleOperator(
            operator.name,
            tuple(option(o) for o in operator.options),
            operator.resident_bytes * sizes,
        )
        for operator in problem.operators
    )
    return replace(problem, operators=operators, sram_bytes=problem.sram_bytes * sizes)


@repeatably
@given(problems(), orders, st.integers(1, 60))
def test_more_sram_never_worsens_the_optimum(
    problem: ScheduleProblem, order: OrderClass, more: int
) -> None:
    larger = replace(problem, sram_bytes=problem.sram_bytes + more)
    assert best(larger, order) <= best(problem, order)


@repeatably
@given(problems(), orders)
def test_a_looser_limit_never_worsens_the_optimum(
    problem: ScheduleProblem, order: OrderClass
) -> None:
    values = [
        best(replace(problem, max_outstanding=limit), order)
        for limit in (0, 1, 2, None)
    ]
    assert values == sorted(values, reverse=True)
    assert values[2] == values[3]  # of three preloads at most two wait


@repeatably
@given(problems(), orders, st.integers(0, 2), st.integers(0, 10_000))
def test_one_more_option_never_worsens_the_optimum(
    problem: ScheduleProblem, order: OrderClass, i: int, seed: int
) -> None:
    operator = problem.operators[i]
    donor = random_schedule(seed, 1, "unstructured", options=(1, 1)).operators[0]
    assume(donor.streams == operator.streams)
    richer = with_options(problem, i, operator.options + donor.options)
    assert best(richer, order) <= best(problem, order)


@repeatably
@given(problems(), orders, st.integers(0, 2))
def test_the_order_of_options_and_the_names_do_not_matter(
    problem: ScheduleProblem, order: OrderClass, i: int
) -> None:
    turned = with_options(problem, i, problem.operators[i].options[::-1])
    renamed = replace(
        turned,
        name="other",
        operators=tuple(
            replace(operator, name=f"z{9 - k}", layer=None)
            for k, operator in enumerate(turned.operators)
        ),
    )
    assert best(renamed, order) == best(problem, order)


@repeatably
@given(problems(), orders, st.integers(2, 7))
def test_scaling_durations_scales_the_makespan_up_to_the_ceiling(
    problem: ScheduleProblem, order: OrderClass, factor: int
) -> None:
    before, after = (
        best(problem, order),
        best(scaled(problem, times=factor), order),
    )
    assert after <= factor * before
    rounds = (
        problem.contention is Contention.STRETCH
        and problem.link_stretch_permille % 1000 != 0
    )
    # ⌈σX⌉ of each of three executes is less than one cycle above σX
    lost = factor * len(problem.operators) if rounds else 0
    assert after >= factor * before - lost


@repeatably
@given(problems(), orders, st.integers(2, 1000))
def test_scaling_sizes_and_sram_changes_nothing(
    problem: ScheduleProblem, order: OrderClass, factor: int
) -> None:
    assert best(scaled(problem, sizes=factor), order) == best(problem, order)


@repeatably
@given(problems())
def test_free_order_is_never_worse_than_identity(problem: ScheduleProblem) -> None:
    assert best(problem, FREE) <= best(problem, IDENTITY)


@repeatably
@given(problems())
def test_a_wider_window_is_never_worse_and_the_widest_is_free(
    problem: ScheduleProblem,
) -> None:
    verdicts = [judge(problem, plan) for plan in all_plans(problem)]
    values = [
        min(
            verdict.objective
            for verdict in verdicts
            if verdict.objective is not None
            and verdict.belongs_to(OrderClass.windowed(window))
        )
        for window in range(len(problem.operators))
    ]
    assert values == sorted(values, reverse=True)
    assert values[-1] == best(problem, FREE)


@repeatably
@given(problems(), orders)
def test_contention_never_helps(problem: ScheduleProblem, order: OrderClass) -> None:
    undisturbed = best(replace(problem, contention=Contention.NONE), order)
    for rule in (Contention.STRETCH, Contention.CHARGE):
        assert undisturbed <= best(replace(problem, contention=rule), order)


@repeatably
@given(problems(), orders, st.integers(0, 2))
def test_a_faster_preload_never_worsens_the_optimum(
    problem: ScheduleProblem, order: OrderClass, i: int
) -> None:
    """At fixed σ; the link work shrinks along, so it stays at most the duration."""
    faster = tuple(
        replace(
            option,
            preload_cycles=option.preload_cycles - option.preload_cycles // 2,
            preload_link_cycles=option.preload_link_cycles // 2,
        )
        for option in problem.operators[i].options
    )
    assert best(with_options(problem, i, faster), order) <= best(problem, order)
