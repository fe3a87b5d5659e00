"""HBM: a first-in-first-out server of preload requests, with done tags."""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import simpy
from simpy.events import Event

from elkhound.model.chip import Chip
from elkhound.model.program import Task
from elkhound.simpy_chip.core import Cores
from elkhound.simpy_chip.links.network import Network
from elkhound.simpy_chip.links.topology import Topology


@dataclass(frozen=True, slots=True)
class Delivery:
    """One preload as it happened: request, first byte and last byte."""

    issue_cycle: int
    start_cycle: int
    end_cycle: int


def striped_cycles(chip: Chip, size_bytes: int) -> int:
    """Return the cycles until the busiest controller has delivered its part.

    Stripes go round the controllers, from the first for every preload; each delivers
    whole bursts at its part of the rate. So few bytes leave controllers idle and fill
    their last burst badly, and many small preloads take longer than one large.
    """
    hbm = chip.hbm
    part = Fraction(size_bytes, hbm.controllers)
    if hbm.stripe_bytes:
        stripes = -(-size_bytes // hbm.stripe_bytes)
        rounds = -(-stripes // hbm.controllers)
        # The first controller is the busiest: whole rounds, and its part of the last.
        before = (rounds - 1) * hbm.stripe_bytes
        last = min(hbm.stripe_bytes, size_bytes - before * hbm.controllers)
        part = Fraction(before + last)
    burst = hbm.burst_bytes
    if burst > 1:
        part = Fraction(math.ceil(part / burst) * burst)
    return math.ceil(part * hbm.controllers * chip.clock_hz / hbm.bytes_per_second)


class Hbm:
    """All controllers together: every preload is striped over all of them.

    Preloads are delivered one after another in the order of their requests, each in
    the h cycles of its option, or those of its busiest controller if that takes
    longer; meanwhile every core's in-port is asked for Y work. A port that gives less
    makes the preload, and those behind it, later. The latency passes while a request
    queues: it shows only where the HBM would otherwise have nothing to deliver.

    Parameters
    ----------
    env : simpy.Environment
        Clock.
    tasks : sequence of Task
        What each operator preloads.
    cores : Cores
        Where it goes.
    links : Topology
        Which links it takes.
    network : Network
        Moves the bytes.
    latency_cycles : int
        From a request to its first byte.
    chip : Chip or None
        Whose controllers deliver stripes and bursts; None: always at full efficiency.
    """

    def __init__(
        self,
        env: simpy.Environment,
        tasks: Sequence[Task],
        cores: Cores,
        links: Topology,
        network: Network,
        latency_cycles: int,
        chip: Chip | None,
    ) -> None:
        self._env = env
        self._tasks = tasks
        self._cores = cores
        self._links = links
        self._network = network
        self._latency_cycles = latency_cycles
        self._chip = chip
        self._requests = simpy.Store(env)
        self.tags = [env.event() if task.option.streams else None for task in tasks]
        self.deliveries: dict[int, Delivery] = {}
        env.process(self._serve())

    def request(self, operator: int) -> None:
        """Queue the operator's preload; its tag fires when all bytes are there."""
        self._requests.put((operator, int(self._env.now)))

    def _serve(self) -> Generator[Event, tuple[int, int], None]:
        while True:
            operator, issue = yield self._requests.get()
            first_byte = issue + self._latency_cycles
            if first_byte > self._env.now:
                yield self._env.timeout(first_byte - self._env.now)
            start = int(self._env.now)
            yield self._deliver(operator)
            end = int(self._env.now)
            self.deliveries[operator] = Delivery(issue, start, end)
            size_bytes = self._tasks[operator].option.preload_bytes
            for cell, tile in enumerate(self._cores.tiles(operator)):
                self._cores.delivered_bytes[cell] += tile.share(size_bytes)
            tag = self.tags[operator]
            if tag is not None:
                tag.succeed()

    def _deliver(self, operator: int) -> Event:
        option = self._tasks[operator].option
        work = option.preload_link_cycles
        cycles = option.preload_cycles
        if self._chip is not None and option.payload is not None:
            cycles = max(cycles, striped_cycles(self._chip, option.payload.hbm_bytes))
        if work == 0:
            return self._env.timeout(cycles)
        tiles = self._cores.tiles(operator)
        size_bytes = option.preload_bytes
        return self._network.start(self._links.preload(work, cycles, size_bytes, tiles))
