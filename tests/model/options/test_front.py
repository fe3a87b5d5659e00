"""Exact dominance against plain loops."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from elkhound.model.options.front import (
    FEW,
    first_of_equal,
    four_field_front,
    pareto_rows,
)
from elkhound.model.schedule import ScheduleOption

tables = st.integers(1, 4).flatmap(
    lambda width: st.lists(
        st.lists(st.integers(0, 6), min_size=width, max_size=width),
        min_size=1,
        max_size=60,
    )
)


@settings(derandomize=True, deadline=None, max_examples=300)
@given(tables)
def test_the_front_is_what_no_row_dominates(rows: list[list[int]]) -> None:
    kept = [
        i
        for i, row in enumerate(rows)
        if not any(
            other != row and all(a <= b for a, b in zip(other, row, strict=True))
            for other in rows
        )
    ]
    assert pareto_rows(np.array(rows, dtype=np.int64)).tolist() == kept


@settings(derandomize=True, deadline=None)
@given(tables)
def test_the_first_of_equal_rows_stands_for_them(rows: list[list[int]]) -> None:
    found = first_of_equal(np.array(rows, dtype=np.int64))
    assert [rows[i] for i in found] == sorted([list(r) for r in set(map(tuple, rows))])
    assert all(rows.index(rows[i]) == i for i in found)


def test_a_long_table_is_sieved_to_the_same_front() -> None:
    rows = np.random.default_rng(7).integers(0, 60, size=(3 * FEW, 3))
    rows = rows.astype(np.int64)
    nowhere_larger = (rows[:, None] <= rows).all(axis=2)
    somewhere_smaller = (rows[:, None] < rows).any(axis=2)
    beaten = (nowhere_larger & somewhere_smaller).any(axis=0)
    assert pareto_rows(rows).tolist() == np.flatnonzero(~beaten).tolist()


def test_no_rows_have_an_empty_front() -> None:
    assert pareto_rows(np.zeros((0, 3), dtype=np.int64)).tolist() == []
    assert four_field_front([]) == ()


def test_of_options_equal_in_four_fields_the_first_stays() -> None:
    one = ScheduleOption(0, 10, 5, 7, 1, 9, 2)
    same = ScheduleOption(1, 10, 5, 7, 1, 9, 2)
    smaller = ScheduleOption(2, 9, 5, 7, 1, 10, 2)
    assert four_field_front([one, same, smaller]) == (smaller, one)
