"""The simulated chip once more, built differently: one cycle after another.

No events, no SimPy, no shared code: a loop over clock cycles, with the two flows of
the one in-port moved through each cycle in exact fractions. For small programs.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from fractions import Fraction

from elkhound.model.program import Execute, Instruction, Program
from elkhound.model.schedule import ScheduleOption


@dataclass
class Running:
    """A preload (operator, work, cap) or a phase of the execute (exchange, compute)."""

    operator: int
    exchange: Fraction = Fraction(0)
    cap: Fraction = Fraction(1)
    cycles: int = 0

    @property
    def done(self) -> bool:
        return self.exchange == 0 and self.cycles == 0


@dataclass
class ClockedChip:
    """Runs a program without latency; `preload_end` and `execute_end` by operator."""

    program: Program
    cycle: int = 0
    preload_end: dict[int, int] = field(default_factory=dict)
    execute_end: dict[int, int] = field(default_factory=dict)
    instructions: deque[Instruction] = field(default_factory=deque)
    requests: deque[int] = field(default_factory=deque)
    preload: Running | None = None
    executing: int | None = None
    phases: deque[Running] | None = None  # None while it waits for its preload

    def run(self) -> int:
        self.instructions.extend(self.program.instructions)
        while True:
            while self.settle():
                pass
            if not self.instructions and self.executing is None:
                return self.cycle
            self.tick()

    def settle(self) -> bool:
        """Make one step that takes no time, if there is any."""
        if self.preload is not None and self.preload.done:
            self.preload_end[self.preload.operator] = self.cycle
            self.preload = None
            return True
        if self.preload is None and self.requests:
            self.preload = preload_of(self.program, self.requests.popleft())
            return True
        if self.executing is not None:
            return self.settle_execute(self.executing)
        if self.instructions:
            instruction = self.instructions.popleft()
            if isinstance(instruction, Execute):
                self.executing = instruction.operator
            else:
                self.requests.append(instruction.operator)
            return True
        return False

    def settle_execute(self, operator: int) -> bool:
        option = self.program.tasks[operator].option
        if self.phases is None:
            if option.streams and operator not in self.preload_end:
                return False
            self.phases = deque(phases_of(operator, option))
            return True
        if self.phases and self.phases[0].done:
            self.phases.popleft()
            return True
        if not self.phases:
            self.execute_end[operator] = self.cycle
            self.phases, self.executing = None, None
            return True
        return False

    def tick(self) -> None:
        phase = self.phases[0] if self.phases else Running(-1)
        preload = self.preload or Running(-1)
        left = Fraction(1)
        while left and (preload.exchange or phase.exchange):
            low, high = rates(preload, phase)
            step = left
            for flow, rate in ((preload, low), (phase, high)):
                if flow.exchange:
                    step = min(step, flow.exchange / rate)
            preload.exchange -= low * step
            phase.exchange -= high * step
            left -= step
        preload.cycles = max(0, preload.cycles - 1)
        phase.cycles = max(0, phase.cycles - 1)
        self.cycle += 1


def rates(preload: Running, phase: Running) -> tuple[Fraction, Fraction]:
    """Two flows: the preload has min(u, ½) beside an exchange, which has the rest."""
    if not phase.exchange:
        return preload.cap, Fraction(0)
    if not preload.exchange:
        return Fraction(0), Fraction(1)
    share = min(preload.cap, Fraction(1, 2))
    return share, 1 - share


def preload_of(program: Program, operator: int) -> Running:
    option = program.tasks[operator].option
    hbm, link = option.preload_cycles, option.preload_link_cycles
    if link == 0:
        return Running(operator, cycles=hbm)
    return Running(operator, Fraction(link), Fraction(link, hbm))


def phases_of(operator: int, option: ScheduleOption) -> list[Running]:
    total, link = option.execute_cycles, option.execute_link_cycles
    if option.distribute_cycles is None:
        parts = [(link, 0), (0, total - link)]
    else:
        distribute = option.distribute_cycles
        compute, exchange = option.compute_cycles or 0, option.exchange_cycles or 0
        steps = option.payload.steps if option.payload else 1
        parts = [(distribute, 0)]
        for k in range(steps):
            # ⌈cycles / steps⌉ in the first (cycles mod steps) of them, else ⌊…⌋
            x, c = ((n + steps - 1 - k) // steps for n in (exchange, compute))
            overlapped = total == distribute + max(compute, exchange)
            parts += [(x, c)] if overlapped else [(x, 0), (0, c)]
    return [Running(operator, Fraction(x), cycles=c) for x, c in parts]
