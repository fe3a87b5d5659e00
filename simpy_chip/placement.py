"""Which tile each core has, and which cores behave alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from elkhound.model.chip import Mesh2D
from elkhound.model.program import Program, Task
from elkhound.model.schedule import OptionPayload


class Fidelity(StrEnum):
    """What the simulation runs one by one."""

    CORE = "core"  # every core
    CLASS = "class"  # every group of cores whose tiles are the same throughout


@dataclass(frozen=True, slots=True)
class Tile:
    """A core's part of an operator, against the largest part of any core.

    Parameters
    ----------
    points : int
        Points of the operator's iteration space in the tile; 0: the core idles.
    most : int
        Points of the largest tile.
    """

    points: int
    most: int

    def share(self, amount: int) -> int:
        """Return the part of the largest tile's cycles or bytes, rounded up."""
        if self.points == self.most:
            return amount
        return -(-amount * self.points // self.most)


WHOLE = Tile(1, 1)
"""Of every core where the option does not say how it is cut."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A core, or a class of cores that all do the same.

    Parameters
    ----------
    name : str
        Shown in the score.
    first_core : int
        Index of the core, or of the first of the class.
    multiplicity : int
        How many cores it stands for.
    tiles : tuple of Tile
        By operator.
    """

    name: str
    first_core: int
    multiplicity: int
    tiles: tuple[Tile, ...]


def tiles_of(payload: OptionPayload | None, cores: int) -> tuple[Tile, ...]:
    """Return the tile of every core.

    Cores take tiles in sequence, the last split dimension fastest; cores beyond the
    product of the splits have none. A dimension of size n cut s ways has tiles of
    ⌈n/s⌉, the last ones smaller or empty where that does not divide. The first core's
    tile is always one of the largest.
    """
    if payload is None or not payload.sizes:
        return (WHOLE,) * cores
    points, most = [1], 1
    for (_, split), (_, size) in zip(payload.splits, payload.sizes, strict=True):
        extent = -(-size // split)
        most *= extent
        extents = [max(0, min(extent, size - k * extent)) for k in range(split)]
        points = [outer * inner for outer in points for inner in extents]
    points += [0] * (cores - len(points))
    known = {count: Tile(count, most) for count in set(points)}
    return tuple(known[count] for count in points[:cores])


def cells_of(program: Program, fidelity: Fidelity) -> tuple[Cell, ...]:
    """Return every core, or every class of cores with the same tiles throughout.

    On a mesh cores share links, so that none is like another; there is one class, with
    the largest tiles, which are those of the first core.
    """
    cores = 1 if program.chip is None else program.chip.cores
    tiles = _Tiles(program.tasks, cores)
    if fidelity is Fidelity.CORE:
        return tuple(
            Cell(f"core {core}", core, 1, tiles.of(core)) for core in range(cores)
        )
    if program.chip is not None and isinstance(program.chip.links, Mesh2D):
        return (Cell(name_of(0, cores, cores), 0, cores, tiles.of(0)),)
    members: dict[tuple[Tile, ...], list[int]] = {}
    for core, key in enumerate(tiles.keys()):
        members.setdefault(key, []).append(core)
    return tuple(
        Cell(
            name_of(alike[0], len(alike), cores),
            alike[0],
            len(alike),
            tiles.of(alike[0]),
        )
        for alike in members.values()
    )


def name_of(first_core: int, count: int, cores: int) -> str:
    """Name `count` of the `cores` that do the same, as scores show them."""
    if count == cores:
        return "every core"
    if count == 1:
        return f"core {first_core}"
    return f"core {first_core} and {count - 1} like it"


class _Tiles:
    """Tiles of all cores, computed once for all operators that are cut alike."""

    def __init__(self, tasks: Sequence[Task], cores: int) -> None:
        numbers: dict[object, int] = {}
        self._cores = cores
        self._columns: list[tuple[Tile, ...]] = []
        self._column_of: list[int] = []
        for task in tasks:
            payload = task.option.payload
            cut = None if payload is None else (payload.splits, payload.sizes)
            if cut not in numbers:
                numbers[cut] = len(self._columns)
                self._columns.append(tiles_of(payload, cores))
            self._column_of.append(numbers[cut])

    def of(self, core: int) -> tuple[Tile, ...]:
        """Return the tiles of a core by operator."""
        row = [column[core] for column in self._columns]
        return tuple(row[number] for number in self._column_of)

    def keys(self) -> list[tuple[Tile, ...]]:
        """Return for every core what tells it from those that behave differently."""
        if not self._columns:  # no operators: all cores idle alike
            return [()] * self._cores
        return list(zip(*self._columns, strict=True))
