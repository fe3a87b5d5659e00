"""`--thin`: methods see fewer options; plans, bounds and errors are of all of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakes.said import Said
from oracles.small_schedules import option, problem

from elkhound.experiments import compare
from elkhound.model.allocation import (
    AllocationItem,
    AllocationOption,
    AllocationProblem,
)
from elkhound.model.errors import BadInputError
from elkhound.model.io import write_problem
from elkhound.model.limits import Limits

Say = Callable[..., Said]
ONE: Limits[Any] = Limits(workers=1, seconds=20)

# 104 cycles stand for 100 at 10 %, in less space; 2 cycles before, nothing after.
NEAR = problem((option(58, 10, h=2, t=104), option(60, 10, h=2, t=100)), sram_bytes=100)


@pytest.fixture
def near_file(tmp_path: Path) -> str:
    write_problem(tmp_path / "near.json", NEAR)
    return "near.json"


def test_an_exact_method_alone_states_what_thinning_may_have_cost() -> None:
    (row,) = compare(NEAR, ["cp-sat"], limits=ONE, thin_permille=100).rows
    assert (row.objective, row.lower_bound, row.rounding_error) == (106, 102, 4)
    assert str(row.status) == "feasible"
    assert row.verified is True
    (whole,) = compare(NEAR, ["cp-sat"], limits=ONE).rows
    assert (whole.objective, whole.lower_bound, whole.rounding_error) == (102, 102, 0)


def test_heuristics_see_thinned_options_and_bounds_do_not() -> None:
    table = compare(NEAR, ["basic", "ideal"], limits=ONE, thin_permille=100)
    basic, ideal = table.rows
    assert (basic.objective, basic.rounding_error) == (106, 4)
    assert ideal.lower_bound == 102
    assert table.contradictions == ()


def test_the_table_says_what_was_left_out(say: Say, near_file: str) -> None:
    flags = ("--methods", "cp-sat", "--workers", "1", "--no-plots", "--thin", "0.1")
    said = say("compare", near_file, *flags)
    assert said.status == 0
    assert "cp-sat: saw 1 of 2 options, which costs at most 4 cycles" in said.out
    (run,) = Path("runs").iterdir()
    about = json.loads((run / "configuration.json").read_text())
    assert about["configuration"]["thin_permille"] == 100


def test_a_thinned_plan_is_one_of_the_whole_problem(say: Say, near_file: str) -> None:
    write_problem("two.json", replace(NEAR, sram_bytes=59))
    for name, value in ((near_file, 106), ("two.json", 106)):
        said = say(
            "plan", name, "--method", "cp-sat", "--thin", "0.1", "--workers", "1",
            "--output", "plan.json", "--json",
        )  # fmt: skip
        assert json.loads(said.out)["rows"][0]["objective"] == value
        again = json.loads(say("evaluate", "--plan", "plan.json", "--json").out)
        assert again["objective"] == value


@pytest.mark.parametrize("epsilon", ["0", "-0.1", "1.5", "0.0001", "nan", "few"])
def test_no_epsilon_but_a_share_is_taken(
    say: Say, near_file: str, epsilon: str
) -> None:
    said = say("compare", near_file, "--thin", epsilon)
    assert said.status == 2
    assert "--thin: " in said.line


def test_thinning_has_no_effect_on_other_problems_or_without_planning(
    say: Say, near_file: str
) -> None:
    said = say("compare", near_file, "--min-capacity", "--thin", "0.1")
    assert said.status == 2
    assert "--thin: has no effect where nothing is planned" in said.line
    items = (AllocationItem("a", (AllocationOption(1, 1),)),)
    allocation = AllocationProblem(10, items)
    write_problem("a.json", allocation)
    said = say("compare", "a.json", "--thin", "0.1")
    assert said.status == 2
    assert "--thin: has no effect on an allocation problem" in said.line
    assert not Path("runs").exists()
    with pytest.raises(BadInputError, match="--thin: has no effect on an allocation"):
        compare(allocation, ["delta"], thin_permille=100)
