"""The least time a label still needs: the renewal bound, read backwards."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from elkhound.model.result import OrderClass
from elkhound.model.schedule import ScheduleProblem
from elkhound.solvers.schedule.minima import minima_of
from elkhound.solvers.schedule.renewal import marked_operators, monotone_gates

IntArray = npt.NDArray[np.int64]

NEVER = 1 << 50  # later than any schedule ends


@dataclass(frozen=True, slots=True)
class Completion:
    """Bounds on the time from EE_{i−1} to the end, over all that may follow a label.

    Symbols are those of `renewal.py`: S the marked operators, t, s, h, ht, hs the least
    over an operator's options. Read backwards, Z(i) is the least time from EE_{i−1},
    with nothing of S outstanding: t up to a gate, then a segment to the end of an
    unstretched E_{S[b]}, then Z again.

    Let k preloads be issued before E_i, and lag = R − EE_{i−1} ≥ 0.

    * Always: P_k, P_{k+1}, … follow R, so that
      rest ≥ lag + max_{m≥k} h_k + … + h_{m−1} + ht_m + t(after E_m).
    * Nothing of S outstanding: rest ≥ Z(i).
    * Something of S outstanding, the last of it E_{S[a−1]}: the next node is b + 1 for
      some b ≥ a − 1, and everything before E_{S[b]} is stretched, so that

          rest ≥ s(E_i … E_{S[b]−1}) + t_{S[b]} + Z(S[b]+1)  and
          rest ≥ lag + max_m h_k + … + hs_m + s(after E_m … E_{S[b]−1}) + t_{S[b]} + …

      over the m of S from S[a], or S[a−1] if P_{S[a−1]} was the last to be issued, to
      S[b]; m = S[b] takes ht alone, and S[a−1], already issued, s or t. Each row is
      bounded by its minimum over b. Where classes of outstanding preloads are known to
      be slower than the least, the difference adds to the first.

    In other orders (`rest_of_any_order`) the first and third lines hold with k for all
    preloads up to the last that is outstanding; h of those among them that are not
    issued yet adds to lag. The second row of the third line does not.

    Parameters
    ----------
    path : array
        By k: what follows lag in the first row.
    idle : array
        By i: Z(i).
    work, chain : array
        By k: the minima over b; in `work` s is counted from E_0 on.
    stretched : array
        By i: s(E_0 … E_{i−1}).
    marked_issued : array
        By k: how many of the first k preloads are of S.
    marked_done : array
        By i: how many operators before i are of S.
    """

    path: IntArray
    idle: IntArray
    work: IntArray
    chain: IntArray
    stretched: IntArray
    marked_issued: IntArray
    marked_done: IntArray

    def rest(
        self, i: int, issued: IntArray, lag: IntArray, surplus: IntArray
    ) -> IntArray:
        """Return the bound of labels that are about to run E_i.

        Parameters
        ----------
        i : int
            The next execute; N at the end.
        issued, lag : array
            k and R − EE_{i−1} of each label.
        surplus : array
            By label, what the classes of outstanding preloads add to s.
        """
        waiting = self.marked_issued[issued] > self.marked_done[i]
        work = self.work[issued] - self.stretched[i] + surplus
        busy = np.maximum(work, lag + self.chain[issued])
        rest: IntArray = np.where(waiting, busy, self.idle[i])
        either: IntArray = np.maximum(rest, lag + self.path[issued])
        return either

    def rest_of_any_order(
        self,
        i: int,
        marked: IntArray,
        reached: IntArray,
        lag: IntArray,
        surplus: IntArray,
    ) -> IntArray:
        """Return the bound of labels that may have left preloads out.

        Parameters
        ----------
        i, surplus
            As for `rest`.
        marked, reached : array
            k up to the last marked preload that is outstanding, and up to the last of
            all; k of the first from E_i on where there is none.
        lag : array
            R − EE_{i−1} + Σ h of what is left out before `reached`.
        """
        waiting = self.marked_issued[marked] > self.marked_done[i]
        work = self.work[marked] - self.stretched[i] + surplus
        rest: IntArray = np.where(waiting, work, self.idle[i])
        either: IntArray = np.maximum(rest, lag + self.path[reached])
        return either


def completion(problem: ScheduleProblem, order: OrderClass) -> Completion:
    """Return the bounds for an order class of a problem whose options all fit.

    Classes of any rounding may use them: their minima are never below those of all
    options.
    """
    least = _Least(problem, order)
    idle = _idle(least)
    work, chain = _busy(least, idle)
    steps = np.arange(least.count + 1)
    return Completion(
        _paths(least),
        idle,
        work,
        chain,
        least.stretched,
        least.marked_issued,
        np.searchsorted(least.marked, steps, side="left"),
    )


class _Least:
    """Least cycles and their sums, and where the marked operators are."""

    def __init__(self, problem: ScheduleProblem, order: OrderClass) -> None:
        minima = minima_of(problem)
        marked = marked_operators(problem)
        self.count = len(minima.t)
        self.t = np.array(minima.t, dtype=np.int64)
        self.s = np.array(minima.s, dtype=np.int64)
        self.h = np.array(minima.h, dtype=np.int64)
        self.ht = np.array(minima.ht, dtype=np.int64)
        self.hs = np.array(minima.hs, dtype=np.int64)
        self.plain = _sums(self.t)
        self.stretched = _sums(self.s)
        self.marked = np.array(marked, dtype=np.int64)
        self.streaming = np.array(problem.streaming, dtype=np.int64)
        self.loaded = _sums(self.h[self.streaming])  # by k
        self.released = monotone_gates(problem, order, marked)
        self.place = np.searchsorted(self.streaming, self.marked)  # k of each marked
        ks = np.arange(len(self.streaming) + 1)
        self.marked_issued = np.searchsorted(self.place, ks, side="left")


def _sums(values: IntArray) -> IntArray:
    return np.concatenate(([0], np.cumsum(values))).astype(np.int64)


def _paths(least: _Least) -> IntArray:
    """Return by k: max_{m≥k} h_k + … + h_{m−1} + ht_m + t(after E_m)."""
    steps = least.streaming
    ends = (
        least.loaded[:-1] + least.ht[steps] + least.plain[-1] - least.plain[steps + 1]
    )
    latest = np.maximum.accumulate(ends[::-1])[::-1] - least.loaded[:-1]
    return np.append(latest, 0)


def _idle(least: _Least) -> IntArray:
    """Return Z by step, filled from the end."""
    marked = least.marked
    idle: IntArray = least.plain[-1] - least.plain
    segments = _segments(least)
    for a in reversed(range(len(marked))):
        after = idle[marked[a:] + 1]
        best = NEVER
        for i in range(int(marked[a]), int(marked[a - 1]) if a else -1, -1):
            best += int(least.t[i])
            if i >= least.released[a]:
                best = min(best, int((segments[a, i] + after).min()))
            idle[i] = best
    return idle


def _segments(least: _Least) -> dict[tuple[int, int], IntArray]:
    """Return by (a, gate): time from the gate to the end of E_{S[b]}, for b ≥ a.

    The recursion of `renewal.py`, over all pairs of node and gate at once.
    """
    marked, released, stretched = least.marked, least.released, least.stretched
    pairs = [
        (a, gate)
        for a in range(len(marked))
        for gate in range(
            max(int(marked[a - 1]) + 1 if a else 0, released[a]), int(marked[a]) + 1
        )
    ]
    node = np.array([a for a, _ in pairs], dtype=np.int64)
    gate = np.array([g for _, g in pairs], dtype=np.int64)
    ends = np.zeros((len(pairs), len(marked)), dtype=np.int64)
    at = np.zeros_like(ends)  # ends of stretched executes
    hbm_free = np.zeros(len(pairs), dtype=np.int64)
    done, counted = np.zeros_like(hbm_free), stretched[gate]
    for x, step in enumerate(marked):
        live = int(np.searchsorted(node, x, side="right"))
        last = released[x]  # P_x waits for the start of this execute
        passed = int(np.searchsorted(marked, last, side="left")) - 1
        end = stretched[last] - stretched[gate[:live]]
        if passed >= 0:
            from_marked = at[:live, passed] + stretched[last]
            from_marked -= stretched[marked[passed] + 1]
            end = np.where(node[:live] <= passed, from_marked, end)
        free = np.maximum(hbm_free[:live], np.maximum(end, 0))
        start = done[:live] + stretched[step] - counted[:live]
        ends[:live, x] = np.maximum(start + least.t[step], free + least.ht[step])
        at[:live, x] = np.maximum(start + least.s[step], free + least.hs[step])
        hbm_free[:live] = free + least.h[step]
        done[:live] = at[:live, x]
        counted[:live] = stretched[step + 1]
    return {pair: ends[row, pair[0] :] for row, pair in enumerate(pairs)}


def _busy(least: _Least, idle: IntArray) -> tuple[IntArray, IntArray]:
    """Return by k the minima over the next node, with something outstanding."""
    marked, count = least.marked, len(least.streaming) + 1
    work = np.full(count, NEVER, dtype=np.int64)
    chain = np.full(count, -NEVER, dtype=np.int64)
    before, past = least.stretched[marked], least.stretched[marked + 1]
    after = idle[marked + 1]
    for k in range(1, count):
        a = int(least.marked_issued[k])
        if a == 0:
            continue  # nothing of S can be outstanding
        nodes = slice(a - 1, None)
        steps = marked[nodes]
        work[k] = (before[nodes] + least.t[steps] + after[nodes]).min()
        delivered = least.loaded[least.place[nodes]] - least.loaded[k]
        stretched = delivered + least.hs[steps] - past[nodes]
        plain = delivered + least.ht[steps]
        issued_last = least.place[a - 1] == k - 1
        stretched[0] = -before[a - 1] if issued_last else -NEVER
        plain[0] = least.t[steps[0]] if issued_last else -NEVER
        chained = np.maximum.accumulate(stretched)
        via = np.full(len(steps), -NEVER, dtype=np.int64)
        via[1:] = chained[:-1] + before[nodes][1:] + least.t[steps[1:]]
        chain[k] = (np.maximum(via, plain) + after[nodes]).min()
    return work, chain
