"""Random placement problems."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from elkhound.model.errors import BadInputError, nearest
from elkhound.model.placement import Buffer, PlacementProblem, liveness_bytes

Spans = list[tuple[int, int, int]]  # start step, end step, bytes


def random_placement(
    seed: int, size: int, family: str = "tight", *, slack_bytes: int = 0
) -> PlacementProblem:
    """Draw a placement problem whose capacity is its liveness bound.

    A plan may or may not exist.

    Parameters
    ----------
    seed : int
        Any integer.
    size : int
        Number of buffers that live for several steps, at least 1.
    family : str
        A key of `FAMILIES`.
    slack_bytes : int
        Capacity above the liveness bound.
    """
    if family not in FAMILIES:
        raise BadInputError(
            f"family {family} is unknown", hint=nearest(family, list(FAMILIES))
        )
    if size < 1:
        raise BadInputError(f"size: {size}, must be at least 1")
    random = Random(f"{family} {size} {seed}")
    spans = FAMILIES[family](random, size)
    buffers = tuple(Buffer(f"b{k}", *span) for k, span in enumerate(spans))
    return PlacementProblem(
        liveness_bytes(buffers) + slack_bytes, buffers, name=f"{family}-{size}-{seed}"
    )


def _tight(random: Random, size: int) -> Spans:
    """Fill every step up to the same height with buffers of one step.

    At capacity no byte of any step is free; in half of the problems some of the
    fillers are taken out again. Plain random problems always fit and test nothing.
    """
    spans = _loose(random, size)
    steps = max(end for _, end, _ in spans)
    alive = [
        sum(size for start, end, size in spans if start <= step < end)
        for step in range(steps)
    ]
    fillers: Spans = []
    for step in range(steps):
        missing = max(alive) - alive[step]
        while missing > 0:
            part = random.randint((missing + 1) // 2, missing)
            fillers.append((step, step + 1, part))
            missing -= part
    if random.random() < 0.5:
        fillers = [filler for filler in fillers if random.random() < 0.7]
    return spans + fillers


def _loose(random: Random, size: int) -> Spans:
    """Spans and sizes drawn evenly."""
    steps = random.randint(5, 9) + size // 16
    spans = []
    for _ in range(size):
        start = random.randint(0, steps - 2)
        end = min(steps, start + random.randint(2, 6))
        spans.append((start, end, random.randint(1, 12)))
    return spans


FAMILIES: dict[str, Callable[[Random, int], Spans]] = {
    "tight": _tight,
    "loose": _loose,
}
