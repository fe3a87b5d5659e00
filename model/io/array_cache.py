"""Arrays kept on disk between runs: option tables, fitted tile costs.

The directory is the user's cache directory, or `ELKHOUND_CACHE`; ``off`` keeps none.
A file is a digest and an npz archive. One that cannot be read, is damaged, or belongs
to other code or another key is ignored and written anew.
"""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

VARIABLE = "ELKHOUND_CACHE"
SEAL_BYTES = 32
_SOURCES = ("*.py", "options/*.py", "options/fused/*.py", "tile_cost/*.py")

Arrays = Mapping[str, NDArray[Any]]


def cache_directory() -> Path | None:
    """Return the directory of everything that is kept, None if nothing is."""
    chosen = os.environ.get(VARIABLE)
    if chosen == "off":
        return None
    if chosen:
        return Path(chosen)
    import platformdirs

    return Path(platformdirs.user_cache_dir("elkhound"))


def load_arrays(folder: str, key: str) -> dict[str, NDArray[Any]] | None:
    """Return the arrays kept under a key, None if there are none that can be used.

    Parameters
    ----------
    folder : str
        What they are, such as ``options``.
    key : str
        All that they depend on but code.
    """
    path = _path(folder, key)
    if path is None:
        return None
    try:
        data = path.read_bytes()
    except OSError:
        return None
    seal, archive = data[:SEAL_BYTES], data[SEAL_BYTES:]
    if seal != _seal(key, archive):
        return None
    with np.load(io.BytesIO(archive), allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}


def store_arrays(folder: str, key: str, arrays: Arrays) -> None:
    """Keep arrays under a key; a directory that cannot be written is no error."""
    path = _path(folder, key)
    if path is None:
        return
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    archive = buffer.getvalue()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, part = tempfile.mkstemp(dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_seal(key, archive) + archive)
            os.replace(part, path)
        finally:
            Path(part).unlink(missing_ok=True)
    except OSError:
        return


def _seal(key: str, archive: bytes) -> bytes:
    """Return the digest that a file starts with: its key's and its content's."""
    return hashlib.sha256(_versioned(key).encode() + archive).digest()


def _path(folder: str, key: str) -> Path | None:
    directory = cache_directory()
    if directory is None:
        return None
    name = hashlib.sha256(_versioned(key).encode()).hexdigest()
    return directory / folder / f"{name}.table"


def _versioned(key: str) -> str:
    return f"{_code()} {key}"


@lru_cache(maxsize=1)
def _code() -> str:
    """Return a digest of the code that arrays depend on: other code, other arrays."""
    digest = hashlib.sha256()
    model = Path(__file__).parent.parent
    for pattern in _SOURCES:
        for source in sorted(model.glob(pattern)):
            digest.update(source.read_bytes())
    return digest.hexdigest()
