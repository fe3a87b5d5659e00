"""Refusing early what could not be written late, or must not be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from elkhound.model.errors import BadInputError


def require_writable(output: Path, flag: str = "output") -> None:
    """Refuse a file that cannot be written, or that this command reads.

    Parameters
    ----------
    flag : str
        Parameter of the command that names the file.

    Raises
    ------
    BadInputError
        Names the file, and why.
    """
    _refuse_input(output, flag)
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


def _refuse_input(output: Path, flag: str) -> None:
    """Refuse to replace a file that an argument or another flag names."""
    context = click.get_current_context(silent=True)
    if context is None or not output.is_file():
        return
    for each in context.command.params:
        value = context.params.get(each.name or "")
        if each.name != flag and _is_same_file(value, output):
            is_option = isinstance(each, click.Option)
            read = each.opts[0] if is_option else each.human_readable_name
            raise BadInputError(
                f"is {read}, which is read; write to another file",
                code="output-is-input",
                where=str(output),
            )


def _is_same_file(value: Any, output: Path) -> bool:
    if not isinstance(value, str | Path):
        return False
    try:
        return Path(value).is_file() and Path(value).samefile(output)
    except (OSError, ValueError):
        return False
