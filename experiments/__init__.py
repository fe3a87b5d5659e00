"""Experiments: compare methods, keep runs, draw, and the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from elkhound.experiments.comparison import Interrupted, Table, compare
    from elkhound.experiments.rows import Row

__all__ = ["Interrupted", "Row", "Table", "compare"]

_HOMES = {"Interrupted": "comparison", "Row": "rows", "Table": "comparison"}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used; the command line starts fast."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    home = import_module(f"elkhound.experiments.{_HOMES.get(name, 'comparison')}")
    return getattr(home, name)
