from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elkhound.model.tile_cost.least_squares import Floats
from elkhound.model.tile_cost.linear_tree import LinearTree, fit_tree


def of_line(x: Floats, values: Floats) -> LinearTree:
    """Tree over one column, with 1 and that column as terms."""
    return fit_tree(x[:, None], terms_of(x), values, least=4)


def terms_of(x: Floats) -> Floats:
    return np.column_stack([np.ones_like(x), x])


def test_one_line_needs_one_leaf() -> None:
    x = np.arange(1.0, 101.0)
    tree = of_line(x, 200 + 0.5 * x)
    assert tree.leaves == 1
    assert tree.coefficients[0] == pytest.approx([200, 0.5])


def test_a_jump_is_found_where_it_is() -> None:
    x = np.arange(1.0, 1001.0)
    values = np.where(x <= 437, 100 + x, 5000 + 2 * x)
    tree = of_line(x, values)
    assert tree.threshold[tree.key >= 0].tolist() == [437.5]
    asked = np.array([437.0, 437.4, 437.6, 438.0, 2000.0])
    predicted = tree.predict(asked[:, None], terms_of(asked))
    assert predicted == pytest.approx([537, 537.4, 5875.2, 5876, 9000])


def test_a_cut_in_the_second_column_is_found() -> None:
    first, second = (c.ravel().astype(float) for c in np.mgrid[1:30, 1:30])
    values = np.where(second <= 16, 10 * first, 30 * first)
    keys = np.column_stack([first, second])
    tree = fit_tree(keys, first[:, None], values, least=4)
    assert (tree.key[0], tree.threshold[0], tree.leaves) == (1, 16.5, 2)
    assert tree.predict(keys, first[:, None]) == pytest.approx(values)


def test_a_leaf_has_as_many_rows_as_asked() -> None:
    rng = np.random.default_rng(3)
    x = rng.uniform(1, 100, 200)
    tree = fit_tree(x[:, None], terms_of(x), rng.uniform(1, 100, 200), least=25)
    assert np.bincount(tree.leaf(x[:, None]))[tree.key < 0].min() >= 25


@given(st.integers(0, 2**32 - 1), st.integers(8, 60))
@settings(derandomize=True, deadline=None, max_examples=50)
def test_no_prediction_is_negative_nor_falls_inside_a_leaf(
    seed: int, count: int
) -> None:
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 100, count)
    tree = of_line(x, 10.0 ** rng.uniform(-3, 6, count))
    asked = np.sort(rng.uniform(0, 1e6, 200))
    predicted = tree.predict(asked[:, None], terms_of(asked))
    assert (predicted >= 0).all()
    leaf = tree.leaf(asked[:, None])
    same = leaf[1:] == leaf[:-1]
    assert (np.diff(predicted)[same] >= 0).all()


def test_equal_keys_are_not_parted() -> None:
    x = np.repeat([1.0, 2.0], 20)
    tree = of_line(x, np.where(np.arange(40) % 2, 5.0, 50.0))
    assert tree.leaves <= 2
    assert set(tree.threshold[tree.key >= 0].tolist()) <= {1.5}
