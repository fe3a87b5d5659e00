"""Max-min fair sharing of one capacity among flows that each ask for a rate."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction


def max_min_shares(caps: Sequence[Fraction], capacity: Fraction) -> list[Fraction]:
    """Return the rate of each flow: no flow can gain without a slower one losing.

    Progressive filling: the flow that asks least gets what it asks, or an equal part
    of what is left if that is less; then the next.

    Parameters
    ----------
    caps : sequence of Fraction
        The rate each flow asks for, above 0.
    capacity : Fraction
        What they share, above 0.

    Examples
    --------
    >>> [str(s) for s in max_min_shares([Fraction(1), Fraction(1, 4)], Fraction(1))]
    ['3/4', '1/4']
    """
    shares = list(caps)
    if sum(caps) <= capacity:
        return shares
    left = capacity
    order = sorted(range(len(caps)), key=lambda index: caps[index])
    for served, index in enumerate(order):
        shares[index] = min(caps[index], left / (len(caps) - served))
        left -= shares[index]
    return shares
