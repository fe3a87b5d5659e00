"""What a running method says of itself, in the live line and in plain ones."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import pytest
from fakes.methods import EARLY, EARLY_CYCLES, PROBLEM, Fake, entry
from rich.console import Console

from elkhound.experiments.cli.progress import ProgressLine
from elkhound.experiments.comparison import compare
from elkhound.experiments.methods import SCHEDULE, Role, variant
from elkhound.model.instances import random_schedule
from elkhound.model.limits import Limits
from elkhound.model.result import OrderClass, Result, Status

IDENTITY = OrderClass.identity()


@pytest.fixture
def line() -> Iterator[ProgressLine]:
    """Progress written to a text, without the clock's own lines."""
    line = ProgressLine(every_seconds=3600)
    line.console = Console(file=io.StringIO(), width=200)
    with line:
        yield line


def said(line: ProgressLine) -> list[str]:
    assert isinstance(line.console.file, io.StringIO)
    return line.console.file.getvalue().splitlines()


def test_a_running_method_has_a_line_with_incumbent_bound_gap_and_time(
    line: ProgressLine,
) -> None:
    line.started("cp-sat")
    line.tick()  # it has told nothing yet
    line.improved("cp-sat", 200, None)
    line.tick()
    line.improved("cp-sat", 200, 150)
    line.tick()
    running, first, second = said(line)
    assert running == "cp-sat: running"
    assert first.startswith("cp-sat: objective 200, ")
    assert second.startswith("cp-sat: objective 200, bound 150, gap 25.00 %, ")
    assert second.endswith(" s")


def test_news_of_a_method_that_has_ended_is_not_shown(line: ProgressLine) -> None:
    line.started("cp-sat")
    line.started("milp")
    line.improved("cp-sat", 200, 150)
    line.tick()
    assert said(line) == ["cp-sat: running", "milp: running"]


def test_the_clock_says_it_by_itself() -> None:
    line = ProgressLine(every_seconds=0.001)
    line.console = Console(file=io.StringIO(), width=200)
    with line:
        line.started("dp")
        line.improved("dp", 100, 100)
        while len(said(line)) < 3:
            line.ended.wait(0.001)
    assert said(line)[2].startswith("dp: objective 100, bound 100, gap 0.00 %, ")
    line.clock.join(timeout=60)
    assert not line.clock.is_alive()


def test_a_terminal_shows_it_in_the_live_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    line = ProgressLine()
    assert line.console.is_terminal
    line.started("dp")
    line.improved("dp", 100, 75)
    (task,) = line.live.tasks
    assert task.description == "dp: objective 100, bound 75, gap 25.00 %"


def test_a_method_that_tells_no_bound_is_given_the_best_quick_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def plans(limits: Limits[Any]) -> Result[Any]:
        limits.tell(EARLY_CYCLES)
        limits.tell(EARLY_CYCLES, 1)
        limits.tell(None, EARLY_CYCLES)
        return Result("fake", Status.FEASIBLE, EARLY, EARLY_CYCLES, order=IDENTITY)

    heard: list[tuple[float | None, float | None]] = []

    class Ears(ProgressLine):
        def improved(
            self, method: str, objective: float | None, bound: float | None
        ) -> None:
            heard.append((objective, bound))

    fake = entry(Fake("plans", plans), Role.EXACT)
    monkeypatch.setitem(SCHEDULE, "plans", fake)
    table = compare(PROBLEM, ["plans"], observer=Ears())
    quick = max(b.bound.value for b in table.bounds if b.source != "plans")
    assert 1 < quick <= EARLY_CYCLES
    assert heard == [(EARLY_CYCLES, quick), (EARLY_CYCLES, quick), (None, EARLY_CYCLES)]


@pytest.mark.parametrize(
    "method",
    ["brute-force", "cp-sat", "milp", "milp:order=identity", "dp", "dp:order=free"],
)
def test_exact_methods_tell_of_plans_and_bounds_that_hold(method: str) -> None:
    problem = random_schedule(5, 4, "tight-sram", options=(2, 2))
    heard: list[tuple[float | None, float | None]] = []

    def progress(objective: float | None, bound: float | None) -> None:
        heard.append((objective, bound))

    limits: Limits[Any] = Limits(workers=1, progress=progress)
    result = variant(method, SCHEDULE).build().solve(problem, limits)
    assert result.status is Status.OPTIMAL
    optimum = result.objective
    assert optimum is not None
    plans = [objective for objective, _ in heard if objective is not None]
    bounds = [bound for _, bound in heard if bound is not None]
    assert plans == sorted(plans, reverse=True)
    # HiGHS is silent where its presolve is enough.
    assert plans[-1] == optimum or method.startswith("milp")
    assert all(bound <= optimum for bound in bounds)
    assert bounds or method in ("brute-force", "milp", "milp:order=identity")


def test_highs_tells_of_its_search() -> None:
    problem = random_schedule(5, 12, "tight-sram", options=(2, 2))
    heard: list[tuple[float | None, float | None]] = []

    def progress(objective: float | None, bound: float | None) -> None:
        heard.append((objective, bound))

    limits: Limits[Any] = Limits(workers=1, progress=progress)
    result = variant("milp:order=identity", SCHEDULE).build().solve(problem, limits)
    assert result.status is Status.OPTIMAL
    told = [(plan, bound) for plan, bound in heard if bound is not None]
    assert told
    for plan, bound in told:
        assert plan is not None
        assert result.objective is not None
        assert bound <= result.objective <= plan


def test_ideal_is_listed_once_as_a_bound() -> None:
    table = compare(random_schedule(1, 4), ["ideal", "basic"])
    assert [b.source for b in table.bounds].count("ideal") == 1
