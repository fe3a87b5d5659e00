"""CP-SAT, MILP and brute force against the Pareto join, the goldens and the referee."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.fusion_cases import PAIR, fusion_problems
from oracles.fusion_trees import workload_of

from elkhound.heuristics.fusion.pareto_join import ParetoJoin
from elkhound.model.errors import BadInputError, InfeasibleError
from elkhound.model.fusion.accelerator import Accelerator, Compute, Memory
from elkhound.model.fusion.catalogue import fusion_workload
from elkhound.model.fusion.mapspace import Objective
from elkhound.model.fusion.problem import FusionPlan, FusionProblem, FusionResult
from elkhound.model.io import load_accelerator
from elkhound.model.limits import Limits
from elkhound.model.referee import judge_fusion
from elkhound.model.result import Status
from elkhound.solvers.fusion.brute_force import BruteForce
from elkhound.solvers.fusion.cp_sat import CpSat
from elkhound.solvers.fusion.exact import PROOF
from elkhound.solvers.fusion.milp import Milp

ONE: Limits[FusionPlan] = Limits(workers=1)
EXACT = [
    pytest.param(CpSat(), id="cp-sat"),
    pytest.param(Milp(), id="milp"),
    pytest.param(BruteForce(), id="brute-force"),
]


def simple(size_bits: int) -> Accelerator:
    accelerator = load_accelerator("simple")
    main, buffer = accelerator.memories
    return replace(accelerator, memories=(main, replace(buffer, size_bits=size_bits)))


def matmuls(einsums: int, size_bits: int, objective: Objective) -> FusionProblem:
    workload = fusion_workload("matmuls", {"einsums": einsums, "m": 64, "width": 64})
    return FusionProblem(workload, simple(size_bits), objective)


def verified(problem: FusionProblem, result: FusionResult) -> FusionResult:
    """Hold every mapping of a result to the referee."""
    plans = (*result.front, *([] if result.plan is None else [result.plan]))
    for plan in plans:
        verdict = judge_fusion(problem.accelerator, problem.workload, plan.tree)
        assert verdict.violations == ()
        assert plan.energy == pytest.approx(verdict.energy, rel=1e-9)
        assert plan.latency == pytest.approx(verdict.latency, rel=1e-9)
    return result


@pytest.mark.parametrize("method", EXACT)
@pytest.mark.parametrize(
    ("einsums", "size_bits", "energy"),
    [
        pytest.param(2, 65536, 30_474_240, id="two"),
        pytest.param(2, 16384, 47_022_080, id="two-in-a-quarter"),
        pytest.param(3, 16384, 72_187_904, id="three-in-a-quarter"),
        pytest.param(4, 16384, 94_044_160, id="four-in-a-quarter"),
    ],
)
def test_chains_of_matmuls_reach_the_golden_energy(
    method: Any, einsums: int, size_bits: int, energy: int
) -> None:
    problem = matmuls(einsums, size_bits, Objective.ENERGY)
    if einsums > 3 and isinstance(method, BruteForce):
        with pytest.raises(BadInputError, match="at most 3 einsums, matmuls has 4"):
            method.solve(problem, ONE)
        return
    result = verified(problem, method.solve(problem, ONE))
    assert (result.status, result.objective) == (Status.OPTIMAL, energy)
    assert result.lower_bound is not None
    assert energy * (1 - PROOF) <= result.lower_bound <= energy
    assert result.rounding_error <= PROOF * energy


@pytest.mark.parametrize(
    "method",
    [
        EXACT[0],
        pytest.param(Milp(), id="milp", marks=pytest.mark.slow),
        EXACT[2],
    ],
)
def test_the_front_of_two_matmuls_has_its_nine_points(method: Any) -> None:
    problem = matmuls(2, 65536, Objective.FRONT)
    result = verified(problem, method.solve(problem, ONE))
    assert result.status is Status.OPTIMAL
    assert [(point.latency, point.energy) for point in result.front] == [
        (524288, 1671692288),
        (528384, 1467383808),
        (532480, 1263075328),
        (782336, 1052082176),
        (1048576, 847773696),
        (1306624, 643399680),
        (1572864, 439091200),
        (1839104, 234782720),
        (2105344, 30474240),
    ]


def agree(problem: FusionProblem, methods: tuple[Any, ...]) -> None:
    """Ask all methods, and hold their answers to those of the Pareto join."""
    try:
        join = verified(problem, ParetoJoin().solve(problem, ONE))
    except InfeasibleError:
        for method in methods:
            with pytest.raises(InfeasibleError):
                method.solve(problem, ONE)
        return
    for method in methods:
        result = verified(problem, method.solve(problem, ONE))
        assert result.status is join.status, method.name
        if join.plan is None or result.plan is None:
            continue
        assert result.objective == pytest.approx(join.objective, rel=PROOF)
        if result.lower_bound is not None and join.objective is not None:
            assert result.lower_bound <= join.objective * (1 + 1e-9)
        points = [(point.energy, point.latency) for point in result.front]
        assert len(points) == len(join.front), method.name
        for mine, other in zip(points, join.front, strict=True):
            assert mine == pytest.approx((other.energy, other.latency), rel=PROOF)


ALL = (CpSat(), Milp(), BruteForce())


def test_sums_in_different_orders_make_no_points_of_a_front() -> None:
    """Fused or not, 164 cycles are 492 / 3, summed of thirds in two ways."""
    main = Memory("Main", None, 20.0, 20.0, keep=("not-intermediates",))
    middle = Memory("Middle", 60, 1.0, 2.1, 3.0, keep=("not-above",))
    accelerator = Accelerator("small", (main, middle), (Compute("MAC", 0.5, 1.0),))
    workload = workload_of({"k": 1, "l": 4, "m": 1, "n": 4}, *PAIR)
    problem = FusionProblem(workload, accelerator, Objective.FRONT)
    agree(problem, ALL)
    front = ParetoJoin().solve(problem, ONE).front
    assert [point.latency for point in front] == pytest.approx(
        [20, 21, 140 / 3, 155 / 3, 364 / 3, 367 / 3, 164, 169]
    )


def test_a_weight_above_loops_that_its_users_share_is_held_once() -> None:
    """W0 in the buffer, above m of both einsums: 4 + T1 2 + T0 or T2 1 = 7 of 7 bits.

    W0 comes once for each einsum, 2 · 4 · (10 + 1) = 88; T0 comes and T2 goes, 6 · 11
    each, 132; each einsum multiplies 12 times: 2 · 12 reads, 12 writes of its output
    and 12 − 6 reads of partial sums, 2 · 42 = 84. Together 304. Held twice, W0 alone
    would be 8 bits.
    """
    main = Memory(
        "DRAM", None, 10.0, 10.0, keep=("not-intermediates",), may_keep=("all",)
    )
    buffer = Memory("Buffer", 7, 1.0, 1.0, keep=("not-above",), may_keep=("all",))
    accelerator = Accelerator("small", (main, buffer), (Compute("MAC", 0.0, 1.0),))
    tied = ("T1[m,b] = T0[m,a] * W0[a,b]", "T2[m,a] = T1[m,b] * W0[a,b]")
    workload = workload_of({"m": 3, "a": 2, "b": 2}, *tied)
    workload = replace(workload, bits=tuple((t, 1) for t, _ in workload.bits))
    problem = FusionProblem(workload, accelerator, Objective.ENERGY)
    agree(problem, ALL)
    for method in ALL:
        assert method.solve(problem, ONE).objective == 304, method.name


BY_OBJECTIVE = st.sampled_from(list(Objective)).flatmap(fusion_problems)


@settings(derandomize=True, deadline=None, max_examples=12)
@given(BY_OBJECTIVE)
def test_all_exact_methods_agree_with_the_join(problem: FusionProblem) -> None:
    agree(problem, ALL)


@pytest.mark.slow
@settings(derandomize=True, deadline=None, max_examples=120)
@given(BY_OBJECTIVE)
def test_all_exact_methods_agree_with_the_join_often(problem: FusionProblem) -> None:
    agree(problem, ALL)


@settings(derandomize=True, deadline=None, max_examples=5)
@given(fusion_problems(Objective.ENERGY, persistent=True))
def test_what_persists_is_held_throughout_by_all_methods(
    problem: FusionProblem,
) -> None:
    agree(problem, ALL)
