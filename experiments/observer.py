"""Who hears how far a comparison is."""

from __future__ import annotations

from typing import Protocol

from elkhound.experiments.table import Table


class Observer(Protocol):
    """Who wants to know how far a comparison is."""

    def started(self, method: str) -> None:
        """Hear that a method starts, or the computation of ``bounds``."""

    def improved(
        self, method: str, objective: float | None, bound: float | None
    ) -> None:
        """Hear a running method's best plan and bound, from any thread."""

    def finished(self, method: str, table: Table) -> None:
        """Get the table so far, the method included."""


class Silent:
    """An observer that does nothing."""

    def started(self, method: str) -> None:
        """Ignore it."""

    def improved(
        self, method: str, objective: float | None, bound: float | None
    ) -> None:
        """Ignore it."""

    def finished(self, method: str, table: Table) -> None:
        """Ignore it."""
