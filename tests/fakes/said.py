"""What a command printed."""

from __future__ import annotations

from typing import NamedTuple


class Said(NamedTuple):
    """How a command ended and what it printed."""

    status: int
    out: str
    err: str

    @property
    def line(self) -> str:
        """The one line of a refusal, on standard error only."""
        assert self.out == ""
        assert self.err.count("\n") == 1, self.err
        assert self.err.startswith("elkhound: ")
        return self.err.strip()
