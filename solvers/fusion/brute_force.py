"""Every choice of unpruned partial mappings: the oracle of all other methods."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from elkhound.model.errors import BadInputError
from elkhound.model.fusion.compatibility import Compatibility, Interface, advanced
from elkhound.model.fusion.front import front
from elkhound.model.fusion.mapspace import Objective
from elkhound.model.fusion.pmappings import (
    Pick,
    Pmappings,
    PmappingTable,
    generate,
    rebuild,
    shared_loops,
    used_later,
)
from elkhound.model.fusion.problem import FusionPlan, FusionProblem, FusionResult
from elkhound.model.limits import Limits
from elkhound.model.result import Status, own_version
from elkhound.model.stopwatch import OutOfTime, Stopwatch

MOST_EINSUMS = 3

_MOST_AT_ONCE = 2**20
"""Combinations in one array."""

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class BruteForce:
    """Try every row of every class of every einsum, and keep the best that fit."""

    name = "brute-force"

    def solve(self, problem: FusionProblem, limits: Limits[FusionPlan]) -> FusionResult:
        """Return the optimum or the front; a run cut short proves nothing.

        Raises
        ------
        BadInputError
            There are more than `MOST_EINSUMS` einsums.
        InfeasibleError
            An einsum has no mapping at all; names the memory, its need and its size.
        """
        einsums = len(problem.workload.einsums)
        if einsums > MOST_EINSUMS:
            raise BadInputError(
                f"takes at most {MOST_EINSUMS} einsums, {problem.workload.name} has "
                f"{einsums}",
                code="too-many-einsums",
            )
        watch = Stopwatch(limits.seconds)
        found = _Found(problem.objective)
        complete = True
        pmappings: Pmappings | None = None
        try:
            pmappings = generate(
                problem.workload, problem.accelerator, problem.mapspace, (), watch
            )
            for groups in _fitting_classes(pmappings):
                for rows in _pieces(pmappings, groups):
                    watch.check()
                    found.add(_Combinations(pmappings, groups, rows))
        except OutOfTime:
            complete = False
        plans = (
            [found.plan(pmappings, each) for each in found.best] if pmappings else []
        )
        best = min(plans, key=lambda p: p.value(problem.objective), default=None)
        is_front = problem.objective is Objective.FRONT
        value = None if best is None else best.value(problem.objective)
        return FusionResult(
            method=self.name,
            status=_status(best is not None, complete),
            plan=best,
            objective=value,
            lower_bound=value if complete and not is_front else None,
            front=tuple(plans) if is_front else (),
            seed=limits.seed,
            wall_seconds=watch.wall_seconds,
            cpu_seconds=watch.cpu_seconds,
            version=own_version(),
            statistics={
                "pmappings": sum(map(len, pmappings.tables)) if pmappings else 0,
                "mappings": found.mappings,
            },
        )


def _status(found: bool, complete: bool) -> Status:
    if found:
        return Status.OPTIMAL if complete else Status.FEASIBLE
    return Status.INFEASIBLE if complete else Status.UNKNOWN


def _fitting_classes(
    pmappings: Pmappings,
    chosen: tuple[int, ...] = (),
    interface: Interface | None = None,
) -> Iterator[tuple[int, ...]]:
    """Yield a class per einsum, in all ways that fit together."""
    index = len(chosen)
    if index == len(pmappings.tables):
        yield chosen
        return
    workload = pmappings.workload
    produced = workload.einsums[index].output.tensor
    later = used_later(workload, index)
    for group, own in enumerate(pmappings.tables[index].classes):
        following = advanced(interface or Interface(), own, produced, later)
        if following is not None:
            yield from _fitting_classes(pmappings, (*chosen, group), following)


def _pieces(pmappings: Pmappings, groups: tuple[int, ...]) -> Iterator[list[Ints]]:
    """Yield the rows of the classes, the first einsum's in parts that memory holds."""
    first, *others = (
        table.members[group]
        for table, group in zip(pmappings.tables, groups, strict=True)
    )
    step = max(1, _MOST_AT_ONCE // math.prod(len(rows) for rows in others))
    for start in range(0, len(first), step):
        yield [first[start : start + step], *others]


class _Combinations:
    """All combinations of rows of one class per einsum, as arrays with an axis each."""

    def __init__(
        self, pmappings: Pmappings, groups: tuple[int, ...], rows: list[Ints]
    ) -> None:
        self.pmappings = pmappings
        self.groups = groups
        self.rows = rows
        self.classes = tuple(
            table.classes[group]
            for table, group in zip(pmappings.tables, groups, strict=True)
        )
        self.shared = shared_loops(pmappings.workload, self.classes)

    def _spread(self, einsum: int, values: Floats) -> Floats:
        """Turn the values of one einsum's rows into its axis."""
        shape = [1] * len(self.rows)
        shape[einsum] = len(values)
        return values.reshape(shape)

    def total(self, criterion: str) -> Floats:
        """Return the sum of energies or latencies."""
        return _sum(
            self._spread(e, getattr(table, criterion)[rows])
            for e, (table, rows) in enumerate(
                zip(self.pmappings.tables, self.rows, strict=True)
            )
        )

    def fits(self) -> npt.NDArray[np.bool_]:
        """Whether every memory holds what it has to while every einsum runs."""
        fit = np.ones([len(rows) for rows in self.rows], bool)
        for m, name in enumerate(self.pmappings.tables[0].memories):
            size = self.pmappings.accelerator.memory(name).size_bits or 0
            for e in range(len(self.rows)):
                fit &= self._need(e, m, name) <= size
        return fit

    def _need(self, e: int, m: int, memory: str) -> Floats:
        """Return what a memory holds while einsum e runs."""
        needs = [self._spread(e, self._of(e).private_bits[self.rows[e], m])]
        for f in range(len(self.rows)):
            if f != e:
                above = self._of(f).above_bits[self.rows[f], m]
                depth = min(self._both(e, f), above.shape[1] - 1)
                needs.append(self._spread(f, above[:, depth]))
        once = self._shared_bits(e, memory) - self._bits_counted_twice(e, memory)
        return _sum(needs) + once

    def _shared_bits(self, e: int, memory: str) -> int:
        """Return the bits of shared tensors that are there while einsum e runs.

        A tensor is, from its first to its last user; under a loop that one of its users
        shares with e; and always, if it persists.
        """
        bits = 0
        for tensor, using in self._users().items():
            place = _place(self.classes[using[0]], tensor)
            if place is None or place[0] != memory:
                continue
            _, depth, size = place
            nearest = min(max(e, using[0]), using[-1])
            is_live = nearest == e or self._both(e, nearest) > depth
            if is_live or tensor in self.pmappings.workload.persistent:
                bits += size
        return bits

    def _bits_counted_twice(self, e: int, memory: str) -> int:
        """Return the bits of copies that rows of several users count, but for one each.

        A copy above loops that two users of a tensor share is one node.
        """
        bits = 0
        for tensor, using in self._users().items():
            for before, user in pairwise(using):
                (own,) = (x for x in self.classes[user].exchanges if x.tensor == tensor)
                for copy in own.copies:
                    is_one = copy.depth < self._both(before, user)
                    is_there = user == e or copy.depth < self._both(e, user)
                    if copy.memory == memory and is_one and is_there:
                        bits += copy.bits
        return bits

    def _users(self) -> dict[str, list[int]]:
        """Return the einsums that use each shared tensor, in order."""
        users: dict[str, list[int]] = {}
        for f, own in enumerate(self.classes):
            for exchange in own.exchanges:
                users.setdefault(exchange.tensor, []).append(f)
        return users

    def _both(self, e: int, f: int) -> int:
        """Return how many loops two einsums share."""
        return min(self.shared[min(e, f) : max(e, f)])

    def _of(self, e: int) -> PmappingTable:
        return self.pmappings.tables[e]


def _place(own: Compatibility, tensor: str) -> tuple[str, int, int] | None:
    for exchange in own.exchanges:
        if exchange.tensor == tensor:
            return exchange.memory, exchange.depth, exchange.bits
    return None


def _sum(parts: Iterable[Floats]) -> Floats:
    total: Floats = np.zeros(())
    for part in parts:
        total = total + part
    return total


@dataclass(frozen=True, slots=True)
class _Mapping:
    """One choice that fits."""

    energy: float
    latency: float
    choice: tuple[Pick, ...]


class _Found:
    """The best mappings so far: one, or the front by rising latency."""

    def __init__(self, objective: Objective) -> None:
        self.objective = objective
        self.best: list[_Mapping] = []
        self.mappings = 0

    def add(self, combinations: _Combinations) -> None:
        """Look at all combinations of rows of some classes."""
        fits = combinations.fits()
        self.mappings += int(fits.sum())
        if not fits.any():
            return
        energy = np.where(fits, combinations.total("energy"), np.inf)
        latency = np.where(fits, combinations.total("latency"), np.inf)
        for place in self._promising(energy, latency):
            where = np.unravel_index(place, energy.shape)
            choice = tuple(
                Pick(int(rows[i]), group)
                for rows, i, group in zip(
                    combinations.rows, where, combinations.groups, strict=True
                )
            )
            mapping = _Mapping(
                float(energy.flat[place]), float(latency.flat[place]), choice
            )
            self.best = self._best([*self.best, mapping])

    def _promising(self, energy: Floats, latency: Floats) -> Iterator[int]:
        """Yield places of the least value, or those that nothing faster is below."""
        match self.objective:
            case Objective.ENERGY:
                yield int(energy.argmin())
            case Objective.LATENCY:
                yield int(latency.argmin())
            case Objective.EDP:
                yield int((energy * latency).argmin())
            case Objective.FRONT:
                least = np.inf
                for place in np.lexsort((energy.ravel(), latency.ravel())):
                    if energy.flat[place] < least:
                        least = energy.flat[place]
                        yield int(place)

    def _best(self, found: list[_Mapping]) -> list[_Mapping]:
        if self.objective is not Objective.FRONT:
            return [min(found, key=self._value)]
        return list(front(found))

    def _value(self, mapping: _Mapping) -> float:
        match self.objective:
            case Objective.ENERGY:
                return mapping.energy
            case Objective.LATENCY:
                return mapping.latency
            case _:
                return mapping.energy * mapping.latency

    def plan(self, pmappings: Pmappings, mapping: _Mapping) -> FusionPlan:
        """Return a mapping as a plan."""
        tree = rebuild(pmappings, mapping.choice)
        return FusionPlan(tree, mapping.energy, mapping.latency)
