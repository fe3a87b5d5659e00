"""Exact dynamic programme for allocation: a multiple-choice knapsack over labels."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from elkhound.model.allocation import (
    Allocation,
    AllocationProblem,
    chosen,
    pareto,
)
from elkhound.model.limits import Limits
from elkhound.model.result import (
    Bound,
    BoundKind,
    OrderClass,
    Result,
    Status,
    own_version,
)
from elkhound.model.stopwatch import Stopwatch
from elkhound.solvers.allocation.completion import (
    Completion,
    Integers,
    completions,
    integer_type,
)


class KnapsackDp:
    """Extend the Pareto front of (bytes, cycles) item by item, and prune it.

    A label is a choice for the first i items. It goes when another takes no more
    bytes and no more cycles, or when its cycles and the relaxation of the other items
    (`completion`) together do not beat the best choice known. That relaxation rounded
    down completes every label to such a choice, so no heuristic is needed. All in
    exact integers, without scaling.
    """

    name = "knapsack-dp"

    def allocate(self, problem: AllocationProblem) -> Allocation | None:
        """Return the optimum, or None if there is no choice that fits."""
        search = _Search(problem, Limits(seconds=1e9))
        search.run()
        return search.best

    def solve(
        self, problem: AllocationProblem, limits: Limits[Allocation]
    ) -> Result[Allocation]:
        """Return the optimum with proof, or what is known at the limit.

        `deterministic_work` counts labels; `memory_bytes` covers the labels.
        """
        watch = Stopwatch(limits.seconds)
        search = _Search(problem, limits, watch)
        search.run()
        return Result(
            method=self.name,
            status=search.status,
            plan=search.best,
            objective=search.best_cycles,
            bound=search.proven,
            seed=limits.seed,
            wall_seconds=watch.wall_seconds,
            cpu_seconds=watch.cpu_seconds,
            version=own_version(),
            statistics={"labels": search.labels, "widest_front": search.widest},
        )


@dataclass(frozen=True, slots=True)
class _Front:
    """Labels of one stage: where each came from and the option it added."""

    size_bytes: Integers
    cycles: Integers
    parent: Integers
    option: Integers

    def keep(self, which: Integers) -> _Front:
        return _Front(
            self.size_bytes[which],
            self.cycles[which],
            self.parent[which],
            self.option[which],
        )

    @property
    def nbytes(self) -> int:
        """Memory of the four arrays."""
        arrays = (self.size_bytes, self.cycles, self.parent, self.option)
        return sum(array.nbytes for array in arrays)


@dataclass(slots=True)
class _Search:
    """One run of the programme."""

    problem: AllocationProblem
    limits: Limits[Allocation]
    watch: Stopwatch = field(default_factory=lambda: Stopwatch(1e9))
    best: Allocation | None = None
    best_cycles: int | None = None
    least_open: int | None = None  # least bound of the labels left at a limit
    labels: int = 0
    widest: int = 0
    stages: list[_Front] = field(default_factory=list)

    def run(self) -> None:
        """Search until no label is left or a limit is reached."""
        self._take_warm_start()
        exact = integer_type(self.problem)
        tables = completions(self.problem, exact)
        if tables[0].least_bytes > self.problem.capacity_bytes:
            return
        zero = np.zeros(1, dtype=exact)
        nowhere = np.zeros(1, dtype=np.int64)
        front = _Front(zero, zero, nowhere, nowhere)
        for index, table in enumerate(tables):
            self.labels += len(front.cycles)
            self.widest = max(self.widest, len(front.cycles))
            self.stages.append(front)
            bounds = self._bound(front, table)
            open_labels = np.flatnonzero(bounds < self.best_cycles)
            if not open_labels.size:
                return
            front = self.stages[-1] = front.keep(open_labels)
            if self._stops(front, index, int(bounds[open_labels].min())):
                return
            front = self._extended(front, index, tables[index + 1].least_bytes)

    @property
    def status(self) -> Status:
        """What the search proved."""
        if self.best is None:
            return Status.INFEASIBLE
        return Status.OPTIMAL if self.least_open is None else Status.FEASIBLE

    @property
    def proven(self) -> Bound | None:
        """The optimum, or the least bound of the labels left."""
        if self.best_cycles is None:
            return None
        value = self.best_cycles if self.least_open is None else self.least_open
        return Bound(value, BoundKind.PROOF, OrderClass.free())

    def _take_warm_start(self) -> None:
        plan = self.limits.warm_start
        if plan is None:
            return
        options = chosen(self.problem, plan)
        if sum(o.size_bytes for o in options) <= self.problem.capacity_bytes:
            self.best = plan
            self.best_cycles = sum(o.cycles for o in options)

    def _bound(self, front: _Front, table: Completion) -> Integers:
        """Return every label's bound; take the best completion if it is a record."""
        room = self.problem.capacity_bytes - table.least_bytes - front.size_bytes
        whole = table.whole_segments(room)
        completed = front.cycles + table.rounded_down(whole)
        record = int(np.argmin(completed))
        if self.best_cycles is None or completed[record] < self.best_cycles:
            self.best_cycles = int(completed[record])
            self.best = self._completed(record, table, int(whole[record]))
        return front.cycles + table.bound(room, whole)

    def _completed(self, label: int, table: Completion, whole: int) -> Allocation:
        """Return a label of the last stage, completed by whole segments."""
        options = [pareto(item)[-1] for item in self.problem.items]
        for item, option in table.choice(whole).items():
            options[item] = option
        for item in range(len(self.stages) - 2, -1, -1):
            stage = self.stages[item + 1]
            options[item] = int(stage.option[label])
            label = int(stage.parent[label])
        return Allocation(tuple(options))

    def _extended(self, front: _Front, index: int, later_bytes: int) -> _Front:
        """Return the Pareto labels after one more item that leave `later_bytes`."""
        item = self.problem.items[index]
        places = pareto(item)
        kind = front.cycles.dtype
        size_bytes = np.array([item.options[k].size_bytes for k in places], dtype=kind)
        cycles = np.array([item.options[k].cycles for k in places], dtype=kind)
        sizes = np.add.outer(front.size_bytes, size_bytes).ravel()
        times = np.add.outer(front.cycles, cycles).ravel()
        fitting = np.flatnonzero(sizes <= self.problem.capacity_bytes - later_bytes)
        by_time = fitting[np.argsort(times[fitting], kind="stable")]
        order = by_time[np.argsort(sizes[by_time], kind="stable")]
        least = np.minimum.accumulate(times[order])
        kept = order[np.append(True, times[order][1:] < least[:-1])]
        return _Front(
            sizes[kept],
            times[kept],
            kept // len(places),
            np.array(places, dtype=np.int64)[kept % len(places)],
        )

    def _stops(self, front: _Front, index: int, least_bound: int) -> bool:
        """Whether a limit ends the search before item `index` is added."""
        limits = self.limits
        best = self.best_cycles or 0
        coming = len(front.cycles) * len(self.problem.items[index].options)
        work = limits.deterministic_work
        memory_bytes = sum(stage.nbytes for stage in self.stages) + 64 * coming
        stops = (
            self.watch.expired
            or best - least_bound <= limits.relative_gap * best
            or (work is not None and self.labels + coming > work)
            or (limits.memory_bytes is not None and memory_bytes > limits.memory_bytes)
        )
        if stops:
            self.least_open = least_bound
        return stops
