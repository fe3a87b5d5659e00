"""Methods that answer what a test tells them, and a problem to answer about."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from elkhound.experiments.methods import AnyMethod, Entry, Role
from elkhound.model.limits import Limits
from elkhound.model.result import Result
from elkhound.model.schedule import (
    Contention,
    Schedule,
    ScheduleOperator,
    ScheduleOption,
    ScheduleProblem,
)

Answer = Callable[[Limits[Any]], Result[Any]]


class Fake:
    """A method that keeps what it was given."""

    def __init__(self, name: str, answer: Answer) -> None:
        self.name = name
        self.answer = answer
        self.limits: list[Limits[Any]] = []

    def solve(self, problem: Any, limits: Limits[Any]) -> Result[Any]:
        self.limits.append(limits)
        return self.answer(limits)


def entry(method: AnyMethod, role: Role = Role.HEURISTIC) -> Entry:
    settings = {"order": ("free", "identity")} if role is Role.EXACT else {}
    return Entry(role, "fake", lambda given: method, settings)


def operator(name: str, preload: int, execute: int) -> ScheduleOperator:
    """One option: 10 B and `preload` cycles to preload, 10 B and `execute` to run."""
    option = ScheduleOption(
        execute_plan=0,
        execute_bytes=10,
        preload_bytes=10,
        preload_cycles=preload,
        preload_link_cycles=0,
        execute_cycles=execute,
        execute_link_cycles=0,
    )
    return ScheduleOperator(name, (option,))


# No contention, room for everything: a preloads 4, runs 3; b 5, 3; c 1, 3.
PROBLEM = ScheduleProblem(
    sram_bytes=30,
    operators=(operator("a", 4, 3), operator("b", 5, 3), operator("c", 1, 3)),
    contention=Contention.NONE,
    name="three",
)
# Each preload just before its own execute: 4 + 3 + 5 + 3 + 1 + 3 = 19.
LATE = Schedule(gates=(0, 1, 2), options=(0, 0, 0))
# All at once, in index order: PE = 4, 9, 10; EE = 7, 12, 15.
EARLY = Schedule(gates=(0, 0, 0), options=(0, 0, 0))
# c before b: gates 0, 1, 0. PE_a = 4, PE_c = 5; EE_a = 7; PE_b = 12; EE = 15, 18.
SWAPPED = Schedule(gates=(0, 1, 0), options=(0, 0, 0))
LATE_CYCLES, EARLY_CYCLES, SWAPPED_CYCLES = 19, 15, 18
