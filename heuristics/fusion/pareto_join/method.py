"""The method `pareto-join`: optimal fused mappings by joining partial mappings."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from elkhound.heuristics.fusion.pareto_join.join import Joined, join
from elkhound.heuristics.fusion.pareto_join.shortage import shortage
from elkhound.model.fusion.front import ROUNDING
from elkhound.model.fusion.mapspace import Objective
from elkhound.model.fusion.pmappings import Generator, Pmappings, rebuild
from elkhound.model.fusion.problem import FusionPlan, FusionProblem, FusionResult
from elkhound.model.limits import Limits
from elkhound.model.result import Status, own_version
from elkhound.model.stopwatch import OutOfTime, Stopwatch

_FIRST_SLACK = 0.1  # of the sum of least costs
_WIDER = 10.0


@dataclass(frozen=True, slots=True)
class _Found:
    """The mappings of one join, and whether none outside it can be better."""

    pmappings: Pmappings
    joined: tuple[Joined, ...]
    proved: bool


@dataclass(frozen=True, slots=True)
class ParetoJoin:
    """The FFM mapper (paper §6), exact.

    No mapping costs less than the sum of every einsum's least cost. So a join over the
    partial mappings within some slack of their least is optimal if its optimum is
    within the same slack of the sum; else the slack is widened, to the optimum found
    where there is one (the dirty and the clean pass of the paper, with bounds of what
    is still to come).
    """

    name: str = "pareto-join"

    def solve(self, problem: FusionProblem, limits: Limits[FusionPlan]) -> FusionResult:
        """Map optimally, or say that nothing fits.

        Raises
        ------
        InfeasibleError
            An einsum has no mapping at all; names the memory, its need and its size.
        """
        clock = Stopwatch(limits.seconds)
        found: _Found | None = None
        least: float | None = None
        try:
            search = _Search(problem, clock)
            least = search.bound
            while found is None or not found.proved:
                found = search.widened(found)
        except OutOfTime:
            pass
        reason = ""
        if found is not None and found.proved and not found.joined:
            with suppress(OutOfTime):
                reason = shortage(problem, clock)
        return _result(self.name, problem, limits, clock, found, least, reason)


class _Search:
    """Joins within ever wider slack."""

    def __init__(self, problem: FusionProblem, clock: Stopwatch) -> None:
        self.problem = problem
        self.clock = clock
        self.criteria = problem.objective.criteria
        self.generator = Generator(
            problem.workload,
            problem.accelerator,
            problem.mapspace,
            self.criteria,
            competitive=True,
            clock=clock,
        )
        self.least = self.generator.least
        self.share = _FIRST_SLACK

    @property
    def bound(self) -> float | None:
        """What no mapping is below, where the objective is one number."""
        least = self.least
        match self.problem.objective:
            case Objective.FRONT:
                return None
            case Objective.EDP:
                return least["energy"] * least["latency"]
            case objective:
                return least[objective.value]

    def widened(self, before: _Found | None) -> _Found:
        """Join within the slack that the last join asks for."""
        self.clock.check()
        slack = self._slack(before)
        pmappings = self.generator.pmappings(slack)
        self.clock.check()
        most = {name: self.least[name] + slack[name] for name in slack}
        joined = join(pmappings, self.criteria, most, self.clock)
        if not slack:
            return _Found(pmappings, joined, proved=True)
        best = min((self._value(each) for each in joined), default=None)
        proved = best is not None and best <= self._covered(slack) * (1 + ROUNDING)
        return _Found(pmappings, joined, proved)

    def _slack(self, before: _Found | None) -> dict[str, float]:
        """Return the slack by criterion; none: no limit."""
        if self.problem.objective is Objective.FRONT:
            return {}
        if before is not None and before.joined:
            best = min(self._value(each) for each in before.joined)
            return self._reaching(best)
        if before is not None:
            self.share *= _WIDER
        if self.share > 1:
            return {}
        return {name: self.share * value for name, value in self.least.items()}

    def _value(self, joined: Joined) -> float:
        match self.problem.objective:
            case Objective.ENERGY:
                return joined.energy
            case Objective.LATENCY:
                return joined.latency
            case _:
                return joined.energy * joined.latency

    def _reaching(self, value: float) -> dict[str, float]:
        """Return the slack that covers all mappings as good as a value."""
        if self.problem.objective is not Objective.EDP:
            (name,) = self.criteria
            return {name: value - self.least[name]}
        energy, latency = self.least["energy"], self.least["latency"]
        if energy == 0 or latency == 0:
            return {}
        return {"energy": value / latency - energy, "latency": value / energy - latency}

    def _covered(self, slack: dict[str, float]) -> float:
        """Return the value below which no mapping outside the slack is."""
        if self.problem.objective is not Objective.EDP:
            (name,) = self.criteria
            return self.least[name] + slack[name]
        energy, latency = self.least["energy"], self.least["latency"]
        return min(
            (energy + slack["energy"]) * latency, energy * (latency + slack["latency"])
        )


def _result(
    method: str,
    problem: FusionProblem,
    limits: Limits[FusionPlan],
    clock: Stopwatch,
    found: _Found | None,
    least: float | None,
    reason: str,
) -> FusionResult:
    plans = [_plan(found.pmappings, each) for each in found.joined] if found else []
    proved = found is not None and found.proved
    best = min(plans, key=lambda p: p.value(problem.objective), default=None)
    if best is None:
        status = Status.INFEASIBLE if proved else Status.UNKNOWN
    else:
        status = Status.OPTIMAL if proved else Status.FEASIBLE
    objective = None if best is None else best.value(problem.objective)
    is_front = problem.objective is Objective.FRONT
    return FusionResult(
        method=method,
        status=status,
        plan=best,
        objective=objective,
        lower_bound=objective if proved and not is_front else least,
        front=tuple(plans) if is_front else (),
        seed=limits.seed,
        wall_seconds=clock.wall_seconds,
        cpu_seconds=clock.cpu_seconds,
        version=own_version(),
        statistics={} if found is None else _statistics(found, reason),
    )


def _plan(pmappings: Pmappings, joined: Joined) -> FusionPlan:
    return FusionPlan(rebuild(pmappings, joined.choice), joined.energy, joined.latency)


def _statistics(found: _Found, reason: str) -> dict[str, int | float | str]:
    tables = found.pmappings.tables
    said: dict[str, int | float | str] = {"reason": reason} if reason else {}
    return said | {
        "pmappings": sum(len(table) for table in tables),
        "classes": sum(len(table.classes) for table in tables),
        "pareto_points": len(found.joined),
    }
