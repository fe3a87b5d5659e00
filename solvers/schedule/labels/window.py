"""A pass in a window of orders; a window of N − 1 holds every order."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from elkhound.model.result import OrderClass
from elkhound.solvers.schedule.labels.search import Choice, Search
from elkhound.solvers.schedule.labels.window_stage import WindowLabels, WindowStage
from elkhound.solvers.schedule.minima import minima_of
from elkhound.solvers.schedule.reduce import earliest_gates

IntArray = npt.NDArray[np.int64]

NEIGHBOURS = 24  # labels before it that a label is compared to


class WindowSearch(Search[WindowLabels]):
    """Labels with the ends of all outstanding preloads (`window_stage`).

    Parameters
    ----------
    order : OrderClass
        A window, or free order.
    given, named
        As for `Search`.
    """

    def __init__(self, order: OrderClass, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        count = len(self.problem.operators)
        window = count - 1 if order.window is None else min(order.window, count - 1)
        self.width = window + 1
        self.earliest = earliest_gates(self.problem, order)
        self.least_h = np.array(minima_of(self.problem).h, dtype=np.int64)
        # By stage and label after it: parent, states, class of its own preload.
        self.trace: list[tuple[npt.NDArray[Any], ...]] = []

    def start(self) -> WindowLabels:
        """Return the one label of an empty schedule."""
        return WindowLabels.start(self.width)

    def stage(self, i: int, labels: WindowLabels) -> WindowLabels:
        """Issue any of the window, in index order, then run E_i."""
        stage = self._stage(i)
        labels.parent = np.arange(len(labels))
        labels = self.keep(i, stage.need_own(labels))
        for column in stage.open:
            if not len(labels):
                return labels
            more = stage.issue(labels, column)
            self.made += len(more)
            labels = self.keep(i, WindowLabels.join([labels, more]))
            if len(labels) and self.exhausted(len(labels)):
                return self.abandon(i, [labels])
        done = stage.execute(labels)
        done = done.take(np.flatnonzero(self.least(i + 1, done) < self.below))
        if len(done):
            done = self.keep(i + 1, done.take(_undominated(done)))
        if self.traced:
            state = done.state.astype(np.int16)
            self.trace.append((done.parent.astype(np.int32), state, done.own))
            self.trace_bytes += state.nbytes + 12 * len(done)
        return done

    def _stage(self, i: int) -> WindowStage:
        return WindowStage(
            self.problem, self.classes, self.tables, self.earliest, i, self.width
        )

    def least(self, i: int, labels: WindowLabels) -> IntArray:
        """Return EE + the bound on what is left."""
        tables, streaming = self.tables, self.problem.streaming
        begin = int(tables.first[i])
        marked = np.full(len(labels), begin, dtype=np.int64)
        reached = marked
        zero = np.zeros(len(labels), dtype=np.int64)
        missing, left_out, surplus, relief = zero, zero, zero, zero
        for k in range(begin, len(streaming)):
            column = streaming[k] - i
            if column >= self.width:
                break
            state = labels.state[:, column]
            issued = state > 0
            reached = np.where(issued, k + 1, reached)
            left_out = np.where(issued, missing, left_out)
            missing = missing + np.where(issued, 0, self.least_h[streaming[k]])
            if tables.marked[k]:
                c = np.maximum(state - 1, 0)
                marked = np.where(issued, k + 1, marked)
                surplus = surplus + np.where(issued, tables.surplus[k][c], 0)
                relief = np.where(issued, tables.relief[k][c], relief)
        lag = labels.hbm_free - labels.ready + left_out
        return labels.ready + self.completion.rest_of_any_order(
            i, marked, reached, lag, surplus - relief
        )

    def trace_back(self, label: int) -> Choice:
        """Read gates off the first stage after which a preload is issued."""
        count = len(self.problem.operators)
        gates: list[int | None] = [None] * count
        classes = [0] * count
        for i in reversed(range(count)):
            parents, states, own = self.trace[i]
            parent = int(parents[label])
            classes[i] = int(own[label])
            if self.problem.operators[i].streams and gates[i] is None:
                gates[i] = i
            for column in np.flatnonzero(states[label]):
                gates[i + 1 + int(column)] = i
            label = parent
        return Choice(tuple(gates), tuple(classes))


def _undominated(labels: WindowLabels) -> IntArray:
    """Return labels to keep: none that one of its neighbours is no later than.

    Labels of equal state hold the same bytes; the one that is no later in EE, R and the
    end of every outstanding preload can do what the other can. Sorted by EE and R,
    labels are compared with a number of those before them only: what is missed is time.
    """
    keys = [labels.state[:, n] for n in range(labels.state.shape[1])]
    order = np.lexsort((labels.hbm_free, labels.ready, *keys))
    times = np.column_stack((labels.ready, labels.hbm_free, labels.ends))[order]
    state = labels.state[order]
    keep = np.ones(len(order), dtype=bool)
    for back in range(1, min(NEIGHBOURS, len(order) - 1) + 1):
        same = (state[back:] == state[:-back]).all(axis=1)
        if not same.any():
            break
        later = (times[back:] >= times[:-back]).all(axis=1)
        keep[back:] &= ~(same & later)
    kept: IntArray = order[keep]
    return kept
