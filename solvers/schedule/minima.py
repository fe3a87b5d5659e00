"""The least of everything, operator by operator: what the quick bounds are made of."""

from __future__ import annotations

from dataclasses import dataclass

from elkhound.model.schedule import Contention, ScheduleProblem
from elkhound.solvers.schedule.reduce import stretched_cycles


@dataclass(frozen=True, slots=True)
class Minima:
    """Least cycles of each operator over its options, each for itself.

    Parameters
    ----------
    t : tuple of int
        Execute without contention.
    s : tuple of int
        Execute while a preload with link work is outstanding: t + ⌈σX⌉ under
        ``stretch``, t under the other rules.
    h : tuple of int
        Preload; 0 for operators that stream nothing.
    """

    t: tuple[int, ...]
    s: tuple[int, ...]
    h: tuple[int, ...]


def minima_of(problem: ScheduleProblem) -> Minima:
    """Return the least cycles of a problem whose options all fit (`reduce`)."""
    operators = problem.operators
    t = tuple(min(o.execute_cycles for o in p.options) for p in operators)
    s = t
    if problem.contention is Contention.STRETCH:
        s = tuple(
            min(stretched_cycles(problem, o) for o in p.options) for p in operators
        )
    h = tuple(min(o.preload_cycles for o in p.options) for p in operators)
    return Minima(t, s, h)
