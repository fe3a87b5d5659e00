"""Measured tiles, and the files they come in."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elkhound.model.errors import BadInputError
from elkhound.model.tile_cost import (
    DIMENSIONS,
    Device,
    MeasuredCost,
    TileKind,
    Tiles,
    measured_cost,
    read_tiles,
    write_tiles,
)
from elkhound.model.tile_cost.fitted import device_tiles
from elkhound.model.tile_cost.measured import rows_of
from elkhound.model.tile_cost.tile import Integers

DEVICE = Device(64, 4)
HEADER = "kind,b,m,n,k,elements,indices,cycles\n"


def array(*values: int) -> Integers:
    return np.array(values, dtype=np.int64)


def measured(tmp_path: Path, rows: str) -> MeasuredCost:
    path = tmp_path / "tiles.csv"
    path.write_text(HEADER + rows)
    return measured_cost(str(path), read_tiles(path))


def test_a_measured_tile_has_its_measured_cycles(tmp_path: Path) -> None:
    cost = measured(tmp_path, "matmul,1,8,8,8,,,700\nmatmul,1,8,8,9,,,701\n")
    dimensions = (array(1, 1), array(8, 8), array(8, 8), array(9, 8))
    assert cost.tile_cycles(TileKind.MATMUL, dimensions).tolist() == [701, 700]


def test_repeated_measurements_count_with_their_mean_rounded_up(
    tmp_path: Path,
) -> None:
    cost = measured(tmp_path, "unary,,,,,10,,205\nunary,,,,,10,,206\nunary,,,,,9,,1\n")
    assert cost.tile_cycles(TileKind.UNARY, (array(10, 9),)).tolist() == [206, 1]


def test_other_tiles_are_predicted_by_a_tree(tmp_path: Path) -> None:
    rows = "".join(f"unary,,,,,{e},,{200 + 3 * e}\n" for e in range(10, 100, 10))
    rows = rows.replace(",50,,350", ",50,,351")  # measured a little off the line
    cost = measured(tmp_path, rows)
    cycles = cost.tile_cycles(TileKind.UNARY, (array(50, 51, 1000),)).tolist()
    assert cycles[0] == 351
    assert cycles[1:] == pytest.approx([353, 3200], rel=0.01)


def test_a_kind_that_is_not_measured_is_named(tmp_path: Path) -> None:
    cost = measured(tmp_path, "unary,,,,,10,,205\nslice,,,,,10,,205\n")
    message = r"tiles.csv: no matmul tile is measured \(measured kinds: slice, unary\)"
    with pytest.raises(BadInputError, match=message):
        cost.tile_cycles(TileKind.MATMUL, (array(1),) * 4)


def test_a_tile_that_cannot_be_predicted_is_named(tmp_path: Path) -> None:
    cost = measured(tmp_path, "matmul,1,8,8,8,,,700\n")
    message = (
        r"tiles.csv: the matmul tile b = 1, m = 8, n = 8, k = 9 is not measured, and 1 "
        r"of its kind are too few to predict it \(a tree is fitted to 24 tiles or more"
    )
    with pytest.raises(BadInputError, match=message):
        cost.tile_cycles(
            TileKind.MATMUL, (array(1, 1), array(8, 8), array(8, 8), array(8, 9))
        )


def test_equal_measurements_are_equal_costs_whatever_the_file(tmp_path: Path) -> None:
    first = measured(tmp_path, "unary,,,,,10,,205\nunary,,,,,9,,204\n")
    other = measured(tmp_path, "unary,,,,,9,,204\n\nunary,,,,,10,,205\n")
    third = measured(tmp_path, "unary,,,,,9,,204\nunary,,,,,10,,206\n")
    assert (repr(first), hash(first)) == (repr(other), hash(other))
    assert first != third
    assert repr(first) != repr(third)


def test_tiles_come_back_from_their_file(tmp_path: Path) -> None:
    samples = [device_tiles(DEVICE, kind, 10**5, 50, seed=1) for kind in TileKind]
    path = tmp_path / "tiles.csv"
    write_tiles(path, samples)
    cost = measured_cost("", read_tiles(path))
    for tiles in samples:
        cycles = cost.tile_cycles(tiles.kind, tiles.dimensions)
        assert cycles.tolist() == tiles.cycles.tolist()


def test_columns_of_other_kinds_may_be_left_out(tmp_path: Path) -> None:
    path = tmp_path / "tiles.csv"
    path.write_text("cycles, kind,elements\n300,unary, 7 \n")
    (tiles,) = read_tiles(path).values()
    assert (tiles.kind, tiles.dimensions[0].tolist()) == (TileKind.UNARY, [7])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", "t.csv:1: column kind is missing", id="empty"),
        pytest.param(HEADER, "t.csv:1: no measured tile", id="no row"),
        pytest.param(
            "kind,elemets,cycles\n",
            r"t.csv:1: unknown column 'elemets' \(did you mean elements",
            id="column",
        ),
        pytest.param(
            "kind,elements,cycles\nunary,1,2\nunnary,1,2\n",
            r"t.csv:3: unknown kind 'unnary' \(did you mean unary",
            id="kind",
        ),
        pytest.param(
            HEADER + "matmul,1,2,3,,,,9\n",
            "t.csv:2: k is '', must be an integer from 1",
            id="missing dimension",
        ),
        pytest.param(
            "kind,m,n,k,cycles\nmatmul,2,3,4,9\n",
            "t.csv:2: b is '', must be an integer from 1",
            id="missing column",
        ),
        pytest.param(
            HEADER + "unary,,,,3,5,,9\n",
            "t.csv:2: k is '3', a unary has only elements",
            id="foreign dimension",
        ),
        pytest.param(
            "kind,elements,cycles\nunary,0,2\n", "t.csv:2: elements is 0", id="zero"
        ),
        pytest.param(
            "kind,elements,cycles\nunary,1,0\n", "t.csv:2: cycles is 0", id="no cycles"
        ),
        pytest.param(
            "kind,elements,cycles\nunary,1,2.5\n",
            "t.csv:2: cycles is '2.5', must be an integer",
            id="fraction",
        ),
        pytest.param(
            "kind,elements,cycles\nunary,1\n",
            "t.csv:2: 2 values, must be 3",
            id="short",
        ),
        pytest.param(
            "kind,elements,cycles\nunary,1,-3\n", "t.csv:2: cycles is '-3'", id="minus"
        ),
        pytest.param(
            'kind,elements,cycles\n"unary,1,3\n', "t.csv:.: is not CSV", id="quote"
        ),
    ],
)
def test_a_bad_file_is_refused_by_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(BadInputError, match=message):
        read_tiles(path)


@given(
    st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=1, unique=True),
    st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=1),
)
@settings(derandomize=True, deadline=None)
def test_tiles_are_found_where_they_are(
    known: list[tuple[int, int]], asked: list[tuple[int, int]]
) -> None:
    columns = tuple(array(*column) for column in zip(*known, strict=True))
    tiles = Tiles(TileKind.GATHER, columns, array(*range(1, len(known) + 1)))
    wanted = tuple(array(*column) for column in zip(*asked, strict=True))
    expected = [known.index(tile) if tile in known else -1 for tile in asked]
    assert rows_of(tiles, wanted).tolist() == expected


@given(
    st.sampled_from(list(TileKind)),
    st.sampled_from([5, 10**6, 10**15]),
    st.sampled_from([2, 10**4, 10**15]),
    st.integers(0, 2**32 - 1),
)
@settings(derandomize=True, deadline=None, max_examples=40)
@pytest.mark.filterwarnings("error")
def test_whatever_was_measured_every_tile_takes_at_least_a_cycle(
    kind: TileKind, largest: int, slowest: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)

    def drawn(count: int, most: int) -> Integers:
        values: Integers = np.exp(rng.uniform(0, np.log(most), count)).astype(np.int64)
        return values

    extents = tuple(drawn(60, largest) for _ in DIMENSIONS[kind])
    cost = measured_cost("t.csv", {kind: Tiles(kind, extents, drawn(60, slowest))})
    asked = tuple(drawn(200, 10 * largest) for _ in DIMENSIONS[kind])
    assert (cost.tile_cycles(kind, asked) >= 1).all()
