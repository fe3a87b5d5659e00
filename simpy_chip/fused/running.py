"""Runs scopes on SimPy: carriers bring tiles, the body uses them, carriers take them.

Every carrier has room for two tiles: one in use, and one on its way. A tile is filled
when its room is free and the one above it is there; it is written back when the body
has left it. All that a process waits for is written in positions, so that a state can
be compared with an earlier one (`steady`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator
from fractions import Fraction
from math import lcm

import simpy

from elkhound.model.fusion.accelerator import Accelerator, Memory
from elkhound.model.fusion.mapping import Loop
from elkhound.model.fusion.workload import FusionWorkload
from elkhound.simpy_chip.fused.moves import Meter, Moved
from elkhound.simpy_chip.fused.ports import Job, Port
from elkhound.simpy_chip.fused.scopes import Carrier, Scope
from elkhound.simpy_chip.fused.tiles import Path

Place = tuple[int, ...]
"""Steps of a scope's loops, from the outermost on."""
END: Place = (1 << 62,)
Running = Generator[simpy.Event, None, None]
Count = tuple[str, str, str | None, str]
"""Einsum, component, tensor, and ``read``, ``write`` or ``compute``."""

_BODY = -1 << 30


class Machine:
    """Ports, clock and counts of a run.

    Parameters
    ----------
    accelerator, workload
        What runs on what.
    """

    def __init__(self, accelerator: Accelerator, workload: FusionWorkload) -> None:
        self.environment = simpy.Environment(initial_time=0)
        self.accelerator = accelerator
        self.meter = Meter(accelerator)
        self.bits = dict(workload.bits)
        self.skipped = 0
        self.steps = 0
        self.counts: Counter[Count] = Counter()
        self.ticks: Counter[tuple[str, str]] = Counter()
        self.active: list[Active] = []
        self._einsum = workload.einsums[0].name
        self._since = 0
        self._rates = {name: rate for name, rate in _rates(accelerator)}
        rates = [rate for rate in self._rates.values() if rate is not None]
        self.ticks_per_cycle = lcm(1, *(rate.numerator for rate in rates))
        self.ports = {
            name: Port(self.environment, name)
            for name, rate in self._rates.items()
            if rate is not None
        }

    @property
    def clock(self) -> int:
        """Ticks since the start, skipped ones included."""
        return int(self.environment.now) + self.skipped

    def pass_over(self, ticks: int) -> None:
        """Let time pass whose counts are booked already."""
        self.skipped += ticks
        self._since = self.clock

    def charge(self, einsum: str | None = None) -> None:
        """Book the time until now on the einsum that runs; another one runs now."""
        self.ticks[self._einsum, "total"] += self.clock - self._since
        self._since = self.clock
        self._einsum = einsum or self._einsum

    def serve(self, job: Job, work: Counter[str]) -> list[simpy.Event]:
        """Ask ports for work, in bits and operations; free ports need no time."""
        events = []
        for name, amount in work.items():
            rate = self._rates[name]
            if rate is not None and amount:
                ticks = (
                    amount * rate.denominator * (self.ticks_per_cycle // rate.numerator)
                )
                events.append(self.ports[name].submit(job, ticks))
        return events

    def port(self, memory: str, kind: str) -> str:
        """Return the port of reads or writes."""
        shared = self.accelerator.memory(memory).bits_per_cycle is not None
        return memory if shared else f"{memory} {kind}"

    def move(
        self,
        work: Counter[str],
        path: Path,
        tensor: str,
        memory: str,
        kind: str,
        every: int,
        unit: int,
    ) -> None:
        """Count a transfer and add what one unit's port has to do for it."""
        bits = self.bits[tensor]
        self.counts[path.einsum.name, memory, tensor, kind] += bits * every
        work[self.port(memory, kind)] += bits * unit


def _rates(accelerator: Accelerator) -> list[tuple[str, Fraction | None]]:
    """Return every port with its bits or operations per cycle; None: unlimited."""
    rates: list[tuple[str, float | None]] = []
    for part in accelerator.parts:
        if not isinstance(part, Memory):
            rates.append((part.name, part.ops_per_cycle))
        elif part.bits_per_cycle is not None:
            rates.append((part.name, part.bits_per_cycle))
        else:
            rates.append((f"{part.name} read", part.read_bits_per_cycle))
            rates.append((f"{part.name} write", part.write_bits_per_cycle))
    return [(name, None if r is None else Fraction(r)) for name, r in rates]


class Tile:
    """Where a carrier is: the tile it fills, and the one it gives back next."""

    def __init__(self, carrier: Carrier, parent: Tile | None) -> None:
        self.carrier = carrier
        self.parent = parent
        self.children: list[Tile] = []
        self.filling: Place = (0,) * carrier.depth
        self.leaving: Place = (0,) * carrier.depth
        self.phases = ["", ""]


class Active:
    """A scope that runs at the steps of the loops above it.

    Parameters
    ----------
    machine : Machine
        Where.
    scope : Scope
        What.
    above : dict of int to int
        Steps of the loops of outer scopes, by position.
    skip : callable
        Looks for a steady state when a step ends, and leaves out what it repeats.
    """

    def __init__(
        self,
        machine: Machine,
        scope: Scope,
        above: dict[int, int],
        skip: Callable[[Active, int], None] | None,
    ) -> None:
        self.machine = machine
        self.scope = scope
        self.above = above
        self.skip = skip
        self.body: Place = (0,) * len(scope.loops)
        self.changed = machine.environment.event()
        self.history: dict[int, tuple[Place, dict[object, object]]] = {}
        self.tiles: list[Tile] = []
        for carrier in scope.carriers:
            parent = next(
                (
                    tile
                    for tile in self.tiles
                    if tile.carrier.holder == carrier.above
                    and tile.carrier.path is carrier.path
                    and tile.carrier.access is carrier.access
                ),
                None,
            )
            tile = Tile(carrier, parent)
            if parent is not None:
                parent.children.append(tile)
            self.tiles.append(tile)

    def steps(self, place: Place) -> dict[int, int]:
        """Return the steps of all loops in time that stand."""
        return {**self.above, **dict(zip(self.scope.loops, place, strict=False))}

    def after(self, place: Place) -> Place:
        """Return the next place, as deep; the last step of a loop may be smaller."""
        for level in reversed(range(len(place))):
            outer, step = place[:level], place[level] + 1
            if step < self._iterations(level, outer):
                return (*outer, step, *(0,) * (len(place) - level - 1))
        return END

    def _iterations(self, level: int, outer: Place) -> int:
        path, at = self.scope.paths[0], self.scope.loops[level]
        loop = path.nodes[at]
        if not isinstance(loop, Loop):
            raise TypeError(f"position {at} holds no loop")
        extents = path.extents(
            at, self.steps(outer), lambda _at, above: above.over is not None
        )
        ((extent, _),) = extents[loop.rank_of(path.einsum.name)]
        return -(-extent // loop.tile_size)

    def notify(self) -> None:
        """Let every process look again whether it may go on."""
        self.changed.succeed()
        self.changed = self.machine.environment.event()

    def run(self) -> Running:
        """Run the whole scope, until its last tile is written back."""
        machine, scope = self.machine, self.scope
        machine.active.append(self)
        first = scope.paths[0].einsum.name
        machine.charge(first)
        started = machine.clock
        begun = False
        processes = [
            machine.environment.process(process)
            for tile in self.tiles
            for process in self._processes(tile)
        ]
        ended = started
        while self.body != END:
            machine.steps += 1
            while any(
                tile.filling <= _cut(self.body, tile.carrier.depth)
                for tile in self.tiles
            ):
                yield self.changed
            if not begun:
                begun = True
                machine.ticks[first, "fill"] += machine.clock - started
            yield from self._step()
            ended = machine.clock
            previous = self.body
            self.body = self.after(self.body)
            self.notify()
            if self.body != END:
                yield from self._settle()
                if self.skip is not None:
                    level = next(
                        i
                        for i, (old, new) in enumerate(
                            zip(previous, self.body, strict=True)
                        )
                        if old != new
                    )
                    self.skip(self, level)
        for process in processes:
            if process.is_alive:
                yield process
        last = scope.paths[-1].einsum.name
        machine.ticks[last, "drain"] += machine.clock - ended
        machine.charge()
        machine.active.pop()

    def _settle(self) -> Running:
        """Let everything that happens now happen."""
        environment = self.machine.environment
        while environment.peek() <= environment.now:
            yield environment.timeout(0)

    def _step(self) -> Running:
        machine, scope, steps = self.machine, self.scope, self.steps(self.body)
        for branch in scope.branches:
            yield from Active(machine, branch, steps, self.skip).run()
        if scope.branches:
            return
        (path,) = scope.paths
        if path.einsum.copy:
            yield from self._copy(path, steps)
            return
        work: Counter[str] = Counter()
        every, one = machine.meter.operations(path, steps)
        machine.counts[path.einsum.name, path.unit, None, "compute"] += every
        work[path.unit] += one
        for access in path.einsum.accesses:
            holder = path.holders(access.tensor)[-1]
            moved = machine.meter.moved(path, access, holder, path.end, steps)
            place = (work, path, access.tensor, path.memory(holder))
            reads = (moved.every - moved.fresh, moved.upper - moved.fresh_upper)
            machine.move(*place, "read", *reads)
            if access is path.einsum.output:
                machine.move(*place, "write", moved.every, moved.upper)
        yield from machine.serve((_BODY, 0, path.einsum.name), work)

    def _copy(self, path: Path, steps: dict[int, int]) -> Running:
        """Read a tensor at its source and write it where its copy is, if elsewhere."""
        source, copy = path.einsum.tensors
        here, there = (path.memory(path.holders(t)[0]) for t in (source, copy))
        work: Counter[str] = Counter()
        if here != there:
            every = self.machine.meter.operations(path, steps)[0]
            for memory, kind in ((here, "read"), (there, "write")):
                self.machine.move(work, path, source, memory, kind, every, every)
        yield from self.machine.serve((_BODY, 0, path.einsum.name), work)

    def _processes(self, tile: Tile) -> list[Running]:
        fill = self._fill(tile)
        return [fill, self._drain(tile)] if tile.carrier.is_output else [fill]

    def free(self, tile: Tile) -> Place:
        """Return the first tile whose room is still taken."""
        if tile.carrier.is_output:
            return tile.leaving
        return _cut(self.body, tile.carrier.depth)

    def _may_fill(self, tile: Tile) -> bool:
        place, free = tile.filling, self.free(tile)
        if place > free and place != self.after(free):
            return False
        parent = tile.parent
        if parent and parent.filling <= _cut(place, parent.carrier.depth):
            return False
        return place == free or not self._same(tile, free, place)

    def _same(self, tile: Tile, one: Place, other: Place) -> bool:
        """Whether two tiles of an output hold the same: one must be written back."""
        carrier = tile.carrier
        if not carrier.is_output:
            return False
        indexing = [
            isinstance(node := carrier.path.nodes[at], Loop)
            and node.rank_of(carrier.path.einsum.name) in carrier.access.dimensions
            for at in self.scope.loops[: carrier.depth]
        ]
        return all(
            a == b
            for a, b, indexes in zip(one, other, indexing, strict=True)
            if indexes
        )

    def _moved(self, tile: Tile, place: Place) -> Moved:
        carrier = tile.carrier
        return self.machine.meter.moved(
            carrier.path,
            carrier.access,
            carrier.above,
            carrier.position,
            self.steps(place),
        )

    def _fill(self, tile: Tile) -> Running:
        carrier, machine = tile.carrier, self.machine
        path, tensor = carrier.path, carrier.access.tensor
        above, own = path.memory(carrier.above), path.memory(carrier.holder)
        while tile.filling != END:
            while not self._may_fill(tile):
                yield self.changed
            tile.phases[0] = "moves"
            work: Counter[str] = Counter()
            moved = self._moved(tile, tile.filling)
            reads = (moved.every - moved.fresh, moved.upper - moved.fresh_upper)
            writes = (moved.every - moved.fresh, moved.lower - moved.fresh_lower)
            machine.move(work, path, tensor, above, "read", *reads)
            machine.move(work, path, tensor, own, "write", *writes)
            label = f"fill {tensor} ({path.einsum.name})"
            yield from machine.serve((-carrier.position, 1, label), work)
            tile.phases[0] = ""
            tile.filling = self.after(tile.filling)
            self.notify()

    def _drain(self, tile: Tile) -> Running:
        carrier, machine = tile.carrier, self.machine
        path, tensor = carrier.path, carrier.access.tensor
        above, own = path.memory(carrier.above), path.memory(carrier.holder)
        while tile.leaving != END:
            while not self._left(tile):
                yield self.changed
            tile.phases[1] = "moves"
            work: Counter[str] = Counter()
            moved = self._moved(tile, tile.leaving)
            machine.move(work, path, tensor, own, "read", moved.every, moved.lower)
            machine.move(work, path, tensor, above, "write", moved.every, moved.upper)
            label = f"drain {tensor} ({path.einsum.name})"
            yield from machine.serve((-carrier.position, 0, label), work)
            tile.phases[1] = ""
            tile.leaving = self.after(tile.leaving)
            self.notify()

    def _left(self, tile: Tile) -> bool:
        """Whether the body and the holders below have left a tile."""
        depth, place = tile.carrier.depth, tile.leaving
        positions = [self.body, *(child.leaving for child in tile.children)]
        return all(_cut(position, depth) > place for position in positions)


def _cut(place: Place, depth: int) -> Place:
    return END if place == END else place[:depth]
