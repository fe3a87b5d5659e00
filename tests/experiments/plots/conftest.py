"""Scores and rows that the drawing tests share."""

from __future__ import annotations

from typing import Any

import pytest

from elkhound.model.program import Execute, PreloadAsync, Program, Task
from elkhound.model.schedule import OptionPayload, ScheduleOption
from elkhound.simpy_chip import Score, simulate


def score_of(operators: int, *, steps: int = 1, overlap: bool = False) -> Score:
    """Simulate equal operators, each preloaded one ahead.

    An execute distributes 2 cycles, exchanges 30 and computes 60; a preload takes 50.
    """
    payload = OptionPayload((), (), 1, steps, 0, 0, 0, 0)
    total = 2 + (60 if overlap else 90)
    option = ScheduleOption(0, 4096, 1024, 50, 20, total, 32, 2, 60, 30, payload)
    tasks = tuple(Task(f"op{i}", option, 512) for i in range(operators))
    order: list[PreloadAsync | Execute] = [PreloadAsync(0)]
    for i in range(operators):
        if i + 1 < operators:
            order.append(PreloadAsync(i + 1))
        order.append(Execute(i))
    return simulate(Program(tuple(order), tasks, sram_bytes=8192))


@pytest.fixture(scope="session")
def small_score() -> Score:
    """Four operators without supersteps: few enough to draw every bar."""
    return score_of(4)


@pytest.fixture(scope="session")
def large_score() -> Score:
    """723 operators of 3 supersteps: too many bars for a page."""
    return score_of(723, steps=3)


@pytest.fixture
def rows() -> list[dict[str, Any]]:
    """One problem's rows: plans with and without a bound, a bound without a plan."""
    empty = dict.fromkeys(("objective", "lower_bound", "gap", "simulated"))
    common = {"kind": "schedule", "contention": "stretch", **empty}
    return [
        {**common, "method": "basic", "status": "feasible", "order": "identity",
         "objective": 200, "lower_bound": 150, "gap": 0.25, "simulated": 190,
         "cpu_seconds": 0.01},
        {**common, "method": "cp-sat", "status": "optimal", "order": "free",
         "objective": 120, "lower_bound": 120, "gap": 0.0, "simulated": 125,
         "cpu_seconds": 3.0},
        {**common, "method": "elk-full", "status": "feasible", "order": "free",
         "objective": 160, "simulated": None, "cpu_seconds": 0.5},
        {**common, "method": "ideal", "status": "unknown", "order": "free",
         "lower_bound": 100, "cpu_seconds": 0.1},
        {**common, "method": "milp", "status": "unknown", "order": "free",
         "cpu_seconds": None},
    ]  # fmt: skip
