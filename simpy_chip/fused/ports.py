"""Bandwidth servers: ports of memories and compute units, the most urgent job first."""

from __future__ import annotations

from collections.abc import Generator

import simpy

Job = tuple[int, int, str]
"""Urgency in two parts, smaller first, then a label; no two at once are equal."""


class Port:
    """Serves one job at a time; a more urgent one interrupts it, and it resumes.

    Parameters
    ----------
    environment : simpy.Environment
        Time runs in whole ticks.
    name : str
        Shown in scores and traces.
    """

    def __init__(self, environment: simpy.Environment, name: str) -> None:
        self.environment = environment
        self.name = name
        self.left: dict[Job, int] = {}
        self.busy = 0
        self.served: list[tuple[int, int, str]] = []
        self.skipped = 0
        self._done: dict[Job, simpy.Event] = {}
        self._current: Job | None = None
        self._since = 0
        self._woken = environment.event()
        environment.process(self._serve())

    def submit(self, job: Job, ticks: int) -> simpy.Event:
        """Ask for some ticks of service, more than 0."""
        self.left[job] = ticks
        self._done[job] = self.environment.event()
        self._wake()
        return self._done[job]

    def settle(self) -> None:
        """Book the service given until now."""
        now = int(self.environment.now)
        if self._current is not None and now > self._since:
            self.left[self._current] -= now - self._since
            self.busy += now - self._since
            self._note(self._since + self.skipped, now + self.skipped)
        self._since = now

    def skip(self, ticks: int, busy: int, served: dict[Job, int]) -> None:
        """Let time pass that is not simulated; what was served still needs some after.

        Parameters
        ----------
        ticks : int
            How long it is.
        busy : int
            How much of it the port serves.
        served : dict of Job to int
            What jobs that are here get of it.
        """
        self.settle()
        self.skipped += ticks
        self.busy += busy
        for job, given in served.items():
            self.left[job] -= given
        self._wake()

    def _note(self, start: int, end: int) -> None:
        label = "" if self._current is None else self._current[2]
        if self.served and self.served[-1][1:] == (start, label):
            start = self.served.pop()[0]
        self.served.append((start, end, label))

    def _wake(self) -> None:
        if not self._woken.triggered:
            self._woken.succeed()

    def _serve(self) -> Generator[simpy.Event, None, None]:
        while True:
            self._woken = self.environment.event()
            if not self.left:
                yield self._woken
                continue
            self._since = int(self.environment.now)
            self._current = job = min(self.left)
            yield self.environment.timeout(self.left[job]) | self._woken
            self.settle()
            self._current = None
            if self.left[job] == 0:
                del self.left[job]
                self._done.pop(job).succeed()
