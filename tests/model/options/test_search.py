"""The vectorised search against plain loops, on both fronts."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.one_operator import matmul, one_operator, small_chip
from oracles.option_brute_force import (
    Factors,
    Objectives,
    State,
    all_plans,
    all_splits,
    brute_force_fronts,
    front_of,
    plan_of,
)

from elkhound.model.chip import Chip
from elkhound.model.errors import BadInputError
from elkhound.model.graph import Graph, Operator, Pass
from elkhound.model.options import (
    Searched,
    distinct_operators,
    four_field_front,
    operator_options,
    searched,
)
from elkhound.model.schedule import ScheduleOption
from elkhound.model.workloads import build_workload

USE, PADDING = Fraction(9, 10), Fraction(11, 10)
NORM = (Pass.ELEMENTWISE, Pass.REDUCE, Pass.ROW_UNARY, Pass.ELEMENTWISE)
SOFTMAX = (Pass.REDUCE, Pass.ELEMENTWISE, Pass.UNARY, Pass.REDUCE, Pass.ELEMENTWISE)


def sizes(largest: int) -> st.SearchStrategy[int]:
    return st.integers(1, largest)


chips = st.builds(
    small_chip,
    st.sampled_from([1, 2, 5, 6, 8, 12]),
    chips=st.sampled_from([1, 2]),
    sync_cycles=st.sampled_from([0, 3, 118]),
    exchange=st.sampled_from([70, 500, 1_000]),
    overlap_exchange=st.booleans(),
    mac_per_cycle=st.sampled_from([64, 100]),
    vector_flop_per_cycle=st.sampled_from([3, 4, 16]),
    port=st.sampled_from([1, 16]),
)

CASES = {
    "matmul": st.builds(
        matmul,
        sizes(40),
        sizes(40),
        sizes(300),
        dtype=st.sampled_from(["float16", "int8", "int4", "float64"]),
        streamed=st.sampled_from([(), (1,), (0, 1)]),
    ),
    "matmul with bias": st.builds(
        lambda m, n, k: one_operator(
            {"m": m, "n": n, "k": k},
            ["m k", "k n", "n"],
            "m n",
            (Pass.MATMUL, Pass.ELEMENTWISE),
            streamed=(1, 2),
        ),
        sizes(12),
        sizes(12),
        sizes(90),
    ),
    "batched matmul": st.builds(
        lambda b, m, n, k: one_operator(
            {"b": b, "m": m, "n": n, "k": k},
            ["b m k", "b n k"],
            "b m n",
            (Pass.MATMUL,),
            streamed=(1,),
        ),
        sizes(6),
        sizes(5),
        sizes(20),
        sizes(40),
    ),
    "broadcast": st.builds(
        lambda m, n: one_operator(
            {"m": m, "n": n},
            ["m n", "n", "m"],
            "m n",
            (Pass.ELEMENTWISE, Pass.SLICE),
            streamed=(1,),
        ),
        sizes(30),
        sizes(900),
    ),
    "convolution": st.builds(
        lambda oc, oh, ic, kh, stride: one_operator(
            {"oc": oc, "oh": oh, "ic": ic, "kh": kh},
            [f"ic {stride}oh+kh", "oc ic kh"],
            "oc oh",
            (Pass.MATMUL,),
            streamed=(1,),
        ),
        sizes(20),
        st.integers(2, 12),  # with oh = 1, ic and kh would be twins
        sizes(8),
        sizes(4),
        st.integers(1, 3),
    ),
    "softmax": st.builds(
        lambda m, n: one_operator(
            {"m": m, "n": n},
            ["m n"],
            "m n",
            SOFTMAX,
            row_dimensions=("n",),
            statistics_rounds=2,
        ),
        sizes(20),
        sizes(900),
    ),
    "norm": st.builds(
        lambda m, n: one_operator(
            {"m": m, "n": n},
            ["m n", "n"],
            "m n",
            NORM,
            streamed=(1,),
            row_dimensions=("n",),
            statistics_rounds=1,
        ),
        sizes(20),
        sizes(900),
    ),
    "convolution in two dimensions": st.builds(
        lambda oc, oh, ow, k: one_operator(
            {"oc": oc, "oh": oh, "ow": ow, "kh": k, "kw": k + 1},
            ["oh+kh ow+kw", "oc kh kw"],
            "oc oh ow",
            (Pass.MATMUL,),
            streamed=(1,),
        ),
        sizes(4),
        st.integers(2, 5),
        st.integers(2, 5),
        st.integers(1, 2),
    ),
    "streamed row sums": st.builds(
        lambda m, n: one_operator(
            {"m": m, "n": n}, ["m n"], "m", (Pass.REDUCE,), streamed=(0,)
        ),
        sizes(20),
        sizes(900),
    ),
    "row sums": st.builds(
        lambda m, n: one_operator({"m": m, "n": n}, ["m n"], "m", (Pass.REDUCE,)),
        sizes(20),
        sizes(900),
    ),
}


def objectives(option: ScheduleOption, chip: Chip) -> Objectives:
    compute, exchange = option.compute_cycles or 0, option.exchange_cycles or 0
    core = max(compute, exchange) if chip.overlap_exchange else compute + exchange
    assert option.execute_cycles == (option.distribute_cycles or 0) + core
    return (option.execute_bytes, core, exchange)


def state(option: ScheduleOption) -> State:
    return (option.preload_bytes, option.distribute_cycles or 0)


def fronts(
    options: tuple[ScheduleOption, ...], chip: Chip
) -> dict[Objectives, list[State]]:
    found: dict[Objectives, list[State]] = {}
    for option in options:
        found.setdefault(objectives(option, chip), []).append(state(option))
    return {point: front_of(states) for point, states in found.items()}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_both_fronts_equal_the_brute_force(
    case: st.SearchStrategy[tuple[Graph, Operator]],
) -> None:
    @settings(derandomize=True, deadline=None, max_examples=25)
    @given(case, chips)
    def agree(built: tuple[Graph, Operator], chip: Chip) -> None:
        graph, operator = built
        options = operator_options(graph, operator, chip)
        assert fronts(options, chip) == brute_force_fronts(
            graph, operator, chip, USE, PADDING
        )

    agree()


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_every_option_is_what_its_payload_says(
    case: st.SearchStrategy[tuple[Graph, Operator]],
) -> None:
    @settings(derandomize=True, deadline=None, max_examples=10)
    @given(case, chips)
    def agree(built: tuple[Graph, Operator], chip: Chip) -> None:
        graph, operator = built
        by_plan: dict[int, list[ScheduleOption]] = {}
        for option in operator_options(graph, operator, chip):
            check_option(graph, operator, chip, option)
            by_plan.setdefault(option.execute_plan, []).append(option)
        for options in by_plan.values():
            check_plan(graph, operator, chip, options)

    agree()


# Kinds with sizes that no core count divides, and the bytes of what streams.
TRUE_BYTES = {
    "matmul": (matmul(7, 13, 29), 2 * 29 * 13),
    "int4 matmul": (matmul(7, 13, 29, dtype="int4"), 189),  # 377 halves of a byte
    "batched matmul": (
        one_operator(
            {"b": 3, "m": 5, "n": 7, "k": 11},
            ["b m k", "b n k"],
            "b m n",
            (Pass.MATMUL,),
            streamed=(1,),
        ),
        2 * 3 * 7 * 11,
    ),
    "convolution": (
        one_operator(
            {"oc": 5, "oh": 7, "ic": 3, "kh": 3},
            ["ic 2oh+kh", "oc ic kh"],
            "oc oh",
            (Pass.MATMUL,),
            streamed=(0, 1),
        ),
        # The image of 3 channels has 1 + 2·6 + 2 = 15 rows, its halo counts once.
        2 * (3 * 15 + 5 * 3 * 3),
    ),
    "elementwise": (
        one_operator(
            {"m": 7, "n": 11},
            ["m n", "n"],
            "m n",
            (Pass.ELEMENTWISE,),
            streamed=(0, 1),
        ),
        2 * (7 * 11 + 11),
    ),
    "reduce": (
        one_operator({"m": 7, "n": 11}, ["m n"], "m", (Pass.REDUCE,), streamed=(0,)),
        2 * 7 * 11,
    ),
}


@pytest.mark.parametrize(("built", "size_bytes"), TRUE_BYTES.values(), ids=TRUE_BYTES)
@pytest.mark.parametrize("cores", [1, 4, 6, 10])
def test_hbm_delivers_true_bytes_whatever_the_padding(
    built: tuple[Graph, Operator], size_bytes: int, cores: int
) -> None:
    graph, operator = built
    chip = small_chip(cores)
    # One byte a cycle: nothing but HBM decides how long a preload takes.
    slow = replace(chip, hbm=replace(chip.hbm, bytes_per_second=chip.clock_hz))
    options = operator_options(graph, operator, slow, padding=2.0)
    ragged = 0
    for option in options:
        payload = option.payload
        assert payload is not None
        assert payload.hbm_bytes == size_bytes
        assert option.preload_cycles == max(size_bytes, option.preload_link_cycles)
        cuts = zip(payload.sizes, payload.splits, strict=True)
        ragged += any(size % split for (_, size), (_, split) in cuts)
    assert (ragged > 0) == (cores > 1)


def split_and_factors(option: ScheduleOption) -> tuple[dict[str, int], Factors]:
    assert option.payload is not None
    factors = tuple(dict(tensor.rotation) for tensor in option.payload.tensors)
    return dict(option.payload.splits), factors


def check_option(
    graph: Graph, operator: Operator, chip: Chip, option: ScheduleOption
) -> None:
    """Phases, bytes and preload of one option, from its split and rotation alone."""
    split, factors = split_and_factors(option)
    assert split in all_splits(operator.einsum.sizes, chip.cores, USE, PADDING)
    plan = plan_of(graph, operator, chip, split, factors)
    assert option.execute_bytes == plan.execute_bytes
    assert option.compute_cycles == plan.compute_cycles
    assert option.exchange_cycles == plan.exchange_cycles
    assert option.preload_bytes <= option.execute_bytes
    assert option.preload_link_cycles == chip.inbound_cycles(option.preload_bytes)
    streamed = graph.streamed_bytes(operator)
    assert option.preload_cycles == max(
        chip.hbm_cycles(streamed), option.preload_link_cycles
    )
    assert option.streams == (streamed > 0)
    payload = option.payload
    assert payload is not None
    assert payload.exchange_bytes == plan.exchange_bytes
    assert payload.syncs == plan.syncs
    assert payload.steps == plan.steps
    assert payload.hbm_bytes == streamed
    # Every byte of the pieces comes from HBM or from peers.
    assert option.preload_bytes + payload.distribute_bytes == max(
        size for size, _ in plan.states
    )


def check_plan(
    graph: Graph, operator: Operator, chip: Chip, options: list[ScheduleOption]
) -> None:
    """The options of one plan share its split and are its whole preload front."""
    split, factors = split_and_factors(options[0])
    assert all(split_and_factors(option) == (split, factors) for option in options)
    plan = plan_of(graph, operator, chip, split, factors)
    assert [state(option) for option in options] == front_of(list(plan.states))


@settings(derandomize=True, deadline=None, max_examples=20)
@given(st.one_of(CASES["matmul"], CASES["broadcast"]), chips)
def test_all_splits_and_rotations_are_looked_at(
    built: tuple[Graph, Operator], chip: Chip
) -> None:
    graph, operator = built
    looked_at = searched(graph, operator, chip)
    every = operator.einsum.sizes
    assert looked_at == Searched(
        splits=len(all_splits(every, chip.cores, USE, PADDING)),
        plans=len(all_plans(graph, operator, chip, USE, PADDING)),
    )


def test_operators_of_one_shape_are_listed_together() -> None:
    graph = build_workload("llama-2-7b", {"batch": 1, "seq": 64, "layers": 2})
    groups = distinct_operators(graph)
    assert sorted(op.name for group in groups for op in group) == sorted(
        op.name for op in graph.operators
    )
    # q, k, v and o have one shape; gate and up another.
    together = [[op.name for op in g] for g in groups if g[0].name == "layer0.q"]
    assert together == [
        [f"layer{i}.{name}" for i in (0, 1) for name in ("q", "k", "v", "o")]
    ]


def test_twin_dimensions_are_searched_as_one_and_lose_nothing() -> None:
    """Batch and head of an attention score are one dimension of their product."""
    passes = (Pass.MATMUL,)
    separate, operator = one_operator(
        {"b": 3, "h": 5, "n": 7, "k": 16},
        ["b h k", "b h n k"],
        "b h n",
        passes,
        streamed=(1,),
    )
    merged, product = one_operator(
        {"bh": 15, "n": 7, "k": 16}, ["bh k", "bh n k"], "bh n", passes, streamed=(1,)
    )
    chip = small_chip(8, exchange=100)
    options = operator_options(separate, operator, chip)
    wide = brute_force_fronts(merged, product, chip, USE, PADDING)
    assert fronts(options, chip) == wide
    assert all(
        o.payload is not None and o.payload.splits[0][0] == "b*h" for o in options
    )
    for point in brute_force_fronts(separate, operator, chip, USE, PADDING):
        assert any(all(a <= b for a, b in zip(q, point, strict=True)) for q in wide)


def test_options_do_not_depend_on_hbm_but_through_the_preload_time() -> None:
    graph, operator = matmul(24, 40, 200)
    slow = small_chip(8)
    fast = replace(slow, name="fast", hbm=replace(slow.hbm, bytes_per_second=80_000))
    one, other = (operator_options(graph, operator, chip) for chip in (slow, fast))
    # 200·40 elements of 2 B at 8 and at 80 B/cycle, or the core's share at 2 B/cycle.
    for option, faster in zip(one, other, strict=True):
        inbound = option.preload_link_cycles
        assert option.preload_cycles == max(2_000, inbound)
        assert faster == replace(option, preload_cycles=max(200, inbound))


def test_the_four_field_front_drops_what_a_plan_beats_across_plans() -> None:
    graph, operator = matmul(24, 40, 200)
    options = operator_options(graph, operator, small_chip(8, exchange=500))
    front = four_field_front(options)
    fields = [
        (o.execute_bytes, o.preload_bytes, o.execute_cycles, o.execute_link_cycles)
        for o in options
    ]
    kept = {
        p
        for p in fields
        if not any(
            q != p and all(a <= b for a, b in zip(q, p, strict=True)) for q in fields
        )
    }
    assert [
        (o.execute_bytes, o.preload_bytes, o.execute_cycles, o.execute_link_cycles)
        for o in front
    ] == sorted(kept)
    assert len(front) < len(options)


@pytest.mark.parametrize("use", [0.0, -1.0, 1.5])
def test_an_impossible_use_of_cores_is_refused(use: float) -> None:
    graph, operator = matmul(4, 4, 4)
    with pytest.raises(BadInputError, match=rf"use is {use}, must be in \(0, 1\]"):
        operator_options(graph, operator, small_chip(4), use=use)


def test_a_padding_below_one_is_refused() -> None:
    graph, operator = matmul(4, 4, 4)
    with pytest.raises(BadInputError, match=r"padding is 0\.5, must be in"):
        operator_options(graph, operator, small_chip(4), padding=0.5)
