"""All exact methods for allocation agree, and say only what they proved."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from elkhound.model.allocation import (
    Allocation,
    AllocationItem,
    AllocationOption,
    AllocationProblem,
)
from elkhound.model.errors import ContradictionError
from elkhound.model.limits import Limits
from elkhound.model.referee import judge_allocation
from elkhound.model.result import Method, Result, Status
from elkhound.solvers.allocation import BruteForce, CpSat, KnapsackDp, Milp
from elkhound.solvers.backends import pulp

Solver = Method[AllocationProblem, Allocation]

EXACT: list[Solver] = [BruteForce(), KnapsackDp(), CpSat(), Milp("highs"), Milp("cbc")]


def limits(
    *,
    work: float | None = None,
    gap: float = 0.0,
    memory: int | None = None,
    start: Allocation | None = None,
) -> Limits[Allocation]:
    """Return the limits of a test: one worker, and no clock that matters."""
    return Limits(
        seconds=600,
        workers=1,
        deterministic_work=work,
        relative_gap=gap,
        memory_bytes=memory,
        warm_start=start,
    )


def problem(capacity: int, *items: list[tuple[int, int]]) -> AllocationProblem:
    """Return a problem from points (bytes, cycles) of each item."""
    return AllocationProblem(
        capacity,
        tuple(
            AllocationItem(f"item{i}", tuple(AllocationOption(*p) for p in points))
            for i, points in enumerate(items)
        ),
    )


def checked(case: AllocationProblem, result: Result[Allocation]) -> Result[Allocation]:
    """Return the result after the referee has confirmed its objective."""
    if result.plan is not None:
        verdict = judge_allocation(case, result.plan)
        assert verdict.violations == ()
        assert verdict.objective == result.objective
    return result


@st.composite
def problems(draw: st.DrawFn, largest: int = 12) -> AllocationProblem:
    """Draw up to 5 items of up to 4 points, some of them equal or dominated."""
    point = st.tuples(st.integers(0, largest), st.integers(0, largest))
    items = draw(
        st.lists(st.lists(point, min_size=1, max_size=4), min_size=1, max_size=5)
    )
    most = sum(max(size for size, _ in points) for points in items)
    return problem(draw(st.integers(0, most)), *items)


@given(problems())
@settings(derandomize=True, deadline=None, max_examples=120)
def test_exact_methods_agree(case: AllocationProblem) -> None:
    results = [checked(case, solver.solve(case, limits())) for solver in EXACT]
    assert {result.status for result in results} in (
        {Status.OPTIMAL},
        {Status.INFEASIBLE},
    )
    assert len({result.objective for result in results}) == 1
    for result in results:
        if result.status is Status.OPTIMAL:
            assert result.bound is not None
            assert result.bound.value == result.objective


@given(problems(largest=10**4))
@settings(derandomize=True, deadline=None, max_examples=200)
def test_the_programme_finds_what_brute_force_finds(case: AllocationProblem) -> None:
    dp = checked(case, KnapsackDp().solve(case, limits()))
    assert dp.objective == BruteForce().solve(case, limits()).objective


@st.composite
def close_calls(draw: st.DrawFn) -> AllocationProblem:
    """Draw items whose cycles fall one for one with bytes, give or take 2.

    Every choice then costs nearly the same, and the last cycle is hard to find.
    """
    point = st.tuples(st.integers(0, 20), st.integers(0, 2))
    drawn = draw(
        st.lists(st.lists(point, min_size=2, max_size=4), min_size=4, max_size=5)
    )
    items = [[(size, 20 - size + extra) for size, extra in points] for points in drawn]
    most = sum(max(size for size, _ in points) for points in items)
    return problem(draw(st.integers(most // 3, most)), *items)


@given(close_calls())
@settings(derandomize=True, deadline=None, max_examples=300)
def test_the_programme_misses_not_one_cycle(case: AllocationProblem) -> None:
    dp = checked(case, KnapsackDp().solve(case, limits()))
    assert dp.objective == BruteForce().solve(case, limits()).objective


@given(problems())
@settings(derandomize=True, deadline=None, max_examples=50)
def test_the_programme_is_an_allocator(case: AllocationProblem) -> None:
    assert KnapsackDp().allocate(case) == KnapsackDp().solve(case, limits()).plan


@pytest.mark.parametrize("solver", EXACT, ids=lambda s: s.name)
def test_the_optimum_of_a_case_solved_by_hand(solver: Solver) -> None:
    # 10 bytes: (6, 2) + (4, 3) = 5 cycles; (9, 1) leaves 1 byte: 1 + 9 = 10;
    # (2, 8) leaves 8: 8 + 1 = 9.
    case = problem(10, [(9, 1), (6, 2), (2, 8)], [(8, 1), (4, 3), (1, 9)])
    result = checked(case, solver.solve(case, limits()))
    assert (result.status, result.objective) == (Status.OPTIMAL, 5)
    assert result.plan == Allocation((1, 1))


@pytest.mark.parametrize("solver", EXACT, ids=lambda s: s.name)
def test_smallest_options_over_the_capacity_are_proved_infeasible(
    solver: Solver,
) -> None:
    case = problem(6, [(9, 1), (3, 5)], [(4, 1)])  # 3 + 4 = 7 > 6
    result = solver.solve(case, limits())
    assert (result.status, result.plan, result.bound) == (Status.INFEASIBLE, None, None)


@pytest.mark.parametrize("solver", EXACT, ids=lambda s: s.name)
def test_free_items_fit_into_nothing(solver: Solver) -> None:
    case = problem(0, [(0, 0)], [(0, 4), (1, 0)])
    result = checked(case, solver.solve(case, limits()))
    assert (result.status, result.objective) == (Status.OPTIMAL, 4)


@pytest.mark.parametrize("solver", EXACT[1:], ids=lambda s: s.name)
def test_a_warm_start_changes_no_optimum(solver: Solver) -> None:
    # (7, 2) is dominated and on no Pareto list; the last start takes 17 of 10 bytes.
    case = problem(10, [(9, 1), (6, 2), (2, 8), (7, 2)], [(8, 1), (4, 3), (1, 9)])
    for options in ((2, 2), (1, 1), (3, 2), (0, 0)):
        start = Allocation(options)
        result = checked(case, solver.solve(case, limits(start=start)))
        assert (result.status, result.objective) == (Status.OPTIMAL, 5)


def test_brute_force_cut_short_proves_nothing() -> None:
    case = problem(10, [(9, 1), (2, 8)], [(8, 1), (1, 9)])
    # The plans in turn: (9 + 8) no, (9 + 1) = 10 cycles, (2 + 8) = 9, (2 + 1) = 17.
    after = [BruteForce().solve(case, limits(work=n)) for n in (0, 1, 2, 3, 4)]
    assert [result.objective for result in after] == [None, None, 10, 9, 9]
    assert [result.status for result in after] == [
        Status.UNKNOWN,
        Status.UNKNOWN,
        Status.FEASIBLE,
        Status.FEASIBLE,
        Status.OPTIMAL,
    ]


def hard_case() -> AllocationProblem:
    """Build 8 items whose relaxation is not tight: cycles fall one for one."""
    return problem(
        211,
        *([(37 + i, 3), (23 + 2 * i, 17 - i), (5 + i, 37 - 2 * i)] for i in range(8)),
    )


@pytest.mark.parametrize("stop", ["work", "memory"])
def test_the_programme_cut_short_keeps_a_true_bound(stop: str) -> None:
    case = hard_case()
    optimum = BruteForce().solve(case, limits()).objective
    assert optimum is not None
    cut = limits(work=10) if stop == "work" else limits(memory=1000)
    result = checked(case, KnapsackDp().solve(case, cut))
    assert result.status is Status.FEASIBLE
    assert result.objective is not None
    assert result.bound is not None
    assert result.bound.value <= optimum <= result.objective


def test_the_programme_stops_at_the_asked_gap() -> None:
    case = hard_case()
    optimum = KnapsackDp().solve(case, limits()).objective
    result = checked(case, KnapsackDp().solve(case, limits(gap=0.5)))
    assert result.status is Status.FEASIBLE
    assert result.objective is not None
    assert result.bound is not None
    assert optimum is not None
    assert result.bound.value <= optimum
    assert result.objective - result.bound.value <= 0.5 * result.objective


def test_the_programme_adds_without_overflow() -> None:
    # bytes × cycles reaches 10^40: int64 would wrap round.
    big = 10**20
    case = problem(
        3 * big,
        [(2 * big, big), (big, 3 * big)],
        [(2 * big + 1, big), (big, 2 * big)],
    )
    # (2 + 2) and (1 + 2, one byte over) do not fit; 2 + 1 costs 1 + 2 = 3 · 10^20.
    result = checked(case, KnapsackDp().solve(case, limits()))
    assert (result.status, result.objective) == (Status.OPTIMAL, 3 * big)


def test_inexact_cycle_granules_cost_cp_sat_at_most_the_rounding() -> None:
    # 2^33 cycles do not fit into CP-SAT's safe sums: they are rounded up to granules.
    far = 2**33
    case = problem(5, [(4, 1), (1, far)], [(4, 0), (1, far + 5)], [(1, 7), (0, 8)])
    optimum = BruteForce().solve(case, limits()).objective
    result = checked(case, CpSat().solve(case, limits()))
    assert optimum is not None
    assert result.objective is not None
    assert result.bound is not None
    assert result.bound.value <= optimum <= result.objective
    assert result.objective - optimum <= result.rounding_error
    assert result.rounding_error > 0


@pytest.mark.parametrize(
    ("spare", "optimum"),
    [
        pytest.param(1, 2, id="just-fits"),  # both large options: 1 + 1
        pytest.param(0, 4, id="one-byte-short"),  # rounded down it would fit: 1 + 3
    ],
)
def test_inexact_byte_granules_cost_cp_sat_the_proof(spare: int, optimum: int) -> None:
    far = 2**33
    case = problem(far + spare, [(far, 1), (0, 5)], [(1, 1), (0, 3)])
    result = checked(case, CpSat().solve(case, limits()))
    assert result.status is Status.FEASIBLE
    assert result.bound is None
    assert result.objective is not None
    assert 0 <= result.objective - optimum <= result.rounding_error


@pytest.mark.parametrize("backend", ["highs", "cbc"])
@pytest.mark.parametrize(
    ("case", "optimum"),
    [
        # The smallest options fill the capacity to the byte: 3 + 9.
        pytest.param(
            problem(27808176689545, [(27808176689544, 3), (2**46, 1)], [(1, 9)]),
            12,
            id="full-to-the-byte",
        ),
        # Sizes 2^26 k + 1 with 20 − k cycles twice: of k + k' = 16 each pair is over
        # by two bytes, so 15 steps down from 40.
        pytest.param(
            problem(2**30, *[[(2**26 * k + 1, 20 - k) for k in range(14)]] * 2),
            25,
            id="two-bytes-over",
        ),
    ],
)
def test_a_milp_counts_every_byte_of_large_sizes(
    case: AllocationProblem, optimum: int, backend: str
) -> None:
    result = checked(case, Milp(backend).solve(case, limits()))
    assert (result.status, result.objective) == (Status.OPTIMAL, optimum)


def test_many_large_options_do_not_cost_cp_sat_the_proof() -> None:
    # Six options above 5·10^8 bytes: their plain sum would pass 2^31.
    large = [(500_000_001 + k, 10 - k) for k in range(6)]
    case = problem(500_000_003, [(0, 20), *large])
    result = checked(case, CpSat().solve(case, limits()))
    assert (result.status, result.objective) == (Status.OPTIMAL, 8)


def test_a_warm_start_that_only_rounding_forbids_is_kept() -> None:
    # 2^30 − 1 bytes fit to the byte; in granules of 64 they do not.
    far = 2**30
    case = problem(far - 1, [(0, far), (far - 1, far - 1), (far, 770203423)])
    start = Allocation((1,))
    for solver in EXACT:
        result = checked(case, solver.solve(case, limits(start=start)))
        assert result.objective == far - 1


def test_a_warm_start_does_not_stop_the_search() -> None:
    # 6 + 9 + 2 + 10 + 8 = 35 bytes for 0 + 1 + 5 + 0 + 0 cycles. HiGHS 1.16, given
    # the start of 24 cycles, counted 6 for it and called that optimal.
    case = problem(
        35,
        [(0, 10), (8, 0), (6, 0)],
        [(9, 1), (10, 7), (10, 0)],
        [(8, 3), (0, 10), (2, 5), (10, 9), (7, 10)],
        [(10, 0), (0, 4), (10, 0)],
        [(8, 0), (3, 8)],
    )
    start = Allocation((0, 0, 2, 0, 1))  # 0 + 9 + 2 + 10 + 3 bytes
    for solver in EXACT:
        result = checked(case, solver.solve(case, limits(start=start)))
        assert (result.status, result.objective) == (Status.OPTIMAL, 6)


def test_a_bound_above_its_own_plan_is_a_contradiction(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # One item of 5 cycles; the solver takes it, 0 above the least, and says that 2
    # above it is proved.
    problem = AllocationProblem(10, (AllocationItem("a", (AllocationOption(10, 5),)),))

    def lie(*_: object, **__: object) -> pulp.MilpAnswer:
        return pulp.MilpAnswer(Status.OPTIMAL, 0.0, 2.0, {"x_0_0": 1.0}, {}, "liar")

    monkeypatch.setattr(pulp, "run", lie)
    with pytest.raises(ContradictionError, match="bound 7 lies above a plan of 5"):
        Milp().solve(problem, Limits(workers=1))
