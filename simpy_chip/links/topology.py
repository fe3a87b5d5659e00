"""What the simulation asks of a chip's links, and the ones there are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from elkhound.model.chip import Chip, Mesh2D
from elkhound.simpy_chip.links.all_to_all import AllToAllLinks
from elkhound.simpy_chip.links.fair_share import Route
from elkhound.simpy_chip.links.link import Link
from elkhound.simpy_chip.links.mesh import MeshEdge, MeshLinks
from elkhound.simpy_chip.links.network import Transfer
from elkhound.simpy_chip.placement import Cell, Fidelity, Tile


class Topology(Protocol):
    """Which links the transfers of an operator take."""

    def incoming(self, cell: int) -> Route:
        """Return the links into a core or class."""
        ...

    def outgoing(self, cell: int) -> Route:
        """Return the links out of it."""
        ...

    def links(self, cells: Sequence[Cell]) -> Iterator[Link]:
        """Return every link there is."""
        ...

    def exchange(
        self, cycles: int, size_bytes: int, tiles: Sequence[Tile]
    ) -> Iterator[Transfer]:
        """Return one exchange of an operator, of `cycles` on its slowest core."""
        ...

    def preload(
        self, link_cycles: int, cycles: int, size_bytes: int, tiles: Sequence[Tile]
    ) -> Iterator[Transfer]:
        """Return the transfers of a preload that takes `cycles` if undisturbed."""
        ...


def topology_of(chip: Chip | None, cells: int, fidelity: Fidelity) -> Topology:
    """Return the links of a chip, between its cores or between classes of them."""
    classes = fidelity is Fidelity.CLASS
    if chip is not None and isinstance(chip.links, Mesh2D):
        return MeshEdge(chip.links) if classes else MeshLinks(chip.links)
    return AllToAllLinks(cells, classes=classes)
