"""The in-port of a core: flows through it are fluid and exact."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import simpy
from simpy.events import Event

from elkhound.simpy_chip.links.fair_share import max_min_shares


@dataclass(slots=True)
class Flow:
    """One transfer on its way.

    Parameters
    ----------
    left : Fraction
        Work not done yet, in cycles of the whole port.
    cap : Fraction
        Share of the port it asks for, in (0, 1].
    done : Event
        Fires at the first whole cycle at or after its end.
    rate : Fraction
        Share of the port it has now.
    """

    left: Fraction
    cap: Fraction
    done: Event
    rate: Fraction


class Port:
    """A port that HBM-to-core and core-to-core flows share.

    On all-to-all links an exchange also takes the sender's out-port, which no
    preload uses: the in-port is where flows meet. Rates change only when a flow
    starts or ends. Flows end at exact fractions of a cycle, and the rest speed up
    there; whoever waits for one is told at the next whole cycle, so an uncontended
    flow lasts exactly work / cap.

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
        self._flows: list[Flow] = []
        self._clock = Fraction(0)  # flows are advanced up to here
        self._load = Fraction(0)  # sum of the rates now
        self._wake: Event | None = None
        self.work_done = Fraction(0)
        self.peak_load = Fraction(0)

    def transfer(self, work: int, cap: Fraction = Fraction(1)) -> Event:
        """Start a flow of `work` port-cycles; the event fires when it has ended."""
        done = self._env.event()
        if work == 0:
            return done.succeed()
        self._advance(self._env.now)
        self._flows.append(Flow(Fraction(work), cap, done, rate=cap))
        self._share()
        self._set_alarm()
        return done

    def _share(self) -> None:
        if self._contention and len(self._flows) > 1:
            caps = [flow.cap for flow in self._flows]
            rates = max_min_shares(caps, Fraction(1))
            for flow, rate in zip(self._flows, rates, strict=True):
                flow.rate = rate
        else:
            for flow in self._flows:
                flow.rate = flow.cap
        self._load = sum((flow.rate for flow in self._flows), Fraction(0))
        self.peak_load = max(self.peak_load, self._load)

    def _next_end(self) -> Fraction:
        return self._clock + min(flow.left / flow.rate for flow in self._flows)

    def _advance(self, now: float) -> None:
        """Move every flow up to `now`, through the ends that lie before it."""
        present = Fraction(now)
        while self._flows and self._clock < present:
            self._move(min(self._next_end(), present))
        self._clock = present

    def _move(self, until: Fraction) -> None:
        elapsed = until - self._clock
        self._clock = until
        self.work_done += self._load * elapsed
        ended = []
        for flow in self._flows:
            flow.left -= flow.rate * elapsed
            if flow.left == 0:
                ended.append(flow)
        if ended:
            self._flows = [flow for flow in self._flows if flow.left > 0]
            self._share()
            for flow in ended:
                flow.done.succeed()

    def _set_alarm(self) -> None:
        if not self._flows:
            self._wake = None
            return
        delay = math.ceil(self._next_end()) - self._env.now
        self._wake = self._env.timeout(delay)
        self._wake.callbacks.append(self._on_alarm)

    def _on_alarm(self, alarm: Event) -> None:
        if alarm is self._wake:  # an older alarm was overtaken by a later start
            self._advance(self._env.now)
            self._set_alarm()
