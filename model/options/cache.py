"""Option tables kept on disk between runs.

The directory is the user's cache directory, or `ELKHOUND_CACHE`; ``off`` keeps none.
A file that cannot be read, or that belongs to other code or another key, is ignored
and written anew.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import zipfile
from dataclasses import fields
from functools import lru_cache
from pathlib import Path

import numpy as np

from elkhound.model.options.table import OptionTable

VARIABLE = "ELKHOUND_CACHE"
_SOURCES = ("*.py", "options/*.py", "tile_cost/*.py")


def cache_directory() -> Path | None:
    """Return where option tables are kept, None if nowhere."""
    chosen = os.environ.get(VARIABLE)
    if chosen == "off":
        return None
    if chosen:
        return Path(chosen) / "options"
    import platformdirs

    return Path(platformdirs.user_cache_dir("elkhound")) / "options"


def load_table(key: str) -> OptionTable | None:
    """Return the table kept under a key, None if there is none that can be used."""
    path = _path(key)
    if path is None:
        return None
    try:
        with np.load(path, allow_pickle=False) as stored:
            if str(stored["key"]) != _versioned(key):
                return None
            return OptionTable(
                **{f.name: stored[f.name].astype(np.int64) for f in fields(OptionTable)}
            )
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None


def store_table(key: str, table: OptionTable) -> None:
    """Keep a table under a key; a directory that cannot be written is no error."""
    path = _path(key)
    if path is None:
        return
    arrays = {f.name: getattr(table, f.name) for f in fields(OptionTable)}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                np.savez_compressed(file, key=np.array(_versioned(key)), **arrays)
            os.replace(name, path)
        finally:
            Path(name).unlink(missing_ok=True)
    except OSError:
        return


def _path(key: str) -> Path | None:
    directory = cache_directory()
    if directory is None:
        return None
    return directory / f"{hashlib.sha256(_versioned(key).encode()).hexdigest()}.npz"


def _versioned(key: str) -> str:
    return f"{_code()} {key}"


@lru_cache(maxsize=1)
def _code() -> str:
    """Return a digest of the code that tables depend on: other code, other tables."""
    digest = hashlib.sha256()
    model = Path(__file__).parent.parent
    for pattern in _SOURCES:
        for source in sorted(model.glob(pattern)):
            digest.update(source.read_bytes())
    return digest.hexdigest()
