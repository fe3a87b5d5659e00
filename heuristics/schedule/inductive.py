"""Inductive scheduling (paper §4.2): backwards, one operator after the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate

from elkhound.heuristics.schedule.fronts import Front
from elkhound.heuristics.schedule.shares import Shares
from elkhound.model.schedule import Contention, Schedule, ScheduleOption
from elkhound.model.units import stretched


@dataclass(frozen=True, slots=True)
class _Move:
    """A preload number for one operator, and what follows from it.

    Parameters
    ----------
    issued : int
        n: how many preloads are issued before E_i.
    option : int
        E_i's option.
    states : tuple of int
        Options of the covered operators, in preload order.
    slowed : bool
        Whether a covered preload uses the links.
    deadline, start : int
        When E_i must end, and starts; the whole program ends at 0.
    next_start : int or None
        Start of E_{i+1} after this choice; None for the last operator.
    """

    issued: int
    option: int
    states: tuple[int, ...]
    slowed: bool
    deadline: int
    start: int
    next_start: int | None


class Induction:
    """Schedules a problem from its last operator to its first, in one preload order.

    Operator i tries the preload numbers p = 0, 1, …: E_i covers the p next preloads,
    which are issued before it and lie in SRAM beside it. The allocator gives E_i an
    execute plan and each covered preload a state. E_i ends at the deadline: the start
    of E_{i+1}, or of the first preload not covered if that is earlier. The p with the
    latest start of E_i is kept (the smallest on ties), and each preload ends when its
    execute or the next preload starts. Times are counted backwards from the end of the
    program at 0.

    The program is a merge of two sequences, so p is counted as n_i, the preloads
    issued before E_i, and the order alone says what E_i covers: the operators after i
    among the first n_i. P_0 … P_i must be issued by then, with everything the order
    puts before them: n_i is at least `_least[i]`, and what that covers, `_forced[i]`,
    is covered by every p. In execution order nothing is forced.

    The execute plan is fixed when its operator is passed. Preload states may still
    shrink; what that adds to an execute already placed is left to the evaluation of
    the finished plan.

    Parameters
    ----------
    shares : Shares
        The problem, and how the SRAM is shared at every step.
    order : tuple of int or None
        The operators that have a preload, in preload order; None for execution order.
    may_go_on : callable
        Given the allocator calls so far, whether larger preload numbers than needed
        may still be tried: where a limit ends that, the rest gets no overlap but what
        the order forces.
    """

    def __init__(
        self,
        shares: Shares,
        order: tuple[int, ...] | None = None,
        may_go_on: Callable[[int], bool] = lambda calls: True,
    ) -> None:
        self._problem = shares.problem
        count = len(self._problem.operators)
        self._shares = shares
        self._may_go_on = may_go_on
        self._order = self._problem.streaming if order is None else order
        self._position = {j: place for place, j in enumerate(self._order)}
        places = (self._position.get(i, -1) + 1 for i in range(count))
        self._least = list(accumulate(places, max))
        self._forced = _forced(self._order, self._least)
        self._issued = [0] * count
        self._option = [0] * count
        self._booked_bytes = [0] * count
        self._slowed = [False] * count
        self._deadline = [0] * count
        self._start = [0] * count
        self._preload_start = [0] * len(self._order)  # by place in the order

    def run(self) -> Schedule | None:
        """Return the schedule.

        None if what the order forces on an operator does not fit beside it, or the
        allocator left one without any option.
        """
        for i in reversed(range(len(self._issued))):
            best: _Move | None = None
            for issued in range(self._least[i], self._most_issued(i) + 1):
                move = self._try(i, issued)
                if move is not None and (best is None or move.start > best.start):
                    best = move
            if best is None:
                return None
            self._take(i, best)
        return Schedule(self._gates(), tuple(self._option))

    @property
    def cycles(self) -> int:
        """Length of the program as the induction counts it."""
        return -min([self._start[0], *self._preload_start[:1]])

    def _covered(self, i: int, issued: int) -> tuple[int, ...]:
        """Return the operators after i among the first so many, in preload order."""
        return self._forced[i] + self._order[self._least[i] : issued]

    def _most_issued(self, i: int) -> int:
        """Return the largest n that K, E_{i+1}'s SRAM and E_i's own leave possible.

        A preload outstanding at i and not executed by then is outstanding at i + 1:
        n_i ≤ n_{i+1}. Less than `_least[i]` if what the order forces does not fit.
        """
        least = self._least[i]
        if i + 1 == len(self._issued):
            return least
        may_go_on = self._may_go_on(self._shares.allocator_calls)
        most = self._issued[i + 1] if may_go_on else least
        limit = self._problem.max_outstanding
        if limit is not None:
            most = min(most, least + limit - len(self._forced[i]))
        left_bytes = self._shares.room_bytes(i)
        left_bytes -= self._shares.fronts.execute(i).least_bytes
        first = least - len(self._forced[i])
        for number, j in enumerate(self._covered(i, most)):
            left_bytes -= self._preload_front(j).least_bytes
            if left_bytes < 0:
                return first + number
        return most

    def _try(self, i: int, issued: int) -> _Move | None:
        """Return what n_i means for E_i; None if it cannot be allotted."""
        covered = self._covered(i, issued)
        shares = self._shares.share(i, [self._preload_front(j) for j in covered])
        if shares is None:
            return None
        option, *states = shares
        taken = self._problem.operators[i].options[option]
        link_cycles = sum(
            self._problem.operators[j].options[k].preload_link_cycles
            for j, k in zip(covered, states, strict=True)
        )
        next_start = self._settled_start(i, issued)
        deadline = self._deadline_of(i, issued, next_start)
        start = deadline - self._duration(taken, link_cycles)
        return _Move(
            issued,
            option,
            tuple(states),
            link_cycles > 0,
            deadline,
            start,
            next_start,
        )

    def _duration(self, taken: ScheduleOption, link_cycles: int) -> int:
        """Return D of an execute beside, or (charge) booked with, that much link work.

        Under `charge` every preload covered so far counts as issued just before E_i:
        so it would be if the program began here.
        """
        rule = self._problem.contention
        if rule is Contention.CHARGE:
            return max(taken.execute_cycles, taken.execute_link_cycles + link_cycles)
        if rule is Contention.STRETCH and link_cycles > 0:
            return stretched(
                taken.execute_cycles,
                taken.execute_link_cycles,
                self._problem.link_stretch_permille,
            )
        return taken.execute_cycles

    def _settled_start(self, i: int, issued: int) -> int | None:
        """Return E_{i+1}'s start once n_i is known.

        Under `charge` E_{i+1} keeps only the preloads that are issued after E_i: those
        are issued just before it, the others earlier.
        """
        following = i + 1
        if following == len(self._issued):
            return None
        if self._problem.contention is not Contention.CHARGE:
            return self._start[following]
        operators = self._problem.operators
        link_cycles = sum(
            operators[j].options[self._option[j]].preload_link_cycles
            for j in self._covered(following, self._issued[following])
            if self._position[j] >= issued
        )
        taken = operators[following].options[self._option[following]]
        return self._deadline[following] - self._duration(taken, link_cycles)

    def _deadline_of(self, i: int, issued: int, next_start: int | None) -> int:
        """Return when E_i must end: E_{i+1} or the first preload not issued starts."""
        if next_start is None:
            return 0
        if issued == len(self._order):
            return next_start
        first_start = self._preload_start[issued]
        place = self._position.get(i + 1, -1)
        if place >= issued and next_start != self._start[i + 1]:
            first_start = self._preload_starts(issued, place, next_start)[-1]
        return min(next_start, first_start)

    def _preload_starts(self, first: int, last: int, last_execute: int) -> list[int]:
        """Return when the preloads at places last … first of the order start.

        Each ends when its execute starts, or the next preload.

        Parameters
        ----------
        last_execute : int
            Start of the execute whose preload is at `last`.
        """
        begin, starts = last_execute, []
        if last + 1 < len(self._order):
            begin = min(begin, self._preload_start[last + 1])
        for place in range(last, first - 1, -1):
            j = self._order[place]
            if place < last:
                begin = min(begin, self._start[j])
            taken = self._problem.operators[j].options[self._option[j]]
            begin -= taken.preload_cycles
            starts.append(begin)
        return starts

    def _take(self, i: int, move: _Move) -> None:
        """Fix E_i, settle E_{i+1} and let the covered preloads shrink."""
        if move.next_start is not None and move.next_start != self._start[i + 1]:
            self._start[i + 1] = move.next_start
            if i + 1 in self._position:
                self._place(self._least[i], self._position[i + 1])
        covered = self._covered(i, move.issued)
        for j, state in zip(covered, move.states, strict=True):
            self._option[j] = state
        self._issued[i] = move.issued
        self._option[i] = move.option
        taken = self._problem.operators[i].options[move.option]
        self._booked_bytes[i] = taken.own_bytes
        self._slowed[i] = move.slowed
        self._deadline[i] = move.deadline
        self._start[i] = move.start
        self._place(self._least[i - 1] if i else 0, self._least[i] - 1)

    def _place(self, first: int, last: int) -> None:
        """Place the preloads from `last` back to `first`, whose executes are placed."""
        if first <= last:
            execute_start = self._start[self._order[last]]
            starts = self._preload_starts(first, last, execute_start)
            self._preload_start[first : last + 1] = reversed(starts)

    def _preload_front(self, j: int) -> Front:
        return self._shares.fronts.preload(
            j, self._option[j], self._booked_bytes[j], self._slowed[j]
        )

    def _gates(self) -> tuple[int | None, ...]:
        """Return g_j: the first execute before which P_j is issued."""
        gates: list[int | None] = [None] * len(self._issued)
        before = 0
        for i, issued in enumerate(self._issued):
            for j in self._order[before:issued]:
                gates[j] = i
            before = issued
        return tuple(gates)


def _forced(order: tuple[int, ...], least: list[int]) -> list[tuple[int, ...]]:
    """Return for every i the operators after it that must be issued before E_i.

    They are ahead of one of P_0 … P_i in the order.
    """
    forced: list[tuple[int, ...]] = []
    waiting: tuple[int, ...] = ()
    before = 0
    for i, count in enumerate(least):
        waiting = tuple(j for j in (*waiting, *order[before:count]) if j > i)
        forced.append(waiting)
        before = count
    return forced
