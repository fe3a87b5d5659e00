"""Leaves out steps that repeat a state, exactly.

When a loop's step ends, the state is all positions relative to the body's, all jobs at
ports, and what is left of them. If it was the same some steps before, the same happens
again, as long as every step takes whole tiles and none is a first touch. Jobs that the
period only advanced, and that last beyond it, may be there with less left: ports look
at urgency alone, so they get the same service in every period until one is done.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from elkhound.simpy_chip.fused.ports import Job
from elkhound.simpy_chip.fused.running import END, Active, Count, Machine, Place

_REMEMBERED = 64


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a state has counted until then.

    Parameters
    ----------
    step : int
        Of the loop that the body is at.
    clock : int
        Ticks.
    left : dict of (str, Job) to int
        Of jobs at ports.
    busy : dict of str to int
        Ticks that ports have served.
    counts, ticks : Counter
        Copies of the machine's.
    """

    step: int
    clock: int
    left: dict[tuple[str, Job], int]
    busy: dict[str, int]
    counts: Counter[Count]
    ticks: Counter[tuple[str, str]]


def skip_repeats(active: Active, level: int) -> None:
    """Leave out steps of a scope's loop if its state is one seen before."""
    outer, step = active.body[:level], active.body[level]
    places = _places(active, level)
    if any(place == END or place[:level] != outer for place in places):
        return
    steps = [place[level] for place in places]
    if min(steps) < 1:
        return
    machine = active.machine
    last = min(
        path.equal_steps(active.scope.loops[level], active.steps(outer))
        for path in active.scope.paths
    )
    room = last - 1 - max(steps)
    if room < 1:
        return
    for port in machine.ports.values():
        port.settle()
    machine.charge()
    remembered_outer, seen = active.history.get(level, (outer, {}))
    if remembered_outer != outer:
        seen = {}
    active.history[level] = (outer, seen)
    state = _state(active, level)
    now = _snapshot(machine, step)
    before = seen.get(state)
    if len(seen) < _REMEMBERED or state in seen:
        seen[state] = now
    if isinstance(before, Snapshot):
        periods = min([room // (step - before.step), *_lasting(before, now)])
        if periods > 0:
            _leave_out(active, level, before, now, periods)
            seen.clear()


def _places(active: Active, level: int) -> list[Place]:
    """Return all positions that the loop moves."""
    moved = [tile for tile in active.tiles if tile.carrier.depth > level]
    leaving = [tile.leaving for tile in moved if tile.carrier.is_output]
    return [active.body, *(tile.filling for tile in moved), *leaving]


def _state(active: Active, level: int) -> object:
    """Return all positions, the body's and those that follow it seen from its own."""

    def seen(place: Place) -> Place:
        if len(place) <= level or place == END:
            return place
        return _moved(place, level, -active.body[level])

    scopes = tuple(
        tuple(seen(p) if scope is active else p for p in _positions(scope))
        for scope in active.machine.active
    )
    phases = tuple(
        tuple(tile.phases) for scope in active.machine.active for tile in scope.tiles
    )
    jobs = tuple(tuple(sorted(p.left)) for p in active.machine.ports.values())
    return scopes, phases, jobs


def _positions(scope: Active) -> list[Place]:
    places = [scope.body]
    for tile in scope.tiles:
        places.append(tile.filling)
        if tile.carrier.is_output:
            places.append(tile.leaving)
    return places


def _snapshot(machine: Machine, step: int) -> Snapshot:
    return Snapshot(
        step,
        machine.clock,
        {(p.name, job): n for p in machine.ports.values() for job, n in p.left.items()},
        {port.name: port.busy for port in machine.ports.values()},
        machine.counts.copy(),
        machine.ticks.copy(),
    )


def _lasting(before: Snapshot, now: Snapshot) -> list[int]:
    """Return for every job how many periods leave something of it; 0 if it grew."""
    periods = []
    for job, left in now.left.items():
        served = before.left[job] - left
        if served < 0:
            periods.append(0)
        elif served > 0:
            periods.append((left - 1) // served)
    return periods


def _leave_out(
    active: Active, level: int, before: Snapshot, now: Snapshot, periods: int
) -> None:
    machine = active.machine
    for port in machine.ports.values():
        served = {
            job: periods * (before.left[name, job] - left)
            for (name, job), left in now.left.items()
            if name == port.name
        }
        busy = periods * (now.busy[port.name] - before.busy[port.name])
        port.skip(periods * (now.clock - before.clock), busy, served)
    for count, value in now.counts.items():
        machine.counts[count] += periods * (value - before.counts[count])
    for key, value in now.ticks.items():
        machine.ticks[key] += periods * (value - before.ticks[key])
    machine.pass_over(periods * (now.clock - before.clock))
    further = periods * (now.step - before.step)
    active.body = _moved(active.body, level, further)
    for tile in active.tiles:
        if tile.carrier.depth > level:
            tile.filling = _moved(tile.filling, level, further)
            if tile.carrier.is_output:
                tile.leaving = _moved(tile.leaving, level, further)


def _moved(place: Place, level: int, steps: int) -> Place:
    return (*place[:level], place[level] + steps, *place[level + 1 :])
