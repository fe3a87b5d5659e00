"""Real methods on random problems: whatever they claim has to fit together."""

from __future__ import annotations

import pytest

from elkhound.experiments import compare
from elkhound.experiments.methods import SCHEDULE, Role, variant
from elkhound.model.instances import generate_problem
from elkhound.model.limits import Limits
from elkhound.model.result import Status
from elkhound.model.schedule import Contention

METHODS = (
    "basic",
    "static",
    "elk-dyn",
    "elk-dyn:allocator=delta-hull-fill",
    "elk-dyn:allocator=knapsack-dp",
    "elk-full",
    "ideal",
    "brute-force",
    "cp-sat",
    "milp",
    "brute-force:order=identity",
    "cp-sat:order=identity",
    "milp:order=identity",
    "dp",
    "dp:order=free",
    "dp:order=window:1",
    "cp-sat:order=window:1",
)


@pytest.mark.parametrize("contention", list(Contention))
@pytest.mark.parametrize(
    ("seed", "max_outstanding"),
    [
        pytest.param(1, None, id="no limit on preloads"),
        pytest.param(2, 1, id="one preload outstanding"),
    ],
)
def test_methods_agree_and_every_gap_is_measured_from_the_optimum(
    seed: int, max_outstanding: int | None, contention: Contention
) -> None:
    problem = generate_problem(
        "schedule", 3, seed, contention=contention, max_outstanding=max_outstanding
    )
    table = compare(problem, METHODS, limits=Limits(seconds=20, workers=1))
    assert table.contradictions == ()
    assert table.exit_status == 0
    rows = {row.method: row for row in table.rows}
    free = rows["brute-force"].objective
    identity = rows["brute-force:order=identity"].objective
    assert free is not None
    assert identity is not None
    assert free <= identity
    best = {
        "free": free,
        "identity": identity,
        "window:1": rows["cp-sat:order=window:1"].objective,
    }
    for method, row in rows.items():
        role = variant(method, SCHEDULE).entry.role
        if role is Role.BOUND:
            assert row.lower_bound is not None
            assert row.lower_bound <= free
            continue
        if role is Role.HEURISTIC and row.objective is None:
            assert row.reason == "no split tried leaves every operator its room"
            continue
        least = best[row.order or "identity"]
        assert least is not None
        assert row.objective is not None
        assert row.verified
        assert row.gap == (row.objective - least) / row.objective
        if role is Role.EXACT:
            assert (row.status, row.objective) == (Status.OPTIMAL, least)


def test_allocation_methods_agree() -> None:
    problem = generate_problem("allocation", 4, 5)
    methods = ("delta", "delta-hull-fill", "knapsack-dp", "cp-sat", "milp")
    table = compare(
        problem, (*methods, "brute-force"), limits=Limits(seconds=20, workers=1)
    )
    assert table.contradictions == ()
    best = table.rows[-1].objective
    assert best is not None
    for row in table.rows:
        assert row.objective is not None
        assert row.gap == (row.objective - best) / row.objective
