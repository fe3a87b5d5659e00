"""`--prove`: a second formulation checks every proof, and finds out who lies."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from fakes.methods import EARLY, EARLY_CYCLES, LATE, LATE_CYCLES, PROBLEM, Fake, entry
from fakes.said import Said

from elkhound.experiments import compare
from elkhound.experiments.methods import PLACEMENT, SCHEDULE, Role, variant
from elkhound.experiments.proving import second_formulation
from elkhound.model.errors import BadInputError
from elkhound.model.instances import generate_problem
from elkhound.model.limits import Limits
from elkhound.model.result import Bound, BoundKind, OrderClass, Result, Status
from elkhound.model.schedule import Contention, Schedule

FREE = OrderClass.free()
LIMITS: Limits[Any] = Limits(seconds=60, workers=1)


def register(
    monkeypatch: pytest.MonkeyPatch, name: str, result: Result[Schedule]
) -> Fake:
    """Put an exact method that says this into the registry."""
    fake = Fake(name, lambda limits: result)
    monkeypatch.setitem(SCHEDULE, name, entry(fake, Role.EXACT))
    return fake


def optimal(plan: Schedule, objective: int) -> Result[Schedule]:
    return Result("fake", Status.OPTIMAL, plan, objective, order=FREE)


def test_a_plan_called_optimal_is_beaten_by_the_second_method(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    register(monkeypatch, "liar", optimal(LATE, LATE_CYCLES))
    table = compare(PROBLEM, ["liar"], limits=LIMITS, prove=True)
    assert [row.method for row in table.rows] == ["liar", "cp-sat:order=free"]
    assert table.rows[1].objective == EARLY_CYCLES
    assert (
        "liar: says 19 is optimal, cp-sat:order=free has a verified plan worth 15"
    ) in table.contradictions
    assert table.exit_status == 5


def test_a_problem_called_infeasible_is_planned_by_the_second_method(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    register(monkeypatch, "liar", Result("fake", Status.INFEASIBLE, order=FREE))
    table = compare(PROBLEM, ["liar"], limits=LIMITS, prove=True)
    assert table.contradictions == (
        "liar: says there is no plan, cp-sat:order=free has a verified one worth 15",
    )


def test_a_bound_above_the_second_methods_plan_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bound = Bound(17, BoundKind.PROOF, FREE, Contention.NONE)
    lie = Result("fake", Status.OPTIMAL, LATE, LATE_CYCLES, bound, FREE)
    register(monkeypatch, "liar", lie)
    table = compare(PROBLEM, ["liar"], limits=LIMITS, prove=True)
    assert any(
        line.startswith("liar: bound 17") and "cp-sat:order=free" in line
        for line in table.contradictions
    )


def test_a_true_proof_is_proved_again_from_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    register(monkeypatch, "honest", optimal(EARLY, EARLY_CYCLES))
    second = register(monkeypatch, "cp-sat", optimal(EARLY, EARLY_CYCLES))
    table = compare(PROBLEM, ["basic", "honest"], limits=LIMITS, prove=True)
    assert [row.method for row in table.rows] == [
        "basic",
        "honest",
        "cp-sat:order=free",
    ]
    assert table.rows[1].reason == "proved again by cp-sat:order=free"
    assert table.contradictions == ()
    assert [limits.warm_start for limits in second.limits] == [None]


def test_a_proof_that_cannot_be_had_again_in_time_says_how_far_it_got(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    register(monkeypatch, "honest", optimal(EARLY, EARLY_CYCLES))
    bound = Bound(12, BoundKind.PROOF, FREE, Contention.NONE)
    register(
        monkeypatch, "cp-sat", Result("f", Status.UNKNOWN, bound=bound, order=FREE)
    )
    table = compare(PROBLEM, ["honest"], limits=LIMITS, prove=True)
    assert table.rows[0].reason == "not proved again: cp-sat:order=free ended at 12"
    assert table.exit_status == 0


def test_what_two_methods_prove_is_not_proved_a_third_time() -> None:
    table = compare(PROBLEM, ["cp-sat", "milp"], limits=LIMITS, prove=True)
    assert [row.method for row in table.rows] == ["cp-sat", "milp"]
    reasons = [row.reason for row in table.rows]
    assert reasons == ["proved again by milp", "proved again by cp-sat"]


def test_a_proof_of_another_class_is_none() -> None:
    methods = ["cp-sat", "milp:order=identity"]
    table = compare(PROBLEM, methods, limits=LIMITS, prove=True)
    assert {row.method: row.reason for row in table.rows} == {
        "cp-sat": "proved again by milp:order=free",
        "milp:order=identity": "proved again by cp-sat:order=identity",
        "milp:order=free": "",
        "cp-sat:order=identity": "",
    }
    assert all(row.status is Status.OPTIMAL for row in table.rows)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param("cp-sat", "milp:order=free", id="free"),
        pytest.param("milp:backend=cbc", "cp-sat:order=free", id="backend"),
        pytest.param("cp-sat:order=window:2", "dp:order=window:2", id="window"),
        pytest.param("dp", "cp-sat:order=identity", id="identity"),
        pytest.param("brute-force", "cp-sat:order=free", id="brute force"),
    ],
)
def test_the_second_formulation_searches_the_same_class(
    first: str, second: str
) -> None:
    assert second_formulation(variant(first, SCHEDULE), SCHEDULE).text == second


def test_placements_have_a_second_formulation_too() -> None:
    for first, second in (("search", "cp-sat"), ("cp-sat", "search")):
        assert second_formulation(variant(first, PLACEMENT), PLACEMENT).text == second


def test_allocations_are_proved_again() -> None:
    problem = generate_problem("allocation", 4, 5)
    table = compare(problem, ["knapsack-dp"], limits=LIMITS, prove=True)
    assert [row.method for row in table.rows] == ["knapsack-dp", "cp-sat"]
    assert table.rows[0].reason == "proved again by cp-sat"
    assert table.contradictions == ()


def test_without_an_exact_method_there_is_nothing_to_prove() -> None:
    with pytest.raises(BadInputError, match="--prove: has no effect without an exact"):
        compare(PROBLEM, ["basic", "ideal"], prove=True)


def test_compare_prints_the_second_proof(
    say: Callable[..., Said], problem_file: str
) -> None:
    flags = ("--workers", "1", "--no-plots", "--prove")
    said = say("compare", problem_file, "--methods", "cp-sat", *flags, "--json")
    assert said.status == 0
    first, second = json.loads(said.out)["rows"]
    assert first["reason"] == "proved again by milp:order=free"
    assert (second["method"], second["status"]) == ("milp:order=free", "optimal")
    said = say("compare", problem_file, "--methods", "basic", *flags)
    assert said.status == 2
    assert "--prove" in said.line
