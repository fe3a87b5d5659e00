"""The directory of a sweep: configuration.json, store.sqlite, rows.csv."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from elkhound.experiments.replacing import replace_file
from elkhound.experiments.row_table import RowTable
from elkhound.experiments.run_dir import MARKER, versions
from elkhound.experiments.store import FILE_NAME, Store
from elkhound.model.errors import BadInputError


class SweepDir:
    """Where a sweep is kept.

    Parameters
    ----------
    path : Path
        Made if missing. A directory that holds something else is refused.
    resume : bool
        Whether it may hold finished points.
    """

    def __init__(self, path: Path, *, resume: bool) -> None:
        self.path = path
        try:
            self.store = self._open()
        except OSError as error:
            raise BadInputError(
                f"cannot write the sweep's directory: {error.strerror}",
                code="unwritable",
                where=str(path),
                hint="choose another with --output",
            ) from error
        if len(self.store) and not resume:
            count = len(self.store)
            self.store.close()
            raise BadInputError(
                f"holds {count} finished points",
                code="not-empty",
                where=str(path),
                hint="--resume reuses them; or choose another with --output",
            )

    def _open(self) -> Store:
        path = self.path
        if path.exists() and not path.is_dir():
            raise BadInputError("is a file", code="unwritable", where=str(path))
        path.mkdir(parents=True, exist_ok=True)
        file = path / FILE_NAME
        if any(path.iterdir()) and not file.exists():
            raise BadInputError(
                f"is not empty and holds no {FILE_NAME}",
                code="foreign-directory",
                where=str(path),
                hint="choose another with --output",
            )
        return Store(file)

    def begin(self, configuration: Any) -> None:
        """Write what is swept, and with which versions."""
        about = {"configuration": configuration, "versions": versions()}
        replace_file(self.path / MARKER, json.dumps(about, indent=1) + "\n")

    def write_rows(self, rows: RowTable) -> None:
        """Write rows.csv, the export of the store."""
        replace_file(self.path / "rows.csv", rows.csv_text())
