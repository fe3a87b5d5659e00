"""The placement problem: an address for every buffer (dynamic storage allocation)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Buffer:
    """Bytes that stay at one address of every core for a while.

    Parameters
    ----------
    name : str
        Unique in the problem.
    start_step, end_step : int
        Alive at the steps start ≤ i < end; of a schedule, step i is E_i.
    size_bytes : int
        Per core; a buffer of 0 bytes is in nobody's way.
    """

    name: str
    start_step: int
    end_step: int
    size_bytes: int

    def __post_init__(self) -> None:
        if self.start_step < 0:
            raise ValueError(
                f"buffer {self.name}: start_step is {self.start_step}, must not be "
                "negative"
            )
        if self.end_step <= self.start_step:
            raise ValueError(
                f"buffer {self.name}: end_step is {self.end_step}, must be above "
                f"start_step = {self.start_step}"
            )
        if self.size_bytes < 0:
            raise ValueError(
                f"buffer {self.name}: size_bytes is {self.size_bytes}, must not be "
                "negative"
            )


@dataclass(frozen=True, slots=True)
class PlacementProblem:
    """Give each buffer an offset; those alive together must not overlap.

    Parameters
    ----------
    capacity_bytes : int
        C: no buffer may reach above it.
    buffers : tuple of Buffer
        In any order.
    minimise : bool
        Whether the least height is asked for, or any placement within C.
    name : str
        Name shown in reports.
    """

    capacity_bytes: int
    buffers: tuple[Buffer, ...]
    minimise: bool = False
    name: str = "placement"

    def __post_init__(self) -> None:
        if self.capacity_bytes < 0:
            raise ValueError(
                f"capacity_bytes is {self.capacity_bytes}, must not be negative"
            )
        seen: set[str] = set()
        for buffer in self.buffers:
            if buffer.name in seen:
                raise ValueError(f"buffers: two are called {buffer.name}")
            seen.add(buffer.name)


@dataclass(frozen=True, slots=True)
class Placement:
    """A plan: the lowest byte of each buffer, in the problem's order."""

    offsets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Addresses:
    """The buffers of a schedule, and where each of them lies.

    Parameters
    ----------
    buffers : tuple of Buffer
        P. preloads, W. work space, R. activations held (`elkhound.model.lifetimes`).
    offsets : tuple of int
        Lowest byte of each.
    """

    buffers: tuple[Buffer, ...]
    offsets: tuple[int, ...]


def height_bytes(problem: PlacementProblem, plan: Placement) -> int:
    """Return the top of the highest buffer: what a plan is worth."""
    return max(
        (
            offset + buffer.size_bytes
            for buffer, offset in zip(problem.buffers, plan.offsets, strict=True)
        ),
        default=0,
    )


def neighbours(buffers: Sequence[Buffer]) -> list[list[int]]:
    """Return for each buffer those alive at one of its steps, earlier starts first.

    Examples
    --------
    >>> a, b, c = Buffer("a", 0, 2, 5), Buffer("b", 1, 3, 4), Buffer("c", 2, 3, 6)
    >>> neighbours([c, b, a])
    [[1], [2, 0], [1]]
    """
    found: list[list[int]] = [[] for _ in buffers]
    alive: list[int] = []
    for k in sorted(range(len(buffers)), key=lambda k: buffers[k].start_step):
        start = buffers[k].start_step
        alive = [other for other in alive if buffers[other].end_step > start]
        found[k] += alive
        for other in alive:
            found[other].append(k)
        alive.append(k)
    return found


def liveness_bytes(buffers: Iterable[Buffer]) -> int:
    """Return the most bytes alive at one step: no placement is lower.

    Examples
    --------
    >>> a, b, c = Buffer("a", 0, 2, 5), Buffer("b", 1, 3, 4), Buffer("c", 2, 3, 6)
    >>> liveness_bytes([a, b, c])
    10
    """
    change: dict[int, int] = {}
    for buffer in buffers:
        for step, delta in (
            (buffer.start_step, buffer.size_bytes),
            (buffer.end_step, -buffer.size_bytes),
        ):
            change[step] = change.get(step, 0) + delta
    alive = most = 0
    for step in sorted(change):
        alive += change[step]
        most = max(most, alive)
    return most
