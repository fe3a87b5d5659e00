"""Search and CP-SAT: the same answers, on problems made to be tight."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from elkhound.model.instances import random_placement
from elkhound.model.io import read_placement_csv
from elkhound.model.limits import Limits
from elkhound.model.placement import Buffer, Placement, PlacementProblem
from elkhound.model.referee import judge_placement
from elkhound.model.result import Result, Status
from elkhound.solvers.placement import CpSat, Search
from elkhound.solvers.placement.cliques import cliques_of
from elkhound.solvers.placement.restarts import Answer, Restarts

CASES = os.environ.get("ELKHOUND_CASES")
needs_cases = pytest.mark.skipif(
    CASES is None, reason="ELKHOUND_CASES names no folder of case files"
)
CAPACITY = 1_048_576


def solve(
    method: Search | CpSat,
    problem: PlacementProblem,
    *,
    nodes: int = 60_000,
    seed: int = 0,
) -> Result[Placement]:
    """An answer within a repeatable limit, its plan judged."""
    work = nodes if isinstance(method, Search) else 60
    result = method.solve(
        problem, Limits(seconds=600, deterministic_work=work, workers=1, seed=seed)
    )
    if result.plan is not None:
        verdict = judge_placement(problem, result.plan)
        assert verdict.violations == ()
        assert verdict.objective == result.objective
    return result


def says(result: Result[Placement]) -> str:
    return "fits" if result.plan is not None else str(result.status)


# 5 B at every step: x 2, a 3 | x 2, y 2, b 1 | y 2, c 3.
FITS = PlacementProblem(
    5,
    (
        Buffer("x", 0, 2, 2),
        Buffer("y", 1, 3, 2),
        Buffer("a", 0, 1, 3),
        Buffer("b", 1, 2, 1),
        Buffer("c", 2, 3, 3),
    ),
)


@pytest.mark.parametrize("method", [Search(), CpSat()], ids=lambda m: m.name)
@pytest.mark.parametrize("minimise", [False, True])
def test_a_flat_profile_is_filled_to_the_last_byte(
    method: Search | CpSat, minimise: bool
) -> None:
    # a fills 3 of 5 B beside x, so x lies at 0 or 3; y as well, beside c; both share
    # step 1, so one lies at 0–2, the other at 3–5, and b between them.
    result = solve(method, replace(FITS, minimise=minimise))
    assert result.status is Status.OPTIMAL
    assert result.plan is not None
    assert sorted(result.plan.offsets[:2]) == [0, 3]
    assert result.plan.offsets[3] == 2


def cannot_fit() -> PlacementProblem:
    """A problem of 22 buffers whose liveness bound no placement reaches."""
    return random_placement(61, 11)


@pytest.mark.parametrize("method", [Search(), CpSat()], ids=lambda m: m.name)
def test_what_cannot_fit_is_proved(method: Search | CpSat) -> None:
    problem = cannot_fit()
    result = solve(method, problem)
    assert result.status is Status.INFEASIBLE
    assert result.bound is not None
    assert result.bound.value == problem.capacity_bytes + 1


@pytest.mark.parametrize("method", [Search(), CpSat()], ids=lambda m: m.name)
def test_the_least_height_is_proved(method: Search | CpSat) -> None:
    problem = cannot_fit()
    roomy = replace(problem, capacity_bytes=999, minimise=True)
    result = solve(method, roomy)
    assert result.status is Status.OPTIMAL
    assert result.objective == problem.capacity_bytes + 1


def test_rounded_sizes_have_room_for_what_rounding_adds() -> None:
    # Units of 256 B: three times 2^35 + 256 and once 256 are more than the 3 · 2^35 + 7
    # that all sizes add up to. On top lies either d with its 1 B or a large one.
    large = [Buffer(name, 0, 1, 2**35 + 2) for name in "abc"]
    buffers = (*large, Buffer("d", 0, 1, 1))
    roomy = PlacementProblem(2**40, buffers, minimise=True)
    result = solve(CpSat(), roomy)
    assert result.status is Status.FEASIBLE
    assert result.objective in (3 * 2**35 + 769, 3 * 2**35 + 770)


def test_a_search_that_is_cut_off_knows_nothing() -> None:
    result = solve(Search(), cannot_fit(), nodes=20)
    assert result.status is Status.UNKNOWN
    assert result.bound is not None
    assert result.bound.value == cannot_fit().capacity_bytes
    assert "found none in" in str(result.statistics["reason"])


def test_three_answers_are_kept_apart() -> None:
    problem = cannot_fit()
    cliques = cliques_of(problem.buffers)
    capacity = problem.capacity_bytes
    search = Restarts(cliques, capacity, 0, lambda: False)
    assert search.search(20) is Answer.FOUND_NONE
    assert search.search(10**6) is Answer.CANNOT_FIT
    assert (
        Restarts(cliques, capacity + 1, 0, lambda: False).search(10**6) is Answer.FITS
    )
    assert (
        Restarts(cliques, capacity, 0, lambda: True).search(10**6) is Answer.FOUND_NONE
    )


def agree(seeds: range) -> dict[str, int]:
    """How often both said what; a cut-off search is allowed, not a wrong one."""
    counts: dict[str, int] = {}
    for seed, slack in product(seeds, (0, 1)):
        problem = random_placement(seed, 4 + seed % 9, slack_bytes=slack)
        exact = says(solve(CpSat(), problem))
        mine = says(solve(Search(), problem, nodes=20_000, seed=seed))
        assert mine in (exact, "unknown"), (seed, slack)
        counts[mine] = counts.get(mine, 0) + 1
    return counts


def test_search_agrees_with_cp_sat_on_tight_problems() -> None:
    counts = agree(range(90))
    assert counts["fits"] > 160
    assert counts["infeasible"] >= 2
    assert counts.get("unknown", 0) <= 3


@pytest.mark.slow
def test_search_agrees_with_cp_sat_on_thousands_of_tight_problems() -> None:
    counts = agree(range(1000, 3000))
    assert counts["infeasible"] >= 20


@pytest.mark.parametrize("seed", range(6))
def test_least_heights_agree(seed: int) -> None:
    problem = random_placement(seed, 8)
    roomy = replace(problem, capacity_bytes=10**6, minimise=True)
    exact = solve(CpSat(), roomy)
    assert exact.status is Status.OPTIMAL
    mine = solve(Search(), roomy)
    assert (mine.status, mine.objective) == (Status.OPTIMAL, exact.objective)


def test_parts_apart_in_time_are_placed_each_on_its_own() -> None:
    first = random_placement(3, 8)
    second = random_placement(4, 8)
    later = tuple(
        replace(b, name=f"later {b.name}", start_step=b.start_step + 100,
                end_step=b.end_step + 100)
        for b in second.buffers
    )  # fmt: skip
    capacity = max(first.capacity_bytes, second.capacity_bytes)
    both = PlacementProblem(capacity, first.buffers + later)
    assert solve(Search(), both).status is Status.OPTIMAL


@pytest.mark.parametrize("method", [Search(), CpSat()], ids=lambda m: m.name)
@pytest.mark.parametrize(
    ("buffers", "capacity", "status"),
    [
        pytest.param((), 0, Status.OPTIMAL, id="nothing"),
        pytest.param((Buffer("a", 0, 1, 0),), 0, Status.OPTIMAL, id="no bytes"),
        pytest.param((Buffer("a", 0, 9, 7),), 7, Status.OPTIMAL, id="one"),
        pytest.param((Buffer("a", 0, 9, 7),), 6, Status.INFEASIBLE, id="too large"),
        pytest.param(
            (Buffer("a", 0, 2, 4), Buffer("b", 1, 3, 4)), 7, Status.INFEASIBLE, id="two"
        ),
    ],
)
def test_small_problems(
    method: Search | CpSat,
    buffers: tuple[Buffer, ...],
    capacity: int,
    status: Status,
) -> None:
    assert solve(method, PlacementProblem(capacity, buffers)).status is status


def test_a_minimisation_starts_from_the_plan_it_is_given() -> None:
    problem = replace(FITS, capacity_bytes=20, minimise=True)
    start = Placement((0, 2, 2, 4, 4))
    limits: Limits[Placement] = Limits(deterministic_work=0, warm_start=start)
    result = Search().solve(problem, limits)
    assert (result.plan, result.objective, result.status) == (start, 7, Status.FEASIBLE)


@pytest.mark.parametrize("hash_seed", ["1", "2"])
def test_a_seed_gives_the_same_placement_in_any_process(hash_seed: str) -> None:
    code = (
        "from elkhound.model.instances import random_placement\n"
        "from elkhound.model.limits import Limits\n"
        "from elkhound.solvers.placement import Search\n"
        "result = Search().solve(random_placement(7, 14, slack_bytes=1), "
        "Limits(seed=5))\n"
        "print(result.plan, result.statistics)\n"
    )
    said = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    )
    here = Search().solve(random_placement(7, 14, slack_bytes=1), Limits(seed=5))
    assert said.stdout == f"{here.plan} {here.statistics}\n"


def published(name: str) -> PlacementProblem:
    """A file of MiniMalloc's challenging set."""
    assert CASES is not None
    path = Path(CASES) / "minimalloc" / f"{name}.{CAPACITY}.csv"
    return PlacementProblem(CAPACITY, read_placement_csv(path).buffers, name=name)


@needs_cases
@pytest.mark.parametrize("name", ["C", "F", "G", "H"])
def test_published_files_that_take_no_restart_fit(name: str) -> None:
    assert solve(Search(), published(name), nodes=2000).plan is not None


@needs_cases
def test_the_least_height_of_c_is_its_liveness() -> None:
    result = solve(Search(), replace(published("C"), minimise=True), nodes=20_000)
    assert (result.status, result.objective) == (Status.OPTIMAL, 1_039_360)


@needs_cases
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 6))
@pytest.mark.parametrize("name", "ABCDEFGH")
def test_every_published_file_fits_with_every_seed(name: str, seed: int) -> None:
    assert solve(Search(), published(name), nodes=400_000, seed=seed).plan is not None
