"""All-to-all links: an in-port and an out-port per core, any pair may talk."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from elkhound.simpy_chip.links.fair_share import Route
from elkhound.simpy_chip.links.network import Transfer
from elkhound.simpy_chip.placement import Tile


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

    def exchange(self, cycles: int, tiles: Sequence[Tile]) -> Iterator[Transfer]:
        """Return one exchange of an operator, of `cycles` on its slowest core."""
        busy = [cell for cell, tile in enumerate(tiles) if tile.points]
        for before, cell in zip([busy[-1], *busy], busy, strict=False):
            sender = cell if self._classes else before
            route = (*self.outgoing(sender), *self.incoming(cell))
            yield Transfer(tiles[cell].share(cycles), route)

    def preload(
        self, link_cycles: int, cycles: int, tiles: Sequence[Tile]
    ) -> Iterator[Transfer]:
        """Return the transfers of a preload that takes `cycles` if undisturbed."""
        for cell, tile in enumerate(tiles):
            work = tile.share(link_cycles)
            yield Transfer(work, self.incoming(cell), Fraction(work, cycles))
