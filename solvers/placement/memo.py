"""Parts that cannot be placed, remembered over all runs at one capacity."""

from __future__ import annotations

from operator import ge

Part = tuple[int, ...]  # unplaced buffers that hang together in time, by lifetime

_MOST_NUMBERS = 8_000_000  # in all lists: tens of MB


class Memo:
    """Failed parts with the bounds they had.

    A part failed because its buffers do not fit above those bounds, whatever lies
    below: placed buffers act through the bounds alone, and a buffer that was delayed
    could, where it was, not be placed lower. So the part fails again wherever no
    bound is lower.
    """

    def __init__(self) -> None:
        self._failed: dict[Part, list[list[int]]] = {}
        self._numbers = 0

    def holds(self, part: Part, bounds: list[int]) -> bool:
        """Whether the part failed with bounds nowhere higher than these."""
        known = self._failed.get(part)
        return known is not None and any(all(map(ge, bounds, old)) for old in known)

    def add(self, part: Part, bounds: list[int]) -> None:
        """Remember a failure, while there is room."""
        if self._numbers < _MOST_NUMBERS:
            self._failed.setdefault(part, []).append(bounds)
            self._numbers += 2 * len(part)
