"""Flows over links: fluid, exact, and told at whole cycles."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import simpy
from simpy.events import Event

from elkhound.simpy_chip.links.fair_share import Route, max_min_rates

ZERO = Fraction(0)
ONE = Fraction(1)
EXACT_BITS = 64
GRID = 1 << 32


@dataclass(frozen=True, slots=True)
class Transfer:
    """What is to be moved.

    Parameters
    ----------
    work : int or Fraction
        Cycles that a whole link needs for it.
    route : tuple of int
        Links it takes, all at the same rate.
    cap : Fraction
        Share of a link it asks for, in (0, 1].
    size_bytes : int
        What it carries over each link of the route; of what options do not tell, 0.
    """

    work: int | Fraction
    route: Route
    cap: Fraction = ONE
    size_bytes: int = 0


@dataclass(slots=True)
class _Batch:
    """Transfers that one process waits for together."""

    done: Event
    pending: int = 0

    def ended(self) -> None:
        self.pending -= 1
        if not self.pending:
            self.done.succeed()


@dataclass(slots=True)
class _Flow:
    left: Fraction
    transfer: Transfer
    batch: _Batch
    rate: Fraction = ONE


@dataclass(slots=True, eq=False)
class _Group:
    """Flows that share links, directly or through others.

    Parameters
    ----------
    flows : list
        In the order of their starts.
    clock : Fraction
        The flows are advanced up to here.
    end : Fraction or None
        The next end, exactly; None where rates or flows have changed since.
    alarm : int or None
        The whole cycle at or after the next end; None until rates are known.
    """

    flows: list[_Flow]
    clock: Fraction
    end: Fraction | None = None
    alarm: int | None = None

    def next_end(self) -> Fraction:
        """Return when the first of the flows will have ended."""
        if self.end is None:
            lasts = min(flow.left / flow.rate for flow in self.flows)
            self.end = self.clock + lasts
        return self.end


class Network:
    """Links that flows share by max-min fairness over their routes.

    Rates change only when a flow starts or ends, and only among the flows that share
    links with it. Flows end at exact fractions of a cycle, and the rest speed up
    there; whoever waits is told at the next whole cycle, so an uncontended flow lasts
    exactly work / cap. Only where what is left of a flow becomes a fraction of more
    than 64 bits (flows of a mesh that others disturb many times) is it rounded up to
    the next 2⁻³² of a cycle.

    Parameters
    ----------
    env : simpy.Environment
        Clock, in whole cycles.
    contention : bool
        False: flows do not share, each runs at its cap.
    """

    def __init__(self, env: simpy.Environment, *, contention: bool) -> None:
        self._env = env
        self._contention = contention
        self._group_of: dict[int, _Group] = {}
        self._unshared: dict[_Group, None] = {}  # groups whose rates are not known
        self._alarms: dict[int, list[_Group]] = {}
        self.work_done: dict[int, Fraction] = {}
        self.bytes_done: dict[int, int] = {}
        self.peak_load: dict[int, Fraction] = {}

    def start(self, transfers: Iterable[Transfer]) -> Event:
        """Start transfers at once; the event fires when all of them have ended."""
        batch = _Batch(self._env.event())
        for transfer in transfers:
            if transfer.work:
                batch.pending += 1
                flow = _Flow(Fraction(transfer.work), transfer, batch)
                self._join(flow)
        if batch.pending:
            # Rates wait for the end of this instant's starts: there may be thousands.
            soon = self._env.event().succeed()
            soon.callbacks.append(self._share_all)
        else:
            batch.done.succeed()
        return batch.done

    def _join(self, flow: _Flow) -> None:
        """Put a flow into the one group of all that shares its links."""
        route = flow.transfer.route
        groups = dict.fromkeys(
            self._group_of[link] for link in route if link in self._group_of
        )
        for group in groups:
            self._advance(group)
        home = max(groups, key=lambda g: len(g.flows), default=None)
        if home is None:
            home = _Group([], Fraction(self._env.now))
        for group in groups:
            if group is not home:
                self._unshared.pop(group, None)
                group.alarm = None
                home.flows += group.flows
                for other in group.flows:
                    self._group_of.update(dict.fromkeys(other.transfer.route, home))
        home.flows.append(flow)
        home.end = None
        self._group_of.update(dict.fromkeys(route, home))
        self._unshared[home] = None

    def _share_all(self, _: Event) -> None:
        unshared, self._unshared = self._unshared, {}
        for group in unshared:
            if group.flows:
                self._share(group)
                self._set_alarm(group)

    def _share(self, group: _Group) -> None:
        flows, group.end = group.flows, None
        if len(flows) == 1:  # most are alone, thousands at a time
            cap = flows[0].rate = flows[0].transfer.cap
            for link in flows[0].transfer.route:
                peak = self.peak_load.get(link)
                if peak is None or (peak is not cap and cap > peak):
                    self.peak_load[link] = cap
            return
        load: dict[int, Fraction] = {}
        for flow in flows:
            cap = flow.rate = flow.transfer.cap
            for link in flow.transfer.route:
                load[link] = load[link] + cap if link in load else cap
        if self._contention and any(total > 1 for total in load.values()):
            routes = [flow.transfer.route for flow in flows]
            rates = max_min_rates(routes, [flow.transfer.cap for flow in flows])
            load = dict.fromkeys(load, Fraction(0))
            for flow, rate in zip(flows, rates, strict=True):
                flow.rate = rate
                for link in flow.transfer.route:
                    load[link] += rate
        for link, total in load.items():
            if total > self.peak_load.get(link, 0):
                self.peak_load[link] = total

    def _set_alarm(self, group: _Group) -> None:
        cycle = math.ceil(group.next_end())
        group.alarm = cycle
        if cycle not in self._alarms:
            self._alarms[cycle] = []
            alarm = self._env.timeout(cycle - self._env.now)
            alarm.callbacks.append(self._on_alarm)
        self._alarms[cycle].append(group)

    def _on_alarm(self, event: Event) -> None:
        cycle = int(self._env.now)
        for group in self._alarms.pop(cycle):
            if group.alarm == cycle:  # an older alarm was overtaken by a later start
                self._advance(group)
                self._split(group)
        self._share_all(event)

    def _split(self, group: _Group) -> None:
        """Put the flows that are left into groups of their own, if they are apart."""
        group.alarm = None
        self._unshared.pop(group, None)
        flows, group.flows = group.flows, []
        for flow in flows:
            for link in flow.transfer.route:
                self._group_of.pop(link, None)
        for flow in flows:
            self._join(flow)

    def _advance(self, group: _Group) -> None:
        """Move a group up to the present, through the ends that lie before it."""
        present = Fraction(self._env.now)
        if len(group.flows) == 1 and group.end is not None and group.end <= present:
            group.flows[0].left = ZERO
            self._end(group)
        while group.flows and group.clock < present:
            until = min(group.next_end(), present)
            elapsed = until - group.clock
            group.clock = until
            ended = False
            for flow in group.flows:
                left = flow.left - flow.rate * elapsed
                if left.denominator >> EXACT_BITS:
                    left = Fraction(math.ceil(left * GRID), GRID)
                flow.left = left
                ended |= not left
            group.end = None
            if ended:
                self._end(group)
        group.clock = present

    def _end(self, group: _Group) -> None:
        """Take out the flows that have nothing left; the others share again."""
        ended = [flow for flow in group.flows if not flow.left]
        group.flows = [flow for flow in group.flows if flow.left]
        if group.flows:
            self._share(group)
        for flow in ended:
            work, size_bytes = flow.transfer.work, flow.transfer.size_bytes
            for link in flow.transfer.route:
                self.work_done[link] = self.work_done.get(link, Fraction(0)) + work
                self.bytes_done[link] = self.bytes_done.get(link, 0) + size_bytes
                self._group_of.pop(link, None)
            flow.batch.ended()
        for flow in group.flows:
            self._group_of.update(dict.fromkeys(flow.transfer.route, group))
