"""The theorem of the paper: what is pruned is never needed (§6.4)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.fusion_brute_force import front
from oracles.fusion_trees import workload_of

from elkhound.heuristics.fusion.pareto_join import Joined, ParetoJoin, join
from elkhound.model.fusion import cost_of
from elkhound.model.fusion.accelerator import Accelerator, Compute, FanOut, Memory
from elkhound.model.fusion.looptree_text import parse_mapping
from elkhound.model.fusion.mapspace import Mapspace, Objective, Tiles
from elkhound.model.fusion.pmappings import generate, rebuild
from elkhound.model.fusion.problem import FusionProblem
from elkhound.model.fusion.workload import FusionWorkload
from elkhound.model.limits import Limits
from elkhound.model.referee import judge_fusion
from elkhound.model.result import Status

BOTH = ("energy", "latency")
EVERY_ORDER = Mapspace(ordered_loops=True)
RAGGED = Mapspace(ordered_loops=True, tiles=Tiles.ANY)
PAIR = ("T1[m,n] = T0[m,k] * W0[k,n]", "T2[m,l] = T1[m,n] * W1[n,l]")
HELD_OVER = """\
[Main] stores T0, W0, W1, T2
[Buffer] stores W0, T2
for m tile=1
for n tile=1
[Buffer] stores T1
Sequential
  Nested
    compute T1 on MAC
  Nested
    compute T2 on MAC
"""
WORKLOADS = {
    "two-consumers": (
        *PAIR,
        "T3[m,o] = T1[m,n] * W2[n,o]",
    ),
    "skip": (*PAIR, "T3[m,n] = T2[m,l] * T1[m,n]"),
    "renamed": ("K[b,m] = I[b,m] * W[m]", "Q[b,p,m] = K[b,m] * X[p]"),
    "copy": ("I[m,k] = copy I0[m,k]", "T1[m,n] = I[m,k] * W0[k,n]"),
    "halo": ("E[x,c] = I[x] * W[c]", "F[p,c] = E[p+r,c] * V[r]"),
}


@st.composite
def accelerators(draw: st.DrawFn, least_bits: int = 20) -> Accelerator:
    """Two memories, perhaps several units: prices and rates are drawn."""
    energy = st.sampled_from([5.0, 20.0])
    flag = st.booleans()
    fans: tuple[FanOut, ...] = ()
    if draw(flag):
        size = draw(st.sampled_from([2, 3]))
        fans = (FanOut("MAC", "X", size, draw(flag), draw(flag)),)
    rates = [(None, None, None), (3.0, None, None), (None, 5.0, 2.0)]
    main = Memory(
        "Main",
        None,
        draw(energy),
        draw(energy),
        draw(st.sampled_from([None, 4.0])),
        keep=("not-intermediates",),
    )
    buffer = Memory(
        "Buffer",
        draw(st.sampled_from([least_bits, 2 * least_bits, 4 * least_bits])),
        1.0,
        2.0,
        *draw(st.sampled_from(rates)),
        leak=draw(st.sampled_from([0.0, 0.25])),
        keep=("not-above",),
    )
    unit = Compute("MAC", 0.5, draw(st.sampled_from([1.0, 4.0])), fan_outs=fans)
    return Accelerator("small", (main, buffer), (unit,))


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Accelerator, FusionWorkload]:
    small = st.sampled_from([1, 2])
    sizes = {
        "m": draw(st.sampled_from([1, 2, 3, 4])),
        "k": draw(small),
        "n": draw(st.sampled_from([1, 2, 3])),
        "l": draw(small),
    }
    return draw(accelerators()), workload_of(sizes, *PAIR)


def points(found: tuple[Joined, ...]) -> list[tuple[float, float]]:
    return [(point.energy, point.latency) for point in found]


def assert_equal(
    mine: list[tuple[float, float]], expected: list[tuple[float, float]]
) -> None:
    assert len(mine) == len(expected)
    # the oracle rounds what it adds for each einsum to six digits
    for one, other in zip(sorted(mine), sorted(expected), strict=True):
        assert one == pytest.approx(other, rel=1e-9, abs=2e-6)


def require_front_of_all_nests(
    accelerator: Accelerator, workload: FusionWorkload, *, ragged: bool = False
) -> None:
    mapspace = RAGGED if ragged else EVERY_ORDER
    found = join(generate(workload, accelerator, mapspace, BOTH), BOTH)
    assert_equal(points(found), front(accelerator, workload, ragged=ragged))


@settings(derandomize=True, deadline=None, max_examples=4)
@given(pairs())
def test_the_front_of_two_einsums_is_that_of_all_nests(
    case: tuple[Accelerator, FusionWorkload],
) -> None:
    require_front_of_all_nests(*case)


@settings(derandomize=True, deadline=None, max_examples=3)
@given(pairs())
def test_the_ragged_front_of_two_einsums_is_that_of_all_ragged_nests(
    case: tuple[Accelerator, FusionWorkload],
) -> None:
    require_front_of_all_nests(*case, ragged=True)


@pytest.mark.slow
@settings(derandomize=True, deadline=None, max_examples=30)
@given(pairs())
def test_the_ragged_front_of_many_pairs_is_that_of_all_ragged_nests(
    case: tuple[Accelerator, FusionWorkload],
) -> None:
    require_front_of_all_nests(*case, ragged=True)


@pytest.mark.slow
@settings(derandomize=True, deadline=None, max_examples=40)
@given(pairs())
def test_the_front_of_many_pairs_is_that_of_all_nests(
    case: tuple[Accelerator, FusionWorkload],
) -> None:
    require_front_of_all_nests(*case)


def test_the_space_of_the_paper_leaves_out_a_mapping_of_the_front() -> None:
    """Under loops m, n in this order, W0 stands above m and is read once.

    While T1 runs, the buffer holds W0 (3 · 5 bits), the tile of T2 under m (11) and
    that of T1 (7): 33 of 40 bits. The paper's space has no loop over n below W0, and
    above it n would stand above m, where all of T2 is held: 5 + 22 + 7 = 34 bits fit,
    but there n may not stand with m below T2.
    """
    accelerator = Accelerator(
        "small",
        (
            Memory("Main", None, 20.0, 5.0, keep=("not-intermediates",)),
            Memory("Buffer", 40, 1.0, 2.0, 3.0, keep=("not-above",)),
        ),
        (Compute("MAC", 0.5, 1.0),),
    )
    workload = workload_of({"m": 2, "k": 1, "n": 3, "l": 1}, *PAIR)
    mapping = parse_mapping(HELD_OVER)
    verdict = judge_fusion(accelerator, workload, mapping)
    assert (verdict.violations, verdict.peak_bits["Buffer"]) == ((), 33)
    assert (verdict.energy, verdict.latency) == pytest.approx((2240, 87))
    papers = points(join(generate(workload, accelerator, criteria=BOTH), BOTH))
    assert (2030, 95) in papers
    assert (2270, 80) in papers
    assert (2240, 87) not in papers
    every = points(join(generate(workload, accelerator, EVERY_ORDER, BOTH), BOTH))
    assert len(every) == len(papers) + 1
    assert (2240, 87) in [(round(e, 6), round(c, 6)) for e, c in every]


@st.composite
def shared(draw: st.DrawFn) -> tuple[Accelerator, FusionWorkload, Mapspace]:
    name = draw(st.sampled_from(sorted(WORKLOADS)))
    equations = WORKLOADS[name]
    sizes = {"halo": {"p": 2, "r": 2, "x": 3, "c": 2}}.get(name) or {
        rank: draw(st.sampled_from([1, 2, 2, 3]))
        for rank in sorted({c for e in equations for c in _ranks(e)})
    }
    accelerator = draw(accelerators(least_bits=60))
    space = Mapspace(
        max_fused_loops_per_rank=draw(st.sampled_from([1, 2])),
        ordered_loops=draw(st.booleans()),
        tiles=draw(st.sampled_from(Tiles)),
    )
    return accelerator, workload_of(sizes, *equations), space


def _ranks(equation: str) -> set[str]:
    inside = "".join(part.split("]")[0] for part in equation.split("[")[1:])
    return {c for c in inside if c.isalpha()}


@settings(derandomize=True, deadline=None, max_examples=15)
@given(shared())
def test_pruning_never_loses_a_point_of_the_front(
    case: tuple[Accelerator, FusionWorkload, Mapspace],
) -> None:
    accelerator, workload, space = case
    pruned = generate(workload, accelerator, space, BOTH)
    everything = generate(workload, accelerator, space, ())
    found = join(pruned, BOTH)
    assert_equal(points(found), points(join(everything, BOTH)))
    for point in found:
        tree = rebuild(pruned, point.choice)
        cost = cost_of(accelerator, workload, tree)
        verdict = judge_fusion(accelerator, workload, tree)
        assert (verdict.violations, cost.overflows) == ((), ())
        assert cost.energy == pytest.approx(point.energy, rel=1e-9)
        assert verdict.latency == pytest.approx(point.latency, rel=1e-9)


@settings(derandomize=True, deadline=None, max_examples=6)
@given(shared())
def test_bounds_and_slack_keep_every_optimum(
    case: tuple[Accelerator, FusionWorkload, Mapspace],
) -> None:
    accelerator, workload, space = case
    found = points(join(generate(workload, accelerator, space, BOTH), BOTH))
    best = {
        Objective.ENERGY: min(energy for energy, _ in found),
        Objective.LATENCY: min(latency for _, latency in found),
        Objective.EDP: min(energy * latency for energy, latency in found),
    }
    for objective, value in best.items():
        problem = FusionProblem(workload, accelerator, objective, space)
        result = ParetoJoin().solve(problem, Limits())
        assert result.status is Status.OPTIMAL
        assert result.objective == pytest.approx(value, rel=1e-9)
        assert result.lower_bound == result.objective
    result = ParetoJoin().solve(
        FusionProblem(workload, accelerator, Objective.FRONT, space), Limits()
    )
    assert_equal([(plan.energy, plan.latency) for plan in result.front], found)
