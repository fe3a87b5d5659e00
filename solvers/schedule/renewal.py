"""The renewal bound: a shortest path over the moments at which the HBM must idle."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

from elkhound.model.result import OrderClass
from elkhound.model.schedule import Contention, ScheduleProblem
from elkhound.solvers.schedule.minima import Minima
from elkhound.solvers.schedule.reduce import earliest_gates

STEPS = 2_000_000
"""How many steps x of segments are computed, a few seconds; no whole model needs it."""


def renewal_bound(problem: ScheduleProblem, minima: Minima, order: OrderClass) -> int:
    """Return a lower bound on the makespan of every schedule of the order class.

    Let S be the streaming operators all of whose options have Y > 0 (under other
    rules than ``stretch``: all streaming operators), S[0] < S[1] < … . If no preload
    of S is outstanding during E_{S[a−1]}, everything from S[a] on is issued after it:
    the schedule *renews*, only the clock is carried. Call a such a node, F(a) the
    least end of E_{S[a−1]}; F(0) = 0 at time 0.

    Between node a and the next one, b + 1, let g be the least gate of S[a], S[a+1], …,
    S[a−1] < g ≤ S[a]. Executes before g take ≥ t. Each E_l from g up to S[b] − 1 has a
    preload outstanding: for l < S[a] the one gated at g, later the one that keeps the
    last E_{S[x]}, x < b, from being a node. So each takes ≥ s. E_{S[x]} starts after
    P_a … P_x, which share one HBM from the start of E_g on, and P_x starts no earlier
    than the end of E_{γ−1}, γ the earliest gate of P_x or of any later preload. These
    releases rise with x, and so first come, first served ends soonest. P_x and E_{S[x]}
    have the same option, so that the two together take ≥ hs, the least h + s:

        R = T0 = F(a) + t(S[a−1]+1 … g−1); for x = a … b:
        R = max(R, end of E_{γ_x − 1}),
        end of E_{S[x]} = max(previous end + s in between, R + hs, Σ_{j≤S[x]} h_j + s),
        R = R + h_x.

    F(b+1) is the least end of E_{S[b]}, its s replaced by t, over all (a, g); the bound
    is F(M) plus t of all after the last operator of S. Every step is monotone in its
    inputs, so that by induction F is never above the truth.

    All segments together have up to N·M steps. With more than `STEPS` of them each is
    cut after equally many, at some x, as if it renewed at min(end of E_{S[x]}, R): what
    begins then, with the least gate, has every end no later than what was cut, since
    cores and HBM are free no later and executes take t in place of s.
    """
    marked = marked_operators(problem)
    released = monotone_gates(problem, order, marked)
    gates = marked[-1] + 1 if marked else 1  # at most one segment begins at each
    segments = _Segments(minima, marked, released, max(1, STEPS // gates))
    least: list[int | None] = [0] + [None] * len(marked)
    for a in range(len(marked)):
        begin = least[a]
        if begin is None:
            continue
        first = marked[a - 1] + 1 if a else 0
        for gate in range(max(first, released[a]), marked[a] + 1):
            for b, end in segments.ends(a, gate, begin):
                known = least[b + 1]
                least[b + 1] = end if known is None else min(known, end)
    last = marked[-1] + 1 if marked else 0
    return (least[-1] or 0) + sum(minima.t[last:])


def marked_operators(problem: ScheduleProblem) -> tuple[int, ...]:
    """Return S, in index order."""
    if problem.contention is not Contention.STRETCH:
        return problem.streaming
    return tuple(
        j
        for j in problem.streaming
        if all(o.preload_link_cycles > 0 for o in problem.operators[j].options)
    )


def monotone_gates(
    problem: ScheduleProblem, order: OrderClass, marked: tuple[int, ...]
) -> tuple[int, ...]:
    """Return γ: the least earliest gate of each marked preload and all after it."""
    gates = earliest_gates(problem, order)
    backwards = accumulate((gates[j] or 0 for j in reversed(marked)), min)
    return tuple(reversed(list(backwards)))


class _Segments:
    """Stretched stretches between two nodes, of at most `reach` marked operators."""

    def __init__(
        self,
        minima: Minima,
        marked: tuple[int, ...],
        released: tuple[int, ...],
        reach: int,
    ) -> None:
        self.minima = minima
        self.marked = marked
        self.released = released
        self.reach = reach
        self.loaded = list(accumulate(minima.h, initial=0))
        self.plain = list(accumulate(minima.t, initial=0))
        self.stretched = list(accumulate(minima.s, initial=0))

    def ends(self, a: int, gate: int, begin: int) -> list[tuple[int, int]]:
        """Return (b, least end of E_{S[b]}) for every b ≥ a, with this least gate.

        A segment that is cut has a second entry for its last b.
        """
        minima, stretched = self.minima, self.stretched
        origin = self.marked[a - 1] + 1 if a else 0
        at = begin + self.plain[gate] - self.plain[origin]
        hbm_free = at
        steps, times = [gate], [at]  # times[n]: start of E_{steps[n]}
        ends = []
        beyond = min(len(self.marked), a + self.reach)
        for x in range(a, beyond):
            last = self.released[x] - 1  # P_x waits for the end of this execute
            if last >= gate:
                k = bisect_right(steps, last + 1) - 1
                end = times[k] + stretched[last + 1] - stretched[steps[k]]
                hbm_free = max(hbm_free, end)
            step = self.marked[x]
            start = times[-1] + stretched[step] - stretched[steps[-1]]
            start = max(start, self.loaded[step + 1])
            ends.append((x, max(start + minima.t[step], hbm_free + minima.ht[step])))
            at = max(start + minima.s[step], hbm_free + minima.hs[step])
            hbm_free += minima.h[step]
            steps.append(step + 1)
            times.append(at)
        if beyond < len(self.marked):
            ends.append((beyond - 1, min(at, hbm_free)))
        return ends
