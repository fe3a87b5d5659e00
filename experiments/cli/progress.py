"""Progress on standard error: a live line on a terminal, plain lines elsewhere.

What a running method has found is in the live line; elsewhere it is a line of its own
every few seconds.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from types import TracebackType

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from elkhound.experiments.run_dir import RunDir
from elkhound.experiments.table import Table
from elkhound.model.stopwatch import Stopwatch

EVERY_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class _Running:
    """A method that runs, since when, and what it has said of itself."""

    method: str
    stopwatch: Stopwatch
    found: str = ""


class ProgressLine:
    """Shows which method runs and what finished ones found; fills a run directory.

    Parameters
    ----------
    run_dir : RunDir or None
        Where finished methods are kept; None to keep nothing.
    every_seconds : float
        Time between two plain lines about a running method.
    """

    def __init__(
        self, run_dir: RunDir | None = None, every_seconds: float = EVERY_SECONDS
    ) -> None:
        self.run_dir = run_dir
        self.every_seconds = every_seconds
        self.running: _Running | None = None
        self.ended = threading.Event()
        self.clock = threading.Thread(target=self._repeat, daemon=True)
        self.console = Console(stderr=True)
        self.live = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            TimeElapsedColumn(),
            console=self.console,
            transient=True,
            disable=not self.console.is_terminal,
        )

    def __enter__(self) -> ProgressLine:
        """Start the live line, or the clock of the plain ones."""
        self.live.start()
        if not self.console.is_terminal:
            self.clock.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take the live line away, or stop the clock."""
        self.ended.set()
        self.live.stop()

    def warn(self, warnings: Iterable[str]) -> None:
        """Pass on what the import had to say."""
        for warning in warnings:
            self.say(f"warning: {warning}")

    def started(self, method: str) -> None:
        """Show that a method runs."""
        self.running = _Running(method, Stopwatch())
        if self.console.is_terminal:
            for task in self.live.task_ids:
                self.live.remove_task(task)
            self.live.add_task(method, total=None)
        else:
            self.say(f"{method}: running")

    def improved(
        self, method: str, objective: float | None, bound: float | None
    ) -> None:
        """Show how far the running method is."""
        running = self.running
        if running is None or running.method != method:
            return  # said by a thread that outlived its method
        found = ", ".join(_numbers(objective, bound))
        self.running = replace(running, found=found)
        for task in self.live.task_ids if self.console.is_terminal else ():
            self.live.update(task, description=f"{method}: {found}")

    def tick(self) -> None:
        """Say in a plain line how far the running method is, if it has told."""
        running = self.running
        if running is not None and running.found:
            seconds = running.stopwatch.wall_seconds
            self.say(f"{running.method}: {running.found}, {seconds:.1f} s")

    def _repeat(self) -> None:
        while not self.ended.wait(self.every_seconds):
            self.tick()

    def finished(self, method: str, table: Table) -> None:
        """Say in a line what it found, and keep it."""
        if self.run_dir is not None:
            self.run_dir.finished(method, table)
        self.running = None
        row = next(row for row in table.rows if row.method == method)
        numbers = _numbers(row.objective, row.lower_bound)
        found = [str(row.status), *numbers, f"{row.wall_seconds:.1f} s"]
        self.say(f"{method}: {', '.join(found)}")

    def say(self, line: str) -> None:
        """Print a line above the live one."""
        self.console.print(line, markup=False, highlight=False, soft_wrap=True)


def _numbers(objective: float | None, bound: float | None) -> Iterator[str]:
    """Name what is known of a plan and a bound, and the gap between them."""
    if objective is not None:
        yield f"objective {objective}"
    if bound is not None:
        yield f"bound {bound}"
    if objective is not None and bound is not None:
        gap = (objective - bound) / objective if objective else 0.0
        yield f"gap {100 * gap:.2f} %"
