"""The solver libraries: statuses, bounds, limits and safety of the models."""

from __future__ import annotations

import _thread
import random
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ortools.sat.python import cp_model

from elkhound.model.errors import BadInputError
from elkhound.model.limits import Limits
from elkhound.model.result import Status
from elkhound.solvers import backends
from elkhound.solvers.backends import cbc, cp_sat, highs, milp_model, pulp
from elkhound.solvers.backends.interrupt import run_interruptibly
from elkhound.solvers.backends.scaling import Unit, unit_for

MILP_BACKENDS = list(pulp.versions())


def limits(seconds: float = 20, gap: float = 0) -> Limits[None]:
    return Limits(seconds=seconds, workers=1, relative_gap=gap)


def weights(size: int) -> tuple[list[list[int]], list[int]]:
    """Return five rows of weights and a row of costs, all random from 100 to 1000."""
    draw = random.Random(0)
    rows = [[draw.randint(100, 1000) for _ in range(size)] for _ in range(5)]
    return rows, [draw.randint(100, 1000) for _ in range(size)]


def cover(size: int) -> cp_model.CpModel:
    """Minimise the cost of covering half of every row."""
    rows, cost = weights(size)
    model = cp_model.CpModel()
    x = [model.new_bool_var(f"x{i}") for i in range(size)]
    for row in rows:
        model.add(sum(w * v for w, v in zip(row, x, strict=True)) >= sum(row) // 2)
    model.minimize(sum(c * v for c, v in zip(cost, x, strict=True)))
    return model


def milp_cover(size: int) -> pulp.Model:
    """The problem of `cover`, with 1000 added to the objective."""
    rows, cost = weights(size)
    model = pulp.Model("cover")
    x = [model.binary(f"x{i}") for i in range(size)]
    for row in rows:
        model.at_least(zip(row, x, strict=True), sum(row) // 2)
    model.minimise(zip(cost, x, strict=True), constant=1000)
    return model


def test_every_installed_backend_solves_the_probe() -> None:
    probes = backends.probe()
    assert [p.backend.name for p in probes][:2] == ["cp-sat", "highs"]
    assert all(p.works and p.backend.version for p in probes)


def test_cp_sat_and_milp_agree_on_a_covering_problem() -> None:
    answer = cp_sat.run(cover(20), limits())
    assert answer.status is Status.OPTIMAL
    assert answer.objective == answer.bound
    for backend in MILP_BACKENDS:
        milp = pulp.run(milp_cover(20), limits(), backend)
        assert milp.status is Status.OPTIMAL
        assert milp.objective == pytest.approx((answer.objective or 0) + 1000)
        assert milp.bound == pytest.approx(milp.objective)


@pytest.mark.parametrize("backend", MILP_BACKENDS)
def test_a_milp_cut_off_by_its_limit_is_never_optimal(backend: str) -> None:
    # PuLP itself calls this run Optimal. One node does not close the gap of 60
    # covering variables.
    cut: Limits[None] = Limits(seconds=0.02, deterministic_work=1, workers=1)
    answer = pulp.run(milp_cover(60), cut, backend)
    full = pulp.run(milp_cover(60), limits(), backend)
    assert full.status is Status.OPTIMAL
    assert answer.status in (Status.FEASIBLE, Status.UNKNOWN)
    if answer.bound is not None and full.objective is not None:
        assert answer.bound <= full.objective + 1e-6


@pytest.mark.parametrize("backend", MILP_BACKENDS)
def test_an_infeasible_milp_is_infeasible(backend: str) -> None:
    model = pulp.Model("odd")
    x, y = model.binary("x"), model.binary("y")
    model.equal([(2, x), (2, y)], 3)
    model.minimise([(1, x)])
    assert pulp.run(model, limits(), backend).status is Status.INFEASIBLE


def test_a_milp_term_given_twice_is_added_up() -> None:
    model = pulp.Model("twice")
    x = model.integer("x", 0, 10)
    model.at_least([(1, x), (1, x)], 6)  # 2x ≥ 6
    model.minimise([(1, x)])
    assert pulp.run(model, limits()).objective == pytest.approx(3)


def test_an_absent_milp_backend_is_refused_with_those_present() -> None:
    with pytest.raises(BadInputError, match=r"gurobi is not installed .*highs"):
        pulp.run(milp_cover(3), limits(), "gurobi")


def test_highs_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    highs.version.cache_clear()
    pulp.run(milp_cover(5), limits())
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_a_solver_that_stopped_at_a_gap_is_feasible_only() -> None:
    assert milp_model.settle(True, 100.0, 99.0) is Status.FEASIBLE
    assert milp_model.settle(True, 100.0, 100.0) is Status.OPTIMAL
    assert milp_model.settle(False, 100.0, 100.0) is Status.FEASIBLE
    assert milp_model.settle(True, None, None) is Status.UNKNOWN


def test_an_infeasible_cp_sat_model_is_infeasible() -> None:
    model = cp_model.CpModel()
    x = model.new_bool_var("x")
    model.add(2 * x == 1)
    assert cp_sat.run(model, limits()).status is Status.INFEASIBLE


def test_cp_sat_stopped_at_a_relative_gap_is_not_optimal() -> None:
    # A gap of 90 % is met by the first solution, whose bound is still below it.
    answer = cp_sat.run(cover(60), limits(gap=0.9))
    assert answer.objective is not None
    assert answer.bound is not None
    expected = Status.OPTIMAL if answer.objective == answer.bound else Status.FEASIBLE
    assert answer.status is expected


def test_an_invalid_cp_sat_model_raises() -> None:
    model = cp_model.CpModel()
    x = model.new_int_var(-(2**62) - 5, 2**62 + 5, "x")
    model.add_bool_or([])
    model.minimize(x)
    with pytest.raises(cp_sat.CpSatError):
        cp_sat.run(model, limits())


def test_an_unknown_cp_sat_status_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        cp_sat,
        "run_interruptibly",
        lambda work, stop: "NEW",
    )
    with pytest.raises(cp_sat.CpSatError, match="unknown status"):
        cp_sat.run(cover(3), limits())


def test_a_sum_that_may_reach_two_to_the_31_is_refused() -> None:
    model = cp_model.CpModel()
    x = [model.new_bool_var(f"x{i}") for i in range(2)]
    model.add(2**30 * x[0] + 2**30 * x[1] <= 2**30).with_name("memory")
    with pytest.raises(cp_sat.CpSatError, match="memory: activity reaches 2147483648"):
        cp_sat.check_activity(model)


def test_a_sum_just_below_two_to_the_31_passes() -> None:
    model = cp_model.CpModel()
    x = [model.new_bool_var(f"x{i}") for i in range(2)]
    model.add(2**30 * x[0] + (2**30 - 1) * x[1] <= 2**30)
    cp_sat.check_activity(model)


def test_negative_sums_count_by_magnitude() -> None:
    model = cp_model.CpModel()
    x = model.new_int_var(-(2**20), 5, "x")
    model.add(2**11 * x >= -7)
    with pytest.raises(cp_sat.CpSatError, match="activity reaches 2147483648"):
        cp_sat.check_activity(model)


@pytest.mark.parametrize(
    ("amounts", "worst", "unit"),
    [
        pytest.param([96, 64], 10_000, Unit(32, True), id="gcd"),
        pytest.param([96, 63], 2**33, Unit(64, False), id="rounded-to-64"),
        pytest.param([96, 63], 2**37, Unit(256, False), id="doubled-until-safe"),
        pytest.param([512, 1024], 2**36, Unit(512, True), id="gcd-beyond-64"),
        pytest.param([0, 0], 0, Unit(1, True), id="nothing-to-divide"),
    ],
)
def test_units_are_exact_where_they_can_be(
    amounts: list[int], worst: int, unit: Unit
) -> None:
    assert unit_for(amounts, worst) == unit


def test_sizes_round_up_and_capacities_down() -> None:
    unit = Unit(64, exact=False)
    assert (unit.up(65), unit.up(64), unit.down(127)) == (2, 1, 1)


def test_ctrl_c_stops_a_search_and_is_raised_again() -> None:
    stopped = threading.Event()

    def search() -> None:
        _thread.interrupt_main()
        stopped.wait(30)

    with pytest.raises(KeyboardInterrupt):
        run_interruptibly(search, stopped.set)
    assert stopped.is_set()


def test_a_search_that_overlooks_its_limit_is_stopped_and_its_answer_kept() -> None:
    stopped = threading.Event()

    def search() -> str:
        return "incumbent" if stopped.wait(30) else "never stopped"

    assert run_interruptibly(search, stopped.set, seconds=0.1) == "incumbent"


def test_a_cbc_that_overlooks_its_limit_is_ended_without_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "slow-cbc"
    program.write_text(
        '#!/bin/sh\n[ "$1" = -quit ] && exit\n'
        f'echo "$@" > {tmp_path}/asked\nexec sleep 60\n'
    )
    program.chmod(0o700)
    monkeypatch.setattr(cbc, "path", lambda: str(program))
    monkeypatch.setattr(cbc, "_GRACE_SECONDS", 0.1)
    model = pulp.Model("small")
    x = model.binary("x")
    model.at_least([(1, x)], 1)
    model.minimise([(1, x)])
    answer = pulp.run(model, limits(seconds=2), "cbc")
    assert (answer.status, answer.objective, answer.bound) == (
        Status.UNKNOWN,
        None,
        None,
    )
    asked = (tmp_path / "asked").read_text().split()
    assert float(asked[asked.index("-sec") + 1]) < 2  # writing the model took some


def test_what_a_search_raises_reaches_the_caller() -> None:
    def search() -> Any:
        raise ArithmeticError("from the search")

    with pytest.raises(ArithmeticError, match="from the search"):
        run_interruptibly(search, lambda: None)


MARKET_ROWS, MARKET_SIZE = 5, 40


def market_split() -> tuple[list[list[int]], list[int]]:
    """Return rows and targets of a market split: nobody proves these in a minute."""
    draw = random.Random(1)
    rows = [
        [draw.randint(0, 99) for _ in range(MARKET_SIZE)] for _ in range(MARKET_ROWS)
    ]
    return rows, [sum(row) // 2 for row in rows]


def cp_sat_market() -> None:
    rows, targets = market_split()
    model = cp_model.CpModel()
    x = [model.new_bool_var(f"x{i}") for i in range(MARKET_SIZE)]
    slack = [model.new_int_var(0, 9999, f"s{i}") for i in range(2 * MARKET_ROWS)]
    for i, (row, target) in enumerate(zip(rows, targets, strict=True)):
        total = sum(w * v for w, v in zip(row, x, strict=True))
        model.add(total + slack[2 * i] - slack[2 * i + 1] == target)
    model.minimize(sum(slack))
    cp_sat.run(model, limits(seconds=120))


def milp_market(backend: str) -> None:
    rows, targets = market_split()
    model = pulp.Model("market")
    x = [model.binary(f"x{i}") for i in range(MARKET_SIZE)]
    slack = [model.continuous(f"s{i}") for i in range(2 * MARKET_ROWS)]
    for i, (row, target) in enumerate(zip(rows, targets, strict=True)):
        ends = [(1, slack[2 * i]), (-1, slack[2 * i + 1])]
        model.equal([*zip(row, x, strict=True), *ends], target)
    model.minimise((1, s) for s in slack)
    pulp.run(model, limits(seconds=120), backend)


@pytest.mark.parametrize(
    "solve",
    [
        pytest.param(cp_sat_market, id="cp-sat"),
        pytest.param(lambda: milp_market("highs"), id="highs"),
        pytest.param(lambda: milp_market("cbc"), id="cbc"),
    ],
)
def test_ctrl_c_ends_a_real_search(solve: Callable[[], None]) -> None:
    # The search would take its full two minutes.
    timer = threading.Timer(1.0, _thread.interrupt_main)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            solve()
    finally:
        timer.cancel()


def test_no_solver_library_loads_before_a_method_needs_it() -> None:
    code = (
        "import sys, elkhound.solvers.schedule.bounds, elkhound.solvers.backends;"
        "print([m for m in ('ortools', 'pulp', 'highspy') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
