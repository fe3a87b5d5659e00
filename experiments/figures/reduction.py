"""What `--quick` leaves out of a figure, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_LISTED = 6  # values of an axis that are named one by one


def reduction(quick: Any, full: Any) -> str:
    """Return what the reduced configuration of a figure has in place of the full one.

    Parameters
    ----------
    quick, full : JSON types
        `Measure.configuration` of both. A key that only the reduced one has, such as
        ``layers``, stands for all without it.

    Examples
    --------
    >>> full = [{"bind": {"seq": [2048, 4096]}, "methods": ["basic"]}]
    >>> reduction([{"bind": {"seq": 2048, "layers": 2}, "methods": ["basic"]}], full)
    'seq 2048 of 2048, 4096; layers 2 in place of all'
    """
    less, more = _axes(quick), _axes(full)
    said = [
        f"{key} {_fewer(less.get(key, []), more.get(key, []))}"
        for key in {**more, **less}
        if less.get(key) != more.get(key)
    ]
    return "; ".join(said) or "nothing"


def _axes(configuration: Any) -> dict[str, list[Any]]:
    """Return the values of every key, each once, in order."""
    axes: dict[str, list[Any]] = {}
    for key, value in _leaves(configuration, ""):
        values = axes.setdefault(key, [])
        if value not in values:
            values.append(value)
    return axes


def _leaves(value: Any, key: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for name, held in value.items():
            within = "" if key in ("bind", "set", "problems", "grids") else key
            yield from _leaves(held, f"{within}.{name}" if within else name)
    elif isinstance(value, list | tuple):
        for held in value:
            yield from _leaves(held, key)
    else:
        yield key, value


def _fewer(less: list[Any], more: list[Any]) -> str:
    is_part = bool(less) and all(value in more for value in less)
    return f"{_listed(less)} {'of' if is_part else 'in place of'} {_listed(more)}"


def _listed(values: list[Any]) -> str:
    if not values:
        return "all"
    numbers = [v for v in values if isinstance(v, int | float)]
    if len(values) <= _LISTED:
        return ", ".join(_text(value) for value in values)
    if len(numbers) == len(values):
        return f"{len(values)} from {_text(min(numbers))} to {_text(max(numbers))}"
    return f"{len(values)} of them"


def _text(value: Any) -> str:
    is_long = isinstance(value, int | float) and abs(value) >= 10**6
    return f"{value:.3g}" if is_long else str(value)
