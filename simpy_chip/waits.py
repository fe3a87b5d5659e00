"""Who waits for whom, so that a deadlock can be explained."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from elkhound.model.errors import BadInputError


class DeadlockError(BadInputError):
    """The simulation ended while processes still waited (code ``deadlock``).

    Parameters
    ----------
    cycle : int
        When nothing could happen any more.
    waits : tuple of (str, str)
        Each waiting process and what it waits for.
    hint : str
        The cause, where it is known.
    """

    def __init__(
        self, cycle: int, waits: tuple[tuple[str, str], ...], hint: str
    ) -> None:
        chain = "; ".join(f"{waiter} waits for {cause}" for waiter, cause in waits)
        super().__init__(f"deadlock: {chain}", code="deadlock", hint=hint)
        self.args = (cycle, waits, hint)  # pickle rebuilds an exception from them
        self.where = f"cycle {cycle}"
        self.cycle = cycle
        self.waits = waits


class Waits:
    """Board on which processes note what they wait for."""

    def __init__(self) -> None:
        self._causes: dict[str, str] = {}

    @contextmanager
    def note(self, waiter: str, cause: str) -> Iterator[None]:
        """Hold the note while the body waits."""
        self._causes[waiter] = cause
        yield
        del self._causes[waiter]

    @property
    def open(self) -> tuple[tuple[str, str], ...]:
        """Notes of those that wait now, oldest first."""
        return tuple(self._causes.items())
