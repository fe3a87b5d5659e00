"""Lower bounds: worked examples, and never above an optimum they are about."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.small_schedules import option, problem, small_problems

from elkhound.model.limits import Limits
from elkhound.model.result import BoundKind, OrderClass, Status
from elkhound.model.schedule import Contention, Schedule, ScheduleProblem
from elkhound.solvers.schedule import ideal, renewal
from elkhound.solvers.schedule.bounds import Ideal, best_bounds
from elkhound.solvers.schedule.brute_force import BruteForce
from elkhound.solvers.schedule.ideal import ideal_bound
from elkhound.solvers.schedule.reduce import reduce

FREE, IDENTITY = OrderClass.free(), OrderClass.identity()
LIMITS: Limits[Schedule] = Limits(seconds=60)


def bound(
    instance: ScheduleProblem, kind: BoundKind, order: OrderClass = FREE
) -> float:
    (value,) = [
        b.value for b in best_bounds(instance) if (b.kind, b.order) == (kind, order)
    ]
    return value


# h = 10, 10, 2; t = 3, 20, 5.
THREE = problem(option(h=10, t=3), option(h=10, t=20), option(h=2, t=5))


def test_the_roofline_is_the_busier_of_hbm_and_cores() -> None:
    assert bound(THREE, BoundKind.ROOFLINE) == 28  # max(22, 28)


def test_the_path_bound_switches_from_hbm_to_cores_once() -> None:
    # i = 0: 10 + 28 = 38; i = 1: 20 + 25 = 45; i = 2: 22 + 5 = 27.
    assert bound(THREE, BoundKind.PATH) == 45


def test_ideal_takes_one_option_for_preload_and_execute() -> None:
    # (h, t) = (10, 1) or (1, 10): path bound 1 + 1 = 2, Ideal 11.
    instance = problem((option(h=10, t=1), option(h=1, t=10)))
    assert bound(instance, BoundKind.PATH) == 2
    assert bound(instance, BoundKind.IDEAL) == 11


def test_ideal_sees_no_contention_and_no_shared_sram() -> None:
    # P_1 0-10 … E_0 10-30, P_1 10-20, E_1 30-35, though 60 + 50 bytes exceed 100
    # and the stretch would double E_0.
    instance = problem(
        option(60, 20, h=10, y=10, t=20, x=20),
        option(50, 50, h=10, y=10, t=5),
        contention=Contention.STRETCH,
    )
    result = Ideal().solve(instance, LIMITS)
    assert (result.status, result.plan) == (Status.UNKNOWN, None)
    assert result.bound is not None
    assert (result.bound.value, result.bound.kind) == (35, BoundKind.IDEAL)
    assert result.bound.order == FREE


def test_ideal_uses_no_option_that_does_not_fit() -> None:
    instance = problem((option(101, 1, h=1, t=1), option(5, 5, h=10, t=10)))
    assert bound(instance, BoundKind.IDEAL) == 20


def test_the_renewal_bound_sees_that_overlap_stretches() -> None:
    # Issued before E_0, P_1 stretches it: 10 + 40, then E_1: 55. Issued after it:
    # 10 + 20, P_1 10, E_1 5: 45. No third way; the path bound is 35.
    instance = problem(
        option(h=10, y=10, t=20, x=20),
        option(h=10, y=10, t=5),
        contention=Contention.STRETCH,
    )
    assert bound(instance, BoundKind.RENEWAL) == 45
    assert bound(instance, BoundKind.PATH) == 35


def test_the_identity_renewal_bound_sees_the_shared_sram() -> None:
    # P_1 and P_2 (30 bytes each) fit beside E_0 (50 bytes) one at a time only. In
    # identity order P_2 waits for E_0: E_0 0-10, P_1 0-5, E_1 10-11, P_2 10-30,
    # E_2 30-31. In free order P_2 may go first.
    instance = problem(
        option(50, 0, t=10),
        option(30, 30, h=5, t=1),
        option(30, 30, h=20, t=1),
    )
    assert bound(instance, BoundKind.RENEWAL, IDENTITY) == 31
    assert bound(instance, BoundKind.RENEWAL, FREE) <= 27


def test_a_preload_without_link_work_is_no_reason_to_stretch() -> None:
    # P_1 has Y = 0: E_0 0-20 unstretched with P_1 beside it, E_1 20-25.
    instance = problem(
        option(1, 0, t=20, x=20),
        option(h=10, y=0, t=5),
        contention=Contention.STRETCH,
    )
    assert bound(instance, BoundKind.RENEWAL) == 25


@settings(derandomize=True, deadline=None, max_examples=300)
@given(instance=small_problems())
def test_no_bound_is_above_the_optimum_it_is_about(instance: ScheduleProblem) -> None:
    bounds = best_bounds(instance)
    optimum = {
        order: BruteForce(order).solve(instance, LIMITS).objective
        for order in (FREE, IDENTITY)
    }
    if optimum[FREE] is None:
        assert bounds == ()
        return
    for each in bounds:
        least = optimum[each.order]
        assert least is not None
        assert each.value <= least, each


@settings(derandomize=True, deadline=None, max_examples=200)
@given(instance=small_problems())
def test_ideal_is_solved_exactly(instance: ScheduleProblem) -> None:
    if not best_bounds(instance):
        return
    left = reduce(instance).problem
    least = min(
        max(
            sum(o.preload_cycles for o in choice[: i + 1])
            + sum(o.execute_cycles for o in choice[i:])
            for i in range(len(choice))
        )
        for choice in product(*(operator.options for operator in left.operators))
    )
    assert ideal_bound(left) == least


@settings(derandomize=True, deadline=None, max_examples=100)
@given(instance=small_problems())
def test_path_ideal_and_roofline_are_nested(instance: ScheduleProblem) -> None:
    values = {b.kind: b.value for b in best_bounds(instance) if b.order == FREE}
    if values:
        assert values[BoundKind.PATH] <= values[BoundKind.IDEAL]
        assert values[BoundKind.ROOFLINE] <= values[BoundKind.PATH]


def test_merged_labels_still_bound_ideal(monkeypatch: pytest.MonkeyPatch) -> None:
    draws = [(3 * i % 17 + 1, 40 - 5 * i % 23) for i in range(12)]
    instance = problem(
        *(
            (option(h=h, t=t), option(h=h + 5, t=t - 9), option(h=h + 9, t=t - 12))
            for h, t in draws
        )
    )
    exact = ideal_bound(instance)
    monkeypatch.setattr(ideal, "_MOST_LABELS", 2)
    assert ideal_bound(instance) <= exact


def test_a_cut_segment_renews_free_of_charge(monkeypatch: pytest.MonkeyPatch) -> None:
    # t = 9, h = 4, stretched 18. Each preload behind the execute before takes
    # 3 · (4 + 9) = 39; overlapped it is 4 + 18 + 18 + 9 = 49. Cut after one step, nodes
    # lie where the HBM is free, at 4 and 8: then max(Σ h + t, 8 + h + t) = 21.
    cores = problem(*[option(h=4, y=4, t=9, x=9)] * 3, contention=Contention.STRETCH)
    assert bound(cores, BoundKind.RENEWAL) == 39
    monkeypatch.setattr(renewal, "STEPS", 1)
    assert bound(cores, BoundKind.RENEWAL) == 21
    # h = 9, t = 4: nodes at 9 and 18 are those of the HBM without a cut, 3 · 9 + 4.
    hbm = problem(*[option(h=9, y=9, t=4, x=4)] * 3, contention=Contention.STRETCH)
    assert bound(hbm, BoundKind.RENEWAL) == 31
    monkeypatch.undo()
    assert bound(hbm, BoundKind.RENEWAL) == 31


@settings(derandomize=True, deadline=None, max_examples=100)
@given(instance=small_problems(), steps=st.integers(1, 12))
def test_segments_that_are_cut_only_lower_the_bound(
    instance: ScheduleProblem, steps: int
) -> None:
    whole = renewal_bounds(instance)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(renewal, "STEPS", steps)
        cut = renewal_bounds(instance)
    assert cut.keys() == whole.keys()
    for order, value in cut.items():
        assert value <= whole[order]  # which `test_no_bound_is_above` holds to be right


def renewal_bounds(instance: ScheduleProblem) -> dict[OrderClass, int | float]:
    """The renewal bounds by class."""
    found = best_bounds(instance)
    return {b.order: b.value for b in found if b.kind is BoundKind.RENEWAL}


def test_a_problem_without_a_plan_has_no_bounds() -> None:
    instance = problem(option(101, 1, h=1, t=1))
    assert best_bounds(instance) == ()
    assert Ideal().solve(instance, LIMITS).status is Status.INFEASIBLE
