"""Make figures: measure, write the CSV, draw, and write down what was found."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from elkhound.experiments.figures.figure import Bench, Figure, Measured
from elkhound.experiments.figures.reduction import reduction
from elkhound.experiments.replacing import replace_file
from elkhound.experiments.row_table import RowTable
from elkhound.experiments.run_dir import MARKER, versions
from elkhound.model.errors import ElkhoundError
from elkhound.model.result import own_version
from elkhound.model.stopwatch import Stopwatch

ROWS, FINDING = "rows.csv", "finding.md"


@dataclass(frozen=True, slots=True)
class Made:
    """A figure that was made, or why it was not.

    Parameters
    ----------
    figure : Figure
        Which.
    measured : Measured or None
        What it was drawn from; None if measuring failed.
    found : str
        What the lines say.
    reduced : str
        What `--quick` left out; empty without it.
    files : tuple of Path
        What was written.
    error : str
        Why it failed; empty if it did not.
    cpu_seconds : float
        Of this process; workers' not included.
    """

    figure: Figure
    measured: Measured | None = None
    found: str = ""
    reduced: str = ""
    files: tuple[Path, ...] = ()
    error: str = ""
    cpu_seconds: float = 0.0

    @property
    def problems(self) -> tuple[str, ...]:
        """Everything that went wrong, a line each."""
        lines = (self.error,) if self.error else ()
        if self.measured is None:
            return lines
        return (*lines, *self.measured.failed, *self.measured.contradictions)

    def document(self) -> dict[str, Any]:
        """Return what `figures --json` prints of it (stable)."""
        measured = self.measured or Measured(())
        return {
            "name": self.figure.name,
            "title": self.figure.title,
            "said": self.figure.said,
            "measured": self.found,
            "reduced": self.reduced,
            "why": self.figure.why,
            "rows": len(measured.lines),
            "reused": measured.reused,
            "computed": measured.computed,
            "files": [str(path) for path in self.files],
            "problems": list(self.problems),
            "cpu_seconds": round(self.cpu_seconds, 2),
        }


def make(figure: Figure, bench: Bench, folder: Path) -> Made:
    """Make one figure; what goes wrong is in what is returned, so that others follow.

    Parameters
    ----------
    folder : Path
        Where `rows.csv`, `finding.md`, `configuration.json` and the drawing go.
    """
    clock = Stopwatch()
    try:
        made = _made(figure, bench, folder)
    except ElkhoundError as error:
        made = Made(figure, error=str(error))
    except Exception as error:  # one figure's fault must not lose the others
        made = Made(figure, error=f"internal error: {type(error).__name__}: {error}")
    return replace(made, cpu_seconds=clock.cpu_seconds)


def _made(figure: Figure, bench: Bench, folder: Path) -> Made:
    from elkhound.experiments.plots.style import save

    measured = figure.measure.measured(bench)
    folder.mkdir(parents=True, exist_ok=True)
    lines = [{**line, "elkhound": own_version()} for line in measured.lines]
    replace_file(folder / ROWS, RowTable(tuple(lines)).csv_text())
    about = {
        "figure": figure.name,
        "quick": bench.quick,
        "configuration": figure.measure.configuration(bench.quick),
        "versions": versions(),
    }
    replace_file(folder / MARKER, json.dumps(about, indent=1) + "\n")
    found = figure.found(measured.lines)
    reduced = ""
    if bench.quick:
        reduced = reduction(*(figure.measure.configuration(q) for q in (True, False)))
    replace_file(folder / FINDING, finding_text(figure, found, reduced))
    drawn = save(figure.draw(measured.lines), folder / figure.name)
    files = (*drawn, folder / ROWS, folder / FINDING, folder / MARKER)
    return Made(figure, measured, found, reduced, files)


def finding_text(figure: Figure, found: str, reduced: str) -> str:
    """Return what stands beside the figure: said, measured, and why they differ.

    Parameters
    ----------
    reduced : str
        What `--quick` left out; empty without it.
    """
    command = f"elkhound figures {figure.name}{' --quick' if reduced else ''}"
    less = f"* **Reduced by `--quick`:** {reduced}\n" if reduced else ""
    return (
        f"# {figure.title}\n\n"
        f"* **Said:** {figure.said}\n"
        f"* **Measured:** {found}\n"
        f"{less}"
        f"* **Why:** {figure.why}\n\n"
        f"Made by `{command}` of {own_version()}; every number is computed from "
        f"`{ROWS}`.\n"
    )
