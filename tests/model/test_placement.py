"""Buffers, heights and liveness, and the buffers of a schedule."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elkhound.model.instances import SCHEDULE_FAMILIES, random_schedule
from elkhound.model.lifetimes import held_layers, held_tensors, placement_problem
from elkhound.model.placement import (
    Buffer,
    Placement,
    PlacementProblem,
    height_bytes,
    liveness_bytes,
    neighbours,
)
from elkhound.model.referee import judge, judge_placement
from elkhound.model.schedule import (
    Contention,
    Schedule,
    ScheduleOperator,
    ScheduleOption,
    ScheduleProblem,
)
from elkhound.model.workloads import build_workload


def option(execute_bytes: int, preload_bytes: int) -> ScheduleOption:
    return ScheduleOption(
        execute_plan=0,
        execute_bytes=execute_bytes,
        preload_bytes=preload_bytes,
        preload_cycles=5 if preload_bytes else 0,
        preload_link_cycles=0,
        execute_cycles=10,
        execute_link_cycles=0,
    )


def operator(name: str, execute: int, preload: int, held: int = 0) -> ScheduleOperator:
    return ScheduleOperator(name, (option(execute, preload),), resident_bytes=held)


@pytest.mark.parametrize(
    ("buffer", "message"),
    [
        pytest.param((-1, 2, 3), "start_step is -1, must not be negative", id="start"),
        pytest.param((2, 2, 3), "end_step is 2, must be above start_step = 2", id="0"),
        pytest.param((0, 2, -3), "size_bytes is -3, must not be negative", id="size"),
    ],
)
def test_a_buffer_that_makes_no_sense_is_refused(
    buffer: tuple[int, int, int], message: str
) -> None:
    with pytest.raises(ValueError, match=f"buffer a: {message}"):
        Buffer("a", *buffer)


def test_names_are_unique_and_capacities_not_negative() -> None:
    with pytest.raises(ValueError, match="two are called a"):
        PlacementProblem(1, (Buffer("a", 0, 1, 1), Buffer("a", 1, 2, 1)))
    with pytest.raises(ValueError, match="capacity_bytes is -1"):
        PlacementProblem(-1, ())


def test_height_is_the_top_of_the_highest_buffer() -> None:
    problem = PlacementProblem(99, (Buffer("a", 0, 2, 5), Buffer("b", 2, 3, 9)))
    assert height_bytes(problem, Placement((4, 0))) == 9
    assert height_bytes(problem, Placement((5, 0))) == 10
    assert height_bytes(PlacementProblem(0, ()), Placement(())) == 0


def test_liveness_counts_half_open_lifetimes() -> None:
    # [0, 2) and [2, 4) never meet; [1, 3) meets both: 5 + 4 at step 1, 6 + 4 at step 2
    buffers = (Buffer("a", 0, 2, 5), Buffer("b", 2, 4, 6), Buffer("c", 1, 3, 4))
    assert liveness_bytes(buffers) == 10
    assert liveness_bytes(()) == 0


# P_a 20 B for step 0; P_b 30 B issued beside E_a; c streams nothing; 7 B held at b.
SCHEDULE = ScheduleProblem(
    sram_bytes=100,
    operators=(operator("a", 50, 20), operator("b", 25, 30, 7), operator("c", 40, 0)),
    contention=Contention.NONE,
)
PLAN = Schedule(gates=(0, 0, None), options=(0, 0, 0))


def test_a_schedule_gives_a_preload_and_a_work_buffer_per_operator() -> None:
    problem = placement_problem(SCHEDULE, PLAN)
    assert problem.capacity_bytes == 100
    assert problem.buffers == (
        Buffer("P.a", 0, 1, 20),
        Buffer("W.a", 0, 1, 30),  # 50 − 20
        Buffer("P.b", 0, 2, 30),  # W.b would have 25 − 30 < 0: none
        Buffer("W.c", 2, 3, 40),
        Buffer("R.0", 1, 2, 7),
    )


@settings(derandomize=True, deadline=None, max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    family=st.sampled_from(sorted(SCHEDULE_FAMILIES)),
)
def test_buffers_add_up_to_what_the_schedule_referee_counts(
    seed: int, family: str
) -> None:
    random = Random(seed)
    problem = random_schedule(seed, 6, family)
    plan = Schedule(
        gates=tuple(
            random.randint(0, j) if o.streams else None
            for j, o in enumerate(problem.operators)
        ),
        options=tuple(random.randrange(len(o.options)) for o in problem.operators),
    )
    buffers = placement_problem(problem, plan).buffers
    alive = tuple(
        sum(b.size_bytes for b in buffers if b.start_step <= step < b.end_step)
        for step in range(6)
    )
    assert alive == judge(problem, plan).occupancy_bytes


@settings(derandomize=True, deadline=None)
@given(st.lists(st.integers(0, 9), max_size=12))
def test_layers_of_held_bytes_add_up(resident: list[int]) -> None:
    layers = held_layers(resident)
    assert resident == [
        sum(b.size_bytes for b in layers if b.start_step <= step < b.end_step)
        for step in range(len(resident))
    ]


def test_a_held_byte_stays_as_long_as_it_can() -> None:
    # 4 B rise at 1; 3 of them fall at 3, the last at 5: the other 2 B never move.
    assert held_layers([2, 6, 6, 3, 3, 2]) == (
        Buffer("R.0", 0, 6, 2),
        Buffer("R.1", 1, 3, 3),
        Buffer("R.2", 1, 5, 1),
    )


def test_tensors_of_a_graph_add_up_to_its_held_bytes() -> None:
    graph = build_workload("llama-2-7b", {"batch": 1, "seq": 64, "layers": 2}, "decode")
    cores = 16
    tensors = held_tensors(graph, cores)
    held = graph.held_bytes(cores)
    assert any(held)
    assert held == tuple(
        sum(b.size_bytes for b in tensors if b.start_step <= step < b.end_step)
        for step in range(len(graph.operators))
    )


def test_held_buffers_of_another_size_are_refused() -> None:
    with pytest.raises(ValueError, match=r"6 bytes at step 1, must be resident_.* 7"):
        placement_problem(SCHEDULE, PLAN, (Buffer("x", 1, 2, 6),))


TWO = PlacementProblem(10, (Buffer("a", 0, 3, 4), Buffer("b", 2, 5, 5)), name="two")


@pytest.mark.parametrize(
    ("offsets", "lines"),
    [
        pytest.param(
            (0, 3), ("buffers a and b: share 1 B from 3 B on at steps 2 … 2",), id="1 B"
        ),
        pytest.param(
            (1, 1), ("buffers a and b: share 4 B from 1 B on at steps 2 … 2",), id="all"
        ),
        pytest.param((0, 6), ("buffer b: reaches 11 B of 10 B: 1 B over",), id="over"),
        pytest.param(
            (-1, 4), ("buffer a: offset -1 B, must be at least 0",), id="under"
        ),
        pytest.param((0,), ("plan: 1 offsets for 2 buffers",), id="count"),
    ],
)
def test_the_referee_says_which_buffers_collide_and_by_how_much(
    offsets: tuple[int, ...], lines: tuple[str, ...]
) -> None:
    verdict = judge_placement(TWO, Placement(offsets))
    assert verdict.violations == lines
    assert not verdict.feasible
    assert verdict.objective is None


def test_the_referee_accepts_what_touches() -> None:
    assert judge_placement(TWO, Placement((0, 4))).objective == 9
    assert judge_placement(TWO, Placement((5, 0))).objective == 9
    after = PlacementProblem(5, (Buffer("a", 0, 2, 5), Buffer("b", 2, 3, 5)))
    assert judge_placement(after, Placement((0, 0))).objective == 5


def test_a_buffer_without_bytes_is_in_nobodys_way() -> None:
    problem = PlacementProblem(5, (Buffer("a", 0, 2, 5), Buffer("b", 0, 2, 0)))
    assert judge_placement(problem, Placement((0, 3))).objective == 5


@settings(derandomize=True, deadline=None, max_examples=200)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 6), st.integers(1, 4), st.integers(0, 5), st.integers(0, 12)
        ),
        max_size=8,
    )
)
def test_pairs_are_those_that_share_a_step(
    given: list[tuple[int, int, int, int]],
) -> None:
    buffers = tuple(
        Buffer(f"b{k}", start, start + steps, size)
        for k, (start, steps, size, _) in enumerate(given)
    )
    lives = [set(range(b.start_step, b.end_step)) for b in buffers]
    assert [sorted(others) for others in neighbours(buffers)] == [
        [n for n, other in enumerate(lives) if n != k and life & other]
        for k, life in enumerate(lives)
    ]
    offsets = tuple(offset for _, _, _, offset in given)
    spans = [
        set(range(o, o + b.size_bytes)) for o, b in zip(offsets, buffers, strict=True)
    ]
    problem = PlacementProblem(99, buffers)
    lines = judge_placement(problem, Placement(offsets)).violations
    assert [line.split(":")[0] for line in lines] == [
        f"buffers b{n} and b{k}"
        for k in range(len(buffers))
        for n in range(k)
        if lives[n] & lives[k] and spans[n] & spans[k]
    ]
