"""Errors a user can cause, each with its exit status and one clear line."""

from __future__ import annotations

from collections.abc import Iterable


class ElkhoundError(Exception):
    """Something that ends a command with one line and a documented exit status.

    Parameters
    ----------
    message : str
        What is wrong, naming the object, the value and the legal range.
    code : str
        Stable identifier of the kind of error, for programs.
    where : str
        File and line, operator or flag the message is about; may be empty.
    hint : str
        The nearest right thing, or what to do; may be empty.
    """

    exit_status = 1

    def __init__(
        self, message: str, *, code: str = "error", where: str = "", hint: str = ""
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"{place}{self.message}{hint}"


class BadInputError(ElkhoundError):
    """A file, flag, model or name that cannot be used (exit status 2)."""

    exit_status = 2


class InfeasibleError(ElkhoundError):
    """Proved to have no plan (exit status 3).

    Parameters
    ----------
    needed_bytes, available_bytes : int or None
        The binding resource, per core.
    smallest_capacity_bytes : int or None
        The least usable SRAM per core with which a plan exists.
    """

    exit_status = 3

    def __init__(
        self,
        message: str,
        *,
        code: str = "infeasible",
        where: str = "",
        hint: str = "",
        needed_bytes: int | None = None,
        available_bytes: int | None = None,
        smallest_capacity_bytes: int | None = None,
    ) -> None:
        super().__init__(message, code=code, where=where, hint=hint)
        self.needed_bytes = needed_bytes
        self.available_bytes = available_bytes
        self.smallest_capacity_bytes = smallest_capacity_bytes


class ContradictionError(ElkhoundError):
    """Two answers that cannot both be right (exit status 5)."""

    exit_status = 5


def nearest(word: str, legal: list[str]) -> str:
    """Return ``did you mean …`` for a misspelt word, else the legal ones.

    Parameters
    ----------
    word : str
        What the user wrote.
    legal : list of str
        What would have been accepted.

    Examples
    --------
    >>> nearest("sram_bytez", ["sram_bytes", "clock_hz"])
    'did you mean sram_bytes?'
    >>> nearest("zzz", ["b", "a"])
    'legal: a, b'
    """
    close = closest(word, legal)
    if close is not None:
        return f"did you mean {close}?"
    return "legal: " + ", ".join(sorted(legal))


def closest(word: str, legal: Iterable[str]) -> str | None:
    """Return the word that a misspelt one is meant to be, None where none is near.

    Examples
    --------
    >>> closest("sram_bytez", ["sram_bytes", "clock_hz"])
    'sram_bytes'
    """
    import difflib

    return next(iter(difflib.get_close_matches(word, sorted(legal), n=1)), None)
