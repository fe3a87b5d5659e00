"""Random and adversarial allocation problems."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from elkhound.model.allocation import (
    AllocationItem,
    AllocationOption,
    AllocationProblem,
)
from elkhound.model.errors import BadInputError, nearest

Points = list[tuple[int, int]]


def random_allocation(
    seed: int, size: int, family: str = "convex", *, options: int = 6
) -> AllocationProblem:
    """Draw an allocation problem that has a plan, from the family's trade-offs.

    Parameters
    ----------
    seed : int
        Any integer.
    size : int
        Number of items, at least 1.
    family : str
        A key of `FAMILIES`.
    options : int
        Points drawn per item; dominated ones are dropped, so fewer may remain.
    """
    if family not in FAMILIES:
        raise BadInputError(
            f"family {family} is unknown", hint=nearest(family, list(FAMILIES))
        )
    for what, value in (("size", size), ("options", options)):
        if value < 1:
            raise BadInputError(f"{what}: {value}, must be at least 1")
    random = Random(f"{family} {size} {options} {seed}")
    draw = FAMILIES[family]
    items = tuple(
        AllocationItem(f"item{i}", _pareto(draw(random, options))) for i in range(size)
    )
    least = sum(item.options[0].size_bytes for item in items)
    most = sum(item.options[-1].size_bytes for item in items)
    capacity = least + (most - least) * random.randint(100, 800) // 1000
    return AllocationProblem(capacity, items, name=f"{family}-{size}-{seed}")


def overshoot(scale: int) -> AllocationProblem:
    """Build the problem on which Δ-efficiency pays M + 1 and the optimum is 3.

    A = {(0, M), (M, 1)}, B = {(0, 2), (1, 1)} in (bytes, cycles), capacity M: one byte
    must go. A frees M bytes for M − 1 cycles, a better rate than B's one byte for one
    cycle, so the greedy step takes A and overshoots: no constant factor holds.

    Parameters
    ----------
    scale : int
        M, at least 3; below, greedy is right.

    Examples
    --------
    >>> overshoot(10).capacity_bytes
    10
    """
    if scale < 3:
        raise BadInputError(f"scale: {scale}, must be at least 3")
    a = AllocationItem("a", (AllocationOption(0, scale), AllocationOption(scale, 1)))
    b = AllocationItem("b", (AllocationOption(0, 2), AllocationOption(1, 1)))
    return AllocationProblem(scale, (a, b), name=f"overshoot-{scale}")


def _convex(random: Random, options: int) -> Points:
    """Halving returns: cycles ∝ 1 / bytes."""
    work = random.randint(2_000, 20_000)
    unit = random.randint(2, 20)
    return [(unit * k, -(-work // (unit * k))) for k in range(1, options + 1)]


def _scattered(random: Random, options: int) -> Points:
    """Points anywhere; what is left after dominance has no shape."""
    return [(random.randint(1, 200), random.randint(1, 500)) for _ in range(options)]


def _tile_steps(random: Random, options: int) -> Points:
    """Split one dimension k ways: bytes and steps both jump where ⌈D / k⌉ does."""
    extent, bytes_each = random.randint(12, 96), random.randint(1, 8)
    overhead = random.randint(1, 30)
    points = []
    for splits in range(1, options + 1):
        tile = -(-extent // splits)
        points.append((tile * bytes_each, splits * (overhead + -(-tile // 8))))
    return points


def _correlated(random: Random, options: int) -> Points:
    """Cycles fall almost one for one with bytes: the hard family of knapsacks."""
    most = random.randint(50, 300)
    points = []
    for _ in range(options):
        size_bytes = random.randint(1, most)
        points.append((size_bytes, most - size_bytes + random.randint(1, 4)))
    return points


FAMILIES: dict[str, Callable[[Random, int], Points]] = {
    "convex": _convex,
    "scattered": _scattered,
    "tile-steps": _tile_steps,
    "correlated": _correlated,
}


def _pareto(points: Points) -> tuple[AllocationOption, ...]:
    """Keep the points that no other beats, smallest first."""
    kept: list[AllocationOption] = []
    for size_bytes, cycles in sorted(points):
        if not kept or cycles < kept[-1].cycles:
            kept.append(AllocationOption(size_bytes, cycles))
    return tuple(kept)
