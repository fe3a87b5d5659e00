"""A schedule run as a program: a host, an HBM queue and the cores, by events.

Written from the three rules of the paper's §4.5 and the contention rules alone: it
walks the instruction sequence and keeps what is in SRAM as a ledger. It has no sums
over gates and no earliest-start recursion, unlike the referee and `model.timing`.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from elkhound.model.schedule import Contention, Schedule, ScheduleProblem


@dataclass
class Replay:
    """What happened: start and end cycles by operator, and whether all of it fitted."""

    preload_start: dict[int, int] = field(default_factory=dict)
    preload_end: dict[int, int] = field(default_factory=dict)
    execute_start: dict[int, int] = field(default_factory=dict)
    execute_end: dict[int, int] = field(default_factory=dict)
    fits: bool = True
    peak_bytes: int = 0

    @property
    def makespan(self) -> int:
        return max(self.execute_end.values())


def replay(problem: ScheduleProblem, plan: Schedule) -> Replay:
    """Run the program of a legal plan to its end."""
    return _Machine(problem, plan).run()


def instructions(plan: Schedule) -> list[tuple[str, int]]:
    """The program: each execute behind the preloads gated at it, in index order."""
    program: list[tuple[str, int]] = []
    for i in range(len(plan.gates)):
        program += [("preload", j) for j, gate in enumerate(plan.gates) if gate == i]
        program.append(("execute", i))
    return program


class _Machine:
    def __init__(self, problem: ScheduleProblem, plan: Schedule) -> None:
        self.problem = problem
        self.options = [
            operator.options[index]
            for operator, index in zip(problem.operators, plan.options, strict=True)
        ]
        self.program = deque(instructions(plan))
        self.now = 0
        self.hbm: deque[list[int]] = deque()  # [operator, cycles left], head working
        self.core: list[int] | None = None  # [operator, cycles left]
        self.loaded: set[int] = set()  # preloads that ended
        self.ledger: dict[int, int] = {}  # bytes reserved for issued preloads
        self.issued_since_execute: list[int] = []
        self.log = Replay()

    def run(self) -> Replay:
        while self.program or self.core or self.hbm:
            while self._something_happens_now():
                pass
            busy = [self.hbm[0]] if self.hbm else []
            busy += [self.core] if self.core else []
            if busy:
                cycles = min(left for _, left in busy)
                self.now += cycles
                for engine in busy:
                    engine[1] -= cycles
        return self.log

    def _something_happens_now(self) -> bool:
        if self.core and self.core[1] == 0:
            self.log.execute_end[self.core[0]] = self.now
            self.ledger.pop(self.core[0], None)
            self.core = None
            return True
        if self.hbm and self.hbm[0][1] == 0:
            operator, _ = self.hbm.popleft()
            self.log.preload_end[operator] = self.now
            self.loaded.add(operator)
            if self.hbm:
                self.log.preload_start[self.hbm[0][0]] = self.now
            return True
        if self.program and self.core is None:  # rule 1: an execute blocks the host
            return self._issue(*self.program[0])
        return False

    def _issue(self, what: str, operator: int) -> bool:
        option = self.options[operator]
        if what == "preload":
            self.program.popleft()
            if not self.hbm:  # rule 2: one preload after another
                self.log.preload_start[operator] = self.now
            self.hbm.append([operator, option.preload_cycles])
            self.ledger[operator] = option.preload_bytes
            self.issued_since_execute.append(operator)
            return True
        if operator in self.ledger and operator not in self.loaded:
            return False  # rule 3: it waits for its own preload only
        self.program.popleft()
        self._check_sram(operator)
        self.log.execute_start[operator] = self.now
        self.core = [operator, self._duration(operator)]
        self.issued_since_execute = []
        return True

    def _check_sram(self, operator: int) -> None:
        resident = self.problem.operators[operator].resident_bytes
        waiting = sum(self.ledger.values()) + resident
        self.ledger[operator] = self.options[operator].execute_bytes
        running = sum(self.ledger.values()) + resident
        peak = max(waiting, running)
        self.log.peak_bytes = max(self.log.peak_bytes, peak)
        limit = self.problem.max_outstanding
        others = len(self.ledger) - 1
        if peak > self.problem.sram_bytes or (limit is not None and others > limit):
            self.log.fits = False

    def _duration(self, operator: int) -> int:
        option = self.options[operator]
        others = set(self.ledger) - {operator}
        if self.problem.contention is Contention.STRETCH:
            if not any(self.options[j].preload_link_cycles for j in others):
                return option.execute_cycles
            thousandths = 1000 * option.execute_cycles
            thousandths += (
                self.problem.link_stretch_permille * option.execute_link_cycles
            )
            return (thousandths + 999) // 1000
        if self.problem.contention is Contention.CHARGE:
            link = option.execute_link_cycles
            for j in self.issued_since_execute:
                if j != operator:
                    link += self.options[j].preload_link_cycles
            return max(link, option.execute_cycles)
        return option.execute_cycles
