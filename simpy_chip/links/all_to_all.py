"""All-to-all links: an in-port and an out-port per core, any pair may talk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from elkhound.simpy_chip.links.fair_share import Route
from elkhound.simpy_chip.links.link import Link
from elkhound.simpy_chip.links.network import Transfer
from elkhound.simpy_chip.placement import Cell, Tile


class AllToAllLinks:
    """Routes between the cores, or between classes of them.

    An exchange takes the sender's out-port and the receiver's in-port; a preload
    takes in-ports only. Peers of one operator form a ring over the cores it uses: a
    core receives everything from the next one before it. On these links that costs
    the same as any pattern in which every core sends as much as it receives. A class
    receives from its own members.

    Parameters
    ----------
    cells : int
        Cores or classes.
    classes : bool
        Whether they are classes.
    """

    def __init__(self, cells: int, *, classes: bool) -> None:
        self._cells = cells
        self._classes = classes

    def incoming(self, cell: int) -> Route:
        """Return the in-port of a core or class."""
        return (cell,)

    def outgoing(self, cell: int) -> Route:
        """Return its out-port."""
        return (self._cells + cell,)

    def links(self, cells: Sequence[Cell]) -> Iterator[Link]:
        """Return the ports of all cores or classes."""
        for number, cell in enumerate(cells):
            place, count = f"core {cell.first_core}", cell.multiplicity
            yield Link(number, "in-port of", place, count)
            yield Link(self._cells + number, "out-port of", place, count)

    def exchange(
        self, cycles: int, size_bytes: int, tiles: Sequence[Tile]
    ) -> Iterator[Transfer]:
        """Return one exchange of an operator, of `cycles` on its slowest core."""
        busy = [cell for cell, tile in enumerate(tiles) if tile.points]
        for before, cell in zip([busy[-1], *busy], busy, strict=False):
            sender = cell if self._classes else before
            route = (*self.outgoing(sender), *self.incoming(cell))
            tile = tiles[cell]
            yield Transfer(tile.share(cycles), route, size_bytes=tile.share(size_bytes))

    def preload(
        self, link_cycles: int, cycles: int, size_bytes: int, tiles: Sequence[Tile]
    ) -> Iterator[Transfer]:
        """Return the transfers of a preload that takes `cycles` if undisturbed."""
        for cell, tile in enumerate(tiles):
            work = tile.share(link_cycles)
            cap = Fraction(work, cycles)
            yield Transfer(work, self.incoming(cell), cap, tile.share(size_bytes))
