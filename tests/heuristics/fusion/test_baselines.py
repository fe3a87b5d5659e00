"""The mappers that FFM is compared to: legal, repeatable, and never better than it."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from elkhound.heuristics.fusion.annealing import Set
from elkhound.heuristics.fusion.anytime import AnytimeSearch
from elkhound.heuristics.fusion.choices import Choice, Choices
from elkhound.heuristics.fusion.genetic import TileFlow
from elkhound.heuristics.fusion.pareto_join import ParetoJoin
from elkhound.heuristics.fusion.prices import Prices
from elkhound.heuristics.fusion.random_search import Timeloop
from elkhound.heuristics.fusion.transfusion import TransFusion, intermediates, reused
from elkhound.model.errors import InfeasibleError
from elkhound.model.fusion import Accelerator, FusionWorkload, cost_of
from elkhound.model.fusion.catalogue import fusion_workload
from elkhound.model.fusion.mapping import LoopTree, Node, Split, Store
from elkhound.model.fusion.mapspace import Objective
from elkhound.model.fusion.pmappings import Pmappings, generate, rebuild
from elkhound.model.fusion.problem import FusionPlan, FusionProblem, FusionResult
from elkhound.model.io import load_accelerator
from elkhound.model.limits import Limits
from elkhound.model.referee import judge_fusion
from elkhound.model.result import Status
from elkhound.model.stopwatch import Stopwatch

SEARCHES = [
    pytest.param(Set(), id="set"),
    pytest.param(TileFlow(), id="tileflow"),
    pytest.param(Timeloop(), id="timeloop"),
]
SINGLE = (Objective.ENERGY, Objective.LATENCY, Objective.EDP)


def simple(size_bits: int) -> Accelerator:
    accelerator = load_accelerator("simple")
    main, buffer = accelerator.memories
    return replace(accelerator, memories=(main, replace(buffer, size_bits=size_bits)))


def matmuls(einsums: int, m: int = 64, width: int = 64) -> FusionWorkload:
    return fusion_workload("matmuls", {"einsums": einsums, "m": m, "width": width})


def limits(evaluations: int, seed: int = 0) -> Limits[FusionPlan]:
    return Limits(seconds=600, deterministic_work=evaluations, seed=seed)


def require_true(problem: FusionProblem, result: FusionResult) -> None:
    """The plan is legal, fits, and costs what is said, by cost and by referee."""
    assert result.plan is not None
    cost = cost_of(problem.accelerator, problem.workload, result.plan.tree)
    verdict = judge_fusion(problem.accelerator, problem.workload, result.plan.tree)
    assert cost.overflows == ()
    assert verdict.violations == ()
    for found in (cost, verdict):
        assert found.energy == pytest.approx(result.plan.energy, rel=1e-9)
        assert found.latency == pytest.approx(result.plan.latency, rel=1e-9)


def require_price_of_tree(pmappings: Pmappings, prices: Prices, choice: Choice) -> bool:
    """A choice is priced as its mapping is; returns whether it fits."""
    price = prices.of(choice)
    tree = rebuild(pmappings, choice.picks)
    cost = cost_of(pmappings.accelerator, pmappings.workload, tree)
    assert price.energy == pytest.approx(cost.energy, rel=1e-9)
    assert price.latency == pytest.approx(cost.latency, rel=1e-9)
    assert price.fits == (cost.overflows == ())
    return price.fits


@pytest.mark.parametrize(
    ("workload", "size_bits"),
    [
        pytest.param(matmuls(3, 8, 8), 160, id="three-matmuls"),
        pytest.param(
            fusion_workload("gpt-3-6.7b", {"batch": 1, "new_tokens": 4}),
            8192,
            id="gpt-3-layer-with-skips",
        ),
    ],
)
def test_choices_drawn_moved_and_crossed_cost_what_their_mappings_cost(
    workload: FusionWorkload, size_bits: int
) -> None:
    pmappings = generate(workload, simple(size_bits), criteria=("energy",))
    choices, prices = Choices(pmappings, Stopwatch()), Prices(pmappings)
    random = Random(1)
    fitting = set()
    for _ in range(12):
        first, second = choices.drawn(random), choices.drawn(random)
        moved = choices.moved(first, random)
        cut = random.randrange(len(first.arcs) + 1)
        crossed = choices.crossed(first, second, cut, random)
        assert crossed.picks[:cut] == first.picks[:cut]
        assert moved.differences(first) >= 1
        for choice in (first, moved, crossed):
            fitting.add(require_price_of_tree(pmappings, prices, choice))
    assert fitting == {True, False}


def test_moves_reach_every_partial_mapping() -> None:
    pmappings = generate(matmuls(2, 8, 8), simple(4096), criteria=("energy",))
    choices, random = Choices(pmappings, Stopwatch()), Random(0)
    choice, met = choices.drawn(random), set()
    for _ in range(4000):
        choice = choices.moved(choice, random)
        met |= {(index, pick.row) for index, pick in enumerate(choice.picks)}
    usable = {
        (index, row)
        for index, table in enumerate(pmappings.tables)
        for rows in table.members
        for row in rows.tolist()
    }
    assert met == usable


@pytest.mark.parametrize("method", SEARCHES)
@pytest.mark.parametrize("objective", SINGLE)
def test_searches_find_true_mappings_and_never_beat_the_join(
    method: AnytimeSearch, objective: Objective
) -> None:
    problem = FusionProblem(matmuls(2), simple(65536), objective)
    best = ParetoJoin().solve(problem, limits(1)).objective
    assert best is not None
    for seed in range(2):
        result = method.solve(problem, limits(3000, seed))
        assert result.objective is not None
        assert result.objective >= best * (1 - 1e-9)
        require_true(problem, result)


@pytest.mark.parametrize("method", SEARCHES)
def test_searches_find_the_golden_optimum_of_two_small_matmuls(
    method: AnytimeSearch,
) -> None:
    problem = FusionProblem(matmuls(2), simple(65536), Objective.ENERGY)
    result = method.solve(problem, limits(20_000))
    assert result.objective == pytest.approx(30_474_240, rel=1e-9)


@pytest.mark.parametrize("method", SEARCHES)
def test_a_seed_fixes_the_whole_search(method: AnytimeSearch) -> None:
    problem = FusionProblem(matmuls(3), simple(16384), Objective.ENERGY)
    pmappings = generate(problem.workload, problem.accelerator, criteria=("energy",))
    first, again, other = (
        method.search(pmappings, problem.objective, limits(2000, seed))
        for seed in (3, 3, 4)
    )
    traces = [
        [(step.evaluations, step.objective) for step in result.curve]
        for result in (first, again, other)
    ]
    assert traces[0] == traces[1]
    assert traces[0] != traces[2]
    assert first.plan == again.plan


@pytest.mark.parametrize("method", SEARCHES)
def test_curves_fall_and_end_at_the_result(method: AnytimeSearch) -> None:
    problem = FusionProblem(matmuls(3), simple(16384), Objective.EDP)
    result = method.solve(problem, limits(2000))
    curve = result.curve
    for before, after in pairwise(curve):
        assert before.evaluations < after.evaluations
        assert before.cpu_seconds <= after.cpu_seconds
        assert before.objective > after.objective
    assert curve[-1].objective == pytest.approx(result.objective, rel=1e-9)
    # the last mapping may need up to three einsums' partial mappings
    assert 2000 <= int(result.statistics["evaluations"]) <= 2002
    assert curve[-1].evaluations <= 2002


@pytest.mark.parametrize("method", SEARCHES)
def test_a_longer_search_of_a_seed_is_as_good(method: AnytimeSearch) -> None:
    if isinstance(method, Set):
        # the temperature depends on the length: the golden has it
        assert Set().temperature(0) == pytest.approx(0.07)
        assert Set().temperature(0.5) == pytest.approx(0.07 * 0.5 / 5)
        assert Set().temperature(1) == 0
        return
    problem = FusionProblem(matmuls(3), simple(16384), Objective.ENERGY)
    pmappings = generate(problem.workload, problem.accelerator, criteria=("energy",))
    short = method.search(pmappings, problem.objective, limits(500))
    long = method.search(pmappings, problem.objective, limits(2000))
    shared = len([s for s in long.curve if s.evaluations <= 500])
    for mine, its in zip(short.curve[:shared], long.curve[:shared], strict=True):
        assert (mine.evaluations, mine.objective) == (its.evaluations, its.objective)


def test_annealing_takes_worse_mappings_with_the_probability_of_the_temperature() -> (
    None
):
    # at T = 0.07 an increase by 7 % is taken with probability 1/e = 0.368
    random = Random(0)
    taken = sum(Set()._accepts(100.0, 107.0, 0.0, random) for _ in range(4000))
    assert taken / 4000 == pytest.approx(0.368, abs=0.03)
    assert not Set()._accepts(100.0, float("inf"), 0.0, random)
    assert not Set()._accepts(100.0, 100.1, 1.0, random)


@pytest.mark.parametrize("method", [*SEARCHES, pytest.param(TransFusion(), id="fixed")])
def test_a_memory_that_holds_nothing_is_named(
    method: AnytimeSearch | TransFusion,
) -> None:
    main, buffer = simple(23).memories
    accelerator = replace(simple(23), memories=(main, replace(buffer, keep=("all",))))
    problem = FusionProblem(matmuls(2), accelerator)
    with pytest.raises(InfeasibleError, match="GlobalBuffer needs at least 24 bits"):
        method.solve(problem, limits(100))


@pytest.mark.parametrize("method", SEARCHES)
def test_no_time_gives_no_mapping_and_no_claim(method: AnytimeSearch) -> None:
    problem = FusionProblem(matmuls(2), simple(65536))
    result = method.solve(problem, Limits(seconds=1e-9))
    assert (result.status, result.plan) == (Status.UNKNOWN, None)


@settings(
    derandomize=True,
    deadline=None,
    max_examples=8,
    suppress_health_check=[HealthCheck.too_slow],
)
@given(
    einsums=st.integers(2, 3),
    m=st.sampled_from([4, 6, 8]),
    width=st.sampled_from([2, 4, 6]),
    size_bits=st.sampled_from([96, 160, 256, 512, 1024]),
    main_energy=st.sampled_from([1, 7, 100]),
    bits_per_cycle=st.sampled_from([1, 8, 64]),
    objective=st.sampled_from(SINGLE),
    seed=st.integers(0, 99),
)
def test_no_baseline_beats_the_join(
    einsums: int,
    m: int,
    width: int,
    size_bits: int,
    main_energy: int,
    bits_per_cycle: int,
    objective: Objective,
    seed: int,
) -> None:
    accelerator = simple(size_bits)
    main, buffer = accelerator.memories
    main = replace(main, read_energy=main_energy, write_energy=main_energy)
    buffer = replace(buffer, bits_per_cycle=bits_per_cycle)
    accelerator = replace(accelerator, memories=(main, buffer))
    problem = FusionProblem(matmuls(einsums, m, width), accelerator, objective)
    best = ParetoJoin().solve(problem, limits(1))
    assert best.status is Status.OPTIMAL
    assert best.objective is not None
    for method in (Set(), TileFlow(), Timeloop(), TransFusion()):
        result = method.solve(problem, limits(400, seed))
        if result.objective is not None:
            assert result.objective >= best.objective * (1 - 1e-9)
            require_true(problem, result)


def stores(nodes: tuple[Node, ...], loops: int = 0) -> dict[str, tuple[str, int]]:
    """First memory of every tensor, and the number of loops above it."""
    found: dict[str, tuple[str, int]] = {}
    for node in nodes:
        if isinstance(node, Split):
            for branch in node.branches:
                found = stores(branch, loops) | found
        elif isinstance(node, Store):
            found.setdefault(node.tensor, (node.memory, loops))
        else:
            loops += 1
    return found


def backing(tree: LoopTree) -> dict[str, tuple[str, int]]:
    return stores(tree.nodes)


def test_transfusion_fuses_all_but_k_and_v() -> None:
    workload = fusion_workload("gpt-3-6.7b", {"batch": 1, "new_tokens": 4})
    assert reused(workload) == {"K", "V"}
    problem = FusionProblem(workload, simple(2**24), Objective.ENERGY)
    result = TransFusion().solve(problem, limits(1))
    require_true(problem, result)
    assert result.plan is not None
    placed = backing(result.plan.tree)
    for tensor in ("K", "V"):
        assert placed[tensor][0] == "MainMemory"
    for tensor in intermediates(workload) - {"K", "V"}:
        memory, loops = placed[tensor]
        assert memory == "GlobalBuffer"
        assert loops >= 1


def test_transfusion_fetches_weights_again_for_every_tile() -> None:
    # the optimum reads W0 and W1, 32,768 bits each, once; here T1 is made in at least
    # two tiles of rows, each of which reads both again, at 100 + 1 a bit and more
    problem = FusionProblem(matmuls(2), simple(65536), Objective.ENERGY)
    result = TransFusion().solve(problem, limits(1))
    require_true(problem, result)
    assert result.plan is not None
    cost = cost_of(problem.accelerator, problem.workload, result.plan.tree)
    for weight in ("W0", "W1"):
        read = sum(
            each.count
            for each in cost.actions
            if (each.component, each.tensor, each.kind)
            == ("MainMemory", weight, "read")
        )
        assert read >= 2 * 32_768
    assert result.plan.energy >= 30_474_240 + 2 * 32_768 * 101


def test_transfusion_says_nothing_where_no_mapping_is_like_that() -> None:
    # T1 has one element: there is no loop under which it could be made tile by tile
    problem = FusionProblem(matmuls(2, 1, 1), simple(65536))
    result = TransFusion().solve(problem, limits(1))
    assert (result.status, result.plan) == (Status.UNKNOWN, None)
