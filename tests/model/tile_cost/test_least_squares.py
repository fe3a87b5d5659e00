from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elkhound.model.tile_cost.least_squares import (
    Floats,
    non_negative_least_squares,
)


def error(rows: Floats, values: Floats, x: Floats) -> float:
    return float(((rows @ x - values) ** 2).sum())


def test_a_line_comes_back() -> None:
    # 2 + 3x at x = 0, 1, 4
    rows = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 4.0]])
    found = non_negative_least_squares(rows, np.array([2.0, 5.0, 14.0]))
    assert found == pytest.approx([2.0, 3.0])


def test_a_falling_line_becomes_its_mean() -> None:
    rows = np.array([[1.0, 1.0], [1.0, 2.0], [1.0, 3.0]])
    found = non_negative_least_squares(rows, np.array([9.0, 6.0, 3.0]))
    assert found == pytest.approx([6.0, 0.0])


def test_negative_values_have_the_answer_zero() -> None:
    found = non_negative_least_squares(np.ones((2, 2)), np.array([-1.0, -2.0]))
    assert found.tolist() == [0.0, 0.0]


@given(
    st.integers(1, 4),
    st.integers(0, 2**32 - 1),
    st.booleans(),
)
@settings(derandomize=True, deadline=None)
def test_no_subset_of_columns_does_better(
    columns: int, seed: int, collinear: bool
) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.uniform(0, 1, (8, columns)) * 10.0 ** rng.integers(-4, 5, columns)
    if collinear:
        rows[:, -1] = rows[:, 0]
    values = rng.normal(1, 2, 8)
    found = non_negative_least_squares(rows, values)
    assert (found >= 0).all()
    least = float((values**2).sum())
    for size in range(1, columns + 1):
        for chosen in itertools.combinations(range(columns), size):
            x = np.zeros(columns)
            x[list(chosen)] = np.linalg.lstsq(rows[:, chosen], values)[0]
            if (x >= 0).all():
                least = min(least, error(rows, values, x))
    assert error(rows, values, found) <= least * (1 + 1e-9) + 1e-9
