"""The host: issues the program in order under the three rules of §4.5."""

from __future__ import annotations

from collections.abc import Generator

import simpy
from simpy.events import Event

from elkhound.model.errors import BadInputError
from elkhound.model.program import Execute, Instruction, PreloadAsync, Program
from elkhound.simpy_chip.core import Cores
from elkhound.simpy_chip.hbm import Hbm
from elkhound.simpy_chip.waits import Waits


def check_program(program: Program) -> None:
    """Refuse a program that no host could issue.

    Executes must come once each, in operator order, and preloads at most once, for
    operators that stream. A preload that is missing or comes after its execute is
    left to the simulation, which reports the deadlock.
    """
    seen: set[Instruction] = set()
    next_execute = 0
    for index, instruction in enumerate(program.instructions):
        where = f"instruction {index}"
        operator = instruction.operator
        if not 0 <= operator < len(program.tasks):
            raise BadInputError(
                f"operator is {operator}, must be in 0 … {len(program.tasks) - 1}",
                code="bad-program",
                where=where,
            )
        text = text_of(instruction, program)
        if instruction in seen:
            raise BadInputError(
                f"{text} comes a second time", code="bad-program", where=where
            )
        seen.add(instruction)
        if isinstance(instruction, Execute):
            if operator != next_execute:
                due = text_of(Execute(next_execute), program)
                raise BadInputError(
                    f"{text} is out of order, {due} is due",
                    code="bad-program",
                    where=where,
                )
            next_execute += 1
        elif not program.tasks[operator].option.streams:
            raise BadInputError(
                f"{text}: the operator streams nothing", code="bad-program", where=where
            )
    if next_execute < len(program.tasks):
        missing = text_of(Execute(next_execute), program)
        raise BadInputError(
            f"{missing} is missing", code="bad-program", where="end of the program"
        )


def text_of(instruction: Instruction, program: Program) -> str:
    """Return an instruction as messages show it."""
    function = "preload_async" if isinstance(instruction, PreloadAsync) else "execute"
    return f"{function}({program.tasks[instruction.operator].name})"


class Host:
    """Issues instructions: an execute blocks it until it ends, a preload does not.

    Parameters
    ----------
    env : simpy.Environment
        Clock.
    program : Program
        What to issue.
    hbm : Hbm
        Takes the preloads.
    cores : Cores
        All of them run every execute.
    waits : Waits
        Where it notes what it waits for.
    """

    def __init__(
        self,
        env: simpy.Environment,
        program: Program,
        hbm: Hbm,
        cores: Cores,
        waits: Waits,
    ) -> None:
        self._env = env
        self._program = program
        self._hbm = hbm
        self._cores = cores
        self._waits = waits
        self.finished = False
        env.process(self._issue())

    def _issue(self) -> Generator[Event, None, None]:
        for instruction in self._program.instructions:
            operator = instruction.operator
            task = self._program.tasks[operator]
            if isinstance(instruction, PreloadAsync):
                self._cores.sram.issue_preload(operator, task)
                self._hbm.request(operator)
                continue
            tag = self._hbm.tags[operator]
            with self._waits.note("the host", text_of(instruction, self._program)):
                yield self._env.process(self._cores.execute(operator, task, tag))
        self.finished = True
