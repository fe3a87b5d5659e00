"""A line per link: cycles of a transfer by its bytes, fitted to transfers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

import numpy as np

from elkhound.model.chip import Chip, Links, Mesh2D
from elkhound.model.errors import BadInputError
from elkhound.model.io.csv_table import CsvTable, refuse, require_one_of, whole_number
from elkhound.model.tile_cost.least_squares import Floats, non_negative_least_squares
from elkhound.model.tile_cost.tile import Integers

NS_PER_SECOND = 1_000_000_000
_COLUMNS = ("link", "bytes", "cycles")


class Link(StrEnum):
    """A way that bytes take, and which bytes are counted."""

    HBM = "hbm"  # out of all controllers: bytes in total
    INBOUND = "inbound"  # HBM to every core at once: bytes per core
    EXCHANGE = "exchange"  # core to core between two synchronisations: bytes per core
    ACROSS = "across"  # the same by more cores than one chip has


@dataclass(frozen=True, slots=True, eq=False)
class Transfers:
    """Transfers over one link, and the cycles each takes.

    Parameters
    ----------
    link : Link
        The link.
    size_bytes, cycles : array
        Of every transfer.
    """

    link: Link
    size_bytes: Integers
    cycles: Integers


@dataclass(frozen=True, slots=True)
class LinkModel:
    """Cycles of a transfer: a part that every one pays, and a part per byte.

    Parameters
    ----------
    fixed_cycles, cycles_per_byte : float
        Neither is negative.
    """

    fixed_cycles: float
    cycles_per_byte: float

    def cycles(self, size_bytes: Integers) -> Floats:
        """Return the predicted cycles of every transfer."""
        sizes = size_bytes.astype(np.float64)
        predicted: Floats = self.fixed_cycles + self.cycles_per_byte * sizes
        return predicted


def fit_link(transfers: Transfers) -> LinkModel:
    """Return the line with the least sum of squared relative errors."""
    columns = [np.ones(len(transfers.cycles)), transfers.size_bytes]
    rows = np.column_stack(columns) / transfers.cycles[:, None]
    fixed, slope = non_negative_least_squares(rows, np.ones(len(rows))).tolist()
    return LinkModel(fixed, slope)


def links_of(chip: Chip) -> tuple[Link, ...]:
    """Return the links that a chip tells apart."""
    far = chip.chips > 1 and chip.links.cross_chip_permille > 1000
    return tuple(link for link in Link if far or link is not Link.ACROSS)


def chip_transfers(chip: Chip, link: Link, size_bytes: Integers) -> Transfers:
    """Return transfers with the cycles a chip takes for them, latency included."""
    sizes = size_bytes.tolist()
    near, far = chip.cores_per_chip, chip.cores_per_chip + 1
    first = chip.latency_cycles(chip.links.latency_ns)
    between = first + 2 * chip.links.sync_cycles
    if link is Link.HBM:
        first = chip.latency_cycles(chip.hbm.latency_ns)
        cycles = [first + chip.hbm_cycles(size) for size in sizes]
    elif link is Link.INBOUND:
        cycles = [first + chip.inbound_cycles(size) for size in sizes]
    else:
        used = near if link is Link.EXCHANGE else far
        cycles = [between + chip.exchange_cycles(size, used) for size in sizes]
    return Transfers(link, size_bytes, np.array(cycles, dtype=np.int64))


def read_transfers(path: str | Path) -> dict[Link, Transfers]:
    """Read measured transfers from a CSV file with the columns link, bytes, cycles.

    Raises
    ------
    BadInputError
        Names file and line, column, value and legal range, or the link of which fewer
        than two sizes are measured.
    """
    found: dict[Link, list[tuple[int, int]]] = {}
    for where, cells in CsvTable(path, _COLUMNS, ()):
        require_one_of(where, "link", cells["link"], list(Link))
        size = whole_number(where, "bytes", cells["bytes"], least=1)
        cycles = whole_number(where, "cycles", cells["cycles"], least=1)
        found.setdefault(Link(cells["link"]), []).append((size, cycles))
    if not found:
        refuse(f"{path}:1", "no measured transfer")
    for link, pairs in found.items():
        if len({size for size, _ in pairs}) < 2:
            refuse(str(path), f"link {link} is measured at one size, a line needs two")
    return {
        link: Transfers(
            link, *(np.array(c, dtype=np.int64) for c in zip(*pairs, strict=True))
        )
        for link, pairs in found.items()
    }


def calibrated(chip: Chip, models: Mapping[Link, LinkModel]) -> Chip:
    """Return a chip with the rates, latencies and synchronisation of fitted lines.

    Rates are rounded down, times up. What has no line stays as it is; only `links_of`
    the chip may have one.

    Raises
    ------
    BadInputError
        If a line has no rate, or the lines do not go together.
    """
    hbm, links = chip.hbm, chip.links
    if Link.HBM in models:
        model = models[Link.HBM]
        hbm = replace(
            hbm,
            bytes_per_second=_rate(chip, Link.HBM, model),
            latency_ns=_nanoseconds(chip, model.fixed_cycles),
        )
    changes: dict[str, int] = {}
    if Link.INBOUND in models:
        model = models[Link.INBOUND]
        reach = links.reach if isinstance(links, Mesh2D) else 1
        changes["bytes_per_second"] = reach * _rate(chip, Link.INBOUND, model)
        changes["latency_ns"] = _nanoseconds(chip, model.fixed_cycles)
    if Link.EXCHANGE in models:
        model = models[Link.EXCHANGE]
        latency_ns = changes.get("latency_ns", links.latency_ns)
        synced = model.fixed_cycles - chip.latency_cycles(latency_ns)
        changes["exchange_bytes_per_second"] = _rate(chip, Link.EXCHANGE, model)
        changes["sync_cycles"] = max(0, _up(synced / 2))
    if Link.ACROSS in models:
        near = changes.get("exchange_bytes_per_second", links.exchange_bytes_per_second)
        slower = near / _rate(chip, Link.ACROSS, models[Link.ACROSS])
        changes["cross_chip_permille"] = max(1000, _up(1000 * slower))
    try:
        changed: Links = replace(links, **changes)  # type: ignore[arg-type]
        return replace(chip, hbm=hbm, links=changed)
    except ValueError as error:
        raise BadInputError(
            f"the fitted links make no chip: {error}", code="bad-file"
        ) from error


def _rate(chip: Chip, link: Link, model: LinkModel) -> int:
    """Return the bytes per second behind a slope."""
    rate = int(chip.clock_hz / model.cycles_per_byte) if model.cycles_per_byte else 0
    if not rate:
        raise BadInputError(
            f"the cycles over link {link} do not tell a rate: "
            f"{model.cycles_per_byte:g} cycles per byte",
            code="bad-file",
        )
    return rate


def _nanoseconds(chip: Chip, cycles: float) -> int:
    return _up(cycles * NS_PER_SECOND / chip.clock_hz)


def _up(value: float) -> int:
    """Round up, but for what least squares leaves of a whole number."""
    return -int(-(value - 1e-6) // 1)
