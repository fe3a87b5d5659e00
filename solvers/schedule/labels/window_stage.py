"""Labels where preloads may overtake each other inside a window of operators."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from elkhound.model.schedule import Contention, ScheduleProblem
from elkhound.solvers.schedule.labels.classes import Classes
from elkhound.solvers.schedule.labels.columns import Columns, IntArray
from elkhound.solvers.schedule.labels.tables import Tables


@dataclass(slots=True)
class WindowLabels(Columns):
    """Partial schedules about to run E_i, one row of each array per label.

    Parameters
    ----------
    state : array
        One column for each of the operators i … i+W: class number + 1 if its preload
        is issued, else 0.
    ends : array
        max(PE_j, EE_{i−1}) of the issued ones, else 0.
    ready, hbm_free : array
        EE_{i−1}, and R ≥ EE_{i−1}.
    batch : array
        Σ Y of those gated at i, E_i's own apart.
    parent : array
        Number of the label before the last execute.
    own : array
        Class of that execute's own preload, 0 if it streamed nothing.
    """

    state: IntArray
    ends: IntArray
    ready: IntArray
    hbm_free: IntArray
    batch: IntArray
    parent: IntArray
    own: IntArray

    @property
    def strata(self) -> IntArray:
        """Number issued."""
        issued: IntArray = np.count_nonzero(self.state, axis=1)
        return issued

    @classmethod
    def start(cls, width: int) -> WindowLabels:
        """Return the one label of an empty schedule."""
        empty = [np.zeros((1, width), dtype=np.int64) for _ in range(2)]
        return cls(*empty, *(np.zeros(1, dtype=np.int64) for _ in range(5)))


class WindowStage:
    """What can happen between EE_{i−1} and EE_i.

    Parameters
    ----------
    problem : ScheduleProblem
        Its SRAM, K, rule and resident bytes.
    classes, tables : Classes, Tables
        Its options, in classes.
    earliest : tuple of (int or None)
        Lower bounds on the gates.
    i, width : int
        The execute, and how many operators from it on may have been issued.
    """

    def __init__(
        self,
        problem: ScheduleProblem,
        classes: Classes,
        tables: Tables,
        earliest: tuple[int | None, ...],
        i: int,
        width: int,
    ) -> None:
        count = len(problem.operators)
        operator = problem.operators[i]
        self.charge = problem.contention is Contention.CHARGE
        self.limit = problem.max_outstanding
        self.streams = operator.streams
        self.own = classes.operators[i]
        self.room_bytes = problem.sram_bytes - operator.resident_bytes
        self.width = width
        self.tables = tables
        first = int(tables.first[i])
        self.columns = {  # column of every streaming operator in the window: its k
            j - i: first + n
            for n, j in enumerate(problem.streaming[first:])
            if j < min(count, i + width)
        }
        self.open = [
            column
            for column in self.columns
            if (earliest[i + column] or 0) <= i and column > 0
        ]

    def sum_waiting(self, labels: WindowLabels, table: IntArray) -> IntArray:
        """Return the sum of a table over the issued preloads, E_i's own apart."""
        total = np.zeros(len(labels), dtype=np.int64)
        for column, k in self.columns.items():
            if column:
                total += np.concatenate(([0], table[k]))[labels.state[:, column]]
        return total

    def need_own(self, labels: WindowLabels) -> WindowLabels:
        """Issue E_i's own preload where it is not issued yet: the last moment.

        It is the first of its batch, since batches go in index order. Labels that
        leave E_i too few bytes, whether it streams or not, end here.
        """
        if self.streams:
            missing = labels.state[:, 0] == 0
            bare = labels.take(missing)
            issued = [self._issue(bare, 0, c) for c in range(len(self.own))]
            labels = WindowLabels.join([labels.take(~missing), *issued])
        return labels.take(self._room(labels) >= 0)

    def issue(self, labels: WindowLabels, column: int) -> WindowLabels:
        """Issue the preload of a column in every class that leaves room for E_i."""
        labels = labels.take(labels.state[:, column] == 0)
        if self.limit is not None:
            waiting = np.count_nonzero(labels.state[:, 1:], axis=1)
            labels = labels.take(waiting < self.limit)
        room = self._room(labels)
        sizes = self.tables.preload_bytes[self.columns[column]]
        return WindowLabels.join(
            [
                self._issue(labels.take(size <= room), column, c)
                for c, size in enumerate(sizes)
            ]
        )

    def _room(self, labels: WindowLabels) -> IntArray:
        """Return the bytes left beside the least of E_i and what waits."""
        least = np.array([int(c.own_bytes[0]) for c in self.own], dtype=np.int64)
        waiting = self.sum_waiting(labels, self.tables.preload_bytes)
        room: IntArray = self.room_bytes - least[self._own_class(labels)] - waiting
        return room

    def _own_class(self, labels: WindowLabels) -> IntArray:
        if not self.streams:
            return np.zeros(len(labels), dtype=np.int64)
        own: IntArray = labels.state[:, 0] - 1
        return own

    def _issue(self, labels: WindowLabels, column: int, c: int) -> WindowLabels:
        k = self.columns[column]
        hbm_free = labels.hbm_free + self.tables.preload_cycles[k, c]
        state, ends = labels.state.copy(), labels.ends.copy()
        state[:, column] = c + 1
        ends[:, column] = hbm_free
        batch = labels.batch
        if column:
            batch = batch + self.tables.link_cycles[k, c]
        return WindowLabels(
            state, ends, labels.ready, hbm_free, batch, labels.parent, labels.own
        )

    def execute(self, labels: WindowLabels) -> WindowLabels:
        """Return the labels after E_i, run in the fastest variant that fits."""
        chosen = self._own_class(labels)
        parts = [
            self._execute_class(labels.take(chosen == c), c)
            for c in range(len(self.own))
        ]
        return WindowLabels.join(parts)

    def _execute_class(self, labels: WindowLabels, c: int) -> WindowLabels:
        own = self.own[c]
        room = self.room_bytes - self.sum_waiting(labels, self.tables.preload_bytes)
        linked = self.sum_waiting(labels, self.tables.link_cycles)
        place = np.searchsorted(own.own_bytes, room, side="right") - 1
        if self.charge:
            duration = own.charged(room, labels.batch)
        else:
            duration = np.where(linked > 0, own.fastest_s[place], own.fastest_t[place])
        start = np.maximum(labels.ready, labels.ends[:, 0])
        ready = start + duration
        state = np.zeros_like(labels.state)
        state[:, :-1] = labels.state[:, 1:]
        ends = np.zeros_like(labels.ends)
        ends[:, :-1] = labels.ends[:, 1:]
        ends = np.where(state > 0, np.maximum(ends, ready[:, None]), 0)
        return WindowLabels(
            state,
            ends,
            ready,
            np.maximum(labels.hbm_free, ready),
            np.zeros_like(ready),
            labels.parent,
            np.full_like(ready, c),
        )
