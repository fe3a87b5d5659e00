"""Option tables on disk."""

from __future__ import annotations

from pathlib import Path

import pytest
from oracles.one_operator import matmul, small_chip

from elkhound.model.options import operator_options, search
from elkhound.model.options.search import Question, forget_tables, option_table
from elkhound.model.options.table import OptionTable
from elkhound.model.schedule import ScheduleOption
from elkhound.model.tile_cost import (
    Device,
    MatmulSwap,
    TileKind,
    fitted_to,
    measured_cost,
)
from elkhound.model.tile_cost.fitted import device_tiles


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Question]:
    """Keep tables in an empty directory; list the questions that are searched."""
    monkeypatch.setenv("ELKHOUND_CACHE", str(tmp_path))
    asked: list[Question] = []

    def recording(question: Question) -> OptionTable:
        asked.append(question)
        return option_table(question)

    monkeypatch.setattr(search, "option_table", recording)
    return asked


def options(m: int = 12, cores: int = 6) -> tuple[ScheduleOption, ...]:
    graph, operator = matmul(m, 20, 64)
    return operator_options(graph, operator, small_chip(cores))


def test_a_table_is_searched_once(searches: list[Question], tmp_path: Path) -> None:
    first = options()
    assert options() == first
    assert len(searches) == 1
    forget_tables()
    assert options() == first
    assert len(searches) == 1
    assert [path.suffix for path in (tmp_path / "options").iterdir()] == [".table"]


def test_another_shape_or_chip_is_another_table(searches: list[Question]) -> None:
    for m, cores in ((12, 6), (13, 6), (12, 7)):
        options(m, cores)
    assert len(searches) == 3


def test_another_tile_cost_is_another_table(
    searches: list[Question], tmp_path: Path
) -> None:
    graph, operator = matmul(12, 20, 64)
    chip = small_chip(6)
    device = Device.of(chip.core)
    fitted = fitted_to(device, chip.core.usable_bytes)
    variant = Device.of(chip.core, MatmulSwap.OFF_WHEN_SMALL)
    tiles = {
        kind: device_tiles(device, kind, chip.core.usable_bytes, 300, seed=1)
        for kind in (TileKind.MATMUL, TileKind.ELEMENTWISE)
    }
    measured = measured_cost("a", tiles)
    costs = (None, fitted, variant, measured)
    found = [operator_options(graph, operator, chip, tile_cost=c) for c in costs]
    assert len(searches) == 4
    assert found[0] != found[3]
    forget_tables()
    again = [operator_options(graph, operator, chip, tile_cost=c) for c in costs]
    moved = measured_cost("b", tiles)
    assert operator_options(graph, operator, chip, tile_cost=moved) == found[3]
    assert operator_options(graph, operator, chip, tile_cost=device) == found[0]
    assert again == found
    assert len(searches) == 4


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda data: b"", id="empty"),
        pytest.param(lambda data: b"not a table", id="text"),
        pytest.param(lambda data: data[: len(data) // 2], id="cut off"),
        pytest.param(
            lambda data: data[:200] + bytes(100) + data[300:], id="overwritten"
        ),
    ],
)
def test_a_damaged_file_is_ignored_and_written_anew(
    searches: list[Question], tmp_path: Path, damage: object
) -> None:
    first = options()
    (path,) = (tmp_path / "options").iterdir()
    whole = path.read_bytes()
    assert callable(damage)
    path.write_bytes(damage(whole))
    forget_tables()
    assert options() == first
    assert len(searches) == 2
    forget_tables()
    assert options() == first
    assert len(searches) == 2


def test_off_keeps_nothing(
    searches: list[Question], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ELKHOUND_CACHE", "off")
    options()
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_cannot_be_written_is_no_error(
    searches: list[Question], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ELKHOUND_CACHE", str(tmp_path / "file"))
    assert options() == options()
    assert len(searches) == 1
