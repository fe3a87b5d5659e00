"""One pass over all stages: the best plan in classes, or a bound."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from elkhound.model.schedule import ScheduleProblem
from elkhound.solvers.backends.stopwatch import Stopwatch
from elkhound.solvers.schedule.labels.classes import Classes
from elkhound.solvers.schedule.labels.completion import Completion
from elkhound.solvers.schedule.labels.dominance import undominated
from elkhound.solvers.schedule.labels.stage import Labels, Stage
from elkhound.solvers.schedule.labels.tables import tables

IntArray = npt.NDArray[np.int64]

BYTES_OF_LABEL = 500  # with the copies that a stage makes of it
BYTES_OF_TRACE = 10


class Trim(Protocol):
    """How a pass with too many labels goes on."""

    @property
    def most(self) -> int:
        """How many labels are few enough."""

    def __call__(self, labels: Labels, least: IntArray) -> IntArray:
        """Return the labels to keep, given a lower bound on what comes from each."""


@dataclass(frozen=True, slots=True)
class LowestBounds:
    """Keep the labels with the least lower bounds: what is lost is worth least."""

    most: int

    def __call__(self, labels: Labels, least: IntArray) -> IntArray:
        """Keep those below the bound of the first that is one too many."""
        return np.flatnonzero(least < np.partition(least, self.most)[self.most])


@dataclass(frozen=True, slots=True)
class BestOfEach:
    """Keep the best labels of each number issued: a beam.

    Without the strata all that is left has the same number issued, since bounds tie.
    """

    most: int

    def __call__(self, labels: Labels, least: IntArray) -> IntArray:
        """Keep the first by bound, then by 2 EE + R."""
        order = np.lexsort((2 * labels.ready + labels.hbm_free, least, labels.issued))
        issued = labels.issued[order]
        new = np.concatenate(([True], issued[1:] != issued[:-1]))
        begin = np.flatnonzero(new)[np.cumsum(new) - 1]
        kept: IntArray = order[np.arange(len(order)) - begin < self.most]
        return kept


@dataclass(slots=True)
class Trace:
    """For every stage and label after it: parent, k, and class of its own preload."""

    parent: list[IntArray] = field(default_factory=list)
    issued: list[IntArray] = field(default_factory=list)
    own: list[IntArray] = field(default_factory=list)


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


class Search:
    """A pass.

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
        self.trace = Trace() if traced else None
        self.made = self.traced = 0
        self.most = 1

    def run(self) -> Found:
        """Go through all stages."""
        labels = Labels.start()
        count = len(self.problem.operators)
        for i in range(count):
            labels = self._stage(i, labels)
            if not len(labels):
                return self._found(None, None)
            if self._exhausted(len(labels)):
                self._lose(int(self._least(i + 1, labels).min()))
                return self._found(None, None)
        best = int(labels.ready.min())
        choice = None
        if self.trace is not None:
            choice = self._trace_back(int(np.argmin(labels.ready)))
        self.bound = min(self.bound, best)
        return self._found(best, choice)

    def _stage(self, i: int, labels: Labels) -> Labels:
        stage = Stage(self.problem, self.classes, self.tables, i)
        labels.parent = np.arange(len(labels))
        frontier = self._keep(i, stage.need_own(labels))
        ready = []
        while len(frontier):
            ready.append(frontier)
            frontier, masked_out = stage.issue_next(frontier)
            if len(masked_out):
                self._lose(int(self._least(i, masked_out).min()))
            self.made += len(frontier)
            frontier = self._keep(i, frontier)
            if self._exhausted(sum(map(len, ready))):
                return self._abandon(i, [*ready, frontier])
        if not ready:
            return labels.take(np.zeros(0, dtype=np.int64))
        done, own = stage.execute(Labels.join(ready))
        kept = np.flatnonzero(self._least(i + 1, done) < self.below)
        done, own = done.take(kept), own[kept]
        if len(done):
            kept = undominated(done)
            done, own = done.take(kept), own[kept]
            kept = self._trim(done, self._least(i + 1, done))
            done, own = done.take(kept), own[kept]
        self.most = max(self.most, len(done))
        if self.trace is not None:
            self.traced += len(done)
            self.trace.parent.append(done.parent.astype(np.int32))
            self.trace.issued.append(done.issued.astype(np.int32))
            self.trace.own.append(own.astype(np.int16))
        return done

    def _keep(self, i: int, labels: Labels) -> Labels:
        """Drop labels that cannot end in time, or are too many."""
        if not len(labels):
            return labels
        least = self._least(i, labels)
        kept = np.flatnonzero(least < self.below)
        labels, least = labels.take(kept), least[kept]
        return labels.take(self._trim(labels, least))

    def _trim(self, labels: Labels, least: IntArray) -> IntArray:
        """Return the labels to keep; nothing below the bounds of the others is lost."""
        if len(labels) <= self.trim.most:
            return np.arange(len(labels))
        kept = self.trim(labels, least)
        lost = np.ones(len(labels), dtype=bool)
        lost[kept] = False
        if lost.any():
            self._lose(int(least[lost].min()))
        return kept

    def _lose(self, least: int) -> None:
        self.bound = min(self.bound, least)
        if self.proving:
            self.below = self.bound  # what is above adds nothing to the proof

    def _least(self, i: int, labels: Labels) -> IntArray:
        return labels.ready + self.completion.rest(
            i,
            labels.issued,
            labels.hbm_free - labels.ready,
            labels.surplus - labels.relief,
        )

    def _exhausted(self, in_stage: int) -> bool:
        limits = self.budget
        if limits.labels is not None and self.made > limits.labels:
            return True
        if limits.memory_bytes is not None:
            taken = in_stage * BYTES_OF_LABEL + self.traced * BYTES_OF_TRACE
            if taken > limits.memory_bytes:
                return True
        return self.stopwatch.expired

    def _abandon(self, i: int, parts: list[Labels]) -> Labels:
        """Leave a stage unfinished: what is open bounds what may come."""
        parts = [part for part in parts if len(part)]
        if parts:
            least = self._least(i, Labels.join(parts))
            self._lose(int(least.min()))
        return Labels.join(parts).take(np.zeros(0, dtype=np.int64))

    def _trace_back(self, label: int) -> Choice:
        assert self.trace is not None
        count = len(self.problem.operators)
        gates: list[int | None] = [None] * count
        classes = [0] * count
        streaming = self.problem.streaming
        for i in reversed(range(count)):
            parent = int(self.trace.parent[i][label])
            before = int(self.trace.issued[i - 1][parent]) if i else 0
            for k in range(before, int(self.trace.issued[i][label])):
                gates[streaming[k]] = i
            classes[i] = int(self.trace.own[i][label])
            label = parent
        return Choice(tuple(gates), tuple(classes))

    def _found(self, value: int | None, choice: Choice | None) -> Found:
        return Found(value, choice, self.bound, self.made, self.most)
