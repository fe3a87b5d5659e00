"""Exact Pareto fronts: no dominated point left, ties kept or broken by rank."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from elkhound.model.schedule import ScheduleOption
from elkhound.model.tile_cost.tile import Integers

FEW = 1_000  # rows that are sorted and swept without a sieve


def pareto_rows(points: Integers) -> Integers:
    """Return the rows that no other row dominates, ascending; equal rows all stay.

    A row dominates another if it is nowhere larger and somewhere smaller. Sorted
    lexicographically, a row can be dominated only by an earlier one, and is unless it
    is smaller in a later column: the first row left is on the front, and sweeps away
    what it dominates.

    Examples
    --------
    >>> pareto_rows(np.array([[1, 2], [2, 1], [2, 2], [1, 2]])).tolist()
    [0, 1, 3]
    """
    rows = _not_beaten_by_knees(points)
    order, new = _sorted(points[rows])
    order = rows[order]
    columns = points[order[new]].T.copy()
    left = np.arange(columns.shape[1])
    on_front = np.zeros(len(left), dtype=np.bool_)
    while len(left):
        on_front[left[0]] = True
        stays = np.zeros(len(left), dtype=np.bool_)
        for column in columns[1:]:
            stays |= column < column[0]
        columns, left = columns[:, stays], left[stays]
    return np.sort(order[on_front[np.cumsum(new) - 1]])


def first_of_equal(points: Integers) -> Integers:
    """Return the first row of every set of equal rows, in lexicographic order.

    Examples
    --------
    >>> first_of_equal(np.array([[2, 1], [1, 1], [2, 1]])).tolist()
    [1, 0]
    """
    order, new = _sorted(points)
    return order[new]


def _not_beaten_by_knees(points: Integers) -> Integers:
    """Return the rows that a few balanced ones do not dominate: a cheap first sieve."""
    rows = np.arange(len(points))
    columns = points.T.copy()
    for favoured in range(points.shape[1] + 1):
        if len(rows) < FEW:
            break
        cost = np.zeros(len(rows))
        for place, column in enumerate(columns):
            weight = 4 if place == favoured else 1
            cost += column * (weight / (1 + column.mean()))
        knee = columns[:, int(cost.argmin())]
        beaten = np.ones(len(rows), dtype=np.bool_)
        smaller = np.zeros(len(rows), dtype=np.bool_)
        for column, value in zip(columns, knee, strict=True):
            beaten &= column >= value
            smaller |= column > value
        stays = ~(beaten & smaller)
        columns, rows = columns[:, stays], rows[stays]
    return rows


def _sorted(points: Integers) -> tuple[Integers, NDArray[np.bool_]]:
    """Return the lexicographic order, and where in it a row differs from the last."""
    order = np.lexsort(points.T[::-1])
    new = np.zeros(len(order), dtype=np.bool_)
    new[:1] = True
    for column in points.T:
        ordered = column[order]
        new[1:] |= ordered[1:] != ordered[:-1]
    return order, new


def four_field_front(options: Iterable[ScheduleOption]) -> tuple[ScheduleOption, ...]:
    """Return the options no other beats in the fields that exact solvers see.

    Fields: execute_bytes, preload_bytes, execute_cycles t, execute_link_cycles X. Of
    options equal in all four the first stays. Ordered by the four fields.
    """
    listed = list(options)
    points = np.array(
        [
            (o.execute_bytes, o.preload_bytes, o.execute_cycles, o.execute_link_cycles)
            for o in listed
        ],
        dtype=np.int64,
    ).reshape(-1, 4)
    rows = pareto_rows(points)
    return tuple(listed[i] for i in rows[first_of_equal(points[rows])])
