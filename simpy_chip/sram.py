"""SRAM of a core: what is reserved in it, and when that is too much."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import simpy

from elkhound.model.errors import BadInputError
from elkhound.model.program import Task
from elkhound.simpy_chip.score import Occupancy


class Use(StrEnum):
    """What a buffer holds."""

    EXECUTING = "executing"
    PRELOADED = "preloaded"
    RESIDENT = "resident"


@dataclass(frozen=True, slots=True)
class Buffer:
    """Reserved bytes of one operator on a core."""

    operator: str
    use: Use
    size_bytes: int

    def __str__(self) -> str:
        return f"{self.operator} {self.use} {self.size_bytes} B"


class SramExceededError(BadInputError):
    """A program reserves more than a core has (code ``sram-exceeded``).

    Parameters
    ----------
    core : str
        Core or core class.
    cycle : int
        When it happens.
    capacity_bytes : int
        Usable bytes of the core.
    buffers : tuple of Buffer
        Everything reserved, the last reservation included.
    """

    def __init__(
        self, core: str, cycle: int, capacity_bytes: int, buffers: tuple[Buffer, ...]
    ) -> None:
        reserved = sum(buffer.size_bytes for buffer in buffers)
        self.excess_bytes = reserved - capacity_bytes
        listed = ", ".join(str(buffer) for buffer in buffers)
        super().__init__(
            f"{reserved} B reserved exceed the SRAM of {capacity_bytes} B by "
            f"{self.excess_bytes} B: {listed}",
            code="sram-exceeded",
            where=f"{core}, cycle {cycle}",
        )
        # SimPy (between processes) and pickle rebuild an exception from its args.
        self.args = (core, cycle, capacity_bytes, buffers)
        self.core = core
        self.cycle = cycle
        self.capacity_bytes = capacity_bytes
        self.buffers = buffers


class Sram:
    """Reservations of one core, or of each core of a class.

    Space is reserved when the host issues an instruction, because addresses are
    fixed then: preload_bytes from a preload's issue; r_i from the issue of E_i;
    max(execute_bytes, preload_bytes) from the start of E_i. All three are released
    at the end of E_i. Between the end of E_{i−1} and that of E_i the most that is
    reserved is thus r_i + max(execute_bytes_i, preload_bytes_i) + preload_bytes of
    every later operator issued: both SRAM rows of the schedule problem, no more.

    Parameters
    ----------
    env : simpy.Environment
        Clock.
    owner : str
        Core or core class, for messages.
    capacity_bytes : int
        Usable bytes.
    """

    def __init__(self, env: simpy.Environment, owner: str, capacity_bytes: int) -> None:
        self._env = env
        self._owner = owner
        self._capacity_bytes = capacity_bytes
        self._buffers: dict[tuple[Use, int], Buffer] = {}
        self._used = dict.fromkeys(Use, 0)
        self._steps: list[Occupancy] = [Occupancy(0, 0, 0, 0)]
        self.peak_bytes = 0

    @property
    def occupancy(self) -> tuple[Occupancy, ...]:
        """Reserved bytes from each cycle at which they change."""
        return tuple(self._steps)

    def issue_preload(self, operator: int, task: Task) -> None:
        """Reserve what the preload brings."""
        size_bytes = task.option.preload_bytes
        self._reserve(operator, Buffer(task.name, Use.PRELOADED, size_bytes))

    def issue_execute(self, operator: int, task: Task) -> None:
        """Reserve the activations held beside the operator."""
        buffer = Buffer(task.name, Use.RESIDENT, task.resident_bytes)
        self._reserve(operator, buffer)

    def start_execute(self, operator: int, task: Task) -> None:
        """Let the preloaded space grow to the execute space."""
        self._release(Use.PRELOADED, operator)
        size_bytes = max(task.option.execute_bytes, task.option.preload_bytes)
        self._reserve(operator, Buffer(task.name, Use.EXECUTING, size_bytes))

    def end_execute(self, operator: int) -> None:
        """Release everything of the operator."""
        self._release(Use.EXECUTING, operator)
        self._release(Use.RESIDENT, operator)
        self._record()

    def _reserve(self, operator: int, buffer: Buffer) -> None:
        self._buffers[buffer.use, operator] = buffer
        self._used[buffer.use] += buffer.size_bytes
        total = sum(self._used.values())
        if total > self._capacity_bytes:
            held = tuple(b for b in self._buffers.values() if b.size_bytes)
            raise SramExceededError(
                self._owner, int(self._env.now), self._capacity_bytes, held
            )
        self.peak_bytes = max(self.peak_bytes, total)
        self._record()

    def _release(self, use: Use, operator: int) -> None:
        buffer = self._buffers.pop((use, operator), None)
        if buffer is not None:
            self._used[use] -= buffer.size_bytes

    def _record(self) -> None:
        step = Occupancy(
            int(self._env.now),
            self._used[Use.EXECUTING],
            self._used[Use.PRELOADED],
            self._used[Use.RESIDENT],
        )
        if self._steps[-1].cycle == step.cycle:
            self._steps.pop()
        if not self._steps or self._steps[-1].sizes != step.sizes:
            self._steps.append(step)
