"""The wall-clock and CPU time of one call of a method."""

from __future__ import annotations

import math
import os
import time


class Stopwatch:
    """Starts when it is made.

    Parameters
    ----------
    limit_seconds : float
        Wall-clock time the call may take in all; no limit if left out.
    """

    def __init__(self, limit_seconds: float = math.inf) -> None:
        self._limit_seconds = limit_seconds
        self._wall_start = time.monotonic()
        self._cpu_start = _cpu_seconds()

    @property
    def wall_seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._wall_start

    @property
    def cpu_seconds(self) -> float:
        """CPU seconds since the start: all threads, and programs that have ended."""
        return _cpu_seconds() - self._cpu_start

    @property
    def remaining_seconds(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, self._limit_seconds - self.wall_seconds)

    @property
    def expired(self) -> bool:
        """Whether the limit is reached."""
        return self.wall_seconds >= self._limit_seconds

    def check(self) -> None:
        """Stop a long construction that has used up the limit.

        Raises
        ------
        OutOfTime
            If the limit is reached.
        """
        if self.expired:
            raise OutOfTime


def _cpu_seconds() -> float:
    spent = os.times()
    return time.process_time() + spent.children_user + spent.children_system


class OutOfTime(Exception):
    """The time limit was reached before the search began."""
