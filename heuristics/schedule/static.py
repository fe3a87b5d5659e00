"""Static: one split of the SRAM for the whole model (paper §6.1, after T10)."""

from __future__ import annotations

from dataclasses import dataclass, field

from elkhound.heuristics.outcome import schedule_result
from elkhound.heuristics.schedule.shapes import fastest_first, shape_numbers
from elkhound.model.earliest import earliest_in_order
from elkhound.model.limits import Limits
from elkhound.model.result import Result
from elkhound.model.schedule import Schedule, ScheduleProblem
from elkhound.model.stopwatch import Stopwatch
from elkhound.model.timing import timeline

SPLITS = 37
"""Splits tried before the best is refined."""


class Static:
    """Divide the SRAM once into execute space E and preload space P, E + P = C.

    Every operator takes its fastest option with execute_bytes ≤ E and preload_bytes
    ≤ P (ties: fewer preload_bytes). P_j is issued at the smallest gate, not before its
    predecessor's, from which on the outstanding preloads fit P. E = C·k/37 for
    k = 1 … 37; then the best E is moved by half the distance to its neighbours, a
    quarter, and so on down to a byte. The best plan is kept. If none of the 37 lets
    every operator run, E is taken from the options' own execute_bytes.
    """

    name = "static"

    def solve(
        self, problem: ScheduleProblem, limits: Limits[Schedule]
    ) -> Result[Schedule]:
        """Return the best plan of the splits tried; `deterministic_work` counts them.

        UNKNOWN if no single split lets every operator run, which proves nothing.
        """
        clock = Stopwatch()
        search = _Search(problem, limits, clock)
        if problem.misfit is None:
            search.run()
        statistics: dict[str, int | float | str] = {"splits": len(search.tried)}
        if search.plan is not None:
            statistics["execute_space_bytes"] = search.execute_space_bytes
        elif problem.misfit is None:
            statistics["reason"] = "no split tried leaves every operator its room"
        return schedule_result(
            self.name, problem, search.plan, limits, clock, statistics
        )


@dataclass(slots=True)
class _Search:
    """The best split so far."""

    problem: ScheduleProblem
    limits: Limits[Schedule]
    clock: Stopwatch
    plan: Schedule | None = None
    makespan: int = 0
    execute_space_bytes: int = 0
    tried: set[int] = field(default_factory=set)
    shapes: list[int] = field(default_factory=list)
    ranked: dict[int, list[int]] = field(default_factory=dict)

    def run(self) -> None:
        """Try the 37 splits, then refine around the best of them."""
        self.shapes = shape_numbers(self.problem)
        self.ranked = {
            i: fastest_first(self.problem.operators[i].options)
            for i in set(self.shapes)
        }
        sram_bytes = self.problem.sram_bytes
        for k in range(1, SPLITS + 1):
            self._try(sram_bytes * k // SPLITS)
        if self.plan is None:
            self._try_every_execute_size()
        step = sram_bytes // SPLITS // 2
        while step and self.plan is not None:
            middle = self.execute_space_bytes
            self._try(middle - step)
            self._try(middle + step)
            step //= 2

    def _try_every_execute_size(self) -> None:
        """Find a split, if there is one: with an E that some option just fills."""
        sizes = {
            option.execute_bytes
            for shape in self.ranked
            for option in self.problem.operators[shape].options
        }
        for execute_space_bytes in sorted(sizes):
            self._try(execute_space_bytes)
            if self.plan is not None:
                return

    def _try(self, execute_space_bytes: int) -> None:
        """Evaluate one split; keep it if it is faster than all before."""
        if execute_space_bytes in self.tried or self._out_of_limits():
            return
        if not 0 <= execute_space_bytes <= self.problem.sram_bytes:
            return
        self.tried.add(execute_space_bytes)
        plan = self._split(execute_space_bytes)
        if plan is None:
            return
        makespan = timeline(self.problem, plan).makespan
        if self.plan is None or makespan < self.makespan:
            self.plan, self.makespan = plan, makespan
            self.execute_space_bytes = execute_space_bytes

    def _out_of_limits(self) -> bool:
        work = self.limits.deterministic_work
        if work is not None and len(self.tried) >= work:
            return True
        return self.clock.wall_seconds >= self.limits.seconds

    def _split(self, execute_space_bytes: int) -> Schedule | None:
        """Return the plan of one split, or None if an operator does not fit it."""
        sram_bytes = self.problem.sram_bytes
        preload_space_bytes = sram_bytes - execute_space_bytes
        taken: dict[tuple[int, int], int | None] = {}
        options = []
        for shape, operator in zip(self.shapes, self.problem.operators, strict=True):
            room_bytes = sram_bytes - operator.resident_bytes
            key = (shape, room_bytes)
            if key not in taken:
                taken[key] = next(
                    (
                        k
                        for k in self.ranked[shape]
                        if operator.options[k].execute_bytes <= execute_space_bytes
                        and operator.options[k].preload_bytes <= preload_space_bytes
                        and operator.options[k].own_bytes <= room_bytes
                    ),
                    None,
                )
            choice = taken[key]
            if choice is None:
                return None
            options.append(choice)
        gates = earliest_gates(self.problem, options, preload_space_bytes)
        return Schedule(gates, tuple(options))


def earliest_gates(
    problem: ScheduleProblem, options: list[int], preload_space_bytes: int
) -> tuple[int | None, ...]:
    """Return for each P_j the smallest gate, in identity order, from which it fits.

    Parameters
    ----------
    options : list of int
        The option each operator takes.
    preload_space_bytes : int
        P: the most that outstanding preloads may take.
    """
    chosen = [o.options[k] for o, k in zip(problem.operators, options, strict=True)]
    taken = [
        operator.resident_bytes + option.own_bytes
        for operator, option in zip(problem.operators, chosen, strict=True)
    ]
    preloaded = [option.preload_bytes for option in chosen]
    return earliest_in_order(problem, taken, preloaded, preload_space_bytes)
