"""Searches that walk through compatible choices until they are stopped."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from random import Random

from elkhound.heuristics.fusion.choices import Choice, Choices
from elkhound.heuristics.fusion.prices import Prices
from elkhound.model.fusion.mapspace import Objective
from elkhound.model.fusion.pmappings import Pmappings, generate, rebuild
from elkhound.model.fusion.problem import (
    FusionPlan,
    FusionProblem,
    FusionResult,
    Improvement,
)
from elkhound.model.limits import Limits
from elkhound.model.result import Status, own_version
from elkhound.model.stopwatch import OutOfTime, Stopwatch

DEFAULT_EVALUATIONS = 100_000


class Judge:
    """Prices choices, counts, and keeps the best one and how it was come by.

    Parameters
    ----------
    evaluations : int
        How many partial mappings may be priced; the count may end a choice above it.
    """

    def __init__(
        self,
        pmappings: Pmappings,
        objective: Objective,
        limits: Limits[FusionPlan],
        clock: Stopwatch,
    ) -> None:
        self.prices = Prices(pmappings)
        self.objective = objective
        self.limits = limits
        self.clock = clock
        work = limits.deterministic_work
        self.most_evaluations = DEFAULT_EVALUATIONS if work is None else work
        self.evaluations = 0
        self.mappings = 0
        self.misfits = 0
        self.best: Choice | None = None
        self.value = math.inf
        self.curve: list[Improvement] = []

    @property
    def is_over(self) -> bool:
        """Whether a limit is reached."""
        return self.evaluations >= self.most_evaluations or self.clock.expired

    @property
    def progress(self) -> float:
        """Part of the evaluations that is used up, from 0 to 1."""
        return min(1.0, self.evaluations / self.most_evaluations)

    def price(self, choice: Choice, since: Choice | None = None) -> float:
        """Return a choice's value; infinite if the memories do not hold it.

        Parameters
        ----------
        since : Choice or None
            What is priced already: only other partial mappings count.
        """
        new = len(choice.arcs) if since is None else choice.differences(since)
        self.evaluations += max(1, new)
        self.mappings += 1
        price = self.prices.of(choice)
        if not price.fits:
            self.misfits += 1
            return math.inf
        value = _value(self.objective, price.energy, price.latency)
        if value < self.value:
            self.best, self.value = choice, value
            spent = self.clock.cpu_seconds
            self.curve.append(Improvement(self.evaluations, spent, value))
            self.limits.tell(value)
        return value


class AnytimeSearch(ABC):
    """A method that draws and changes compatible choices.

    `deterministic_work` counts partial mappings priced (100,000 unless it is given);
    with it alone a seed always gives the same mappings in the same order.
    """

    name: str

    @abstractmethod
    def walk(self, choices: Choices, judge: Judge, random: Random) -> None:
        """Price choices until the judge says that it is over."""

    def solve(self, problem: FusionProblem, limits: Limits[FusionPlan]) -> FusionResult:
        """Generate partial mappings, and search.

        Raises
        ------
        InfeasibleError
            An einsum has no mapping at all; names the memory, its need and its size.
        """
        clock = Stopwatch(limits.seconds)
        try:
            pmappings = generate(
                problem.workload,
                problem.accelerator,
                problem.mapspace,
                problem.objective.criteria,
                clock,
            )
        except OutOfTime:
            return nothing(self.name, limits, clock)
        return self.search(pmappings, problem.objective, limits, clock)

    def search(
        self,
        pmappings: Pmappings,
        objective: Objective,
        limits: Limits[FusionPlan],
        clock: Stopwatch | None = None,
    ) -> FusionResult:
        """Search among partial mappings that are there; a front is taken as EDP.

        Parameters
        ----------
        clock : Stopwatch or None
            Running since the call began; None: it begins now.
        """
        clock = clock or Stopwatch(limits.seconds)
        judge = Judge(pmappings, objective, limits, clock)
        status = Status.UNKNOWN
        try:
            choices = Choices(pmappings, clock)
            if choices.is_empty:
                status = Status.INFEASIBLE
            else:
                self.walk(choices, judge, Random(limits.seed))
        except OutOfTime:
            pass
        plan = None
        if judge.best is not None:
            status, plan = Status.FEASIBLE, _plan(pmappings, judge.best, judge.prices)
        return FusionResult(
            method=self.name,
            status=status,
            plan=plan,
            objective=None if plan is None else plan.value(objective),
            seed=limits.seed,
            wall_seconds=clock.wall_seconds,
            cpu_seconds=clock.cpu_seconds,
            version=own_version(),
            statistics={
                "pmappings": sum(len(table) for table in pmappings.tables),
                "classes": sum(len(table.classes) for table in pmappings.tables),
                "evaluations": judge.evaluations,
                "mappings": judge.mappings,
                "misfits": judge.misfits,
            },
            curve=tuple(judge.curve),
        )


def nothing(method: str, limits: Limits[FusionPlan], clock: Stopwatch) -> FusionResult:
    """Return what a method answers that ran out of time before it had a mapping."""
    return FusionResult(
        method=method,
        status=Status.UNKNOWN,
        seed=limits.seed,
        wall_seconds=clock.wall_seconds,
        cpu_seconds=clock.cpu_seconds,
        version=own_version(),
    )


def first_that_fits(choices: Choices, judge: Judge, random: Random) -> Choice | None:
    """Draw choices until the memories hold one; None if it is over before."""
    while not judge.is_over:
        choice = choices.drawn(random)
        if math.isfinite(judge.price(choice)):
            return choice
    return None


def _value(objective: Objective, energy: float, latency: float) -> float:
    match objective:
        case Objective.ENERGY:
            return energy
        case Objective.LATENCY:
            return latency
        case _:
            return energy * latency


def _plan(pmappings: Pmappings, choice: Choice, prices: Prices) -> FusionPlan:
    price = prices.of(choice)
    return FusionPlan(rebuild(pmappings, choice.picks), price.energy, price.latency)
