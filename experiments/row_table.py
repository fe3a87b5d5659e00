"""Rows of runs and sweeps as a table that can be filtered, sorted and written."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from elkhound.experiments.records import with_shared_bounds
from elkhound.experiments.replacing import replace_file
from elkhound.experiments.store import FILE_NAME, Store
from elkhound.model.errors import BadInputError, nearest

Line = Mapping[str, Any]
Condition = tuple[str, bool, str]
"""Column, whether it is to be equal (else different), and the value as text."""


@dataclass(frozen=True, slots=True)
class RowTable:
    """Lines of coordinates and row columns; absent and None both mean not known.

    Parameters
    ----------
    lines : tuple of mapping
        In order.
    """

    lines: tuple[Line, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column of any line, in order."""
        return tuple(dict.fromkeys(name for line in self.lines for name in line))

    @property
    def varied(self) -> tuple[str, ...]:
        """Columns that do not have one value in all lines."""
        return tuple(
            name
            for name in self.columns
            if len({as_text(line.get(name)) for line in self.lines}) > 1
        )

    def where(self, conditions: Sequence[Condition]) -> RowTable:
        """Return the lines that meet every condition."""
        self.require([name for name, _, _ in conditions])
        return RowTable(
            tuple(
                line
                for line in self.lines
                if all(
                    _equals(line.get(name), value) == equal
                    for name, equal, value in conditions
                )
            )
        )

    def sorted_by(self, keys: Sequence[str]) -> RowTable:
        """Return the lines sorted; ``-objective`` descends, unknown values come last.

        Among equals the order stays.
        """
        self.require([key.removeprefix("-") for key in keys])
        lines = list(self.lines)
        for key in reversed(keys):
            name = key.removeprefix("-")
            known = [line for line in lines if line.get(name) is not None]
            known.sort(key=lambda line: _order(line[name]), reverse=key != name)
            lines = known + [line for line in lines if line.get(name) is None]
        return RowTable(tuple(lines))

    def require(self, names: Sequence[str]) -> None:
        """Refuse columns that no line has."""
        for name in names:
            if name not in self.columns:
                raise BadInputError(
                    f"no column {name!r}",
                    code="unknown-column",
                    hint=nearest(name, list(self.columns)),
                )

    def csv_text(self, columns: Sequence[str] | None = None) -> str:
        """Return the table as CSV, unknown values empty; None for all columns."""
        text = io.StringIO()
        names = self.columns if columns is None else tuple(columns)
        writer = csv.DictWriter(text, names, lineterminator="\n", extrasaction="ignore")
        writer.writeheader()
        writer.writerows(
            {name: _cell(value) for name, value in line.items()} for line in self.lines
        )
        return text.getvalue()

    def to_pandas(self, columns: Sequence[str] | None = None) -> Any:
        """Return a pandas data frame; pandas has to be installed."""
        names = list(self.columns if columns is None else columns)
        frame = _library("pandas", "a data frame").DataFrame(
            [{name: _plain(line.get(name)) for name in names} for line in self.lines],
            columns=names,
        )
        return frame.convert_dtypes()  # integers stay integers beside unknown ones

    def write(self, path: Path, columns: Sequence[str] | None = None) -> None:
        """Write CSV or Parquet, as the file's suffix says.

        Raises
        ------
        BadInputError
            Another suffix, a library that is not installed, or no place to write.
        """
        suffix = path.suffix.lower()
        if suffix not in (".csv", ".parquet"):
            raise BadInputError(
                f"suffix {suffix!r} is neither .csv nor .parquet",
                code="unknown-file-type",
                where=str(path),
            )
        try:
            if suffix == ".csv":
                replace_file(path, self.csv_text(columns))
                return
            _library("pyarrow", "Parquet")
            part = path.with_name(f"{path.name}.part")
            self.to_pandas(columns).to_parquet(part, index=False)
            part.replace(path)
        except OSError as error:
            raise BadInputError(
                f"cannot be written: {error.strerror}",
                code="unwritable",
                where=str(path),
            ) from error


def read_rows(path: str | Path, *, all_grids: bool = False) -> RowTable:
    """Return the rows of a sweep or a comparison.

    Parameters
    ----------
    path : str or Path
        A run directory, or the store of a sweep itself.
    all_grids : bool
        Whether points of earlier grids in the same store are returned too.

    Raises
    ------
    BadInputError
        There is no run, or its file is damaged.
    """
    place = Path(path)
    if place.is_dir() and (place / FILE_NAME).exists():
        place /= FILE_NAME
    elif place.is_dir():
        if all_grids:
            raise BadInputError(
                "has no effect on a comparison", code="no-effect", where="--all"
            )
        return _of_comparison(place)
    with Store(place, must_exist=True) as store:
        records = store.all_records() if all_grids else store.records()
    return RowTable(tuple(record.flat() for record in with_shared_bounds(records)))


def _of_comparison(run_dir: Path) -> RowTable:
    file = run_dir / "rows.json"
    try:
        rows = json.loads(file.read_text(encoding="utf-8"))["rows"]
    except FileNotFoundError:
        raise BadInputError(
            f"holds neither {FILE_NAME} nor rows.json: no run",
            code="no-run",
            where=str(run_dir),
        ) from None
    except (ValueError, KeyError, TypeError):
        raise BadInputError(
            "is not the rows.json of a run", code="bad-file", where=str(file)
        ) from None
    return RowTable(tuple(rows))


def conditions(text: str, columns: Sequence[str]) -> list[Condition]:
    """Split ``method=dp:order=identity,status!=optimal`` into conditions.

    A piece that does not start with the name of a column belongs to the value before.
    """
    found: list[Condition] = []
    for piece in text.split(","):
        name, equals, value = piece.partition("=")
        differs = name.endswith("!")
        name = name.removesuffix("!").strip()
        if found and name not in columns:
            last, equal, start = found[-1]
            found[-1] = (last, equal, f"{start},{piece}")
            continue
        if not equals:
            raise BadInputError(
                f"{piece!r} is not of the form column=value",
                code="bad-condition",
                where="--where",
            )
        found.append((name, not differs, value.strip()))
    return found


def as_text(value: object) -> str:
    """Return a value as tables show it and conditions name it; unknown is empty."""
    return "" if value is None else str(_cell(value))


def _equals(value: object, text: str) -> bool:
    if as_text(value) == text:
        return True
    if isinstance(value, bool):
        return str(value).lower() == text.lower()
    if isinstance(value, int | float):
        try:
            return float(text) == value
        except ValueError:
            return False
    return False


def _order(value: Any) -> tuple[int, Any]:
    """Return what sorts numbers before text."""
    number = isinstance(value, int | float)
    return (0, value) if number else (1, str(value))


def _cell(value: object) -> object:
    """Return a value as CSV holds it: lists as JSON."""
    return json.dumps(value) if isinstance(value, list | tuple | dict) else value


def _plain(value: object) -> object:
    """Return a value of a type that pandas and Arrow know."""
    return value if isinstance(value, bool | int | float | None) else str(_cell(value))


def _library(name: str, purpose: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError:
        raise BadInputError(
            f"{purpose} needs the library {name}, which is not installed",
            code="not-installed",
            hint="pip install 'elkhound[tables]', or write .csv",
        ) from None
