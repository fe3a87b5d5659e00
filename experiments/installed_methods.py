"""Methods that other packages bring, by entry points `elkhound.methods.<kind>`."""

from __future__ import annotations

from elkhound.experiments.methods import Entry
from elkhound.model.installed import broken, installed, loaded, origin

GROUP = "elkhound.methods."


def installed_methods(kind: str) -> dict[str, str]:
    """Return the packages that methods of a kind come from, by method."""
    return {
        name: " and ".join(origin(entry) for entry in entries)
        for name, entries in installed(GROUP + kind).items()
    }


def installed_method(kind: str, name: str) -> Entry | None:
    """Import a method of another package; None if no package offers the name.

    Raises
    ------
    BadInputError
        The package is broken, or the entry point is no `Entry`.
    """
    entries = installed(GROUP + kind).get(name)
    if entries is None:
        return None
    entry = loaded(entries, "method")
    if not isinstance(entry, Entry):
        reason = f"is {type(entry).__name__}, must be elkhound.experiments Entry"
        raise broken(entries[0], "method", reason)
    return entry
