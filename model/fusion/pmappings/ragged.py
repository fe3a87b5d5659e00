"""Chains of tiles that need not divide what they cut, and visits of their loops."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

from elkhound.model.errors import BadInputError
from elkhound.model.fusion.mapspace import Tiles

Ints = npt.NDArray[np.int64]
Chain = Sequence[tuple[Ints, bool]]
MOST = {Tiles.ANY: 1024, Tiles.EVEN: 10**6}
"""Largest rank that is cut so: above, the chains alone take minutes and gigabytes."""


def require_small(sizes: Iterable[tuple[str, int]], tiles: Tiles) -> None:
    """Refuse ranks with more tiles of a kind than can be tried.

    Raises
    ------
    BadInputError
        Names the rank and what it may be cut into instead.
    """
    for rank, size in sizes:
        if size > MOST.get(tiles, size):
            kinds = [kind for kind, most in MOST.items() if size <= most]
            raise BadInputError(
                f"rank {rank}: its size is {size}, must be at most {MOST[tiles]} where "
                f"tiles are {tiles}",
                code="too-many-tiles",
                hint=" or ".join(f"--tiles {k}" for k in (*kinds, Tiles.DIVISORS)),
            )


@cache
def cuts(extent: int, tiles: Tiles) -> tuple[int, ...]:
    """Return the tiles that a loop may cut an extent into, falling.

    Examples
    --------
    >>> cuts(7, Tiles.EVEN)  # in 1, 2, 3, 4, and 7 steps
    (7, 4, 3, 2, 1)
    """
    if tiles is Tiles.ANY:
        return tuple(range(extent, 0, -1))
    if tiles is Tiles.EVEN:
        even = {-(-extent // steps) for steps in range(1, extent + 1)}
        return tuple(sorted(even, reverse=True))
    return tuple(d for d in range(extent, 0, -1) if extent % d == 0)


@cache
def chains(
    extent: int, most: tuple[int | None, ...], tiles: Tiles, loops: int | None = None
) -> Ints:
    """Return every chain of tiles, one column per loop.

    Parameters
    ----------
    extent : int
        What the first loop cuts.
    most : tuple of int or None
        Most steps of every loop; None: any number.
    loops : int or None
        Most loops with steps, wherever they end; None: any number, down to 1.
    """
    rows = list(_chains(extent, most, tiles, loops))
    return np.array(rows, np.int64).reshape(len(rows), len(most))


def _chains(
    extent: int, most: tuple[int | None, ...], tiles: Tiles, loops: int | None
) -> Iterator[tuple[int, ...]]:
    if not most:
        if extent == 1 or loops is not None:
            yield ()
        return
    first = cuts(extent, tiles)
    if loops == 0:
        first = (extent,)
    elif loops is None and len(most) == 1:
        first = (1,)
    for tile in first:
        steps = -(-extent // tile)
        if most[0] is not None and steps > most[0]:
            break
        left = None if loops is None else loops - (steps > 1)
        for rest in _chains(tile, most[1:], tiles, left):
            yield (tile, *rest)


def visits(extent: Ints, chain: Chain) -> tuple[Ints, Ints]:
    """Return how often the loops of a chain visit what is below, and extents in all.

    N(s; t₁, t₂, …) = ⌊s/t₁⌋·N(t₁; t₂, …) + N(s mod t₁; t₂, …), N(s; ) = 1, N(0; …) = 0;
    a loop that counts once stands for its largest tile, as in `Nest.visits`.

    Parameters
    ----------
    extent : array
        Size of a rank, by choice.
    chain : sequence of (array, bool)
        Tiles of every loop by choice, and whether it counts once; from outer to inner.
    """
    if not chain:
        return (extent > 0).astype(np.int64), extent
    (tile, once), *inner = chain
    count, total = visits(np.minimum(extent, tile), inner)
    if once:
        return count, total
    full, rest = np.divmod(extent, tile)
    if not rest.any():
        return full * count, full * total
    last_count, last_total = visits(rest, inner)
    return full * count + last_count, full * total + last_total
