"""Joins partial mappings einsum by einsum: group, prune, join (paper §6.2)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from elkhound.heuristics.fusion.pareto_join.reservations import (
    Reserved,
    Step,
    after,
    reserved_by_none,
)
from elkhound.model.fusion.compatibility import (
    Compatibility,
    Exchange,
    Interface,
    Live,
    advanced,
)
from elkhound.model.fusion.front import ROUNDING, front
from elkhound.model.fusion.pmappings import Pick, Pmappings, PmappingTable, used_later
from elkhound.model.fusion.pmappings.pareto import pareto
from elkhound.model.stopwatch import Stopwatch

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Joined:
    """One joined mapping.

    Parameters
    ----------
    energy, latency : float
        In the accelerator's units.
    choice : tuple of Pick
        One per einsum.
    """

    energy: float
    latency: float
    choice: tuple[Pick, ...]


@dataclass(frozen=True, slots=True)
class _Rows:
    """Joined rows with one interface.

    Parameters
    ----------
    energy, latency : array
        Sums so far.
    reserved : Reserved
        Capacity.
    back : array of rows × 4
        Interface and row before, row and class of the einsum's table.
    """

    energy: Floats
    latency: Floats
    reserved: Reserved
    back: Ints

    def taken(self, rows: Ints) -> _Rows:
        return _Rows(
            self.energy[rows],
            self.latency[rows],
            self.reserved.taken(rows),
            self.back[rows],
        )


def join(
    pmappings: Pmappings,
    criteria: tuple[str, ...],
    most: Mapping[str, float] | None = None,
    clock: Stopwatch | None = None,
) -> tuple[Joined, ...]:
    """Return the best mappings in these criteria, by rising latency.

    Parameters
    ----------
    criteria : tuple of str
        Of ``energy`` and ``latency``; both give the front, none gives all mappings.
    most : mapping of str to float, optional
        Leave out mappings that exceed this in a criterion: rows are dropped as soon as
        they do with the least that the einsums still to come cost.
    clock : Stopwatch, optional
        No limit if left out.

    Raises
    ------
    OutOfTime
        The limit was reached.
    """
    *history, last = _steps(pmappings, criteria, most or {}, clock)
    found = [
        _traced(history, rows, row) for rows in last for row in range(len(rows.energy))
    ]
    return _front(found, criteria)


def least_peaks(pmappings: Pmappings, clock: Stopwatch | None = None) -> dict[str, int]:
    """Return, by memory, the least bits that any joined mapping fills at its peak.

    Nothing if no partial mappings fit together. The rows of a table may be pruned:
    what prunes a row fills no more.
    """
    *_, last = _steps(pmappings, ("energy",), {}, clock)
    if not last:
        return {}
    peaks = np.concatenate([rows.reserved.peak[:, :, 0] for rows in last])
    memories = pmappings.tables[0].memories
    return dict(zip(memories, (int(bits) for bits in peaks.min(axis=0)), strict=True))


def _steps(
    pmappings: Pmappings,
    criteria: tuple[str, ...],
    most: Mapping[str, float],
    clock: Stopwatch | None,
) -> Iterator[list[_Rows]]:
    """Yield the rows before the first einsum and after every one, while any fit."""
    if not all(len(table.classes) for table in pmappings.tables):
        yield []
        return
    accelerator = pmappings.accelerator
    memories = pmappings.tables[0].memories
    capacity = np.array(
        [accelerator.memory(name).size_bits or 0 for name in memories], float
    )
    start = _Rows(
        np.zeros(1), np.zeros(1), reserved_by_none(len(memories)), np.zeros((1, 4), int)
    )
    states: dict[Interface, _Rows] = {Interface(): start}
    yield list(states.values())
    for index, table in enumerate(pmappings.tables):
        if clock is not None:
            clock.check()
        bound = _Bound.after(pmappings, index, most)
        states = _joined(pmappings, table, index, states, capacity, criteria, bound)
        yield list(states.values())


def _joined(
    pmappings: Pmappings,
    table: PmappingTable,
    index: int,
    states: dict[Interface, _Rows],
    capacity: Floats,
    criteria: tuple[str, ...],
    bound: _Bound,
) -> dict[Interface, _Rows]:
    """Return all rows after one more einsum, pruned by interface."""
    later = used_later(pmappings.workload, index)
    produced = pmappings.workload.einsums[index].output.tensor
    found: dict[Interface, list[_Rows]] = defaultdict(list)
    fitting = _Index(table)
    for number, (interface, rows) in enumerate(states.items()):
        for group in bound.promising(rows, fitting.groups(interface)):
            own = table.classes[group]
            following = advanced(interface, own, produced, later)
            if following is None:
                continue
            step = _step(table.memories, interface, own, following)
            joined = _product(table, rows, number, group, step, capacity)
            joined = joined.taken(bound.kept(joined))
            if len(joined.energy):
                found[following].append(joined)
    return {
        interface: _pruned(_concatenated(parts), criteria)
        for interface, parts in found.items()
    }


@dataclass(frozen=True, slots=True)
class _Bound:
    """What rows may cost after an einsum.

    Parameters
    ----------
    energy, latency : float
        The most, less what the einsums still to come cost at least.
    least_energy, least_latency : array of classes
        What the einsum's own classes cost at least.
    """

    energy: float
    latency: float
    least_energy: Floats
    least_latency: Floats

    @classmethod
    def after(
        cls, pmappings: Pmappings, index: int, most: Mapping[str, float]
    ) -> _Bound:
        table, later = pmappings.tables[index], pmappings.tables[index + 1 :]
        limit = {name: value * (1 + ROUNDING) for name, value in most.items()}
        return cls(
            limit.get("energy", np.inf) - sum(float(t.energy.min()) for t in later),
            limit.get("latency", np.inf) - sum(float(t.latency.min()) for t in later),
            np.array([table.energy[rows].min() for rows in table.members]),
            np.array([table.latency[rows].min() for rows in table.members]),
        )

    def promising(self, rows: _Rows, groups: Ints) -> list[int]:
        """Return the classes that may stay below."""
        fits = self.least_energy[groups] + rows.energy.min() <= self.energy
        fits &= self.least_latency[groups] + rows.latency.min() <= self.latency
        return [int(group) for group in groups[fits]]

    def kept(self, rows: _Rows) -> Ints:
        """Return the rows that are below."""
        return np.flatnonzero(
            (rows.energy <= self.energy) & (rows.latency <= self.latency)
        )


class _Index:
    """Classes of a table by where they have the tensors they share."""

    def __init__(self, table: PmappingTable) -> None:
        self.table = table
        self.by_tensors: dict[tuple[str, ...], dict[object, Ints]] = {}

    def groups(self, interface: Interface) -> Ints:
        """Return the classes that may fit an interface; few others are among them."""
        own = {e.tensor for e in self.table.classes[0].exchanges}
        used = tuple(live.tensor for live in interface.live if live.tensor in own)
        if used not in self.by_tensors:
            index: dict[object, list[int]] = defaultdict(list)
            for group, compatibility in enumerate(self.table.classes):
                index[_met(compatibility, used)].append(group)
            self.by_tensors[used] = {
                key: np.array(groups, np.int64) for key, groups in index.items()
            }
        wanted = _left(interface, used)
        return self.by_tensors[used].get(wanted, np.zeros(0, np.int64))


def _met(compatibility: Compatibility, used: tuple[str, ...]) -> object:
    of = {exchange.tensor: exchange for exchange in compatibility.exchanges}
    mine = [of[tensor] for tensor in used]
    depth = max((exchange.depth for exchange in mine), default=0)
    cuts = tuple(loop.cut for loop in compatibility.loops[:depth])
    return cuts, tuple((e.memory, e.axes[: e.depth]) for e in mine)


def _left(interface: Interface, used: tuple[str, ...]) -> object:
    mine = [live for live in interface.live if live.tensor in used]
    depth = max((live.depth for live in mine), default=0)
    return interface.cuts[:depth], tuple((t.memory, t.axes[: t.depth]) for t in mine)


def _step(
    memories: tuple[str, ...],
    interface: Interface,
    own: Compatibility,
    following: Interface,
) -> Step:
    known = {t.tensor for t in interface.live}
    still = {t.tensor for t in following.live}
    fresh = [_Held.of(e) for e in own.exchanges if e.tensor not in known]
    live = [_Held.of(t) for t in interface.live]
    retired = [held for held in (*live, *fresh) if held.tensor not in still]
    mine = {e.tensor for e in own.exchanges}
    merged = [  # both einsums count a copy that stands above loops they share
        _Held(t.tensor, copy.memory, copy.depth, -copy.bits)
        for t in interface.live
        for copy in t.copies
        if t.tensor in mine
    ]
    width = max(len(interface.cuts), len(following.cuts)) + 1
    return Step(
        held_bits=_under(memories, (*live, *fresh, *merged), None),
        opened=_under(memories, (*fresh, *merged), width),
        retired=_under(memories, (*retired, *merged), width),
        shared=len(following.cuts),
    )


@dataclass(frozen=True, slots=True)
class _Held:
    """Bits of a shared tensor."""

    tensor: str
    memory: str
    depth: int
    bits: int

    @classmethod
    def of(cls, place: Exchange | Live) -> _Held:
        return cls(place.tensor, place.memory, place.depth, place.bits)


def _under(
    memories: tuple[str, ...], held: Sequence[_Held], width: int | None
) -> Floats:
    """Return bits by memory; with a width, those under less than 0, 1, … loops."""
    bits = np.zeros((len(memories), 1 if width is None else width))
    for tensor in held:
        if tensor.memory in memories:
            first = 0 if width is None else tensor.depth + 1
            bits[memories.index(tensor.memory), first:] += tensor.bits
    return bits[:, 0] if width is None else bits


def _product(
    table: PmappingTable,
    rows: _Rows,
    number: int,
    group: int,
    step: Step,
    capacity: Floats,
) -> _Rows:
    """Return all pairs of rows that fit."""
    mine = table.members[group]
    left = np.repeat(np.arange(len(rows.energy)), len(mine))
    right = np.tile(mine, len(rows.energy))
    reserved, fits = after(
        rows.reserved.taken(left),
        table.private_bits[right],
        _widened(table.above_bits, step, rows)[right],
        step,
        capacity,
    )
    kept = np.flatnonzero(fits)
    left, right = left[kept], right[kept]
    back = np.stack(
        [np.full(len(kept), number), left, right, np.full(len(kept), group)], axis=1
    )
    return _Rows(
        rows.energy[left] + table.energy[right],
        rows.latency[left] + table.latency[right],
        reserved.taken(kept),
        back,
    )


def _widened(above: Floats, step: Step, rows: _Rows) -> Floats:
    """Repeat the last prefix sum where the interfaces are deeper than the table."""
    width = max(rows.reserved.above.shape[2], step.shared + 1)
    missing = width - above.shape[2]
    if missing <= 0:
        return above
    return np.concatenate([above, above[:, :, -1:].repeat(missing, axis=2)], axis=2)


def _concatenated(parts: list[_Rows]) -> _Rows:
    return _Rows(
        np.concatenate([part.energy for part in parts]),
        np.concatenate([part.latency for part in parts]),
        Reserved(
            np.concatenate([part.reserved.above for part in parts]),
            np.concatenate([part.reserved.peak for part in parts]),
        ),
        np.concatenate([part.back for part in parts]),
    )


def _pruned(rows: _Rows, criteria: tuple[str, ...]) -> _Rows:
    """Keep rows that no other one beats in the criteria and in every reservation."""
    if not criteria:
        return rows
    count = len(rows.energy)
    objectives = {"energy": rows.energy, "latency": rows.latency}
    values = np.column_stack(
        [
            *(objectives[name] for name in criteria),
            rows.reserved.above.reshape(count, -1),
            rows.reserved.peak.reshape(count, -1),
        ]
    )
    values = values[:, np.ptp(values, axis=0) > 0]
    return rows.taken(pareto(np.zeros(count, np.int64), values))


def _traced(history: list[list[_Rows]], rows: _Rows, row: int) -> Joined:
    choice = []
    energy, latency = float(rows.energy[row]), float(rows.latency[row])
    for states in reversed(history):
        number, row, mine, group = (int(value) for value in rows.back[row])
        choice.append(Pick(mine, group))
        rows = states[number]
    return Joined(energy, latency, tuple(reversed(choice)))


def _front(found: list[Joined], criteria: tuple[str, ...]) -> tuple[Joined, ...]:
    ordered = sorted(found, key=lambda each: (each.latency, each.energy))
    match criteria:
        case ():
            return tuple(ordered)
        case (name,):
            return tuple(sorted(ordered, key=lambda each: getattr(each, name))[:1])
        case _:
            return front(ordered)
