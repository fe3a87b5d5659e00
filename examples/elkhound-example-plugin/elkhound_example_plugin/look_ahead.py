"""Look ahead: preload every operator a few executes early, as far as SRAM allows."""

from __future__ import annotations

from elkhound.experiments.methods import Entry, Role, Settings
from elkhound.heuristics.outcome import schedule_result
from elkhound.model.limits import Limits
from elkhound.model.result import Result
from elkhound.model.schedule import Schedule, ScheduleOperator, ScheduleProblem
from elkhound.model.stopwatch import Stopwatch
from elkhound.model.timing import fits


class LookAhead:
    """Gate P_j at j − depth or the first gate behind that fits; smallest options.

    Parameters
    ----------
    depth : int
        Executes that a preload may be early.
    """

    name = "look-ahead"

    def __init__(self, depth: int) -> None:
        self.depth = depth

    def solve(
        self, problem: ScheduleProblem, limits: Limits[Schedule]
    ) -> Result[Schedule]:
        """Return a plan if any exists: in the end every preload may be on time."""
        clock = Stopwatch()
        plan = None if problem.misfit is not None else self._plan(problem)
        return schedule_result(self.name, problem, plan, limits, clock, {})

    def _plan(self, problem: ScheduleProblem) -> Schedule:
        options = tuple(_smallest(operator) for operator in problem.operators)
        gates = [j if o.streams else None for j, o in enumerate(problem.operators)]
        latest = 0  # gate of the preload before: the order stays that of execution
        for j in problem.streaming:
            for gate in range(max(latest, j - self.depth), j + 1):
                gates[j] = gate
                if fits(problem, Schedule(tuple(gates), options)):
                    break
            latest = gates[j] or 0
        return Schedule(tuple(gates), options)


def _smallest(operator: ScheduleOperator) -> int:
    sizes = [option.own_bytes for option in operator.options]
    return sizes.index(min(sizes))


def _build(settings: Settings) -> LookAhead:
    return LookAhead(int(settings["depth"]))


ENTRY = Entry(
    Role.HEURISTIC,
    "preload a few executes early, in the smallest options",
    _build,
    {"depth": ("2", "1", "4", "8")},
)
"""What the entry point `look-ahead` of `elkhound.methods.schedule` names."""
