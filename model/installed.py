"""What other installed packages bring: entry points by group, loaded when used."""

from __future__ import annotations

import importlib.metadata
from importlib.metadata import EntryPoint

from elkhound.model.errors import BadInputError


def installed(group: str) -> dict[str, tuple[EntryPoint, ...]]:
    """Return the entry points of a group by name; several packages may share a name."""
    found: dict[str, tuple[EntryPoint, ...]] = {}
    for entry in importlib.metadata.entry_points(group=group):
        there = found.get(entry.name, ())
        if origin(entry) not in map(origin, there):  # a path that is searched twice
            found[entry.name] = (*there, entry)
    return dict(sorted(found.items()))


def origin(entry: EntryPoint) -> str:
    """Return the package an entry point comes from, with its version."""
    if entry.dist is None:
        return "unknown package"
    return f"{entry.dist.name} {entry.dist.version}"


def loaded(entries: tuple[EntryPoint, ...], what: str) -> object:
    """Return what the entry point of a name stands for.

    Parameters
    ----------
    entries : tuple of EntryPoint
        All of the name.
    what : str
        What it should be: ``method``, ``chip``.

    Raises
    ------
    BadInputError
        Two packages offer the name, or its package cannot be imported.
    """
    first = entries[0]
    if len(entries) > 1:
        names = " and ".join(origin(entry) for entry in entries)
        raise BadInputError(
            f"{what} {first.name} is offered by {names}; remove one",
            code="ambiguous-entry-point",
        )
    try:
        return first.load()
    except Exception as error:  # code of others: anything may go wrong in it
        raise broken(first, what, f"{type(error).__name__}: {error}") from error


def broken(entry: EntryPoint, what: str, reason: str) -> BadInputError:
    """Return the one line about an entry point that does not work."""
    return BadInputError(
        f"{what} {entry.name} of {origin(entry)} ({entry.value}) cannot be used: "
        f"{' '.join(reason.split())}",
        code="broken-entry-point",
    )
