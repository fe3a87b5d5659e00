"""Max-min fair sharing of links among flows that each ask for a rate."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from fractions import Fraction

Route = tuple[int, ...]
"""The links a flow takes, each once; links have a capacity of 1."""


def max_min_rates(routes: Sequence[Route], caps: Sequence[Fraction]) -> list[Fraction]:
    """Return the rate of each flow: none can gain without a slower one losing.

    Progressive filling: all rates rise together; a flow stops at what it asks for, or
    when a link of its route is full. What a link can give each of its rising flows
    never falls while others stop, so it is looked up again only when it is due.

    Parameters
    ----------
    routes : sequence of tuple of int
        Links of each flow, at least one.
    caps : sequence of Fraction
        The rate each flow asks for, above 0.

    Examples
    --------
    Two flows share link 0; the first also crosses link 1 with a third:

    >>> rates = max_min_rates([(0, 1), (0,), (1,)], [Fraction(1)] * 3)
    >>> [str(rate) for rate in rates]
    ['1/2', '1/2', '1/2']
    """
    members: dict[int, list[int]] = {}
    for flow, route in enumerate(routes):
        for link in route:
            members.setdefault(link, []).append(flow)
    left = dict.fromkeys(members, Fraction(1))
    rising = {link: len(flows) for link, flows in members.items()}
    rates = [Fraction(0)] * len(routes)
    by_cap = sorted(range(len(routes)), key=lambda flow: caps[flow], reverse=True)
    levels = [(1 / Fraction(count), link) for link, count in rising.items()]
    heapq.heapify(levels)

    def stop(flow: int, rate: Fraction) -> None:
        rates[flow] = rate
        for link in routes[flow]:
            left[link] -= rate
            rising[link] -= 1

    while by_cap:
        if rates[by_cap[-1]]:
            by_cap.pop()
            continue
        level, link = levels[0]
        if not rising[link]:
            heapq.heappop(levels)
        elif (now := left[link] / rising[link]) > level:
            heapq.heapreplace(levels, (now, link))
        elif caps[by_cap[-1]] <= level:
            flow = by_cap.pop()
            stop(flow, caps[flow])
        else:
            for flow in members[link]:
                if not rates[flow]:
                    stop(flow, level)
    return rates
