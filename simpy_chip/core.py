"""The cores: wait for their data, distribute it, compute and exchange together."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass

import simpy
from simpy.events import Event

from elkhound.model.program import Task
from elkhound.model.schedule import OptionPayload, ScheduleOption
from elkhound.simpy_chip.links.network import Network
from elkhound.simpy_chip.links.topology import Topology
from elkhound.simpy_chip.placement import Cell, Tile
from elkhound.simpy_chip.score import Phase, PhaseKind
from elkhound.simpy_chip.sram import Sram
from elkhound.simpy_chip.waits import Waits


@dataclass(frozen=True, slots=True)
class Superstep:
    """One round of exchange and compute.

    Parameters
    ----------
    exchange_cycles, compute_cycles : int
        Without contention.
    remote_bytes : int
        What peers read from a core's SRAM in the exchange.
    """

    exchange_cycles: int
    compute_cycles: int
    remote_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Work:
    """An option as the cores carry it out; cycles of the slowest core.

    Parameters
    ----------
    distribute_cycles : int
        Exchange that turns the preload state into the execute state.
    supersteps : tuple of Superstep
        In order.
    overlapped : bool
        Whether a superstep computes and exchanges at once, or first exchanges.
    distribute_bytes : int
        What peers read from a core's SRAM before.
    """

    distribute_cycles: int
    supersteps: tuple[Superstep, ...]
    overlapped: bool
    distribute_bytes: int = 0


def shares(cycles: int, parts: int) -> list[int]:
    """Cut cycles into whole parts that differ by at most one, larger ones first.

    Of two quantities cut into equally many parts, the larger has the larger part
    everywhere, so maxima per part add up to the maximum of the wholes.
    """
    base, longer = divmod(cycles, parts)
    return [base + 1] * longer + [base] * (parts - longer)


def work_of(option: ScheduleOption) -> Work:
    """Return the phases of an option; without any, X of exchange then t − X."""
    total, link = option.execute_cycles, option.execute_link_cycles
    distribute = option.distribute_cycles
    compute, exchange = option.compute_cycles, option.exchange_cycles
    if distribute is None or compute is None or exchange is None:
        return Work(0, (Superstep(link, total - link),), overlapped=False)
    steps, remote_bytes, before_bytes = 1, 0, 0
    if option.payload is not None and option.payload.members:
        return Work(
            distribute,
            tuple(_members_supersteps(option.payload)),
            overlapped=False,
            distribute_bytes=option.payload.distribute_bytes,
        )
    if option.payload is not None:
        steps = option.payload.steps
        remote_bytes = option.payload.exchange_bytes
        before_bytes = option.payload.distribute_bytes
    cut = (shares(amount, steps) for amount in (exchange, compute, remote_bytes))
    supersteps = map(Superstep, *cut)
    serial = distribute + compute + exchange
    return Work(
        distribute, tuple(supersteps), total != serial, distribute_bytes=before_bytes
    )


def _members_supersteps(payload: OptionPayload) -> Iterator[Superstep]:
    """Return a fused option's rounds: chunk after chunk, in each member by member."""
    rounds = []
    for member in payload.members:
        parts = payload.chunks * member.payload.steps
        amounts = (
            member.exchange_cycles,
            member.compute_cycles,
            member.payload.exchange_bytes,
        )
        cut = (shares(amount, parts) for amount in amounts)
        rounds.append([Superstep(*part) for part in zip(*cut, strict=True)])
    for chunk in range(payload.chunks):
        for member, own in zip(payload.members, rounds, strict=True):
            first = chunk * member.payload.steps
            yield from own[first : first + member.payload.steps]


@dataclass(frozen=True, slots=True)
class Execution:
    """One execute as it happened.

    Parameters
    ----------
    issue_cycle, start_cycle, end_cycle : int
        Issued by the host; data there; finished on all cores.
    alone_cycles : int
        What start to end takes if no preload shares the links.
    stall_cycles : int
        Compute cycles added because peers read the core's SRAM meanwhile.
    phases : tuple of Phase
        In order of their ends; of the slowest core each.
    """

    issue_cycle: int
    start_cycle: int
    end_cycle: int
    alone_cycles: int
    stall_cycles: int
    phases: tuple[Phase, ...]


class Cores:
    """All cores, in bulk-synchronous supersteps: the slowest core ends each.

    Parameters
    ----------
    env : simpy.Environment
        Clock.
    cells : sequence of Cell
        The cores, or classes of them.
    links : Topology
        Which links their exchanges take.
    network : Network
        Moves the bytes.
    sram : Sram
        SRAM of each core; plans reserve the same on all.
    latency_cycles : int
        Added to each exchange phase, from the first byte sent to it received.
    port_bytes_per_cycle : int or None
        SRAM port that peers' reads share with compute; None: they do not disturb it.
    waits : Waits
        Where it notes what it waits for.
    """

    def __init__(
        self,
        env: simpy.Environment,
        *,
        cells: Sequence[Cell],
        links: Topology,
        network: Network,
        sram: Sram,
        latency_cycles: int,
        port_bytes_per_cycle: int | None,
        waits: Waits,
    ) -> None:
        self._env = env
        self._links = links
        self._network = network
        self._latency_cycles = latency_cycles
        self._port_bytes_per_cycle = port_bytes_per_cycle
        self._waits = waits
        self.cells = cells
        self.sram = sram
        self.delivered_bytes = [0] * len(cells)
        self.compute_cycles = [0] * len(cells)
        self.executions: list[Execution] = []

    def tiles(self, operator: int) -> list[Tile]:
        """Return the tile of every core or class."""
        return [cell.tiles[operator] for cell in self.cells]

    def execute(
        self, operator: int, task: Task, tag: Event | None
    ) -> Generator[Event, None, None]:
        """Run one operator: wait for the tag, distribute, then the supersteps."""
        issue = int(self._env.now)
        self.sram.issue_execute(operator, task)
        if tag is not None:
            waiter = f"execute({task.name}) on every core"
            with self._waits.note(waiter, f"the done tag of {task.name}"):
                yield tag
        self.sram.start_execute(operator, task)
        start = int(self._env.now)
        work = work_of(task.option)
        tiles = self.tiles(operator)
        phases: list[Phase] = []
        yield from self._exchange(
            PhaseKind.DISTRIBUTE,
            Superstep(work.distribute_cycles, 0, work.distribute_bytes),
            tiles,
            phases,
        )
        alone = self._with_latency(work.distribute_cycles)
        stalls = 0
        for step in work.supersteps:
            stall = self._stall(step) if work.overlapped else 0
            stalls += stall
            exchange = self._exchange(PhaseKind.EXCHANGE, step, tiles, phases)
            compute = self._compute(step.compute_cycles, stall, tiles, phases)
            lasts = (
                self._with_latency(step.exchange_cycles),
                step.compute_cycles + stall,
            )
            if work.overlapped:
                alone += max(lasts)
                both = (self._env.process(exchange), self._env.process(compute))
                yield self._env.all_of(both)
            else:
                alone += sum(lasts)
                yield from exchange
                yield from compute
        self.sram.end_execute(operator)
        end = int(self._env.now)
        self.executions.append(
            Execution(issue, start, end, alone, stalls, tuple(phases))
        )

    def _with_latency(self, cycles: int) -> int:
        return cycles + self._latency_cycles if cycles else 0

    def _exchange(
        self, kind: PhaseKind, step: Superstep, tiles: list[Tile], phases: list[Phase]
    ) -> Generator[Event, None, None]:
        cycles = step.exchange_cycles
        if cycles == 0:
            return
        start = int(self._env.now)
        if self._latency_cycles:
            yield self._env.timeout(self._latency_cycles)
        yield self._network.start(
            self._links.exchange(cycles, step.remote_bytes, tiles)
        )
        phases.append(Phase(kind, start, int(self._env.now)))

    def _stall(self, step: Superstep) -> int:
        """Return the port cycles that peers' reads take from a core that computes.

        Any other access halts a core that reads its SRAM at full rate (paper §3.3).
        Counting all reads of the superstep is exact for its end: those that come after
        the compute delay nothing, but then the exchange ends later than they add.
        """
        if self._port_bytes_per_cycle is None or not step.compute_cycles:
            return 0
        return -(-step.remote_bytes // self._port_bytes_per_cycle)

    def _compute(
        self, cycles: int, stall: int, tiles: list[Tile], phases: list[Phase]
    ) -> Generator[Event, None, None]:
        if cycles == 0:
            return
        for cell, tile in enumerate(tiles):
            self.compute_cycles[cell] += tile.share(cycles)
        start = int(self._env.now)
        yield self._env.timeout(cycles + stall)
        phases.append(Phase(PhaseKind.COMPUTE, start, int(self._env.now)))
