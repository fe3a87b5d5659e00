"""Cycles on an axis: in cycles, or in seconds where the clock is known."""

from __future__ import annotations

from dataclasses import dataclass

_CYCLES = ((1e6, "million cycles"), (1e3, "thousand cycles"), (1.0, "cycles"))
_SECONDS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


@dataclass(frozen=True, slots=True)
class TimeAxis:
    """A unit in which a span of cycles has a few digits.

    Parameters
    ----------
    unit : str
        Its name, for the axis label.
    cycles_per_unit : float
        Divide cycles by it.
    """

    unit: str
    cycles_per_unit: float

    def __call__(self, cycles: float) -> float:
        """Return the value to draw."""
        return cycles / self.cycles_per_unit


def time_axis(longest_cycles: float, clock_hz: int | None) -> TimeAxis:
    """Choose the largest unit that the longest span fills.

    Parameters
    ----------
    longest_cycles : float
        The longest span to be shown.
    clock_hz : int or None
        Clock of the chip; None shows cycles.

    Examples
    --------
    >>> time_axis(26_500, clock_hz=1_000_000_000).unit
    'µs'
    >>> time_axis(26_500, clock_hz=None).unit
    'thousand cycles'
    """
    if clock_hz is None:
        for size, unit in _CYCLES:
            if longest_cycles >= size:
                return TimeAxis(unit, size)
        return TimeAxis("cycles", 1.0)
    for seconds, unit in _SECONDS:
        if longest_cycles / clock_hz >= seconds:
            return TimeAxis(unit, seconds * clock_hz)
    return TimeAxis("ns", 1e-9 * clock_hz)
