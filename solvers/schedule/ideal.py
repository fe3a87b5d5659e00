"""Ideal (paper §6.1): preload and execution that never get in each other's way."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from elkhound.model.limits import Limits
from elkhound.model.result import (
    Bound,
    BoundKind,
    OrderClass,
    Result,
    Status,
    own_version,
)
from elkhound.model.schedule import Schedule, ScheduleOperator, ScheduleProblem
from elkhound.model.stopwatch import Stopwatch
from elkhound.solvers.schedule.minima import minima_of
from elkhound.solvers.schedule.reduce import reduce
from elkhound.solvers.schedule.report import report

IntArray = npt.NDArray[np.int64]

_MOST_LABELS = 100_000


class Ideal:
    """The relaxation of the paper's *Ideal* design, solved exactly: a bound, no plan.

    Preload and execution have interconnects and full-size SRAMs of their own:

    * own interconnects: a preload slows no execute, D_i = t_i;
    * own SRAM of the full size: an option needs execute and preload bytes each to fit
      into C − r_i, and neither side's space limits the other's. How many preloads lie
      in their SRAM at once is not limited, nor is K.

    What remains is one HBM, one core array and one option (h, t) per operator. With
    nothing to wait for, every preload is issued at once, in index order, since each
    deadline is later than the one before (exchange argument). Hence

        Ideal = min over options of max_i Σ_{j≤i} h_j + Σ_{j≥i} t_j.

    It bounds every schedule of every order under every rule: take the options of any
    schedule. D_i ≥ t_i by each rule, P_0 … P_i are over before E_i starts and share
    one HBM, E_i … E_{N−1} run one after another; so the schedule ends no earlier than
    the maximum above for its options, and these options fit.
    """

    name = "ideal"

    def solve(
        self, problem: ScheduleProblem, limits: Limits[Schedule]
    ) -> Result[Schedule]:
        """Return the bound; the status stays UNKNOWN, for there is no plan."""
        stopwatch = Stopwatch(limits.seconds)
        free = OrderClass.free()
        unsolved: Result[Schedule] = Result(
            self.name,
            Status.UNKNOWN,
            order=free,
            seed=limits.seed,
            version=own_version(),
        )
        if problem.misfit is not None:
            return report(unsolved, stopwatch, infeasible=True)
        value = ideal_bound(reduce(problem).problem)
        bound = Bound(value, BoundKind.IDEAL, free, problem.contention)
        return report(unsolved, stopwatch, bound=bound)


def ideal_bound(problem: ScheduleProblem) -> int:
    """Return Ideal for a problem whose options all fit.

    Labels (HBM free, execute end) run through the operators; of two labels the one
    that is no later in both is kept, and a label that cannot beat a known choice of
    options is dropped. Beyond 100,000 labels, neighbours are merged into their common
    minimum, which keeps the bound valid.
    """
    choices = [_choices(operator) for operator in problem.operators]
    rest = _suffix_bounds(problem)
    known = min(
        _value(problem, [min(pairs, key=lambda p: p[::-1]) for pairs in choices]),
        _value(problem, [min(pairs) for pairs in choices]),
        _value(problem, [min(pairs, key=sum) for pairs in choices]),
    )
    free = np.zeros(1, dtype=np.int64)
    end = np.zeros(1, dtype=np.int64)
    for i, operator in enumerate(problem.operators):
        h = np.array([h for h, _ in choices[i]], dtype=np.int64)
        t = np.array([t for _, t in choices[i]], dtype=np.int64)
        free = (free[:, None] + h).ravel()
        ready = np.repeat(end, len(h))
        if operator.streams:
            ready = np.maximum(ready, free)
        end = ready + np.tile(t, len(ready) // len(t))
        work, path = rest[i + 1]
        keep = np.maximum(end + work, free + path) < known
        free, end = _pareto(free[keep], end[keep])
        if not len(end):
            return known
    return min(known, int(end.min()))


def _choices(operator: ScheduleOperator) -> list[tuple[int, int]]:
    """Return the pairs (h, t) of which no other is smaller in both."""
    pairs = sorted({(o.preload_cycles, o.execute_cycles) for o in operator.options})
    front: list[tuple[int, int]] = []
    for h, t in pairs:
        if not front or t < front[-1][1]:
            front.append((h, t))
    return front


def _suffix_bounds(problem: ScheduleProblem) -> list[tuple[int, int]]:
    """Return by i: least work of E_i …, and least time from the HBM's being free."""
    minima = minima_of(problem)
    bounds = [(0, 0)]
    for i in reversed(range(len(problem.operators))):
        work, path = bounds[-1]
        from_here = work + minima.t[i] if problem.operators[i].streams else 0
        bounds.append((work + minima.t[i], minima.h[i] + max(path, from_here)))
    return bounds[::-1]


def _value(problem: ScheduleProblem, pairs: list[tuple[int, int]]) -> int:
    free = end = 0
    for operator, (h, t) in zip(problem.operators, pairs, strict=True):
        free += h
        end = (max(end, free) if operator.streams else end) + t
    return end


def _pareto(free: IntArray, end: IntArray) -> tuple[IntArray, IntArray]:
    order = np.lexsort((end, free))
    free, end = free[order], end[order]
    best = np.minimum.accumulate(end)
    keep = np.ones(len(end), dtype=bool)
    keep[1:] = end[1:] < best[:-1]
    free, end = free[keep], end[keep]
    while len(end) > _MOST_LABELS:  # ascending in `free`, descending in `end`
        free, end = free[::2], np.append(end[1::2], end[-1:])[: len(end[::2])]
    return free, end
