"""What cores and links did, put together from the network's accounts."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from elkhound.model.schedule import ScheduleOption
from elkhound.simpy_chip.core import Cores
from elkhound.simpy_chip.links.fair_share import Route
from elkhound.simpy_chip.links.link import Link
from elkhound.simpy_chip.links.network import Network
from elkhound.simpy_chip.links.topology import Topology
from elkhound.simpy_chip.placement import Cell, name_of
from elkhound.simpy_chip.score import CoreScore, LinkScore

NONE = Fraction(0)


def core_scores_of(
    cores: Cores, links: Topology, network: Network
) -> tuple[CoreScore, ...]:
    """Return what the cores did; those with the same numbers share an entry."""
    alike: dict[tuple[int, Fraction, Fraction, Fraction, int], list[Cell]] = {}
    for index, cell in enumerate(cores.cells):
        incoming = links.incoming(index)
        numbers = (
            cores.delivered_bytes[index],
            _mean_work(network, incoming),
            _mean_work(network, links.outgoing(index)),
            max(network.peak_load.get(link, NONE) for link in incoming),
            cores.compute_cycles[index],
        )
        alike.setdefault(numbers, []).append(cell)
    total = sum(cell.multiplicity for cell in cores.cells)
    scores = []
    for numbers, cells in alike.items():
        count = sum(cell.multiplicity for cell in cells)
        name = name_of(cells[0].first_core, count, total)
        scores.append(CoreScore(name, count, *numbers))
    return tuple(scores)


def _mean_work(network: Network, links: Route) -> Fraction:
    done = sum((network.work_done.get(link, NONE) for link in links), NONE)
    return done / max(1, len(links))


def tells_exchange(option: ScheduleOption) -> bool:
    """Return whether an option says how many bytes its cores exchange."""
    return option.payload is not None or not option.execute_link_cycles


def link_scores_of(
    cells: Sequence[Cell], links: Topology, network: Network, *, bytes_known: bool
) -> tuple[LinkScore, ...]:
    """Return what went over the links of one kind; equal numbers share an entry."""
    alike: dict[tuple[str, int | None, Fraction, Fraction], list[Link]] = {}
    for link in links.links(cells):
        carried = network.bytes_done.get(link.index, 0) if bytes_known else None
        work = network.work_done.get(link.index, NONE)
        peak = network.peak_load.get(link.index, NONE)
        alike.setdefault((link.kind, carried, work, peak), []).append(link)
    return tuple(
        LinkScore(_name(members), _count(members), carried, work, peak)
        for (_, carried, work, peak), members in alike.items()
    )


def _count(links: Sequence[Link]) -> int:
    return sum(link.multiplicity for link in links)


def _name(links: Sequence[Link]) -> str:
    first, others = links[0], _count(links) - 1
    more = f" and {others} like it" if others else ""
    return f"{first.kind} {first.place}{more}"
