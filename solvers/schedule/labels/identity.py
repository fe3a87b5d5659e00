"""A pass in identity order."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from elkhound.solvers.schedule.labels.dominance import undominated
from elkhound.solvers.schedule.labels.search import Choice, Search
from elkhound.solvers.schedule.labels.stage import Labels, Stage

IntArray = npt.NDArray[np.int64]

BYTES_OF_TRACE = 10


class IdentitySearch(Search[Labels]):
    """Labels of two numbers (`stage`). Parameters are those of `Search`."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        # By stage and label after it: parent, k, and class of its own preload.
        self.trace: list[tuple[npt.NDArray[Any], ...]] = []

    def start(self) -> Labels:
        """Return the one label of an empty schedule."""
        return Labels.start()

    def stage(self, i: int, labels: Labels) -> Labels:
        """Issue one preload after the other, then run E_i."""
        stage = Stage(self.problem, self.classes, self.tables, i)
        labels.parent = np.arange(len(labels))
        frontier = self.keep(i, stage.need_own(labels))
        ready = []
        while len(frontier):
            ready.append(frontier)
            frontier, masked_out = stage.issue_next(frontier)
            if len(masked_out):
                self.lose(int(self.least(i, masked_out).min()))
            self.made += len(frontier)
            frontier = self.keep(i, frontier)
            if self.exhausted(sum(map(len, ready))):
                return self.abandon(i, [*ready, frontier])
        if not ready:
            return frontier
        done = stage.execute(Labels.join(ready))
        kept = np.flatnonzero(self.least(i + 1, done) < self.below)
        done = done.take(kept)
        if len(done):
            done = self.keep(i + 1, done.take(undominated(done)))
        if self.traced:
            self.trace_bytes += len(done) * BYTES_OF_TRACE
            self.trace.append(
                (
                    done.parent.astype(np.int32),
                    done.issued.astype(np.int32),
                    done.own.astype(np.int16),
                )
            )
        return done

    def least(self, i: int, labels: Labels) -> IntArray:
        """Return EE + the bound on what is left."""
        return labels.ready + self.completion.rest(
            i,
            labels.issued,
            labels.hbm_free - labels.ready,
            labels.surplus - labels.relief,
        )

    def trace_back(self, label: int) -> Choice:
        """Read gates off the numbers issued."""
        count = len(self.problem.operators)
        gates: list[int | None] = [None] * count
        classes = [0] * count
        streaming = self.problem.streaming
        for i in reversed(range(count)):
            parents, issued, own = self.trace[i]
            parent = int(parents[label])
            before = int(self.trace[i - 1][1][parent]) if i else 0
            for k in range(before, int(issued[label])):
                gates[streaming[k]] = i
            classes[i] = int(own[label])
            label = parent
        return Choice(tuple(gates), tuple(classes))
