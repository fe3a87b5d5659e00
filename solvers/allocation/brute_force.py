"""Every allocation through the referee: the oracle of all other methods."""

from __future__ import annotations

import itertools

from elkhound.model.allocation import Allocation, AllocationProblem
from elkhound.model.limits import Limits
from elkhound.model.referee import judge_allocation
from elkhound.model.result import (
    Bound,
    BoundKind,
    OrderClass,
    Result,
    Status,
    own_version,
)
from elkhound.model.stopwatch import Stopwatch

_BETWEEN_LOOKS = 1024
"""Plans judged between two looks at the clock."""


class BruteForce:
    """Judge all choices of one option per item, and keep the first best one."""

    name = "brute-force"

    def solve(
        self, problem: AllocationProblem, limits: Limits[Allocation]
    ) -> Result[Allocation]:
        """Return the optimum or the proof that there is none.

        `deterministic_work` counts plans; a run cut short proves nothing.
        """
        watch = Stopwatch(limits.seconds)
        best: Allocation | None = None
        objective: int | None = None
        plans = 0
        complete = True
        ranges = [range(len(item.options)) for item in problem.items]
        for options in itertools.product(*ranges):
            if _out_of_limits(plans, limits, watch):
                complete = False
                break
            plans += 1
            plan = Allocation(options)
            cycles = judge_allocation(problem, plan).objective
            if cycles is not None and (objective is None or cycles < objective):
                best, objective = plan, cycles
        proved = complete and objective is not None
        return Result(
            method=self.name,
            status=_status(objective is not None, complete),
            plan=best,
            objective=objective,
            bound=(
                Bound(objective, BoundKind.PROOF, OrderClass.free())
                if proved and objective is not None
                else None
            ),
            seed=limits.seed,
            wall_seconds=watch.wall_seconds,
            cpu_seconds=watch.cpu_seconds,
            version=own_version(),
            statistics={"plans": plans},
        )


def _out_of_limits(plans: int, limits: Limits[Allocation], watch: Stopwatch) -> bool:
    if limits.deterministic_work is not None and plans >= limits.deterministic_work:
        return True
    return plans % _BETWEEN_LOOKS == 0 and watch.expired


def _status(found: bool, complete: bool) -> Status:
    if found:
        return Status.OPTIMAL if complete else Status.FEASIBLE
    return Status.INFEASIBLE if complete else Status.UNKNOWN
