"""Option tables kept on disk between runs.

The directory is the user's cache directory, or `ELKHOUND_CACHE`; ``off`` keeps none.
A file is a digest and an npz archive. One that cannot be read, is damaged, or belongs
to other code or another key is ignored and written anew.
"""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
from dataclasses import fields
from functools import lru_cache
from pathlib import Path

import numpy as np

from elkhound.model.options.table import OptionTable

VARIABLE = "ELKHOUND_CACHE"
SEAL_BYTES = 32
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
        data = path.read_bytes()
    except OSError:
        return None
    seal, arrays = data[:SEAL_BYTES], data[SEAL_BYTES:]
    if seal != _seal(key, arrays):
        return None
    with np.load(io.BytesIO(arrays), allow_pickle=False) as stored:
        return OptionTable(**{f.name: stored[f.name] for f in fields(OptionTable)})


def store_table(key: str, table: OptionTable) -> None:
    """Keep a table under a key; a directory that cannot be written is no error."""
    path = _path(key)
    if path is None:
        return
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer, **{f.name: getattr(table, f.name) for f in fields(OptionTable)}
    )
    arrays = buffer.getvalue()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, part = tempfile.mkstemp(dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_seal(key, arrays) + arrays)
            os.replace(part, path)
        finally:
            Path(part).unlink(missing_ok=True)
    except OSError:
        return


def _seal(key: str, arrays: bytes) -> bytes:
    """Return the digest that a file starts with: its key's and its content's."""
    return hashlib.sha256(_versioned(key).encode() + arrays).digest()


def _path(key: str) -> Path | None:
    directory = cache_directory()
    if directory is None:
        return None
    return directory / f"{hashlib.sha256(_versioned(key).encode()).hexdigest()}.table"


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
