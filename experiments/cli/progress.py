"""Progress on standard error: a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from elkhound.experiments.comparison import Table
from elkhound.experiments.run_dir import RunDir


class ProgressLine:
    """Shows which method runs and what finished ones found; fills a run directory.

    Parameters
    ----------
    run_dir : RunDir or None
        Where finished methods are kept; None to keep nothing.
    """

    def __init__(self, run_dir: RunDir | None = None) -> None:
        self.run_dir = run_dir
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
        """Start the live line."""
        self.live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take the live line away."""
        self.live.stop()

    def warn(self, warnings: Iterable[str]) -> None:
        """Pass on what the import had to say."""
        for warning in warnings:
            self.say(f"warning: {warning}")

    def started(self, method: str) -> None:
        """Show that a method runs."""
        if self.console.is_terminal:
            for task in self.live.task_ids:
                self.live.remove_task(task)
            self.live.add_task(method, total=None)
        else:
            self.say(f"{method}: running")

    def finished(self, method: str, table: Table) -> None:
        """Say in a line what it found, and keep it."""
        if self.run_dir is not None:
            self.run_dir.finished(method, table)
        row = next(row for row in table.rows if row.method == method)
        found = [str(row.status)]
        if row.objective is not None:
            found.append(f"objective {row.objective}")
        if row.lower_bound is not None:
            found.append(f"bound {row.lower_bound}")
        if row.gap is not None:
            found.append(f"gap {100 * row.gap:.2f} %")
        found.append(f"{row.wall_seconds:.1f} s")
        self.say(f"{method}: {', '.join(found)}")

    def say(self, line: str) -> None:
        """Print a line above the live one."""
        self.console.print(line, markup=False, highlight=False, soft_wrap=True)
