"""Refusing early what could not be written late."""

from __future__ import annotations

from pathlib import Path

from elkhound.model.errors import BadInputError


def require_writable(output: Path) -> None:
    """Refuse a place where a plan could not be written after a long search."""
    existed = output.exists()
    try:
        output.open("a").close()
    except OSError as error:
        raise BadInputError(
            f"cannot be written: {error.strerror}",
            code="unwritable",
            where=str(output),
        ) from error
    if not existed:
        output.unlink()
