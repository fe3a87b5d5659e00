"""Every schedule of a small problem through the referee: the oracle of all methods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from types import MappingProxyType

from elkhound.model.limits import Limits
from elkhound.model.referee import judge
from elkhound.model.result import (
    Bound,
    BoundKind,
    OrderClass,
    Result,
    Status,
    own_version,
)
from elkhound.model.schedule import Schedule, ScheduleProblem
from elkhound.model.stopwatch import Stopwatch
from elkhound.solvers.schedule.incumbent import Incumbent, belongs
from elkhound.solvers.schedule.report import report

FREE = OrderClass.free()


class BruteForce:
    """Tries every gate vector with every option vector; nothing is pruned.

    Parameters
    ----------
    order : OrderClass
        Preload orders that are tried.
    gates : mapping of int to int
        Gates that are given, by operator index; the others are tried.
    """

    name = "brute-force"

    def __init__(
        self, order: OrderClass = FREE, gates: Mapping[int, int] = MappingProxyType({})
    ) -> None:
        self.order = order
        self.gates = gates

    def with_gates(self, gates: Mapping[int, int]) -> BruteForce:
        """Return the method on schedules with these gates, by operator index."""
        return BruteForce(self.order, gates)

    def solve(
        self, problem: ScheduleProblem, limits: Limits[Schedule]
    ) -> Result[Schedule]:
        """Return the optimum, or the best plan seen when the limits cut the search.

        Deterministic work counts plans judged. A warm start is judged first.
        """
        stopwatch = Stopwatch(limits.seconds)
        unsolved: Result[Schedule] = Result(
            f"{self.name}:order={self.order}",
            Status.UNKNOWN,
            order=self.order,
            seed=limits.seed,
            version=own_version(),
        )
        best = self._judged(problem, limits.warm_start)
        judged, complete = 0, True
        for plan in plans(problem, self.order, self.gates):
            spent = limits.deterministic_work
            if stopwatch.expired or (spent is not None and judged >= spent):
                complete = False
                break
            judged += 1
            objective = judge(problem, plan).objective
            if objective is not None and (best is None or objective < best.value):
                best = Incumbent(plan, objective)
                limits.tell(objective)
        bound = None
        if complete and best is not None:
            rule = problem.contention
            bound = Bound(best.value, BoundKind.PROOF, self.order, rule)
        return report(
            unsolved,
            stopwatch,
            best,
            bound,
            {"plans": judged},
            infeasible=complete and best is None,
        )

    def _judged(
        self, problem: ScheduleProblem, plan: Schedule | None
    ) -> Incumbent | None:
        if plan is None:
            return None
        if any(plan.gates[j] != gate for j, gate in self.gates.items()):
            return None
        verdict = judge(problem, plan)
        if verdict.objective is None or not verdict.belongs_to(self.order):
            return None
        return Incumbent(plan, verdict.objective)


def plans(
    problem: ScheduleProblem,
    order: OrderClass,
    given: Mapping[int, int] = MappingProxyType({}),
) -> Iterator[Schedule]:
    """Yield every schedule of the class with the gates given, feasible or not."""
    gates = [
        (given[j],)
        if j in given
        else tuple(range(j + 1))
        if operator.streams
        else (None,)
        for j, operator in enumerate(problem.operators)
    ]
    options = [range(len(operator.options)) for operator in problem.operators]
    for gate_vector in product(*gates):
        if not belongs(Schedule(gate_vector, ()), order):
            continue
        for option_vector in product(*options):
            yield Schedule(gate_vector, option_vector)
