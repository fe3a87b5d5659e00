"""Labels, and what issuing preloads and running an execute do to them."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from elkhound.model.schedule import Contention, ScheduleProblem
from elkhound.solvers.schedule.labels.classes import Classes
from elkhound.solvers.schedule.labels.columns import Columns, IntArray
from elkhound.solvers.schedule.labels.tables import Tables

MASK_BITS = 62


@dataclass(slots=True)
class Labels(Columns):
    """Partial schedules about to run E_i, one entry of each array per label.

    In identity order the preloads outstanding are P_f … P_{k−1}, f the first that
    belongs to an operator from i on, and of their ends only R is needed:
    max(PE_m, EE) = max(EE, R − Σ of h behind P_m). For if PE_m > EE = EE_{i−1}, every
    later one started when the one before ended; otherwise, let m* be the first that
    ends after EE: it had started by EE, and from there on there is no gap.

    Parameters
    ----------
    issued : array
        k.
    mask : array
        Class numbers of the outstanding preloads, that of P_f in the lowest bits.
    waiting_bytes, waiting_cycles : array
        Σ P and Σ h over them.
    linked : array
        How many of them have Y > 0.
    surplus, relief : array
        Σ of their surplus, and the relief of the last marked one (`Tables`).
    ready, hbm_free : array
        EE_{i−1}, and R ≥ EE_{i−1}.
    batch : array
        Σ Y of those gated at i, E_i's own apart.
    parent : array
        Number of the label before the last execute.
    own : array
        Class of that execute's own preload, 0 if it streamed nothing.
    """

    issued: IntArray
    mask: IntArray
    waiting_bytes: IntArray
    waiting_cycles: IntArray
    linked: IntArray
    surplus: IntArray
    relief: IntArray
    ready: IntArray
    hbm_free: IntArray
    batch: IntArray
    parent: IntArray
    own: IntArray

    @property
    def strata(self) -> IntArray:
        """Number issued."""
        return self.issued

    @classmethod
    def start(cls) -> Labels:
        """Return the one label of an empty schedule."""
        return cls(*(np.zeros(1, dtype=np.int64) for _ in fields(cls)))


class Stage:
    """What can happen between EE_{i−1} and EE_i.

    Parameters
    ----------
    problem : ScheduleProblem
        Its SRAM, K, rule and resident bytes.
    classes, tables : Classes, Tables
        Its options, in classes.
    i : int
        The execute.
    """

    def __init__(
        self, problem: ScheduleProblem, classes: Classes, tables: Tables, i: int
    ) -> None:
        operator = problem.operators[i]
        self.charge = problem.contention is Contention.CHARGE
        self.tables = tables
        self.first = int(tables.first[i])
        self.streams = operator.streams
        self.own = classes.operators[i]
        self.room_bytes = problem.sram_bytes - operator.resident_bytes
        limit = problem.max_outstanding
        self.most_issued = tables.preloads
        if limit is not None:
            self.most_issued = min(
                tables.preloads, self.first + int(self.streams) + limit
            )

    def own_class(self, labels: Labels) -> IntArray:
        """Return the class of E_i's own preload, 0 if it streams nothing."""
        if not self.streams:
            return np.zeros(len(labels), dtype=np.int64)
        width = self.tables.bits[self.first + 1] - self.tables.bits[self.first]
        return labels.mask & ((1 << int(width)) - 1)

    def need_own(self, labels: Labels) -> Labels:
        """Issue E_i's own preload where it is not issued yet: the last moment."""
        if not self.streams:
            return labels
        missing = labels.issued == self.first
        if not missing.any():
            return labels
        bare = labels.take(missing)
        issued = [self._issue(bare, c, own=True) for c in range(len(self.own))]
        return Labels.join([labels.take(~missing), *issued])

    def issue_next(self, labels: Labels) -> tuple[Labels, Labels]:
        """Issue one more preload, in every class that leaves room for E_i.

        Returns
        -------
        issued, masked_out : Labels
            The new labels, and the old ones whose mask had no bits left for one.
        """
        labels = labels.take(labels.issued < self.most_issued)
        bits = self.tables.bits
        used = bits[labels.issued + 1] - bits[self.first]
        full = used > MASK_BITS
        masked_out = labels.take(full)
        if full.any():
            labels = labels.take(~full)
        own = self.own_class(labels)
        least = np.array([int(c.own_bytes[0]) for c in self.own], dtype=np.int64)
        mine = np.array([c.preload_bytes for c in self.own], dtype=np.int64)
        room = self.room_bytes - least[own] - (labels.waiting_bytes - mine[own])
        parts = []
        for c in range(self.tables.most_classes):
            fits = self.tables.preload_bytes[labels.issued, c] <= room
            parts.append(self._issue(labels.take(fits), c, own=False))
        return Labels.join(parts), masked_out

    def _issue(self, labels: Labels, c: int, *, own: bool) -> Labels:
        tables, k = self.tables, labels.issued
        link_cycles = tables.link_cycles[k, c]
        cycles = tables.preload_cycles[k, c]
        shift = tables.bits[k] - tables.bits[self.first]
        return Labels(
            issued=k + 1,
            mask=labels.mask | (np.int64(c) << shift),
            waiting_bytes=labels.waiting_bytes + tables.preload_bytes[k, c],
            waiting_cycles=labels.waiting_cycles + cycles,
            linked=labels.linked + (link_cycles > 0),
            surplus=labels.surplus + tables.surplus[k, c],
            relief=np.where(tables.marked[k], tables.relief[k, c], labels.relief),
            ready=labels.ready,
            hbm_free=labels.hbm_free + cycles,
            batch=labels.batch if own else labels.batch + link_cycles,
            parent=labels.parent,
            own=labels.own,
        )

    def execute(self, labels: Labels) -> Labels:
        """Return the labels after E_i, run in the fastest variant that fits."""
        chosen = self.own_class(labels)
        parts = []
        for c in range(len(self.own)):
            of_class = labels if len(self.own) == 1 else labels.take(chosen == c)
            parts.append(self._execute_class(of_class, c))
        return Labels.join(parts)

    def _execute_class(self, labels: Labels, c: int) -> Labels:
        own, tables, first = self.own[c], self.tables, self.first
        beside = labels.waiting_bytes - own.preload_bytes
        room = self.room_bytes - beside
        place = np.searchsorted(own.own_bytes, room, side="right") - 1
        fits = place >= 0
        if not fits.all():
            labels, place, beside = labels.take(fits), place[fits], beside[fits]
        behind = labels.waiting_cycles - own.preload_cycles
        linked = labels.linked - int(own.link_cycles > 0)
        if self.charge:
            duration = own.charged(room[fits], labels.batch)
        else:
            duration = np.where(linked > 0, own.fastest_s[place], own.fastest_t[place])
        start = labels.ready
        mask, surplus = labels.mask, labels.surplus
        if self.streams:
            start = np.maximum(start, labels.hbm_free - behind)
            mask = mask >> int(tables.bits[first + 1] - tables.bits[first])
            surplus = surplus - tables.surplus[first, c]
        ready = start + duration
        return Labels(
            issued=labels.issued,
            mask=mask,
            waiting_bytes=beside,
            waiting_cycles=behind,
            linked=linked,
            surplus=surplus,
            relief=labels.relief,
            ready=ready,
            hbm_free=np.maximum(labels.hbm_free, ready),
            batch=np.zeros_like(ready),
            parent=labels.parent,
            own=np.full_like(ready, c),
        )
