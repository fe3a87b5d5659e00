"""CP-SAT and MILP schedules: optimal, honest at their limits, never below a start."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from oracles.small_schedules import option, problem, small_problems

from elkhound.model.errors import BadInputError, ContradictionError
from elkhound.model.instances import random_schedule
from elkhound.model.limits import Limits
from elkhound.model.referee import judge
from elkhound.model.result import Method, OrderClass, Result, Status
from elkhound.model.schedule import Contention, Schedule, ScheduleProblem
from elkhound.solvers.backends import cp_sat, pulp
from elkhound.solvers.schedule.brute_force import BruteForce
from elkhound.solvers.schedule.cp_sat import CpSat
from elkhound.solvers.schedule.milp import Milp

FREE, IDENTITY = OrderClass.free(), OrderClass.identity()
Build = Callable[[OrderClass], Method[ScheduleProblem, Schedule]]
EXACT: list[Any] = [pytest.param(CpSat, id="cp-sat")] + [
    pytest.param(lambda order, name=name: Milp(order, name), id=f"milp-{name}")
    for name in pulp.versions()
]
every_method = pytest.mark.parametrize("build", EXACT)
each_order = pytest.mark.parametrize(
    "order", [FREE, IDENTITY, OrderClass.windowed(1)], ids=str
)


def limits(**given_limits: Any) -> Limits[Schedule]:
    return Limits(**{"seconds": 120, "workers": 1, **given_limits})


def optimum(instance: ScheduleProblem, order: OrderClass) -> Result[Schedule]:
    return BruteForce(order).solve(instance, limits())


TWO = (option(h=10, y=10, t=20, x=20), option(h=10, y=10, t=5))
# P_1 beside E_0: E_0 from 10 takes D_0, E_1 follows. P_1 after E_0 (gate 1): E_0
# 10-30, P_1 30-40, E_1 40-45.
HAND: list[Any] = [
    # D_0 = 20: E_0 10-30, P_1 10-20, E_1 30-35.
    pytest.param(problem(*TWO), 35, (0, 0), id="no-contention"),
    # D_0 = 20 + 20 = 40 would end at 50, E_1 at 55: better not to overlap.
    pytest.param(
        problem(*TWO, contention=Contention.STRETCH), 45, (0, 1), id="stretch"
    ),
    # σ = 0.2: D_0 = 24, E_0 10-34, E_1 34-39.
    pytest.param(
        problem(*TWO, contention=Contention.STRETCH, link_stretch_permille=200),
        39,
        (0, 0),
        id="mild-stretch",
    ),
    # Y_1 = 4: D_0 = max(20, 20 + 4) = 24, so E_1 34-39.
    pytest.param(
        problem(TWO[0], option(h=10, y=4, t=5), contention=Contention.CHARGE),
        39,
        (0, 0),
        id="charge",
    ),
    # K = 0: nothing outstanding while anything executes.
    pytest.param(problem(*TWO, max_outstanding=0), 45, (0, 1), id="K-0"),
    # 60 + 50 bytes do not fit into 100, so P_1 waits for the end of E_0.
    pytest.param(
        problem(option(60, 20, h=10, t=20), option(50, 50, h=10, t=5)),
        45,
        (0, 1),
        id="sram",
    ),
    # 49 bytes held beside E_0: 50 + 2 > 100 − 49.
    pytest.param(
        problem(
            option(50, 1, h=10, t=20), option(2, 2, h=10, t=5), resident_bytes=(49, 0)
        ),
        45,
        (0, 1),
        id="resident-bytes",
    ),
    # E_0 streams nothing and has no gate: 0-20, P_1 0-10 beside it.
    pytest.param(
        problem(option(1, 0, t=20), option(h=10, t=5)), 25, (None, 0), id="no-preload"
    ),
]


@every_method
@pytest.mark.parametrize(("instance", "cycles", "gates"), HAND)
def test_hand_computed_optima_are_found(
    build: Build, instance: ScheduleProblem, cycles: int, gates: tuple[int | None, ...]
) -> None:
    result = build(FREE).solve(instance, limits())
    assert (result.status, result.objective) == (Status.OPTIMAL, cycles)
    assert result.plan is not None
    assert result.plan.gates == gates


# C = 10. P_1 (6 bytes) cannot lie beside E_0 (8 bytes), P_2 (2 bytes) can.
# Free: P_2 0-10 beside E_0 0-10, P_1 10-12, E_1 12-14, E_2 14-15.
# Identity: P_1 10-12, P_2 12-22, E_1 12-14, E_2 22-23.
OVERTAKING = problem(
    option(8, 0, t=10), option(6, 6, h=2, t=2), option(2, 2, h=10, t=1), sram_bytes=10
)


@every_method
@pytest.mark.parametrize(
    ("order", "cycles"),
    [
        pytest.param(FREE, 15, id="free"),
        pytest.param(OrderClass.windowed(2), 15, id="window-2"),
        pytest.param(OrderClass.windowed(1), 23, id="window-1"),
        pytest.param(IDENTITY, 23, id="identity"),
    ],
)
def test_a_preload_overtakes_only_where_the_order_class_lets_it(
    build: Build, order: OrderClass, cycles: int
) -> None:
    result = build(order).solve(OVERTAKING, limits())
    assert (result.status, result.objective) == (Status.OPTIMAL, cycles)
    assert result.order == order


@every_method
@each_order
@settings(derandomize=True, deadline=None, max_examples=50)
@given(instance=small_problems())
def test_every_method_equals_brute_force(
    build: Build, order: OrderClass, instance: ScheduleProblem
) -> None:
    truth = optimum(instance, order)
    result = build(order).solve(instance, limits())
    assert (result.status, result.objective) == (truth.status, truth.objective)
    if result.plan is not None:
        verdict = judge(instance, result.plan)
        assert verdict.objective == result.objective
        assert verdict.belongs_to(order)


@each_order
@settings(derandomize=True, deadline=None, max_examples=50)
@given(instance=small_problems())
def test_a_warm_start_changes_no_optimum(
    order: OrderClass, instance: ScheduleProblem
) -> None:
    truth = optimum(instance, order)
    started = limits(warm_start=truth.plan)
    for method in (CpSat(order), Milp(order)):
        result = method.solve(instance, started)
        assert (result.status, result.objective) == (truth.status, truth.objective)


@every_method
def test_an_operator_that_fits_nowhere_is_infeasible(build: Build) -> None:
    # 60 bytes and 41 held beside them exceed 100.
    instance = problem(option(60, 1, h=1, t=1), resident_bytes=(41,))
    assert build(FREE).solve(instance, limits()).status is Status.INFEASIBLE


LAYER = random_schedule(7, 14, "tight-sram", options=(3, 2))


def one_by_one(instance: ScheduleProblem) -> Schedule:
    """Every preload just before its own execute, with the smallest option."""
    smallest = tuple(
        min(
            range(len(operator.options)),
            key=lambda q: max(
                operator.options[q].execute_bytes, operator.options[q].preload_bytes
            ),
        )
        for operator in instance.operators
    )
    gates = tuple(i if o.streams else None for i, o in enumerate(instance.operators))
    return Schedule(gates, smallest)


@every_method
def test_a_warm_start_is_returned_when_there_is_no_time_to_build(build: Build) -> None:
    start = one_by_one(LAYER)
    result = build(IDENTITY).solve(LAYER, limits(seconds=1e-9, warm_start=start))
    assert result.status is Status.FEASIBLE
    assert result.plan == start
    assert result.bound is None


@every_method
def test_a_search_cut_short_is_not_optimal_and_keeps_its_start(build: Build) -> None:
    start = one_by_one(LAYER)
    value = judge(LAYER, start).objective
    assert value is not None
    cut = limits(deterministic_work=1e-6, seconds=5, warm_start=start)
    result = build(FREE).solve(LAYER, cut)
    assert result.status is Status.FEASIBLE
    assert result.objective is not None
    assert result.objective <= value
    if result.bound is not None:
        assert result.bound.value < result.objective


@every_method
def test_a_start_of_another_order_class_is_not_used(build: Build) -> None:
    # 15 cycles is impossible in identity order; as a horizon it would make the
    # problem infeasible.
    free = optimum(OVERTAKING, FREE)
    assert free.objective == 15
    result = build(IDENTITY).solve(OVERTAKING, limits(warm_start=free.plan))
    assert (result.status, result.objective) == (Status.OPTIMAL, 23)


@pytest.mark.parametrize(
    "plan",
    [
        pytest.param(Schedule((None, 0), (0, 0, 0)), id="too-few-gates"),
        pytest.param(Schedule((0, 0, 0), (0, 0, 0)), id="gate-without-preload"),
        pytest.param(Schedule((None, 2, 0), (0, 0, 0)), id="gate-after-execute"),
        pytest.param(Schedule((None, 1, 0), (0, 0, 1)), id="no-such-option"),
        pytest.param(Schedule((None, 0, 0), (0, 0, 0)), id="too-large"),
    ],
)
def test_an_illegal_start_is_not_used(plan: Schedule) -> None:
    result = CpSat(FREE).solve(OVERTAKING, limits(warm_start=plan))
    assert (result.status, result.objective) == (Status.OPTIMAL, 15)


def test_sizes_beyond_two_to_the_31_are_rounded_and_nothing_is_claimed() -> None:
    # No common divisor, so granules of 64 bytes or more: the plan is good, its
    # optimality and the bound are not claimed.
    big = 2**31
    instance = problem(
        option(big + 1, 7, h=10, t=20),
        option(5, big - 1, h=10, t=5),
        sram_bytes=2 * big,
    )
    result = CpSat(FREE).solve(instance, limits())
    assert result.status is Status.FEASIBLE
    assert result.bound is None
    assert result.plan is not None
    assert judge(instance, result.plan).objective == result.objective


def test_a_plan_that_only_rounding_forbids_is_kept() -> None:
    # 2^33 + 1 bytes fill the SRAM to the byte; in granules the operator is too large.
    exactly = 2**33 + 1
    instance = problem(option(exactly, 7, h=10, t=20), sram_bytes=exactly)
    # What is left is the plan that overlaps nothing, 10 + 20 cycles.
    result = CpSat().solve(instance, limits())
    assert (result.status, result.objective) == (Status.FEASIBLE, 30)
    assert result.bound is None


def test_rounded_sizes_count_as_what_they_may_have_cost() -> None:
    # P_1 fits beside E_0 to the byte: E_0 1-11, P_1 1-11, E_1 11-12. In granules it
    # does not, and is preloaded after E_0: P_1 11-21, E_1 21-22.
    big = 2**33
    instance = problem(
        option(1, 1, h=1, t=10), option(big, big, h=10, t=1), sram_bytes=big + 1
    )
    result = CpSat().solve(instance, limits())
    assert (result.status, result.objective) == (Status.FEASIBLE, 22)
    assert result.rounding_error == 22 - 12


# E_0 from 11 to 19, P_1 11-16 and P_2 16-29 beside it, which fills the SRAM to the
# byte; E_1 19-23, E_2 29-41.
FULL = problem(
    option(2**45, 2**45, h=11, t=8),
    option(1, 1, h=5, t=4),
    option(1, 1735150549730, h=13, t=12),
    sram_bytes=2**45 + 1735150549730 + 1,
)
# E_0 takes 2^31 B from 1 to 5. Beside it P_1 with 2^31 + 1 B is a byte too large; with
# 1157945251 B it runs from 1 to 20, and E_1 from 20 to 23.
OVER = problem(
    (
        option(2**31 - 1, 2**31 - 1, h=20, t=11),
        option(2**31, 869388913, h=1, t=4),
    ),
    (
        option(2**31 + 1, 2**31 + 1, h=16, t=5),
        option(1157945251, 1157945251, h=19, t=3),
    ),
    sram_bytes=2**32,
    resident_bytes=(0, 1),
)


@pytest.mark.parametrize("backend", list(pulp.versions()))
@pytest.mark.parametrize("order", [FREE, IDENTITY], ids=str)
@pytest.mark.parametrize(
    ("instance", "makespan"),
    [
        pytest.param(FULL, 41, id="full-to-the-byte"),
        pytest.param(OVER, 23, id="one-byte-over"),
    ],
)
def test_a_milp_counts_every_byte_of_large_sizes(
    instance: ScheduleProblem, makespan: int, order: OrderClass, backend: str
) -> None:
    result = Milp(order, backend).solve(instance, limits())
    assert (result.status, result.objective) == (Status.OPTIMAL, makespan)


def test_many_slow_options_do_not_cost_the_proof() -> None:
    # 400 ways to trade bytes for cycles, all near 7 million: a plain sum of one
    # operator's cycles reaches 2.8·10^9 and would force coarse units.
    choices = tuple(option(100 + k, 1, h=5, t=7_000_400 - k) for k in range(400))
    instance = problem(choices, option(2, 1, h=3, t=4), sram_bytes=400)
    # P_1 takes 1 byte beside E_0 in at most 399: t = 7,000,400 − 299 = 7,000,101.
    result = CpSat(FREE).solve(instance, limits())
    assert (result.status, result.rounding_error) == (Status.OPTIMAL, 0)
    assert result.objective == 5 + 7_000_101 + 4


@pytest.mark.parametrize("rule", Contention)
def test_times_beyond_two_to_the_31_are_rounded_within_the_stated_error(
    rule: Contention,
) -> None:
    big = 2**33
    instance = problem(
        option(h=big + 1, y=big, t=2 * big + 1, x=big + 5),
        option(h=big + 3, y=7, t=3),
        option(h=11, y=11, t=big - 1, x=1),
        contention=rule,
    )
    truth = optimum(instance, FREE).objective
    result = CpSat(FREE).solve(instance, limits())
    assert truth is not None
    assert result.objective is not None
    assert result.bound is not None
    assert result.rounding_error > 0
    assert result.bound.value <= truth <= result.objective
    assert result.objective <= truth + result.rounding_error


def test_more_options_than_fit_into_one_sum_need_no_rounding() -> None:
    # 30 options of about 10^8 odd bytes: their plain sum would pass 2^31.
    sizes = range(100_000_001, 100_000_061, 2)
    many = tuple(option(s, s, h=100_000_061 - s, t=5) for s in sizes)
    instance = problem(many, many, sram_bytes=200_000_100)
    result = CpSat(FREE).solve(instance, limits())
    assert result.status is Status.OPTIMAL


def lie(
    monkeypatch: pytest.MonkeyPatch, backend: Any, change: Callable[[Any], Any]
) -> None:
    """Let a backend answer, and change the answer."""
    honest = backend.run

    def lying(*args: Any, **kwargs: Any) -> Any:
        return change(honest(*args, **kwargs))

    monkeypatch.setattr(backend, "run", lying)


@pytest.mark.parametrize("backend", [cp_sat, pulp], ids=["cp-sat", "milp"])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param(
            lambda a: replace(a, objective=7, bound=7), "its plan takes", id="better"
        ),
        pytest.param(
            lambda a: replace(a, bound=a.bound + 2), "lies above a plan", id="bound"
        ),
        pytest.param(
            lambda a: replace(a, status=Status.INFEASIBLE), "infeasible", id="no-plan"
        ),
    ],
)
def test_a_backend_that_lies_is_caught(
    monkeypatch: pytest.MonkeyPatch,
    backend: Any,
    change: Callable[[Any], Any],
    message: str,
) -> None:
    lie(monkeypatch, backend, change)
    method: Method[ScheduleProblem, Schedule] = CpSat()
    if backend is pulp:
        method = Milp()
    start = optimum(OVERTAKING, FREE).plan
    with pytest.raises(ContradictionError, match=message):
        method.solve(OVERTAKING, limits(warm_start=start))


def test_an_optimum_claimed_too_high_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    lie(monkeypatch, cp_sat, lambda a: replace(a, objective=a.objective + 1))
    with pytest.raises(ContradictionError, match="says 16 cycles, its plan takes 15"):
        CpSat().solve(OVERTAKING, limits())


def test_a_milp_called_optimal_below_its_bound_is_only_feasible(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lie(monkeypatch, pulp, lambda a: replace(a, bound=a.bound - 1))
    assert Milp().solve(OVERTAKING, limits()).status is Status.FEASIBLE


def test_an_absent_backend_is_refused_by_name() -> None:
    with pytest.raises(BadInputError, match="gurobi is not installed"):
        Milp(backend="gurobi").solve(OVERTAKING, limits())


def test_results_carry_what_a_report_needs() -> None:
    for method in (CpSat(IDENTITY), Milp(IDENTITY)):
        result = method.solve(OVERTAKING, limits(seed=3))
        assert result.order == IDENTITY
        assert result.seed == 3
        assert result.version
        assert result.wall_seconds > 0
        assert result.statistics["model_variables"]
        assert result.bound is not None
        assert result.bound.order == IDENTITY
        assert result.bound.contention is OVERTAKING.contention


@pytest.mark.parametrize("ending", ["lp", "mps"])
def test_the_phase_model_is_written_for_other_solvers(
    tmp_path: Path, ending: str
) -> None:
    target = tmp_path / f"model.{ending}"
    Milp().export(OVERTAKING, target)
    assert "u_2_0" in target.read_text()


def test_a_model_is_written_in_known_formats_only(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match=r"model\.xlsx: .* \.lp or \.mps"):
        Milp().export(OVERTAKING, tmp_path / "model.xlsx")
