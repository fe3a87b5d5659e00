"""Exact schedules, and certificates for whole models, by labels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from elkhound.model.limits import Limits
from elkhound.model.result import (
    Bound,
    BoundKind,
    OrderClass,
    Result,
    Status,
    own_version,
)
from elkhound.model.schedule import Schedule, ScheduleProblem
from elkhound.model.stopwatch import Stopwatch
from elkhound.solvers.schedule.bounds import best_bounds
from elkhound.solvers.schedule.incumbent import (
    evaluate,
    one_by_one,
    warm_start,
)
from elkhound.solvers.schedule.labels.classes import (
    Classes,
    Rounding,
    Thinning,
    exact_classes,
    most_classes,
    thinned_classes,
)
from elkhound.solvers.schedule.labels.completion import completion
from elkhound.solvers.schedule.labels.identity import IdentitySearch
from elkhound.solvers.schedule.labels.plan import realise
from elkhound.solvers.schedule.labels.search import (
    BestOfEach,
    Budget,
    LowestBounds,
    Search,
    Trim,
)
from elkhound.solvers.schedule.labels.stage import MASK_BITS
from elkhound.solvers.schedule.labels.window import WindowSearch
from elkhound.solvers.schedule.reduce import reduce
from elkhound.solvers.schedule.report import report

IDENTITY = OrderClass.identity()


FEW_CLASSES = 8  # up to here the last round is exact
MEMORY_BYTES = 2 << 30  # where the caller sets no limit
FINEST = 1 << 62

# Beam, labels kept by a bound pass, tolerances as parts of the SRAM and of an
# operator's mean share of the makespan, and whether room matters.
ROUNDS = (
    (50, 3_000, 256, 200, False),
    (300, 400_000, 256, 200, False),
    (300, 200_000, 1024, 400, False),
    (1_000, 200_000, 4096, 1600, False),
    (300, 200_000, 1024, 400, True),
    (1_000, 200_000, FINEST, FINEST, False),
)


@dataclass(frozen=True, slots=True)
class Level:
    """How hard a round tries: coarseness of classes (None: exact), labels kept."""

    thinning: Thinning | None
    beam: int
    most: int


class LabelDp:
    """Label-setting dynamic programme.

    Parameters
    ----------
    order : OrderClass
        Preload orders that are searched: identity, where a label is two numbers, or a
        window, which a free order is the widest of.
    """

    name = "dp"

    def __init__(self, order: OrderClass = IDENTITY) -> None:
        self.order = order

    def solve(
        self, problem: ScheduleProblem, limits: Limits[Schedule]
    ) -> Result[Schedule]:
        """Return the best plan found, and a bound; both get better round by round."""
        stopwatch = Stopwatch(limits.seconds)
        unsolved: Result[Schedule] = Result(
            f"{self.name}:order={self.order}",
            Status.UNKNOWN,
            order=self.order,
            seed=limits.seed,
            version=own_version(),
        )
        if problem.misfit is not None:
            return report(unsolved, stopwatch, infeasible=True)
        run = _Run(problem, limits, stopwatch, self.order)
        run.improve()
        best = run.best
        thinning_error = 0 if run.exact else best.value - run.bound.value
        unsolved = replace(unsolved, thinning_error=thinning_error)
        return report(unsolved, stopwatch, best, run.bound, run.statistics())


class _Run:
    def __init__(
        self,
        problem: ScheduleProblem,
        limits: Limits[Schedule],
        stopwatch: Stopwatch,
        order: OrderClass,
    ) -> None:
        self.order = order
        self.problem = problem
        self.limits = limits
        self.stopwatch = stopwatch
        self.best = warm_start(problem, limits, order) or one_by_one(problem)
        covering = [b for b in best_bounds(problem) if b.order.contains(order)]
        self.bound = max(covering, key=lambda b: b.value)
        self.exact = False
        self.labels = 0
        self.most = 0
        self.rounds = 0

    @property
    def done(self) -> bool:
        gap = self.best.value - self.bound.value
        return gap <= self.limits.relative_gap * self.best.value

    def improve(self) -> None:
        self.limits.tell(self.best.value, self.bound.value)
        if self.done:
            return
        self.reduced = reduce(self.problem, self.best.value)
        self.completion = completion(self.reduced.problem, self.order)
        for level in self._levels():
            self._round(level)
            if self.done or self.exhausted:
                break

    def _levels(self) -> Iterator[Level]:
        left = self.reduced.problem
        share = int(self.bound.value) // max(1, len(left.streaming))
        few = most_classes(left) <= FEW_CLASSES
        exact = exact_classes(left).operators
        small = few and sum((len(c) - 1).bit_length() for c in exact) <= MASK_BITS
        for beam, most, part_of_sram, part_of_share, at_any_room in ROUNDS:
            sizes = Thinning(
                self.problem.sram_bytes // part_of_sram,
                share // part_of_share,
                at_any_room,
            )
            last = part_of_sram == FINEST
            yield Level(None if small or (few and last) else sizes, beam, most)

    def _round(self, level: Level) -> None:
        self.rounds += 1
        left = self.reduced.problem
        if level.thinning is None:
            up = down = exact_classes(left)
        else:
            up = thinned_classes(left, level.thinning, Rounding.UP)
            down = thinned_classes(left, level.thinning, Rounding.DOWN)
        self._search(up, BestOfEach(level.beam), traced=True)
        if not self.done:
            self._search(down, LowestBounds(level.most), traced=down.exact)

    def _pass(self, *given: Any, traced: bool) -> Search[Any]:
        if self.order == IDENTITY:
            return IdentitySearch(*given, traced=traced)
        return WindowSearch(self.order, *given, traced=traced)

    def _search(self, classes: Classes, trim: Trim, *, traced: bool) -> None:
        search = self._pass(
            self.reduced.problem,
            classes,
            self.completion,
            self.best.value,
            trim,
            self.stopwatch,
            self._budget(),
            traced=traced,
        )
        found = search.run()
        self.labels += found.labels
        self.most = max(self.most, found.most_labels)
        if found.choice is not None:
            plan = realise(self.reduced.problem, classes, found.choice)
            plan = evaluate(self.problem, self.reduced.restore(plan.plan))
            if plan.value < self.best.value:
                self.best = plan
        if isinstance(trim, LowestBounds) and found.bound >= self.bound.value:
            self.bound = Bound(
                found.bound, BoundKind.PROOF, self.order, self.problem.contention
            )
            self.exact = classes.exact
        self.limits.tell(self.best.value, self.bound.value)

    def _budget(self) -> Budget:
        labels = self.limits.deterministic_work
        left = None if labels is None else labels - self.labels
        return Budget(left, self.limits.memory_bytes or MEMORY_BYTES)

    @property
    def exhausted(self) -> bool:
        """Whether time or labels are used up."""
        labels = self.limits.deterministic_work
        worked = labels is not None and self.labels >= labels
        return worked or self.stopwatch.expired

    def statistics(self) -> dict[str, int | float | str]:
        return {
            "labels": self.labels,
            "most_labels_in_a_stage": self.most,
            "rounds": self.rounds,
        }
