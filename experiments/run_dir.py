"""The run directory: everything a comparison leaves behind, safe against kill −9.

Layout: `configuration.json` (resolved configuration, versions, seed),
`problem.json`, `plans/<method>.json` (`.csv` for placements), `scores/<method>.json`,
`traces/<method>.json`, `rows.csv`, `rows.json` and `plots/`. Files appear under their
final name only when complete.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from elkhound.experiments.kept import file_name, plan_path, rows_with_files
from elkhound.experiments.kinds import kind_of
from elkhound.experiments.output import table_document
from elkhound.experiments.replacing import replace_file
from elkhound.experiments.rows import csv_text
from elkhound.experiments.table import Table
from elkhound.model.chip import Chip
from elkhound.model.errors import BadInputError
from elkhound.model.fusion.problem import FusionProblem
from elkhound.model.placement import PlacementProblem
from elkhound.model.schedule import ScheduleProblem

MARKER = "configuration.json"
_LIBRARIES = (
    "elkhound",
    "ortools",
    "pulp",
    "highspy",
    "simpy",
    "numpy",
    "onnx",
    "matplotlib",
)


def versions() -> dict[str, str]:
    """Return versions of Python, the platform and the libraries in use."""
    found = {"python": sys.version.split()[0], "platform": platform.platform()}
    for library in _LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            found[library] = "not installed"
    return found


def default_path(name: str) -> Path:
    """Return runs/<timestamp>-<name>, with a number if that is taken."""
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    first = Path("runs") / f"{stamp}-{file_name(name)}"
    path, number = first, 1
    while path.exists():
        number += 1
        path = first.with_name(f"{first.name}-{number}")
    return path


def _is_ours(marker: Path) -> bool:
    """Whether an earlier run wrote this file, so that its results may be replaced."""
    try:
        about = json.loads(marker.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    written = about.get("versions") if isinstance(about, dict) else None
    return isinstance(written, dict) and "elkhound" in written


class RunDir:
    """Writes a comparison into its directory as methods finish.

    Parameters
    ----------
    path : Path
        Made if missing. Of an earlier run, the results are replaced; any other
        directory with something in it is refused.
    """

    folders: tuple[str, ...] = ("plans", "scores", "traces", "plots")

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._claim()
        except OSError as error:
            raise BadInputError(
                f"cannot write the run directory: {error.strerror}",
                code="unwritable",
                where=str(path),
                hint="choose another with --run-dir",
            ) from error

    def _claim(self) -> None:
        path = self.path
        if path.exists() and not path.is_dir():
            raise BadInputError("is a file", code="unwritable", where=str(path))
        if path.is_dir() and any(path.iterdir()) and not _is_ours(path / MARKER):
            raise BadInputError(
                "is not empty and not a run directory",
                code="foreign-directory",
                where=str(path),
                hint="choose another with --run-dir",
            )
        for folder in self.folders:
            (path / folder).mkdir(parents=True, exist_ok=True)
        for folder in RunDir.folders:
            for stale in (path / folder).glob("*"):
                if stale.is_file():
                    stale.unlink()
        for name in ("rows.csv", "rows.json", "problem.json", "options.json"):
            (path / name).unlink(missing_ok=True)

    def begin(
        self, problem: Any, chip: Chip | None, configuration: Mapping[str, Any]
    ) -> None:
        """Write what will be run, before it runs."""
        from elkhound.model.io import problem_document

        about = {"configuration": configuration, "versions": versions()}
        self._write_json(MARKER, about)
        self._write_json("problem.json", problem_document(problem))

    def finished(self, method: str, table: Table) -> None:
        """Write the rows so far; plan, score and trace of the latest method."""
        outcome = next(o for o in table.outcomes if o.method == method)
        if outcome.plan is not None:
            target = plan_path(self.path, table, method)
            part = target.with_name(f"{target.name}.part")
            kind = kind_of(table.problem)
            kind.write_plan(
                part, table.problem, outcome.plan, table.chip, outcome.addresses
            )
            os.replace(part, target)
            for suffix, text in kind.exports(table.problem, outcome.result).items():
                self._write(f"plans/{target.stem}{suffix}", text)
        if outcome.score is not None:
            from elkhound.simpy_chip import score_document, trace_document

            name = f"{file_name(method)}.json"
            self._write_json(f"scores/{name}", score_document(outcome.score))
            kind = kind_of(table.problem)
            program = kind.program(table.problem, outcome.plan, table.chip)
            if program is not None:
                trace = trace_document(program, outcome.score)
                self._write(f"traces/{name}", json.dumps(trace) + "\n")
        self.write_rows(table)

    def write_rows(self, table: Table) -> None:
        """Write rows.csv and rows.json."""
        kind = kind_of(table.problem).name
        self._write("rows.csv", csv_text(kind, rows_with_files(table, self.path)))
        self._write_json("rows.json", table_document(table, self.path))

    def draw(self, table: Table) -> None:
        """Draw what there is to draw: plots/*.svg and plots/*.png."""
        from elkhound.experiments import plots

        folder = self.path / "plots"
        if isinstance(table.problem, FusionProblem):
            from elkhound.experiments.fusion_plots import draw_fusion

            draw_fusion(folder, table)
            return
        clock_hz = None if table.chip is None else table.chip.clock_hz
        documents = [row.document() for row in table.rows]
        if any(row.objective is not None for row in table.rows):
            if not isinstance(table.problem, PlacementProblem):  # bytes, not cycles
                plots.plot_comparison(
                    folder / "comparison", documents, clock_hz=clock_hz
                )
            plots.plot_gap_runtime(folder / "gap-runtime", documents)
        scores = {o.method: o.score for o in table.outcomes if o.score is not None}
        if scores and isinstance(table.problem, ScheduleProblem):
            plots.plot_gantt(folder / "gantt", scores, clock_hz=clock_hz)
            plots.plot_occupancy(folder / "occupancy", scores, clock_hz=clock_hz)
            plots.plot_utilisation(folder / "utilisation", scores)

    def _write_json(self, name: str, document: object) -> None:
        self._write(name, json.dumps(document, indent=1) + "\n")

    def _write(self, name: str, text: str) -> None:
        replace_file(self.path / name, text)


class FrontsDir(RunDir):
    """Keeps an operator's fronts: `configuration.json`, `options.json`, `plots/`."""

    folders = ("plots",)

    def keep(
        self, document: Mapping[str, Any], configuration: Mapping[str, Any]
    ) -> None:
        """Write the fronts and how they were asked for."""
        about = {"configuration": configuration, "versions": versions()}
        self._write_json(MARKER, about)
        self._write_json("options.json", document)

    def draw_fronts(self, document: Mapping[str, Any], chosen: Sequence[int]) -> None:
        """Draw plots/fronts.svg and .png, `chosen` plans marked."""
        from elkhound.experiments import plots

        plots.plot_fronts(self.path / "plots" / "fronts", document, chosen)
