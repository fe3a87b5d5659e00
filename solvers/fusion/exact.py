"""Energy, latency, EDP and fronts by minimising one cost under a ceiling of the other.

Whatever minimises one cost exactly (CP-SAT, a MILP solver) gives all four. What is
called optimal here is within `PROOF` of a proven bound.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from elkhound.model.fusion.mapspace import Objective
from elkhound.model.fusion.pmappings import Pmappings, generate, rebuild
from elkhound.model.fusion.problem import FusionPlan, FusionProblem, FusionResult
from elkhound.model.limits import Limits
from elkhound.model.result import Status
from elkhound.model.stopwatch import OutOfTime, Stopwatch
from elkhound.solvers.fusion.choice import Choice

PROOF = 1e-6
"""Relative distance from the bound at which a plan counts as proved."""

STEP = 1e-7
"""Relative step below a point of the front; points that are nearer count as one."""

_ROUNDS = 4


@dataclass(frozen=True, slots=True)
class Ceiling:
    """What one criterion may cost at most."""

    criterion: str
    most: float


@dataclass(frozen=True, slots=True)
class Answer:
    """What a solver knows at the end of one minimisation.

    Parameters
    ----------
    taken : tuple of int or None
        Option of every einsum, by position in the choice.
    bound : float or None
        No choice under the ceiling costs less.
    is_infeasible : bool
        Proved: there is none.
    is_complete : bool
        The solver ended by itself, not at a limit.
    statistics : mapping
        Counts of the search.
    """

    taken: tuple[int, ...] | None
    bound: float | None
    is_infeasible: bool
    is_complete: bool
    statistics: Mapping[str, int | float | str] = field(default_factory=dict)


class Least(Protocol):
    """Minimises a criterion over a choice, under a ceiling of the other."""

    def __call__(
        self,
        choice: Choice,
        criterion: str,
        ceiling: Ceiling | None,
        limits: Limits[FusionPlan],
        seconds: float,
    ) -> Answer:
        """Answer within the seconds."""
        ...


@dataclass(frozen=True, slots=True)
class _Minimum:
    """The plan found, None without one, and what no plan under the ceiling is below."""

    plan: FusionPlan | None
    bound: float | None
    is_infeasible: bool = False

    def is_proved(self, criterion: str) -> bool:
        """Whether the plan is within `PROOF` of the bound."""
        if self.plan is None or self.bound is None:
            return False
        value = getattr(self.plan, criterion)
        return bool(value - self.bound <= PROOF * abs(value))


def solved(
    method: str,
    version: str,
    problem: FusionProblem,
    limits: Limits[FusionPlan],
    least: Least,
) -> FusionResult:
    """Solve a problem with what minimises one criterion.

    Raises
    ------
    InfeasibleError
        An einsum has no mapping at all.
    """
    watch = Stopwatch(limits.seconds)
    search = _Search(problem, limits, least, watch)
    try:
        search.generate()
        match problem.objective:
            case Objective.FRONT:
                search.front()
            case Objective.EDP:
                search.product()
            case objective:
                search.single(objective.value)
    except OutOfTime:
        pass
    return search.result(method, version)


class _Search:
    """One run: the best plan, the bound, and what is proved."""

    def __init__(
        self,
        problem: FusionProblem,
        limits: Limits[FusionPlan],
        least: Least,
        watch: Stopwatch,
    ) -> None:
        self.problem = problem
        self.limits = limits
        self.least = least
        self.watch = watch
        self.best = limits.warm_start
        self.bound: float | None = None
        self.points: list[FusionPlan] = []
        self.proved = False
        self.calls = 0
        self.statistics: dict[str, int | float | str] = {}

    def generate(self) -> None:
        """Make the partial mappings and the network of their classes."""
        problem = self.problem
        self.pmappings: Pmappings = generate(
            problem.workload,
            problem.accelerator,
            problem.mapspace,
            problem.objective.criteria,
            self.watch,
        )
        self.watch.check()
        self.choice = Choice.of(self.pmappings)
        self.statistics["pmappings"] = sum(map(len, self.pmappings.tables))
        self.statistics["arcs"] = sum(len(s.arcs) for s in self.choice.stages)

    def single(self, criterion: str) -> None:
        """Minimise one criterion."""
        minimum = self._minimum(criterion)
        self.bound = minimum.bound
        self.proved = minimum.is_infeasible or (
            self.best is not None
            and _Minimum(self.best, self.bound).is_proved(criterion)
        )

    def product(self) -> None:
        """Minimise energy · latency.

        With L the least latency and E(l) the least energy within latency l: a plan
        within l that beats the best EDP so far has a latency below best / E(l). So l
        shrinks to that until it is below L or nothing is left.
        """
        fastest = self._minimum("latency")
        if fastest.is_infeasible:
            self.proved = True
        if fastest.plan is None or fastest.bound is None or self.best is None:
            return
        if self.best.edp == 0:
            self.bound, self.proved = 0.0, True
            return
        most = math.inf
        while True:
            cheapest = self._minimum("energy", most, "latency")
            target = self.best.edp * (1 - STEP)
            if cheapest.is_infeasible:
                self.bound, self.proved = target, True
                return
            if cheapest.bound is None or cheapest.bound <= 0:
                return
            self.bound = min(target, cheapest.bound * fastest.bound)
            self.limits.tell(self.best.edp, self.bound)
            left = target / cheapest.bound
            if left < fastest.bound:
                self.bound, self.proved = target, True
                return
            if left >= most or cheapest.plan is None:
                return  # the bound of the energy is too weak to go on
            most = left

    def front(self) -> None:
        """Find every point: the least energy within a latency, then its least latency.

        The next point is faster than the last one (ε-constraint).
        """
        most = math.inf
        while True:
            cheapest = self._minimum("energy", most, "latency")
            if cheapest.is_infeasible:
                self.proved = True
                return
            if cheapest.plan is None or not cheapest.is_proved("energy"):
                return
            energy = cheapest.plan.energy
            fastest = self._minimum("latency", energy, "energy")
            if fastest.plan is None or not fastest.is_proved("latency"):
                return
            self.points.append(fastest.plan)
            if fastest.plan.latency == 0:
                self.proved = True  # nothing is faster
                return
            most = fastest.plan.latency * (1 - STEP)

    def _minimum(
        self, criterion: str, most: float = math.inf, other: str = ""
    ) -> _Minimum:
        """Minimise; again with finer integers if their rounding hides the proof."""
        if self.choice.is_empty:
            return _Minimum(None, None, is_infeasible=True)
        choice, ceiling = self.choice, None
        if most < math.inf:
            ceiling = Ceiling(other, most)
            choice = choice.within(other, most)
        elif self.best is not None:
            choice = choice.within(criterion, getattr(self.best, criterion))
        if choice.is_empty:
            return _Minimum(None, None, is_infeasible=True)
        found = _Minimum(None, None)
        for _ in range(_ROUNDS):
            self.watch.check()
            seconds = self.watch.remaining_seconds
            answer = self.least(choice, criterion, ceiling, self.limits, seconds)
            self._count(answer)
            if answer.is_infeasible:
                return _Minimum(None, None, is_infeasible=True)
            found = self._better(criterion, found, choice, answer)
            if found.plan is None or found.is_proved(criterion):
                break
            if not answer.is_complete:
                break
            choice = choice.within(criterion, getattr(found.plan, criterion))
        return found

    def _better(
        self, criterion: str, before: _Minimum, choice: Choice, answer: Answer
    ) -> _Minimum:
        bounds = [b for b in (before.bound, answer.bound) if b is not None]
        plans = [] if before.plan is None else [before.plan]
        if answer.taken is not None:
            plan = self._plan(choice, answer.taken)
            plans.append(plan)
            self._keep(plan)
        return _Minimum(
            min(plans, key=lambda plan: float(getattr(plan, criterion)), default=None),
            max(bounds, default=None),
        )

    def _plan(self, choice: Choice, taken: tuple[int, ...]) -> FusionPlan:
        options = [own[o] for own, o in zip(choice.options, taken, strict=True)]
        return FusionPlan(
            rebuild(self.pmappings, tuple(option.pick for option in options)),
            sum(option.energy for option in options),
            sum(option.latency for option in options),
        )

    def _keep(self, plan: FusionPlan) -> None:
        objective = self.problem.objective
        if self.best is None or plan.value(objective) < self.best.value(objective):
            self.best = plan
            self.limits.tell(plan.value(objective), self.bound)

    def _count(self, answer: Answer) -> None:
        self.calls += 1
        self.statistics["minimisations"] = self.calls
        for name in ("model_variables", "model_constraints"):
            if name in answer.statistics:
                most = max(int(self.statistics.get(name, 0)), answer.statistics[name])
                self.statistics[name] = most

    def result(self, method: str, version: str) -> FusionResult:
        """Return what is known."""
        objective = self.problem.objective
        points = tuple(sorted(self.points, key=lambda point: point.latency))
        best = self.best
        if objective is Objective.FRONT and self.proved:
            best = min(points, key=lambda p: p.edp, default=None)
        value = None if best is None else best.value(objective)
        if best is None:
            status = Status.INFEASIBLE if self.proved else Status.UNKNOWN
        else:
            status = Status.OPTIMAL if self.proved else Status.FEASIBLE
        error = 0.0
        if status is Status.OPTIMAL and value is not None:
            low = value * (1 - STEP) ** 2 if self.bound is None else self.bound
            error = max(0.0, value - low)
        return FusionResult(
            method=method,
            status=status,
            plan=best,
            objective=value,
            lower_bound=None
            if self.bound is None or value is None
            else min(self.bound, value),
            front=points,
            rounding_error=error,
            seed=self.limits.seed,
            wall_seconds=self.watch.wall_seconds,
            cpu_seconds=self.watch.cpu_seconds,
            version=version,
            statistics=self.statistics,
        )
