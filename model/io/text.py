"""How documents are written: JSON with one short thing per line."""

from __future__ import annotations

import json
import os
from pathlib import Path

from elkhound.model.errors import BadInputError
from elkhound.model.io.fields import LONGEST_NAME


def name_of(path: str | Path) -> str:
    """Return the name a file gives to what it holds, as files may hold it.

    A file name may be any bytes and longer than a name in a file may be.
    """
    return printable(Path(path).stem)[:LONGEST_NAME]


def printable(path: str | Path) -> str:
    """Return a path as text, whatever bytes it has."""
    return os.fsencode(path).decode("utf-8", "replace")


def as_text(document: object) -> str:
    """Return JSON in which every innermost mapping or list takes one line.

    JSON is YAML too, so the text may go into a file of either name.
    """
    return _render(document, "") + "\n"


def write_text(path: str | Path, text: str) -> None:
    """Write a file, or say in one line why it cannot be written."""
    try:
        Path(path).write_text(text, encoding="utf-8")
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL
        reason = getattr(error, "strerror", None) or str(error)
        raise BadInputError(
            f"cannot be written: {reason}", code="unwritable", where=str(path)
        ) from None


def _render(value: object, indent: str) -> str:
    inner = indent + " "
    if isinstance(value, dict) and any(_is_container(v) for v in value.values()):
        rows = [f"{json.dumps(k)}: {_render(v, inner)}" for k, v in value.items()]
        return "{\n" + inner + f",\n{inner}".join(rows) + "\n" + indent + "}"
    if isinstance(value, list) and any(_is_container(v) for v in value):
        rows = [_render(item, inner) for item in value]
        return "[\n" + inner + f",\n{inner}".join(rows) + "\n" + indent + "]"
    return json.dumps(value, ensure_ascii=False)


def _is_container(value: object) -> bool:
    return isinstance(value, dict | list)
