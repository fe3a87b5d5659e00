"""The chip: cores with private SRAM, links between all of them, HBM outside."""

from __future__ import annotations

from dataclasses import dataclass

from elkhound.model.units import ceil_div, transfer_cycles


def _require_positive(owner: str, **values: int) -> None:
    for name, value in values.items():
        if value <= 0:
            raise ValueError(f"{owner}: {name} is {value}, must be positive")


def _require_non_negative(owner: str, **values: int) -> None:
    for name, value in values.items():
        if value < 0:
            raise ValueError(f"{owner}: {name} is {value}, must not be negative")


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
                f"core: reserved_bytes is {self.reserved_bytes}, must be below "
                f"sram_bytes = {self.sram_bytes}"
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
        _require_positive(
            "links",
            bytes_per_second=self.bytes_per_second,
            exchange_bytes_per_second=self.exchange_bytes_per_second,
        )
        _require_non_negative(
            "links", latency_ns=self.latency_ns, sync_cycles=self.sync_cycles
        )
        if self.exchange_bytes_per_second > self.bytes_per_second:
            raise ValueError(
                f"links: exchange_bytes_per_second is "
                f"{self.exchange_bytes_per_second}, must be at most "
                f"bytes_per_second = {self.bytes_per_second}"
            )
        if self.cross_chip_permille < 1000:
            raise ValueError(
                f"links: cross_chip_permille is {self.cross_chip_permille}, "
                "must be at least 1000"
            )


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
    core, links, hbm : Core, AllToAll, Hbm
        The parts.
    overlap_exchange : bool
        False: bulk-synchronous, a core computes or exchanges. True: both at once.
    """

    name: str
    chips: int
    cores_per_chip: int
    clock_hz: int
    core: Core
    links: AllToAll
    hbm: Hbm
    overlap_exchange: bool = False

    def __post_init__(self) -> None:
        _require_positive(
            f"chip {self.name}",
            chips=self.chips,
            cores_per_chip=self.cores_per_chip,
            clock_hz=self.clock_hz,
        )

    @property
    def cores(self) -> int:
        """Cores of all chips."""
        return self.chips * self.cores_per_chip

    @property
    def link_stretch_permille(self) -> int:
        """σ of the stretch rule in permille, rounded up.

        u = HBM rate over all in-ports' rate; σ = min(u, ½) / (1 − min(u, ½)).
        """
        hbm = self.hbm.bytes_per_second
        ports = self.cores * self.links.bytes_per_second
        if 2 * hbm >= ports:
            return 1000
        return ceil_div(1000 * hbm, ports - hbm)

    def hbm_cycles(self, size_bytes: int) -> int:
        """Return the cycles HBM needs to deliver `size_bytes` in total."""
        return transfer_cycles(size_bytes, self.clock_hz, self.hbm.bytes_per_second)

    def inbound_cycles(self, bytes_per_core: int) -> int:
        """Return the cycles a core's in-port needs for bytes from HBM."""
        return transfer_cycles(
            bytes_per_core, self.clock_hz, self.links.bytes_per_second
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
