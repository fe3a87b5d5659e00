"""Inductive scheduling (paper §4.2): backwards, one operator after the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from elkhound.heuristics.schedule.fronts import Front, Fronts
from elkhound.model.allocation import Allocation, AllocationProblem, Allocator
from elkhound.model.schedule import (
    Contention,
    Schedule,
    ScheduleOption,
    ScheduleProblem,
)
from elkhound.model.units import stretched


@dataclass(frozen=True, slots=True)
class _Move:
    """A preload number for one operator, and what follows from it.

    Parameters
    ----------
    number : int
        p: how many of the following preloads E_i covers.
    option : int
        E_i's option.
    states : tuple of int
        Options of the covered operators, the nearest first.
    slowed : bool
        Whether a covered preload uses the links.
    deadline, start : int
        When E_i must end, and starts; the whole program ends at 0.
    next_start : int or None
        Start of E_{i+1} after this choice; None for the last operator.
    """

    number: int
    option: int
    states: tuple[int, ...]
    slowed: bool
    deadline: int
    start: int
    next_start: int | None


class Induction:
    """Schedules a problem from its last operator to its first.

    Operator i tries the preload numbers p = 0, 1, …: E_i covers the p next preloads,
    which are issued before it and lie in SRAM beside it. The allocator gives E_i an
    execute plan and each covered preload a state. E_i ends at the deadline: the start
    of E_{i+1}, or of the first preload not covered if that is earlier. The p with the
    latest start of E_i is kept (the smallest on ties), and P_i ends when E_i or the
    next preload starts. Times are counted backwards from the end of the program at 0.

    The execute plan is fixed when its operator is passed. Preload states may still
    shrink; what that adds to an execute already placed is left to the evaluation of
    the finished plan.

    Parameters
    ----------
    allocator : Allocator
        Shares the SRAM at every step.
    may_go_on : callable
        Given the allocator calls so far, whether preload numbers above 0 may still be
        tried: where a limit ends that, the rest is scheduled without overlap.
    """

    def __init__(
        self,
        problem: ScheduleProblem,
        allocator: Allocator,
        may_go_on: Callable[[int], bool] = lambda calls: True,
    ) -> None:
        count = len(problem.operators)
        self._problem = problem
        self._allocator = allocator
        self._may_go_on = may_go_on
        self._fronts = Fronts(problem)
        self._order = problem.streaming
        self._passed = _preloads_up_to(problem)
        self._memo: dict[tuple[int, int, tuple[int, ...]], Allocation | None] = {}
        self._number = [0] * count
        self._option = [0] * count
        self._booked_bytes = [0] * count
        self._slowed = [False] * count
        self._deadline = [0] * count
        self._start = [0] * count
        self._preload_start = [0] * count
        self.allocator_calls = 0
        self.memo_hits = 0

    def run(self) -> Schedule | None:
        """Return the schedule; None if the allocator left an operator without any."""
        for i in reversed(range(len(self._number))):
            best: _Move | None = None
            for number in range(self._largest_number(i) + 1):
                move = self._try(i, number)
                if move is not None and (best is None or move.start > best.start):
                    best = move
            if best is None:
                return None
            self._take(i, best)
        return Schedule(self._gates(), tuple(self._option))

    @property
    def cycles(self) -> int:
        """Length of the program as the induction counts it."""
        first = self._order[:1]
        return -min([self._start[0], *(self._preload_start[j] for j in first)])

    def _following(self, i: int, number: int) -> tuple[int, ...]:
        """Return the next operators after i that have a preload."""
        first = self._passed[i]
        return self._order[first : first + number]

    def _largest_number(self, i: int) -> int:
        """Return the largest p that K, E_{i+1}'s SRAM and E_i's own leave possible.

        A preload outstanding at i and not executed by then is outstanding at i + 1:
        p_i ≤ p_{i+1}, and one more if operator i + 1 has a preload.
        """
        if i + 1 == len(self._number) or not self._may_go_on(self.allocator_calls):
            return 0
        largest = self._number[i + 1] + self._problem.operators[i + 1].streams
        if self._problem.max_outstanding is not None:
            largest = min(largest, self._problem.max_outstanding)
        left_bytes = self._room_bytes(i) - self._fronts.execute(i).least_bytes
        for number, j in enumerate(self._following(i, largest)):
            left_bytes -= self._preload_front(j).least_bytes
            if left_bytes < 0:
                return number
        return largest

    def _try(self, i: int, number: int) -> _Move | None:
        """Return what preload number p means for E_i; None if it cannot be allotted."""
        covered = self._following(i, number)
        shares = self._share(i, covered)
        if shares is None:
            return None
        option, states = shares
        taken = self._problem.operators[i].options[option]
        link_cycles = sum(
            self._problem.operators[j].options[k].preload_link_cycles
            for j, k in zip(covered, states, strict=True)
        )
        next_start = self._settled_start(i, covered)
        deadline = self._deadline_of(i, number, next_start)
        start = deadline - self._duration(taken, link_cycles)
        return _Move(
            number, option, states, link_cycles > 0, deadline, start, next_start
        )

    def _share(
        self, i: int, covered: tuple[int, ...]
    ) -> tuple[int, tuple[int, ...]] | None:
        """Let the allocator choose E_i's option and the covered preloads' states."""
        execute = self._fronts.execute(i)
        fronts = [self._preload_front(j) for j in covered]
        room_bytes = self._room_bytes(i)
        key = (execute.number, room_bytes, tuple(front.number for front in fronts))
        if key in self._memo:
            self.memo_hits += 1
        else:
            items = (execute.item, *(front.item for front in fronts))
            self.allocator_calls += 1
            self._memo[key] = self._allocator.allocate(
                AllocationProblem(room_bytes, items)
            )
        allocation = self._memo[key]
        if allocation is None:
            return None
        own, *others = allocation.options
        states = (f.options[k] for f, k in zip(fronts, others, strict=True))
        return execute.options[own], tuple(states)

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

    def _settled_start(self, i: int, covered: tuple[int, ...]) -> int | None:
        """Return E_{i+1}'s start once p_i is known.

        Under `charge` E_{i+1} keeps only the preloads that E_i does not cover: those
        are issued just before it, the others earlier.
        """
        following = i + 1
        if following == len(self._number):
            return None
        if self._problem.contention is not Contention.CHARGE:
            return self._start[following]
        operators = self._problem.operators
        link_cycles = sum(
            operators[j].options[self._option[j]].preload_link_cycles
            for j in self._following(following, self._number[following])
            if j not in covered
        )
        taken = operators[following].options[self._option[following]]
        return self._deadline[following] - self._duration(taken, link_cycles)

    def _deadline_of(self, i: int, number: int, next_start: int | None) -> int:
        """Return when E_i must end: E_{i+1} or the first preload not covered starts."""
        if next_start is None:
            return 0
        uncovered = self._order[self._passed[i] + number :][:1]
        return min([next_start, *(self._preload_start[j] for j in uncovered)])

    def _preload_start_of(self, j: int, execute_start: int) -> int:
        """Return P_j's start if it ends when E_j or the next preload starts."""
        ends = [execute_start, *(self._preload_start[k] for k in self._following(j, 1))]
        taken = self._problem.operators[j].options[self._option[j]]
        return min(ends) - taken.preload_cycles

    def _take(self, i: int, move: _Move) -> None:
        """Fix E_i, settle E_{i+1} and let the covered preloads shrink."""
        if move.next_start is not None:
            self._place(i + 1, move.next_start)
        for j, state in zip(self._following(i, move.number), move.states, strict=True):
            self._option[j] = state
        self._number[i] = move.number
        self._option[i] = move.option
        taken = self._problem.operators[i].options[move.option]
        self._booked_bytes[i] = taken.own_bytes
        self._slowed[i] = move.slowed
        self._deadline[i] = move.deadline
        self._place(i, move.start)

    def _place(self, i: int, start: int) -> None:
        self._start[i] = start
        if self._problem.operators[i].streams:
            self._preload_start[i] = self._preload_start_of(i, start)

    def _preload_front(self, j: int) -> Front:
        return self._fronts.preload(
            j, self._option[j], self._booked_bytes[j], self._slowed[j]
        )

    def _room_bytes(self, i: int) -> int:
        operator = self._problem.operators[i]
        return self._problem.sram_bytes - operator.resident_bytes

    def _gates(self) -> tuple[int | None, ...]:
        """Return g_j: the first execute that covers P_j, or j if none does."""
        gates: list[int | None] = [None] * len(self._number)
        for j in self._order:
            gates[j] = j
        for i in reversed(range(len(gates))):
            for j in self._following(i, self._number[i]):
                gates[j] = i
        return tuple(gates)


def _preloads_up_to(problem: ScheduleProblem) -> list[int]:
    """Return for every i how many operators 0 … i have a preload."""
    counts, count = [], 0
    for operator in problem.operators:
        count += operator.streams
        counts.append(count)
    return counts
