"""The chip: cores with private SRAM, links between them, HBM outside."""

from __future__ import annotations

from dataclasses import dataclass

from elkhound.model.units import ceil_div, transfer_cycles

MOST_CORES = 1_000_000
"""The simulator keeps a list of them."""


def _require_positive(owner: str, **values: int) -> None:
    for name, value in values.items():
        if value <= 0:
            raise ValueError(f"{owner}: {name} is {value}, must be positive")


def _require_non_negative(owner: str, **values: int) -> None:
    for name, value in values.items():
        if value < 0:
            raise ValueError(f"{owner}: {name} is {value}, must not be negative")


def _require_link_rates(links: Links) -> None:
    _require_positive(
        "links",
        bytes_per_second=links.bytes_per_second,
        exchange_bytes_per_second=links.exchange_bytes_per_second,
    )
    _require_non_negative(
        "links", latency_ns=links.latency_ns, sync_cycles=links.sync_cycles
    )
    if links.exchange_bytes_per_second > links.bytes_per_second:
        raise ValueError(
            f"links: exchange_bytes_per_second is "
            f"{links.exchange_bytes_per_second}, must be at most "
            f"bytes_per_second = {links.bytes_per_second}"
        )


@dataclass(frozen=True, slots=True)
class Core:
    """One core: private SRAM and its arithmetic.

    Parameters
    ----------
    sram_bytes : int
        All SRAM of the core.
    reserved_bytes : int
        Part of it that plans may not use (transfer buffer, code, stacks).
    sram_port_bytes_per_cycle : int
        Port that local compute and remote reads share.
    mac_per_cycle : int
        Multiply-accumulates per cycle at 16 bit.
    vector_flop_per_cycle : int
        Floating-point operations per cycle of the vector unit.
    """

    sram_bytes: int
    reserved_bytes: int
    sram_port_bytes_per_cycle: int
    mac_per_cycle: int
    vector_flop_per_cycle: int

    def __post_init__(self) -> None:
        _require_positive(
            "core",
            sram_bytes=self.sram_bytes,
            sram_port_bytes_per_cycle=self.sram_port_bytes_per_cycle,
            mac_per_cycle=self.mac_per_cycle,
            vector_flop_per_cycle=self.vector_flop_per_cycle,
        )
        _require_non_negative("core", reserved_bytes=self.reserved_bytes)
        if self.reserved_bytes >= self.sram_bytes:
            raise ValueError(
                f"core: reserved_bytes is {self.reserved_bytes}, must be from 0 to "
                f"{self.sram_bytes - 1}, below sram_bytes = {self.sram_bytes}"
            )

    @property
    def usable_bytes(self) -> int:
        """SRAM that plans may use, C of the schedule problem."""
        return self.sram_bytes - self.reserved_bytes


@dataclass(frozen=True, slots=True)
class AllToAll:
    """Links with one in-port and one out-port per core; any pair may talk.

    Parameters
    ----------
    bytes_per_second : int
        Rate of each port; HBM-to-core transfers use all of it.
    exchange_bytes_per_second : int
        Payload rate of core-to-core exchange, protocol included; at most
        `bytes_per_second`.
    latency_ns : int
        From the first byte sent to the first byte received.
    sync_cycles : int
        One synchronisation of all cores.
    cross_chip_permille : int
        Factor on exchange time when an operator uses more cores than one chip has
        (an assumption; 1000 means no penalty).
    """

    bytes_per_second: int
    exchange_bytes_per_second: int
    latency_ns: int
    sync_cycles: int
    cross_chip_permille: int

    def __post_init__(self) -> None:
        _require_link_rates(self)
        if self.cross_chip_permille < 1000:
            raise ValueError(
                f"links: cross_chip_permille is {self.cross_chip_permille}, "
                "must be at least 1000"
            )

    @property
    def inbound_bytes_per_second(self) -> int:
        """Rate at which HBM can fill every core at once: that of the port."""
        return self.bytes_per_second


@dataclass(frozen=True, slots=True)
class Mesh2D:
    """A mesh of cores in rows and columns, with HBM controllers on two edges.

    Bytes go along the row first, then along the column. HBM feeds the two short edges
    (left and right where there are as many columns as rows or more, else top and
    bottom): one link of its own into every core there, through which the half of the
    row or column beyond it is served.

    Parameters
    ----------
    rows, columns : int
        Their product is the number of cores.
    bytes_per_second : int
        Rate of each link, in each direction.
    exchange_bytes_per_second : int
        Payload rate of an exchange between neighbours, protocol included; at most
        `bytes_per_second`. Planning assumes it for every exchange.
    latency_ns : int
        From the first byte sent to the first byte received.
    sync_cycles : int
        One synchronisation of all cores.
    """

    rows: int
    columns: int
    bytes_per_second: int
    exchange_bytes_per_second: int
    latency_ns: int
    sync_cycles: int

    def __post_init__(self) -> None:
        _require_positive("links", rows=self.rows, columns=self.columns)
        _require_link_rates(self)

    @property
    def cross_chip_permille(self) -> int:
        """1000: one mesh spans all chips, crossing is a hop like any other."""
        return 1000

    @property
    def reach(self) -> int:
        """Cores that the busier of two opposite edge links serves."""
        return ceil_div(max(self.rows, self.columns), 2)

    @property
    def inbound_bytes_per_second(self) -> int:
        """Rate at which HBM can fill all cores at once: an edge link over `reach`."""
        return max(1, self.bytes_per_second // self.reach)


Links = AllToAll | Mesh2D


@dataclass(frozen=True, slots=True)
class Hbm:
    """High-bandwidth memory outside the chip.

    Parameters
    ----------
    bytes_per_second : int
        Rate of all controllers of all chips together.
    latency_ns : int
        From request to first byte.
    controllers : int
        Number of controllers that data is striped over.
    stripe_bytes : int
        Bytes on one controller before the next; 0: spread evenly to the byte.
    burst_bytes : int
        A controller delivers whole bursts of this size.
    """

    bytes_per_second: int
    latency_ns: int
    controllers: int
    stripe_bytes: int = 0
    burst_bytes: int = 1

    def __post_init__(self) -> None:
        _require_positive(
            "hbm",
            bytes_per_second=self.bytes_per_second,
            controllers=self.controllers,
            burst_bytes=self.burst_bytes,
        )
        _require_non_negative(
            "hbm", latency_ns=self.latency_ns, stripe_bytes=self.stripe_bytes
        )


@dataclass(frozen=True, slots=True)
class Chip:
    """One or several chips that run one program together.

    Parameters
    ----------
    name : str
        Name shown in reports.
    chips, cores_per_chip : int
        Their product is the number of cores.
    clock_hz : int
        The clock that cycles count.
    core, links, hbm : Core, AllToAll or Mesh2D, Hbm
        The parts.
    overlap_exchange : bool
        False: bulk-synchronous, a core computes or exchanges. True: both at once.
    """

    name: str
    chips: int
    cores_per_chip: int
    clock_hz: int
    core: Core
    links: Links
    hbm: Hbm
    overlap_exchange: bool = False

    def __post_init__(self) -> None:
        _require_positive(
            f"chip {self.name}",
            chips=self.chips,
            cores_per_chip=self.cores_per_chip,
            clock_hz=self.clock_hz,
        )
        if self.cores > MOST_CORES:
            raise ValueError(
                f"chips · cores_per_chip is {self.cores}, must be at most {MOST_CORES}"
            )
        mesh = self.links
        if isinstance(mesh, Mesh2D) and mesh.rows * mesh.columns != self.cores:
            raise ValueError(
                f"links: {mesh.rows} rows of {mesh.columns} are "
                f"{mesh.rows * mesh.columns} cores, must be chips · cores_per_chip = "
                f"{self.cores}"
            )

    @property
    def cores(self) -> int:
        """Cores of all chips."""
        return self.chips * self.cores_per_chip

    @property
    def link_stretch_permille(self) -> int:
        """σ of the stretch rule in permille, rounded up.

        u = HBM rate over the rate at which links fill all cores;
        σ = min(u, ½) / (1 − min(u, ½)).
        """
        hbm = self.hbm.bytes_per_second
        ports = self.cores * self.links.inbound_bytes_per_second
        if 2 * hbm >= ports:
            return 1000
        return ceil_div(1000 * hbm, ports - hbm)

    def hbm_cycles(self, size_bytes: int) -> int:
        """Return the cycles HBM needs to deliver `size_bytes` in total."""
        return transfer_cycles(size_bytes, self.clock_hz, self.hbm.bytes_per_second)

    def inbound_cycles(self, bytes_per_core: int) -> int:
        """Return the cycles the links need to bring every core bytes from HBM."""
        return transfer_cycles(
            bytes_per_core, self.clock_hz, self.links.inbound_bytes_per_second
        )

    def exchange_cycles(self, bytes_per_core: int, cores_used: int) -> int:
        """Return the cycles a core needs to receive bytes from other cores.

        `cores_used` beyond one chip's cores adds the crossing factor.
        """
        permille = 1000
        if cores_used > self.cores_per_chip:
            permille = self.links.cross_chip_permille
        return ceil_div(
            bytes_per_core * self.clock_hz * permille,
            self.links.exchange_bytes_per_second * 1000,
        )

    def latency_cycles(self, latency_ns: int) -> int:
        """Return ⌈latency · clock⌉."""
        return ceil_div(latency_ns * self.clock_hz, 1_000_000_000)
