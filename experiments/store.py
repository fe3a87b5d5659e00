"""The store of a sweep: one SQLite file, a record per finished point.

Every record is one transaction, so that killing a process at any time loses the points
in flight and nothing else. Several processes may write to one store.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import NoReturn

from elkhound.experiments.points import Point
from elkhound.experiments.records import Record, record_document, record_from
from elkhound.model.errors import BadInputError

FILE_NAME = "store.sqlite"
_APPLICATION_ID = 0x456C6B68  # "Elkh"; SQLite keeps it in the file's header
_LAYOUT = 1
_WAIT_SECONDS = 60.0  # for another process that writes
_AT_ONCE = 500  # SQLite's least limit of variables is 999


class Store:
    """Finished points by key.

    Parameters
    ----------
    path : Path
        The SQLite file; made if missing.
    must_exist : bool
        Whether a missing file is refused.

    Raises
    ------
    BadInputError
        The file is no store, is damaged, or cannot be written.
    """

    def __init__(self, path: Path, *, must_exist: bool = False) -> None:
        self.path = path
        if must_exist and not path.is_file():
            raise BadInputError("no such store", code="no-such-file", where=str(path))
        with self._refusing():
            self._base = sqlite3.connect(
                path, timeout=_WAIT_SECONDS, isolation_level=None
            )
            try:
                self._claim()
            except BaseException:
                self._base.close()
                raise

    def __enter__(self) -> Store:
        """Return the store."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the file."""
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._base.close()

    def add(self, record: Record) -> None:
        """Keep a record; of two for one point the first stays."""
        text = json.dumps(record_document(record), separators=(",", ":"))
        with self._refusing():
            self._base.execute(
                "INSERT OR IGNORE INTO points (key, failed, record) VALUES (?, ?, ?)",
                (record.key, record.failed, text),
            )

    def get(self, key: str) -> Record | None:
        """Return the record of a point, None if it has not finished."""
        with self._refusing():
            found = self._base.execute(
                "SELECT record FROM points WHERE key = ?", (key,)
            ).fetchone()
        return None if found is None else self._record(key, found[0])

    def finished(self, keys: Iterable[str]) -> set[str]:
        """Return which of these points have a record."""
        found: set[str] = set()
        for some in _pieces(list(keys)):
            marks = ",".join("?" * len(some))
            query = f"SELECT key FROM points WHERE key IN ({marks})"
            with self._refusing():
                found |= {key for (key,) in self._base.execute(query, some)}
        return found

    def forget_failed(self, keys: Iterable[str]) -> int:
        """Drop the failed ones of these points; return how many there were."""
        dropped = 0
        for some in _pieces(list(keys)):
            marks = ",".join("?" * len(some))
            query = f"DELETE FROM points WHERE failed AND key IN ({marks})"
            with self._refusing():
                dropped += self._base.execute(query, some).rowcount
        return dropped

    def set_grid(self, points: Sequence[Point]) -> None:
        """Keep which points make up the latest grid, their names and their order."""
        lines = [
            (k, point.key, json.dumps(dict(point.coordinates)))
            for k, point in enumerate(points)
        ]
        with self._refusing():
            self._base.execute("BEGIN IMMEDIATE")
            self._base.execute("DELETE FROM grid")
            self._base.executemany(
                "INSERT INTO grid (position, key, coordinates) VALUES (?, ?, ?)", lines
            )
            self._base.execute("COMMIT")

    def records(self, points: Iterable[Point] | None = None) -> tuple[Record, ...]:
        """Return finished points: those given, or those of the latest grid, in order.

        Without a grid all are returned, in the order in which they finished.
        """
        if points is not None:
            found = [(self.get(p.key), p.coordinates) for p in points]
            return tuple(replace(r, coordinates=c) for r, c in found if r is not None)
        query = (
            "SELECT key, record, coordinates FROM grid JOIN points USING (key) "
            "ORDER BY position"
        )
        with self._refusing():
            lines = self._base.execute(query).fetchall()
        named = (
            replace(self._record(key, text), coordinates=json.loads(coordinates))
            for key, text, coordinates in lines
        )
        return tuple(named) or self.all_records()

    def all_records(self) -> tuple[Record, ...]:
        """Return every finished point, in the order in which they finished."""
        with self._refusing():
            lines = self._base.execute(
                "SELECT key, record FROM points ORDER BY rowid"
            ).fetchall()
        return tuple(self._record(*line) for line in lines)

    def __len__(self) -> int:
        """Return how many points have finished."""
        with self._refusing():
            (count,) = self._base.execute("SELECT COUNT(*) FROM points").fetchone()
        return int(count)

    def _record(self, key: str, text: str) -> Record:
        try:
            return record_from(key, json.loads(text))
        except (ValueError, KeyError, TypeError, IndexError):
            self._refuse(f"holds a record that cannot be read, of point {key[:12]}")

    def _claim(self) -> None:
        """Check that the file is a whole store, or make one of an empty file."""
        (damage,) = self._base.execute("PRAGMA quick_check(1)").fetchone()
        if damage != "ok":
            self._refuse(f"is damaged: {' '.join(damage.split())}")
        if self._is_empty():
            self._base.execute("PRAGMA journal_mode = WAL")
            self._make()
        (owner,) = self._base.execute("PRAGMA application_id").fetchone()
        (layout,) = self._base.execute("PRAGMA user_version").fetchone()
        if owner != _APPLICATION_ID:
            self._refuse("is a database of another program")
        if layout != _LAYOUT:
            self._refuse(f"has layout {layout}, this version reads layout {_LAYOUT}")
        self._base.execute("PRAGMA synchronous = NORMAL")

    def _is_empty(self) -> bool:
        (owner,) = self._base.execute("PRAGMA application_id").fetchone()
        (tables,) = self._base.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
        return bool(owner == 0 and tables == 0)

    def _make(self) -> None:
        self._base.execute("BEGIN IMMEDIATE")
        if self._is_empty():  # another process may have made it meanwhile
            self._base.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
            self._base.execute(f"PRAGMA user_version = {_LAYOUT}")
            self._base.execute(
                "CREATE TABLE points (key TEXT NOT NULL UNIQUE, "
                "failed INTEGER NOT NULL, record TEXT NOT NULL)"
            )
            self._base.execute(
                "CREATE TABLE grid (position INTEGER PRIMARY KEY, "
                "key TEXT NOT NULL, coordinates TEXT NOT NULL)"
            )
        self._base.execute("COMMIT")

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        """Turn SQLite's errors into one line about the file."""
        try:
            yield
        except sqlite3.Error as error:
            self._refuse(f"cannot be used as a store: {error}")

    def _refuse(self, message: str) -> NoReturn:
        raise BadInputError(
            message,
            code="bad-store",
            where=str(self.path),
            hint="choose another with --output",
        )


def _pieces(keys: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(keys), _AT_ONCE):
        yield keys[start : start + _AT_ONCE]
