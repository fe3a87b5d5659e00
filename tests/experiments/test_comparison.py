from __future__ import annotations

import sys
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from fakes.methods import (
    EARLY,
    EARLY_CYCLES,
    LATE,
    LATE_CYCLES,
    PROBLEM,
    SWAPPED,
    SWAPPED_CYCLES,
    Fake,
    entry,
)

from elkhound.experiments import Interrupted, Table, compare
from elkhound.experiments.kinds import ScheduleKind
from elkhound.experiments.methods import SCHEDULE, Role
from elkhound.model.allocation import (
    AllocationItem,
    AllocationOption,
    AllocationProblem,
)
from elkhound.model.errors import (
    BadInputError,
    ContradictionError,
    ElkhoundError,
    InfeasibleError,
)
from elkhound.model.instances import random_schedule
from elkhound.model.limits import Limits
from elkhound.model.result import Bound, BoundKind, OrderClass, Result, Status
from elkhound.model.schedule import Contention, Schedule

IDENTITY, FREE = OrderClass.identity(), OrderClass.free()


class Lab:
    """Registers fake methods, and the bounds that belong to no method."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.monkeypatch = monkeypatch
        self.bounds()

    def bounds(self, *bounds: Bound) -> None:
        self.monkeypatch.setattr(ScheduleKind, "bounds", lambda self, problem: bounds)

    def method(
        self,
        name: str,
        result: Result[Any] | BaseException,
        role: Role = Role.HEURISTIC,
    ) -> Fake:
        def answer(limits: Limits[Any]) -> Result[Any]:
            if isinstance(result, BaseException):
                raise result
            return result

        fake = Fake(name, answer)
        self.monkeypatch.setitem(SCHEDULE, name, entry(fake, role))
        return fake


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch) -> Lab:
    """A registry with fakes in it, and no bounds."""
    return Lab(monkeypatch)


def planned(
    plan: Schedule,
    objective: int,
    status: Status = Status.FEASIBLE,
    order: OrderClass = IDENTITY,
    bound: int | None = None,
) -> Result[Schedule]:
    proved = None
    if bound is not None:
        proved = Bound(bound, BoundKind.PROOF, order, Contention.NONE)
    return Result("fake", status, plan, objective, proved, order)


def without_plan(
    status: Status = Status.UNKNOWN,
    order: OrderClass = FREE,
    bound: Bound | None = None,
) -> Result[Schedule]:
    return Result("fake", status, order=order, bound=bound)


def ideal(value: int) -> Result[Schedule]:
    bound = Bound(value, BoundKind.IDEAL, FREE, Contention.NONE)
    return without_plan(bound=bound)


def test_rows_come_in_the_order_the_user_gave(lab: Lab) -> None:
    lab.method("exact", planned(EARLY, EARLY_CYCLES), Role.EXACT)
    lab.method("rule", planned(LATE, LATE_CYCLES))
    table = compare(PROBLEM, ["exact", "rule"])
    assert [row.method for row in table.rows] == ["exact", "rule"]
    assert table.exit_status == 0


def test_heuristics_run_first_and_start_exact_methods(lab: Lab) -> None:
    exact = lab.method("exact", planned(EARLY, EARLY_CYCLES), Role.EXACT)
    first = lab.method("first", planned(LATE, LATE_CYCLES))
    lab.method("second", planned(SWAPPED, SWAPPED_CYCLES, order=FREE))
    compare(PROBLEM, ["exact", "first", "second"])
    assert exact.limits[0].warm_start == SWAPPED  # 18 < 19
    assert first.limits[0].warm_start is None


def test_a_warm_start_is_of_the_class_the_method_searches(lab: Lab) -> None:
    exact = lab.method("exact", planned(EARLY, EARLY_CYCLES), Role.EXACT)
    lab.method("first", planned(LATE, LATE_CYCLES))
    lab.method("second", planned(SWAPPED, SWAPPED_CYCLES, order=FREE))
    compare(PROBLEM, ["first", "second", "exact:order=identity"])
    assert exact.limits[0].warm_start == LATE


def test_a_plan_that_fails_verification_starts_nothing(lab: Lab) -> None:
    exact = lab.method("exact", planned(EARLY, EARLY_CYCLES), Role.EXACT)
    bad = Schedule(gates=(0, 2, 2), options=(0, 0, 0))  # b after its own execute
    lab.method("broken", planned(bad, 1))
    compare(PROBLEM, ["broken", "exact"])
    assert exact.limits[0].warm_start is None


def test_a_given_warm_start_is_used_if_it_is_the_best(lab: Lab) -> None:
    exact = lab.method("exact", planned(EARLY, EARLY_CYCLES), Role.EXACT)
    lab.method("first", planned(LATE, LATE_CYCLES))
    compare(PROBLEM, ["first", "exact"], limits=Limits(warm_start=EARLY))
    assert exact.limits[0].warm_start == EARLY


def test_the_gap_uses_the_largest_bound_of_a_class_that_holds_the_plans(
    lab: Lab,
) -> None:
    lab.bounds(Bound(12, BoundKind.PATH, FREE, Contention.NONE))
    lab.method("identity", planned(LATE, LATE_CYCLES, bound=14))
    lab.method("any", planned(SWAPPED, SWAPPED_CYCLES, order=FREE))
    lab.method("ideal", ideal(10), Role.BOUND)
    table = compare(PROBLEM, ["identity", "any", "ideal"])
    identity, free, relaxed = table.rows
    assert (identity.lower_bound, identity.bound_kind) == (14, "proof")
    assert identity.gap == (19 - 14) / 19
    # The bound 14 is about identity orders only.
    assert (free.lower_bound, free.bound_kind) == (12, "path")
    assert free.gap == (18 - 12) / 18
    assert (relaxed.objective, relaxed.lower_bound, relaxed.gap) == (None, 10, None)
    assert (relaxed.status, relaxed.bound_kind) == (Status.UNKNOWN, "ideal")


def test_a_bound_under_another_rule_bounds_nothing(lab: Lab) -> None:
    lab.bounds(Bound(12, BoundKind.PATH, FREE, Contention.STRETCH))
    lab.method("rule", planned(LATE, LATE_CYCLES))
    (row,) = compare(PROBLEM, ["rule"]).rows
    assert (row.lower_bound, row.bound_kind, row.gap) == (None, "none", None)


def test_an_optimum_bounds_the_others(lab: Lab) -> None:
    optimum = planned(EARLY, EARLY_CYCLES, Status.OPTIMAL, FREE)
    lab.method("exact", optimum, Role.EXACT)
    lab.method("rule", planned(LATE, LATE_CYCLES))
    rule, exact = compare(PROBLEM, ["rule", "exact"]).rows
    assert rule.gap == (19 - 15) / 19
    assert exact.gap == 0.0
    assert (exact.lower_bound, exact.bound_kind) == (15, "proof")


def test_every_verified_plan_is_simulated(lab: Lab) -> None:
    lab.method("rule", planned(EARLY, EARLY_CYCLES))
    (row,) = compare(PROBLEM, ["rule"]).rows
    # No link work: nothing contends, the abstract chip has no latency.
    assert row.simulated == row.simulated_cycles == EARLY_CYCLES
    assert row.model_error == 0.0
    assert row.verified is True


def contradictions(table: Table) -> str:
    assert table.exit_status == 5
    return "\n".join(table.contradictions)


def test_a_plan_that_breaks_a_rule_is_a_contradiction(lab: Lab) -> None:
    tight = replace(PROBLEM, sram_bytes=25)  # room for two of three at once
    lab.method("broken", planned(EARLY, EARLY_CYCLES))
    table = compare(tight, ["broken"])
    assert "broken: its plan fails verification" in contradictions(table)
    assert table.rows[0].verified is False
    assert table.rows[0].simulated is None
    assert table.rows[0].reason.startswith("referee: ")


def test_an_objective_that_differs_from_the_referees_is_a_contradiction(
    lab: Lab,
) -> None:
    lab.method("liar", planned(LATE, LATE_CYCLES - 1))
    table = compare(PROBLEM, ["liar"])
    assert "liar: says its plan is worth 18, the referee computes 19" in contradictions(
        table
    )
    assert table.rows[0].verified is False


def test_a_plan_outside_the_class_searched_is_a_contradiction(lab: Lab) -> None:
    lab.method("liar", planned(SWAPPED, SWAPPED_CYCLES, order=IDENTITY))
    assert "liar: searches order identity, but" in contradictions(
        compare(PROBLEM, ["liar"])
    )


def test_a_bound_above_a_verified_plan_is_a_contradiction(lab: Lab) -> None:
    lab.method("rule", planned(EARLY, EARLY_CYCLES))
    lab.method("ideal", ideal(16), Role.BOUND)
    text = contradictions(compare(PROBLEM, ["rule", "ideal"]))
    assert "ideal: bound 16 (ideal, order free) exceeds the verified plan of rule" in (
        text
    )


def test_a_bound_of_identity_orders_may_exceed_a_plan_of_another_order(
    lab: Lab,
) -> None:
    lab.bounds(Bound(SWAPPED_CYCLES + 1, BoundKind.PATH, IDENTITY, Contention.NONE))
    lab.method("any", planned(SWAPPED, SWAPPED_CYCLES, order=FREE))
    assert compare(PROBLEM, ["any"]).contradictions == ()


def test_infeasible_beside_a_verified_plan_is_a_contradiction(lab: Lab) -> None:
    lab.method("rule", planned(LATE, LATE_CYCLES))
    lab.method("exact", without_plan(Status.INFEASIBLE), Role.EXACT)
    assert "exact: says there is no plan, rule has a verified one worth 19" in (
        contradictions(compare(PROBLEM, ["rule", "exact"]))
    )


def test_a_plan_better_than_an_optimum_is_a_contradiction(lab: Lab) -> None:
    lab.method("rule", planned(EARLY, EARLY_CYCLES))
    lab.method("exact", planned(LATE, LATE_CYCLES, Status.OPTIMAL), Role.EXACT)
    assert "exact: says 19 is optimal, rule has a verified plan worth 15" in (
        contradictions(compare(PROBLEM, ["rule", "exact"]))
    )


def test_a_contradiction_that_a_method_meets_itself_is_listed(lab: Lab) -> None:
    lab.method("exact", ContradictionError("solver and plan differ"), Role.EXACT)
    assert contradictions(compare(PROBLEM, ["exact"])) == (
        "exact: solver and plan differ"
    )


def test_an_optimum_of_identity_orders_may_be_beaten_by_another_order(
    lab: Lab,
) -> None:
    lab.method("any", planned(SWAPPED, SWAPPED_CYCLES, order=FREE))
    lab.method("exact", planned(LATE, LATE_CYCLES, Status.OPTIMAL), Role.EXACT)
    assert compare(PROBLEM, ["any", "exact"]).contradictions == ()


def test_an_optimum_may_be_off_by_its_rounding_error(lab: Lab) -> None:
    rounded = replace(planned(LATE, LATE_CYCLES, Status.OPTIMAL), rounding_error=4)
    lab.method("rule", planned(EARLY, EARLY_CYCLES))
    lab.method("exact", rounded, Role.EXACT)
    table = compare(PROBLEM, ["rule", "exact"])
    assert table.contradictions == ()
    assert table.rows[1].rounding_error == 4
    assert table.rows[1].lower_bound == 15  # 19 − 4


def test_a_method_that_fails_is_a_row_and_others_go_on(lab: Lab) -> None:
    lab.method("broken", ElkhoundError("solver is not installed"))
    lab.method("rule", planned(LATE, LATE_CYCLES))
    table = compare(PROBLEM, ["broken", "rule"])
    broken, rule = table.rows
    assert (broken.status, broken.objective) == (Status.UNKNOWN, None)
    assert broken.reason == "solver is not installed"
    assert rule.objective == LATE_CYCLES
    assert table.exit_status == 1


@pytest.mark.parametrize(
    ("results", "status"),
    [
        pytest.param([planned(LATE, LATE_CYCLES)], 0, id="a plan"),
        pytest.param([planned(LATE, LATE_CYCLES), without_plan()], 0, id="one plan"),
        pytest.param([without_plan(), without_plan()], 4, id="no plan in time"),
        pytest.param([ideal(3)], 4, id="a bound and no plan"),
        pytest.param([without_plan(Status.INFEASIBLE)], 3, id="infeasible"),
        pytest.param(
            [InfeasibleError("no room")], 3, id="infeasible raised by the method"
        ),
        pytest.param(
            [without_plan(), without_plan(Status.INFEASIBLE)], 3, id="one proof"
        ),
        pytest.param(
            [planned(LATE, LATE_CYCLES), BadInputError("no such backend")],
            2,
            id="bad input beside a plan",
        ),
        pytest.param(
            [planned(LATE, 1), BadInputError("no such backend")],
            5,
            id="a contradiction before all",
        ),
    ],
)
def test_the_exit_status_says_how_it_ended(
    lab: Lab, results: list[Result[Any] | BaseException], status: int
) -> None:
    names = [f"method-{number}" for number in range(len(results))]
    for name, result in zip(names, results, strict=True):
        lab.method(name, result)
    assert compare(PROBLEM, names).exit_status == status


def test_ctrl_c_keeps_what_is_finished(lab: Lab) -> None:
    lab.method("first", planned(LATE, LATE_CYCLES))
    lab.method("second", KeyboardInterrupt())
    lab.method("third", planned(EARLY, EARLY_CYCLES))
    with pytest.raises(Interrupted) as interrupted:
        compare(PROBLEM, ["first", "second", "third"])
    assert [row.method for row in interrupted.value.table.rows] == ["first"]


def test_an_operator_that_fits_nowhere_is_infeasible_before_any_method(
    lab: Lab,
) -> None:
    fake = lab.method("rule", planned(LATE, LATE_CYCLES))
    tight = replace(PROBLEM, sram_bytes=9)
    message = "operator a: its smallest option needs 10 B per core, 9 B are usable"
    with pytest.raises(InfeasibleError, match=message) as refused:
        compare(tight, ["rule"])
    assert fake.limits == []
    assert refused.value.smallest_capacity_bytes == 10


def allocation(capacity_bytes: int) -> AllocationProblem:
    """Two items of 10 B, 1 cycle or 4 B, 6 cycles."""
    options = (AllocationOption(10, 1), AllocationOption(4, 6))
    items = (AllocationItem("x", options), AllocationItem("y", options))
    return AllocationProblem(capacity_bytes, items)


def test_allocations_are_compared_the_same_way() -> None:
    table = compare(allocation(14), ["delta", "knapsack-dp", "brute-force"])
    assert table.contradictions == ()
    for row in table.rows:
        # One item at full size: 10 + 4 = 14 B, 1 + 6 = 7 cycles.
        assert (row.objective, row.bytes_used, row.simulated) == (7, 14, 7)
        assert (row.gap, row.order, row.contention) == (0.0, None, None)


def test_every_row_names_the_library_that_its_version_is_of() -> None:
    problem = random_schedule(1, 3, "balanced")
    for row in compare(problem, list(SCHEDULE), limits=Limits(workers=1)).rows:
        library, number = row.version.split(",")[0].split(" ")
        assert library in ("elkhound", "ortools", "HiGHS")
        assert number[0].isdigit()


def test_allocations_that_cannot_fit_are_infeasible() -> None:
    with pytest.raises(InfeasibleError, match=r"need 8 B .*, 7 B are there"):
        compare(allocation(7), ["delta"])


def test_something_that_is_no_problem_is_refused() -> None:
    with pytest.raises(TypeError, match="str is no problem"):
        compare("problem.json")


def test_a_table_becomes_a_data_frame(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=tuple))
    lab.method("rule", planned(LATE, LATE_CYCLES))
    (record,) = compare(PROBLEM, ["rule"]).to_pandas()
    assert record["objective"] == LATE_CYCLES
