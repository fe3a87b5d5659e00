"""Time limits, Ctrl-C and costs of nothing, for all fusion methods."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from fakes.said import Said

from elkhound.experiments.fusion_methods import FUSION
from elkhound.experiments.methods import Entry, Role, variant
from elkhound.model.fusion.catalogue import fusion_workload
from elkhound.model.fusion.mapspace import Objective
from elkhound.model.fusion.pmappings import generate
from elkhound.model.fusion.problem import FusionPlan, FusionProblem, FusionResult
from elkhound.model.io import load_accelerator
from elkhound.model.limits import Limits
from elkhound.model.result import Status
from elkhound.model.stopwatch import OutOfTime, Stopwatch


class Countdown(Stopwatch):
    """A limit that is reached when it has been asked so many times."""

    def __init__(self, checks: int) -> None:
        super().__init__()
        self.checks = checks

    def check(self) -> None:
        self.checks -= 1
        if self.checks < 0:
            raise OutOfTime


def matmuls() -> FusionProblem:
    """Two matmuls of 64³ on two memories."""
    workload = fusion_workload("matmuls", {"einsums": 2, "m": 64, "width": 64})
    return FusionProblem(workload, load_accelerator("simple"))


@pytest.mark.parametrize("checks", [0, 1, 40])
def test_generation_ends_wherever_the_limit_is_reached(checks: int) -> None:
    problem = matmuls()
    with pytest.raises(OutOfTime):
        generate(problem.workload, problem.accelerator, clock=Countdown(checks))


@pytest.mark.parametrize("name", list(FUSION))
def test_a_limit_that_ends_in_the_generation_is_no_answer(name: str) -> None:
    # It is over before the first list of tiles; each method used to generate all.
    result = variant(name, FUSION).build().solve(matmuls(), Limits(seconds=1e-9))
    assert (result.status, result.plan) == (Status.UNKNOWN, None)
    assert result.objective is None


class Interrupted:
    """A method during which the user presses Ctrl-C."""

    name = "interrupted"

    def solve(self, problem: FusionProblem, limits: Limits[FusionPlan]) -> FusionResult:
        raise KeyboardInterrupt


def test_ctrl_c_keeps_what_is_finished(
    say: Callable[..., Said], monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = Entry(Role.HEURISTIC, "is interrupted", lambda settings: Interrupted())  # type: ignore[arg-type,return-value]
    monkeypatch.setitem(FUSION, "interrupted", entry)
    said = say(
        "fuse", "matvecs", "--accelerator", "simple", "--run-dir", "run", "--json",
        "--methods", "pareto-join,interrupted,timeloop",
    )  # fmt: skip
    assert said.status == 130
    assert "finished methods are kept" in said.err
    (row,) = json.loads(said.out)["rows"]
    assert (row["method"], row["objective"]) == ("pareto-join", 26_208)  # golden
    assert Path("run/plans/pareto-join.txt").exists()


@pytest.mark.parametrize("objective", list(Objective))
@pytest.mark.parametrize("name", ["pareto-join", "milp", "set"])
def test_accelerators_on_which_nothing_costs_anything_are_mapped(
    name: str, objective: Objective
) -> None:
    # No energies and no rates: MILP scaled costs by a ceiling of 0, and annealing took
    # the increase relative to an energy of 0; fronts were looked for below no latency.
    parts = load_accelerator("simple")
    free = replace(
        parts,
        memories=tuple(
            replace(m, read_energy=0, write_energy=0, bits_per_cycle=None)
            for m in parts.memories
        ),
        compute=tuple(replace(c, energy=0, ops_per_cycle=None) for c in parts.compute),
    )
    problem = FusionProblem(fusion_workload("matvecs"), free, objective)
    limits: Limits[FusionPlan] = Limits(workers=1, deterministic_work=50)
    result = variant(name, FUSION).build().solve(problem, limits)
    assert result.plan is not None
    assert (result.status is Status.OPTIMAL) == (name != "set")
    assert (result.plan.energy, result.plan.latency) == (0, 0)
