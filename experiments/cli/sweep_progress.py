"""Progress of a sweep on standard error: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from types import TracebackType

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
)

from elkhound.experiments.records import Record


class SweepProgress:
    """Shows how many points are done, how fast they finish, and the time that is left.

    Rate and remaining time count the points computed since the start, not the reused.
    """

    def __init__(self) -> None:
        self.console = Console(stderr=True)
        self.live = Progress(
            TextColumn("points"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[pace]}"),
            TimeElapsedColumn(),
            console=self.console,
            transient=True,
            disable=not self.console.is_terminal,
        )
        self._task = self.live.add_task("points", total=None, pace="")
        self._start = time.monotonic()
        self._points = self._done = self._computed = 0

    def __enter__(self) -> SweepProgress:
        """Start the bar."""
        self.live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take the bar away."""
        self.live.stop()

    def started(self, points: int, reused: int) -> None:
        """Say what there is to do."""
        self._points, self._done = points, reused
        self._start = time.monotonic()
        self.live.update(self._task, total=points, completed=reused)
        self._say(f"{points} points: {reused} reused, {points - reused} to compute")

    def finished(self, record: Record) -> None:
        """Say in a line what a point came to; the bar goes on."""
        self._done += 1
        self._computed += 1
        pace = self._pace()
        self.live.update(self._task, completed=self._done, pace=pace)
        row = record.row
        called = " ".join(str(value) for value in record.coordinates.values())
        found = "failed" if record.failed else str(row.status)
        if row.objective is not None:
            found += f" {row.objective}"
        count = f"{self._done} of {self._points}"
        if self.console.is_terminal:
            pace = ""
        line = f"{count}: {called} {row.method}: {found}"
        self._say(", ".join(filter(None, (line, f"{row.wall_seconds:.1f} s", pace))))

    def _pace(self) -> str:
        seconds = max(time.monotonic() - self._start, 1e-3)
        rate = self._computed / seconds
        left = (self._points - self._done) / rate
        shown = f"{rate:.2g}/s" if rate >= 1 else f"{60 * rate:.2g}/min"
        return f"{shown}, {_spelt(left)} left"

    def _say(self, line: str) -> None:
        self.console.print(line, markup=False, highlight=False, soft_wrap=True)


def _spelt(seconds: float) -> str:
    """Return a time as people say it.

    Examples
    --------
    >>> _spelt(59.6), _spelt(3700)
    ('1:00', '1:01:40')
    """
    whole = round(seconds)
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
