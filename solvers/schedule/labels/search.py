"""One pass over all stages: the best plan in classes, or a bound."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np

from elkhound.model.schedule import ScheduleProblem
from elkhound.model.stopwatch import Stopwatch
from elkhound.solvers.schedule.labels.classes import Classes
from elkhound.solvers.schedule.labels.columns import Columns, IntArray
from elkhound.solvers.schedule.labels.completion import Completion
from elkhound.solvers.schedule.labels.tables import tables

BYTES_OF_LABEL = 1500  # with the copies that a stage makes of it


class Trim(Protocol):
    """How a pass with too many labels goes on."""

    @property
    def most(self) -> int:
        """How many labels are few enough."""

    def __call__(self, labels: Columns, least: IntArray) -> IntArray:
        """Return the labels to keep, given a lower bound on what comes from each."""


@dataclass(frozen=True, slots=True)
class LowestBounds:
    """Keep the labels with the least lower bounds: what is lost is worth least."""

    most: int

    def __call__(self, labels: Columns, least: IntArray) -> IntArray:
        """Keep those below the bound of the first that is one too many."""
        return np.flatnonzero(least < np.partition(least, self.most)[self.most])


@dataclass(frozen=True, slots=True)
class BestOfEach:
    """Keep the best labels of each stratum, by number issued: a beam.

    Without strata all that is left has the same number issued, since bounds tie.
    """

    most: int

    def __call__(self, labels: Columns, least: IntArray) -> IntArray:
        """Keep the first by bound, then by 2 EE + R."""
        order = np.lexsort((2 * labels.ready + labels.hbm_free, least, labels.strata))
        issued = labels.strata[order]
        new = np.concatenate(([True], issued[1:] != issued[:-1]))
        begin = np.flatnonzero(new)[np.cumsum(new) - 1]
        kept: IntArray = order[np.arange(len(order)) - begin < self.most]
        return kept


@dataclass(frozen=True, slots=True)
class Choice:
    """A schedule in classes: the gate and the class of every operator."""

    gates: tuple[int | None, ...]
    classes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """What a pass found out.

    Parameters
    ----------
    value : int or None
        Makespan in classes of the best schedule it met; None if it met none below
        what was asked.
    choice : Choice or None
        That schedule, where a trace was kept.
    bound : int
        No schedule in the classes takes less.
    labels, most_labels : int
        How many labels were made, and the most kept after a stage.
    """

    value: int | None
    choice: Choice | None
    bound: int
    labels: int
    most_labels: int


@dataclass(frozen=True, slots=True)
class Budget:
    """What a pass may use; None for no limit.

    Parameters
    ----------
    labels : float or None
        Labels made.
    memory_bytes : int or None
        Of labels and trace, estimated.
    """

    labels: float | None = None
    memory_bytes: int | None = None


L = TypeVar("L", bound=Columns)


class Search(ABC, Generic[L]):
    """A pass through all stages; what a stage does depends on the order class.

    Parameters
    ----------
    problem, classes, completion
        What is searched, and its completion bounds.
    below : int
        Schedules from this makespan on are of no interest.
    trim : Trim
        What to do with too many labels.
    stopwatch : Stopwatch
        A pass that runs out of time keeps its bound.
    budget : Budget
        Labels it may make, and bytes it may take; beyond either it stops likewise.
    traced : bool
        Whether the schedule itself is wanted.
    """

    def __init__(
        self,
        problem: ScheduleProblem,
        classes: Classes,
        completion: Completion,
        below: int,
        trim: Trim,
        stopwatch: Stopwatch,
        budget: Budget,
        *,
        traced: bool,
    ) -> None:
        self.problem = problem
        self.classes = classes
        self.completion = completion
        self.below = self.bound = below
        self.proving = isinstance(trim, LowestBounds)
        self.trim = trim
        self.stopwatch = stopwatch
        self.budget = budget
        self.tables = tables(problem, classes)
        self.traced = traced
        self.made = self.trace_bytes = 0
        self.most = 1

    @abstractmethod
    def start(self) -> L:
        """Return the one label of an empty schedule."""

    @abstractmethod
    def stage(self, i: int, labels: L) -> L:
        """Return what the labels become when preloads are issued and E_i runs."""

    @abstractmethod
    def least(self, i: int, labels: L) -> IntArray:
        """Return a lower bound on every schedule that comes from a label before E_i."""

    @abstractmethod
    def trace_back(self, label: int) -> Choice:
        """Return the schedule of a label after the last stage."""

    def run(self) -> Found:
        """Go through all stages."""
        labels = self.start()
        for i in range(len(self.problem.operators)):
            labels = self.stage(i, labels)
            self.most = max(self.most, len(labels))
            if not len(labels):
                return self._found(None, None)
            if self.exhausted(len(labels)):
                self.lose(int(self.least(i + 1, labels).min()))
                return self._found(None, None)
        best = int(labels.ready.min())
        choice = None
        if self.traced:
            choice = self.trace_back(int(np.argmin(labels.ready)))
        self.bound = min(self.bound, best)
        return self._found(best, choice)

    def keep(self, i: int, labels: L) -> L:
        """Drop labels that cannot end in time, or are too many."""
        if not len(labels):
            return labels
        least = self.least(i, labels)
        kept = np.flatnonzero(least < self.below)
        labels, least = labels.take(kept), least[kept]
        return labels.take(self._trim(labels, least))

    def _trim(self, labels: L, least: IntArray) -> IntArray:
        """Return the labels to keep; nothing below the bounds of the others is lost."""
        if len(labels) <= self.trim.most:
            return np.arange(len(labels))
        kept = self.trim(labels, least)
        lost = np.ones(len(labels), dtype=bool)
        lost[kept] = False
        if lost.any():
            self.lose(int(least[lost].min()))
        return kept

    def lose(self, least: int) -> None:
        """Let labels go: no bound from here on is above their least."""
        self.bound = min(self.bound, least)
        if self.proving:
            self.below = self.bound  # what is above adds nothing to the proof

    def exhausted(self, in_stage: int) -> bool:
        """Whether time, labels or memory are used up."""
        limits = self.budget
        if limits.labels is not None and self.made > limits.labels:
            return True
        if limits.memory_bytes is not None:
            taken = in_stage * BYTES_OF_LABEL + self.trace_bytes
            if taken > limits.memory_bytes:
                return True
        return self.stopwatch.expired

    def abandon(self, i: int, parts: list[L]) -> L:
        """Leave a stage unfinished: what is open bounds what may come."""
        labels: L = parts[0].join(parts)
        self.lose(int(self.least(i, labels).min()))
        return labels.take(np.zeros(0, dtype=np.int64))

    def _found(self, value: int | None, choice: Choice | None) -> Found:
        return Found(value, choice, self.bound, self.made, self.most)
