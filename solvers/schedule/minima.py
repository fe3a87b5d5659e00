"""The least of everything, operator by operator: what the quick bounds are made of."""

from __future__ import annotations

from dataclasses import dataclass
from operator import add

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
    ht, hs : tuple of int
        Preload and execute one after the other, h + t and h + s of one option.
    """

    t: tuple[int, ...]
    s: tuple[int, ...]
    h: tuple[int, ...]
    ht: tuple[int, ...]
    hs: tuple[int, ...]


def minima_of(problem: ScheduleProblem) -> Minima:
    """Return the least cycles of a problem whose options all fit (`reduce`)."""
    stretch = problem.contention is Contention.STRETCH
    t, s, h, ht, hs = [], [], [], [], []
    for operator in problem.operators:
        plain = [o.execute_cycles for o in operator.options]
        slow = plain
        if stretch:
            slow = [stretched_cycles(problem, o) for o in operator.options]
        preload = [o.preload_cycles for o in operator.options]
        t.append(min(plain))
        s.append(min(slow))
        h.append(min(preload))
        ht.append(min(map(add, preload, plain)))
        hs.append(min(map(add, preload, slow)))
    return Minima(tuple(t), tuple(s), tuple(h), tuple(ht), tuple(hs))
