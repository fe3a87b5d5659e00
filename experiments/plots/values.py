"""Reading result rows: plain mappings by the names of the row schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]


def number(row: Row, key: str) -> float | None:
    """Return a numeric entry, or None where the row knows nothing."""
    value = row.get(key)
    return None if value is None else float(value)


def broken(method: str) -> str:
    """Return a method's name with its variant on a second line.

    Examples
    --------
    >>> broken("dp:order=identity").splitlines()
    ['dp:', 'order=identity']
    """
    return method.replace(":", ":\n", 1)


def best_bounds(rows: Sequence[Row]) -> dict[str, float]:
    """Return the largest lower bound of each order class, by class name.

    A bound over the plans of one class may exceed a plan of a larger class, so they
    are never mixed. A class whose bound is that of all orders is left out.
    """
    best: dict[str, float] = {}
    for row in rows:
        bound = number(row, "lower_bound")
        if bound is not None:
            order = str(row.get("order") or "")
            best[order] = max(bound, best.get(order, bound))
    free = best.get("free")
    return {o: bound for o, bound in best.items() if o == "free" or bound != free}
