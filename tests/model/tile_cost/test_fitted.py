"""Trees fitted to the formulas of a device."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elkhound.model.tile_cost import (
    DIMENSIONS,
    Blocks,
    Device,
    FittedCost,
    MatmulSwap,
    TileKind,
    fitted_to,
)
from elkhound.model.tile_cost import fitted as fitted_module
from elkhound.model.tile_cost.features import features
from elkhound.model.tile_cost.fitted import device_tiles, fitted_tree, least_tiles
from elkhound.model.tile_cost.least_squares import Floats
from elkhound.model.tile_cost.sample import random_tiles

ROOM_BYTES = 64 * 1024
DEVICE = Device(64, 4)
KINDS = [pytest.param(kind, id=kind) for kind in TileKind]


@pytest.fixture(scope="module")
def cost() -> FittedCost:
    return fitted_to(DEVICE, ROOM_BYTES)


def relative_errors(cost: FittedCost, device: Device, kind: TileKind) -> Floats:
    tiles = device_tiles(device, kind, ROOM_BYTES, 2000, seed=99)
    predicted = cost.tile_cycles(kind, tiles.dimensions)
    errors: Floats = np.abs(predicted - tiles.cycles) / tiles.cycles
    return errors


@pytest.mark.parametrize("kind", KINDS)
def test_a_tree_predicts_tiles_it_has_not_seen(
    cost: FittedCost, kind: TileKind
) -> None:
    errors = relative_errors(cost, DEVICE, kind)
    assert errors.mean() < 0.01
    assert errors.max() < 0.25


@pytest.mark.parametrize("blocks", list(Blocks))
@pytest.mark.parametrize("swap", list(MatmulSwap))
def test_every_variant_of_the_device_is_fitted(
    swap: MatmulSwap, blocks: Blocks
) -> None:
    device = Device(64, 4, swap, blocks)
    errors = relative_errors(fitted_to(device, ROOM_BYTES), device, TileKind.MATMUL)
    assert errors.mean() < (0.01 if blocks is Blocks.WHOLE else 0.002)


@given(st.data())
@settings(derandomize=True, deadline=None, max_examples=200)
def test_a_prediction_falls_by_little_where_a_tile_grows(
    cost: FittedCost, data: st.DataObject
) -> None:
    """Inside a leaf it cannot fall at all; from one leaf to the next it may."""
    kind = data.draw(st.sampled_from([k for k in TileKind if k is not TileKind.GATHER]))
    most = 400 if kind is TileKind.MATMUL else 30_000
    count = len(DIMENSIONS[kind])
    small = data.draw(st.lists(st.integers(1, most), min_size=count, max_size=count))
    if kind is TileKind.MATMUL:
        small[0] = 1
    grown = [extent + data.draw(st.integers(0, 20)) for extent in small]
    columns = tuple(
        np.array(pair, dtype=np.int64) for pair in zip(small, grown, strict=True)
    )
    before, after = cost.tile_cycles(kind, columns).tolist()
    assert after >= 0.95 * before


@pytest.mark.parametrize("kind", KINDS)
def test_predictions_beyond_the_sample_are_positive_and_grow(
    cost: FittedCost, kind: TileKind
) -> None:
    sizes = np.array([10**5, 2 * 10**5, 4 * 10**5], dtype=np.int64)
    if kind is TileKind.MATMUL:
        sizes //= 100
    predicted = cost.tile_cycles(kind, (sizes,) * len(DIMENSIONS[kind]))
    assert (np.diff(predicted) > 0).all()
    assert (predicted > 0).all()


def test_equal_data_is_equal_cost_and_other_data_is_not() -> None:
    fitted_to.cache_clear()
    first = fitted_to(DEVICE, ROOM_BYTES)
    fitted_to.cache_clear()
    again = fitted_to(DEVICE, ROOM_BYTES)
    other = fitted_to(Device(32, 4), ROOM_BYTES)
    assert first is not again
    assert (first, hash(first), repr(first)) == (again, hash(again), repr(again))
    assert repr(first) != repr(other)


def test_a_tree_is_fitted_once_and_then_read_from_disk(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ELKHOUND_CACHE", str(tmp_path))
    tiles = device_tiles(DEVICE, TileKind.MATMUL, ROOM_BYTES, 300, seed=5)
    first = fitted_tree(tiles)
    monkeypatch.setattr(fitted_module, "fit_tree", None)
    again = fitted_tree(tiles)
    asked = features(tiles.kind, tiles.dimensions)
    assert again.predict(*asked).tolist() == first.predict(*asked).tolist()
    assert [path.parent.name for path in tmp_path.rglob("*.table")] == ["tile-cost"]


def test_too_few_tiles_are_not_fitted() -> None:
    kind = TileKind.UNARY
    tiles = device_tiles(DEVICE, kind, ROOM_BYTES, least_tiles(kind) - 1, seed=1)
    with pytest.raises(ValueError, match="3 tiles are too few for a unary tree"):
        fitted_tree(tiles)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("room", [1, 4096, 10**6])
def test_random_tiles_are_legal_and_fit(kind: TileKind, room: int) -> None:
    rng = np.random.default_rng(0)
    columns = random_tiles(kind, room, 500, rng)
    assert [len(column) for column in columns] == [500] * len(DIMENSIONS[kind])
    assert all((column >= 1).all() for column in columns)
    if kind is TileKind.MATMUL:
        b, m, n, k = columns
        assert (b * (m * k + k * n + m * n) <= max(room, 4096)).all()
