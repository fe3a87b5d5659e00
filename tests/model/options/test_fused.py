"""Fused operators: which may be, what their options cost by hand, what is held."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.chains import chain
from oracles.one_operator import small_chip
from oracles.option_brute_force import elements, inputs_of, plan_of, tile_of

from elkhound.heuristics.fusion.group_join import ParetoJoin
from elkhound.model.chip import Chip
from elkhound.model.errors import BadInputError
from elkhound.model.graph import Graph, Home
from elkhound.model.options import operator_options
from elkhound.model.options.fused import (
    Group,
    fuse,
    fused_options,
    fused_problem,
    fused_steps,
    possible_groups,
)
from elkhound.model.options.fused.partition import held_beside
from elkhound.model.options.fused.plans import live_bytes, member_plans
from elkhound.model.options.fused.rows import NO_LOOP, Rows, rows_of
from elkhound.model.options.fused.shape import GroupShape, canonical_group
from elkhound.model.referee import judge
from elkhound.model.schedule import Schedule, ScheduleOption
from elkhound.model.tile_cost import Device
from elkhound.solvers.fusion.group_product import Product

CHIP = small_chip(16, sync_cycles=7)  # exchange 1 B/cycle
JOIN = ParetoJoin()
RELU = chain(
    "matmul c m n = a m k, w k n",
    "unary d m n = c m n",
    sizes={"m": 8, "n": 32, "k": 16},
    streamed=("w",),
)
ATTENTION = chain(
    "matmul s h m n = q h m k, c h n k",
    "softmax p h m n = s h m n",
    "matmul o h m k = p h m n, v h n k",
    sizes={"h": 4, "m": 6, "n": 10, "k": 8},
    streamed=("c", "v"),
)


def only_group(graph: Graph) -> Group:
    """The longest group that begins with the first operator."""
    return max(
        (g for g in possible_groups(graph) if g.first == 0),
        key=lambda g: len(g.members),
    )


def shape_of(graph: Graph) -> GroupShape:
    found = canonical_group(graph, only_group(graph))
    assert found is not None
    return found[0]


def row(
    shape: GroupShape, splits: dict[str, int], loop: int = NO_LOOP, chunks: int = 1
) -> Rows:
    """One row: dimensions not named are whole."""
    cut = {name: splits.get(name, 1) for name in shape.sizes}
    extents = {name: -(-size // cut[name]) for name, size in shape.sizes.items()}
    if loop != NO_LOOP:
        extents[str(loop)] = -(-extents[str(loop)] // chunks)
    return Rows(
        {name: np.array([value]) for name, value in cut.items()},
        {name: np.array([value]) for name, value in extents.items()},
        np.array([loop]),
        np.array([chunks]),
    )


def unrotated(shape: GroupShape, member: int, rows: Rows) -> dict[str, int]:
    """The member's plan without rotation."""
    plans = member_plans(shape, member, CHIP, Device.of(CHIP.core), rows)
    (still,) = np.flatnonzero((plans.factors == 1).all(axis=1))
    found = {
        name: int(getattr(plans, name)[still])
        for name in ("held_bytes", "peak_bytes", "compute_cycles", "exchange_cycles")
    }
    found["peak_bytes"] += int(live_bytes(shape, member, rows)[0])
    return found


def test_a_fused_reader_finds_its_input_where_it_was_made() -> None:
    # Dimensions m = 0, k = 1, n = 2. Tiles of 4×16 (a), 16×8 (w, streamed), 4×8 (c).
    shape = shape_of(RELU)
    rows = row(shape, {"0": 2, "2": 4})
    # w waits from the start; beside it the piece of a, fetched, and c, 2 B each.
    assert unrotated(shape, 0, rows) == {
        "held_bytes": 256,
        "peak_bytes": 128 + 64,
        "compute_cycles": 848,  # as by itself: see test_execute_plan
        "exchange_cycles": 128,
    }
    # c once, as input, and d; nothing crosses a link. 0.5·32 + 200 cycles.
    assert unrotated(shape, 1, rows) == {
        "held_bytes": 0,
        "peak_bytes": 64 + 64,
        "compute_cycles": 216,
        "exchange_cycles": 0,
    }


def test_chunks_shrink_what_is_handed_over_and_keep_what_is_not_indexed() -> None:
    # Two chunks of 2 rows. w stays; a comes in halves, the second between two syncs.
    shape = shape_of(RELU)
    rows = row(shape, {"0": 2, "2": 4}, loop=0, chunks=2)
    first = unrotated(shape, 0, rows)
    assert first["held_bytes"] == 256
    assert first["peak_bytes"] == 64 + 32
    assert first["exchange_cycles"] == 2 * 64 + 2 * 7
    # m = 8, n = 2 after the swap: as many blocks as with 4 rows, and that twice.
    assert first["compute_cycles"] == 2 * 848
    # d is whole at the end: half of it waits while the other is made.
    second = unrotated(shape, 1, rows)
    assert second["held_bytes"] == 32
    assert second["peak_bytes"] == 32 + 32
    assert second["compute_cycles"] == 2 * (8 + 200)


def test_an_option_adds_what_waits_and_takes_the_most_that_lies_beside() -> None:
    (group,) = possible_groups(RELU)
    still = 0
    for option in fused_options(RELU, group, CHIP, JOIN):
        assert option.payload is not None
        if option.payload.steps > 2 or option.payload.chunks > 1:
            continue  # something rotates: one step of each member otherwise
        still += 1
        cut = dict(option.payload.splits)
        rows, columns = -(-8 // cut["m"]), -(-32 // cut["n"])
        fetched, waiting = rows * 16 * 2, columns * 16 * 2
        result = rows * columns * 2
        assert option.execute_bytes == waiting + max(fetched + result, 2 * result)
        assert option.exchange_cycles == fetched
        assert option.payload.exchange_bytes == fetched
        assert option.payload.hbm_bytes == 16 * 32 * 2
    assert still


def test_scores_softmax_and_values_are_one_group_cut_along_what_all_share() -> None:
    assert [g.name for g in possible_groups(ATTENTION)] == ["s+p", "s+p+o", "p+o"]
    shape = shape_of(ATTENTION)
    sizes = shape.sizes
    # k of the scores is reduced, k of the values indexes no score: neither is cut.
    assert sorted(sizes[name] for name in shape.free) == [4, 6, 10]
    # Chunks along heads or rows, not along the row that softmax normalises.
    assert sorted(sizes[name] for name in shape.loops) == [4, 6]


@pytest.mark.parametrize(
    ("lines", "outputs"),
    [
        pytest.param(
            ["unary b m n = a m n", "unary c m n = b m n", "add d m n = b m n, c m n"],
            ["b"],
            id="it leaves the chip",
        ),
        pytest.param(
            ["unary b m n = a m n", "unary c m k = b m 2k"],
            [],
            id="it is read with a stride",
        ),
    ],
)
def test_a_result_that_others_need_is_no_intermediate(
    lines: list[str], outputs: list[str]
) -> None:
    graph = chain(*lines, sizes={"m": 8, "n": 8, "k": 4}, outputs=outputs)
    assert not [g for g in possible_groups(graph) if g.first == 0]


def test_a_branch_closes_inside_the_group() -> None:
    graph = chain(
        "unary b m = a m",
        "unary c m = b m",
        "add d m = b m, c m",
        sizes={"m": 64},
    )
    assert [g.name for g in possible_groups(graph)] == ["b+c+d", "c+d"]


def test_only_what_steps_hand_to_later_steps_is_held() -> None:
    # x is read at 3, b at 2 and 3. With 1–2 fused, b and x are held at that step.
    graph = chain(
        "unary b m = x m",
        "unary c m = b m",
        "add d m = c m, b m",
        "add e m = d m, x m",
        "add f m = e m, b m",
        sizes={"m": 160},
    )
    chip = small_chip(16)
    alone = fuse(graph, replace(chip, name="alone"), JOIN)
    held = held_beside(graph, chip.cores, alone)
    assert sum(b.size_bytes * (b.end_step - b.start_step) for b in held) == sum(
        _held(graph, [(s.first, s.last) for s in alone])
    )


def _held(graph: Graph, steps: list[tuple[int, int]]) -> list[int]:
    """Bytes per core strictly between writer and last reader, step by step."""
    step_of = {i: k for k, (a, b) in enumerate(steps) for i in range(a, b + 1)}
    result = [0] * len(steps)
    for tensor in graph.tensors:
        written = [
            step_of[i]
            for i, o in enumerate(graph.operators)
            if o.einsum.output.tensor == tensor.name
        ]
        read = [
            step_of[i]
            for i, o in enumerate(graph.operators)
            if tensor.name in {a.tensor for a in o.einsum.inputs}
        ]
        for k in range((written or [-1])[0] + 1, max(read, default=-1)):
            result[k] += -(-tensor.size_bytes // 16)
    return result


chips = st.builds(
    small_chip,
    st.sampled_from([1, 2, 5, 6, 8]),
    chips=st.sampled_from([1, 2]),
    sync_cycles=st.sampled_from([0, 3, 118]),
    exchange=st.sampled_from([70, 500, 1_000]),
    sram_bytes=st.sampled_from([400, 2_000, 1 << 20]),
)
small = st.integers(1, 9)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Attention, gated matmuls, or a matmul and what follows it."""
    sizes = {name: draw(small) for name in "hmnkj"}
    lines = draw(
        st.sampled_from(
            [
                (
                    "matmul s h m n = q h m k, c h n k",
                    "softmax p h m n = s h m n",
                    "matmul o h m j = p h m n, v h n j",
                ),
                (
                    "matmul g m n = x m k, w k n",
                    "matmul u m n = x m k, y k n",
                    "add d m n = g m n, u m n",
                ),
                ("matmul g m n = x m k, w k n", "unary d m n = g m n"),
                ("softmax p m n = x m n", "matmul o m j = p m n, w n j"),
            ]
        )
    )
    streamed = draw(st.sampled_from([("w", "y", "c", "v"), ("w", "v"), ()]))
    return chain(*lines, sizes=sizes, streamed=streamed)


def fields(option: ScheduleOption) -> tuple[int, ...]:
    return (
        option.execute_bytes,
        option.execute_cycles - (option.distribute_cycles or 0),
        option.exchange_cycles or 0,
    )


@settings(max_examples=60, derandomize=True, deadline=None)
@given(graphs(), chips)
def test_the_join_finds_what_all_combinations_have(graph: Graph, chip: Chip) -> None:
    for group in possible_groups(graph):
        joined = fused_options(graph, group, chip, JOIN)
        looked_at = fused_options(graph, group, chip, Product())
        assert {fields(o) for o in joined} == {fields(o) for o in looked_at}


@settings(max_examples=40, derandomize=True, deadline=None)
@given(graphs(), chips)
def test_every_option_is_a_plan_that_the_referee_passes(
    graph: Graph, chip: Chip
) -> None:
    chip = replace(chip, core=small_chip(1).core)
    steps = fused_steps(graph, chip, JOIN)
    problem = fused_problem(graph, chip, JOIN, steps).problem
    for k, operator in enumerate(problem.operators):
        for choice in range(len(operator.options)):
            options = [0] * len(problem.operators)
            options[k] = choice
            gates = tuple(
                j if o.streams else None for j, o in enumerate(problem.operators)
            )
            verdict = judge(problem, Schedule(gates, tuple(options)))
            assert verdict.feasible, verdict.violations


@settings(max_examples=40, derandomize=True, deadline=None)
@given(graphs(), chips)
def test_fusing_never_adds_up_to_more(graph: Graph, chip: Chip) -> None:
    chip = replace(chip, core=small_chip(1).core)
    steps = fuse(graph, chip, JOIN)
    assert [i for s in steps for i in range(s.first, s.last + 1)] == list(
        range(len(graph.operators))
    )
    apart = sum(
        min(o.execute_cycles for o in operator_options(graph, operator, chip))
        for operator in graph.operators
    )
    together = sum(step.best_cycles or 0 for step in steps)
    assert together <= apart
    for step in steps:
        if step.group is not None and step.members_cycles is not None:
            assert step.best_cycles is not None
            assert step.best_cycles < step.members_cycles


def test_a_chip_that_overlaps_is_refused() -> None:
    (group,) = possible_groups(RELU)
    with pytest.raises(BadInputError, match="overlaps exchange and compute"):
        fused_options(RELU, group, replace(CHIP, overlap_exchange=True), JOIN)


def test_more_combinations_than_can_be_looked_at_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("elkhound.solvers.fusion.group_product.MOST_COMBINATIONS", 3)
    (group,) = possible_groups(RELU)
    with pytest.raises(BadInputError, match="combinations of 2 operators' plans"):
        fused_options(RELU, group, CHIP, Product())


def test_rows_keep_chunks_that_are_none_empty() -> None:
    shape = shape_of(RELU)
    rows = rows_of(shape, 1, 900, 1100)
    # One core: m = 8 in 2, 4, 8 chunks, n = 32 in 2 … 32, and whole.
    assert sorted(rows.chunks[rows.loop == 0].tolist()) == [2, 4, 8]
    assert sorted(rows.chunks[rows.loop == 2].tolist()) == [2, 4, 8, 16, 32]
    assert rows.chunks[rows.loop == NO_LOOP].tolist() == [1]


@settings(max_examples=40, derandomize=True, deadline=None)
@given(graphs(), chips)
def test_members_cost_what_plain_loops_say_less_what_is_handed_over(
    graph: Graph, chip: Chip
) -> None:
    for group in possible_groups(graph):
        for option in fused_options(graph, group, chip, JOIN):
            payload = option.payload
            assert payload is not None
            if payload.chunks == 1 and "*" not in str(payload):
                assert option.execute_bytes == _by_loops(graph, group, chip, option)


def _by_loops(graph: Graph, group: Group, chip: Chip, option: ScheduleOption) -> int:
    """Check every member against the oracle; return the group's execute_bytes."""
    assert option.payload is not None
    waits, beside = 0, []
    for place, work in enumerate(option.payload.members):
        operator, own = group.members[place], work.payload
        factors = [dict(tensor.rotation) for tensor in own.tensors]
        split = {d.name: dict(own.splits)[d.name] for d in operator.einsum.dimensions}
        alone = plan_of(graph, operator, chip, split, tuple(factors))
        tile = tile_of(operator.einsum.sizes, split)
        streamed = handed = 0
        for access, own_factors in zip(
            inputs_of(operator.einsum), factors, strict=True
        ):
            piece = {d: -(-t // own_factors.get(d, 1)) for d, t in tile.items()}
            size = 2 * elements(access, piece)
            if graph.tensor[access.tensor].home is Home.HBM:
                streamed += size
            if access.tensor in group.intermediates:
                handed += size
        passing = 0  # made earlier, read later, not read now
        for k, earlier in enumerate(group.members[:place]):
            made = earlier.einsum.output
            now = {a.tensor for a in operator.einsum.inputs}
            later = {a.tensor for m in group.members[place:] for a in m.einsum.inputs}
            if made.tensor in later - now:
                cut = dict(option.payload.members[k].payload.splits)
                passing += 2 * elements(made, tile_of(earlier.einsum.sizes, cut))
        assert work.compute_cycles == alone.compute_cycles
        assert own.exchange_bytes == alone.exchange_bytes - handed
        assert (own.syncs, own.steps) == (alone.syncs, alone.steps)
        waits += streamed
        beside.append(alone.execute_bytes - streamed + passing)
    return waits + max(beside)
