"""A mesh of directed links, first along the row, then along the column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from elkhound.model.chip import Mesh2D
from elkhound.simpy_chip.links.fair_share import Route
from elkhound.simpy_chip.links.link import Link
from elkhound.simpy_chip.links.network import Transfer
from elkhound.simpy_chip.placement import Cell, Tile

Place = tuple[int, int]
"""Column and row."""

_EAST, _WEST, _SOUTH, _NORTH = range(4)
_STEPS = ((1, 0), (-1, 0), (0, 1), (0, -1))


class MeshLinks:
    """Routes between all cores of a mesh, and from HBM to them.

    Cores are numbered like a snake along the long side, so that consecutive ones are
    neighbours. Peers of one operator form a ring over the cores it uses: a core
    receives everything from the one before it, one hop away but for the first, whose
    bytes come back from the last. Data of HBM enters at the nearer end of a core's own
    row (column, where the mesh is higher than wide).

    A preload's work is that of the edge link, which its option's Y is about: bytes of
    one core take 1/reach of it on every link of the route.

    Parameters
    ----------
    mesh : Mesh2D
        The chip's links.
    """

    def __init__(self, mesh: Mesh2D) -> None:
        self._mesh = mesh
        self._wide = mesh.columns >= mesh.rows
        self._places = [self._place(core) for core in range(mesh.rows * mesh.columns)]
        self._inbound = [self._from_hbm(place) for place in self._places]

    def _place(self, core: int) -> Place:
        length = max(self._mesh.rows, self._mesh.columns)
        line, step = divmod(core, length)
        along = step if line % 2 == 0 else length - 1 - step
        return (along, line) if self._wide else (line, along)

    def _link(self, place: Place, direction: int) -> int:
        column, row = place
        return 4 * (row * self._mesh.columns + column) + direction

    def _edge_link(self, place: Place) -> int:
        column, row = place
        cores = self._mesh.rows * self._mesh.columns
        return 4 * cores + row * self._mesh.columns + column

    def _from_hbm(self, place: Place) -> Route:
        along = place[0] if self._wide else place[1]
        last = max(self._mesh.rows, self._mesh.columns) - 1
        end = 0 if along < self._mesh.reach else last
        entry = (end, place[1]) if self._wide else (place[0], end)
        return (self._edge_link(entry), *self.route(entry, place))

    def route(self, sender: Place, receiver: Place) -> Route:
        """Return the links from one place to another, X then Y."""
        links = []
        column, row = sender
        while column != receiver[0]:
            direction = _EAST if column < receiver[0] else _WEST
            links.append(self._link((column, row), direction))
            column += _STEPS[direction][0]
        while row != receiver[1]:
            direction = _SOUTH if row < receiver[1] else _NORTH
            links.append(self._link((column, row), direction))
            row += _STEPS[direction][1]
        return tuple(links)

    def incoming(self, cell: int) -> Route:
        """Return the links into a core: from its neighbours, and from HBM."""
        column, row = place = self._places[cell]
        links = []
        for direction, (right, down) in enumerate(_STEPS):
            neighbour = (column - right, row - down)
            if self._is_inside(neighbour):
                links.append(self._link(neighbour, direction))
        if len(self._inbound[cell]) == 1:
            links.append(self._edge_link(place))
        return tuple(links)

    def outgoing(self, cell: int) -> Route:
        """Return the links from a core to its neighbours."""
        column, row = place = self._places[cell]
        return tuple(
            self._link(place, direction)
            for direction, (right, down) in enumerate(_STEPS)
            if self._is_inside((column + right, row + down))
        )

    def _is_inside(self, place: Place) -> bool:
        mesh = self._mesh
        return 0 <= place[0] < mesh.columns and 0 <= place[1] < mesh.rows

    def links(self, cells: Sequence[Cell]) -> Iterator[Link]:
        """Return the links between neighbours, and those from HBM to the edges."""
        for cell in cells:
            place = self._places[cell.first_core]
            for direction, (right, down) in enumerate(_STEPS):
                neighbour = (place[0] + right, place[1] + down)
                if self._is_inside(neighbour):
                    index = self._link(place, direction)
                    yield Link(index, "link", f"{_text(place)}→{_text(neighbour)}")
            if len(self._inbound[cell.first_core]) == 1:
                yield Link(self._edge_link(place), "link", f"HBM→{_text(place)}")

    def exchange(
        self, cycles: int, size_bytes: int, tiles: Sequence[Tile]
    ) -> Iterator[Transfer]:
        """Return one exchange of an operator, of `cycles` on its slowest core."""
        busy = [core for core, tile in enumerate(tiles) if tile.points]
        for before, core in zip([busy[-1], *busy], busy, strict=False):
            route = self.route(self._places[before], self._places[core])
            tile = tiles[core]
            yield Transfer(tile.share(cycles), route, size_bytes=tile.share(size_bytes))

    def preload(
        self, link_cycles: int, cycles: int, size_bytes: int, tiles: Sequence[Tile]
    ) -> Iterator[Transfer]:
        """Return the transfers of a preload that takes `cycles` if undisturbed."""
        for tile, route in zip(tiles, self._inbound, strict=True):
            work = Fraction(tile.share(link_cycles), self._mesh.reach)
            yield Transfer(work, route, work / cycles, tile.share(size_bytes))


def _text(place: Place) -> str:
    column, row = place
    return f"({column}, {row})"


class MeshEdge:
    """One class for a whole mesh: the exchange next to an edge, the slowest.

    Through the edge link go the preloads of `reach` cores, through the next link those
    of all but the first. Of all exchanges, the one that takes this next link has the
    most preloads beside it.

    Parameters
    ----------
    mesh : Mesh2D
        The chip's links.
    """

    EDGE, NEXT = 0, 1

    def __init__(self, mesh: Mesh2D) -> None:
        self._reach = mesh.reach

    def incoming(self, cell: int) -> Route:
        """Return the link that stands for all."""
        return (self.NEXT,)

    def outgoing(self, cell: int) -> Route:
        """Return the link that stands for all."""
        return (self.NEXT,)

    def links(self, cells: Sequence[Cell]) -> Iterator[Link]:
        """Return the two links the class stands for."""
        yield Link(self.EDGE, "link", "from HBM to an edge")
        yield Link(self.NEXT, "link", "beside an edge")

    def exchange(
        self, cycles: int, size_bytes: int, tiles: Sequence[Tile]
    ) -> Iterator[Transfer]:
        """Return the exchange over the link that most preloads use."""
        tile = tiles[0]
        yield Transfer(
            tile.share(cycles), (self.NEXT,), size_bytes=tile.share(size_bytes)
        )

    def preload(
        self, link_cycles: int, cycles: int, size_bytes: int, tiles: Sequence[Tile]
    ) -> Iterator[Transfer]:
        """Return the preloads of the cores behind one edge link."""
        work = Fraction(tiles[0].share(link_cycles), self._reach)
        for hops in range(self._reach):
            route = (self.EDGE, self.NEXT) if hops else (self.EDGE,)
            yield Transfer(work, route, work / cycles, tiles[0].share(size_bytes))
