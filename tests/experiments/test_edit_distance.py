"""How far a preload order is from execution order, as users are told."""

from __future__ import annotations

from collections.abc import Callable

from fakes.said import Said
from oracles.small_schedules import option, problem

from elkhound.model.io import write_problem

Say = Callable[..., Said]


def test_a_reordered_plan_says_how_far_from_execution_order_it_is(say: Say) -> None:
    """The paper's figure 13: c is preloaded before b, one moved element counts two."""
    case = problem(
        (option(50, 0, t=10), option(30, 0, t=40)),
        option(20, 20, h=4, t=2),
        option(10, 10, h=10, t=2),
        sram_bytes=60,
    )
    write_problem("three.json", case)
    said = say("compare", "three.json", "--methods", "elk-dyn,elk-full", "--no-plots")
    assert said.status == 0
    lines = [line for line in said.out.splitlines() if "edit distance" in line]
    assert lines == [
        "elk-full: preload order at a mean edit distance of 2.0 from execution order "
        "in a layer"
    ]
