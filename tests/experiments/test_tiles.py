"""How well tiles and transfers are predicted: numbers, files and the verb."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fakes.said import Said

from elkhound.experiments.tile_accuracy import (
    Accuracy,
    link_accuracy,
    predictions_csv,
    tile_accuracy,
)
from elkhound.experiments.tile_costs import tile_cost_document, tile_cost_of
from elkhound.model.errors import BadInputError
from elkhound.model.io import load_chip
from elkhound.model.tile_cost import (
    Blocks,
    Device,
    FittedCost,
    MatmulSwap,
    MeasuredCost,
    TileKind,
    write_tiles,
)
from elkhound.model.tile_cost.fitted import device_tiles, fitted_to
from elkhound.model.tile_cost.links import links_of

Say = Callable[..., Said]
CHIP = load_chip("toy-8")
DEVICE = Device.of(CHIP.core)


@pytest.fixture
def tiles_file(tmp_path: Path) -> str:
    """200 matmuls, 30 unary tiles and 3 copies of the device."""
    counts = {TileKind.MATMUL: 200, TileKind.UNARY: 30, TileKind.SLICE: 3}
    samples = [device_tiles(DEVICE, k, 60_000, n, seed=1) for k, n in counts.items()]
    write_tiles(tmp_path / "tiles.csv", samples)
    return str(tmp_path / "tiles.csv")


def of(cycles: list[int], predicted: list[float]) -> Accuracy:
    size = np.arange(len(cycles), dtype=np.int64)
    return Accuracy("x", {"n": size}, np.array(cycles), np.array(predicted), fitted=9)


def test_mape_r2_and_the_worst_tile_by_hand() -> None:
    accuracy = of([100, 200, 300], [110.0, 200.0, 270.0])
    # 10 %, 0 and −10 %; squares 100 + 0 + 900 against 100² + 0 + 100²
    assert accuracy.mape == pytest.approx(0.2 / 3)
    assert accuracy.r2 == pytest.approx(1 - 1000 / 20_000)
    assert accuracy.worst == 0
    assert accuracy.entry(2) == {"n": 2, "cycles": 300, "predicted": 270, "error": -0.1}


def test_equal_cycles_have_no_r2() -> None:
    assert of([100, 100], [90.0, 110.0]).r2 is None


def test_every_prediction_is_a_line_of_csv() -> None:
    lines = predictions_csv([of([100], [110.0])]).splitlines()
    assert lines == ["name,n,cycles,predicted,error", "x,0,100,110.0,0.1"]


def test_all_kinds_and_links_of_a_chip_are_predicted_well() -> None:
    chip = load_chip("ipu-pod4-hbm")
    tiles = tile_accuracy(Device.of(chip.core), chip, count=300)
    assert [a.name for a in tiles] == list(TileKind)
    links = [accuracy for accuracy, _ in link_accuracy(chip, count=300)]
    assert [a.name for a in links] == list(links_of(chip))
    for accuracy in (*tiles, *links):
        assert len(accuracy.cycles) == 300
        assert accuracy.mape < 0.01
        assert accuracy.r2 is not None
        assert accuracy.r2 > 0.999


def test_of_measured_tiles_a_fifth_is_held_out(tiles_file: str) -> None:
    cost = tile_cost_of(tiles_file, CHIP)
    assert isinstance(cost, MeasuredCost)
    found = {a.name: a for a in tile_accuracy(cost, CHIP)}
    measured = {str(kind): len(tiles) for kind, tiles in cost.tiles.items()}
    assert set(found) == {"matmul", "unary"}  # 3 copies are too few
    for name, accuracy in found.items():
        assert len(accuracy.cycles) == measured[name] // 5
        assert accuracy.fitted + len(accuracy.cycles) == measured[name]
    assert 0 < found["matmul"].mape < 0.2  # 160 tiles do not tell every step
    assert found["unary"].mape < 0.01


@pytest.mark.parametrize(
    ("text", "cost"),
    [
        pytest.param("device", DEVICE, id="device"),
        pytest.param(
            "device:matmul_swap=off_when_small,blocks=fractional",
            Device.of(CHIP.core, MatmulSwap.OFF_WHEN_SMALL, Blocks.FRACTIONAL),
            id="variant",
        ),
        pytest.param("tree", fitted_to(DEVICE, CHIP.core.usable_bytes), id="tree"),
    ],
)
def test_a_tile_cost_has_a_name(text: str, cost: object) -> None:
    assert tile_cost_of(text, CHIP) == cost


def test_a_tree_of_a_variant_is_fitted_to_that_variant() -> None:
    variant = tile_cost_of("tree:blocks=fractional", CHIP)
    assert isinstance(variant, FittedCost)
    assert variant.trees[TileKind.MATMUL].leaves < 10
    assert variant != tile_cost_of("tree", CHIP)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(
            "trea", r"'trea' is neither device nor tree.*mean tree", id="name"
        ),
        pytest.param("tree:block=whole", "unknown setting 'block'.*blocks", id="key"),
        pytest.param("tree:blocks=half", "blocks is 'half'.*fractional", id="value"),
        pytest.param(
            "tree:blocks=whole,blocks=fractional",
            "blocks is whole and fractional",
            id="twice",
        ),
        pytest.param("tree:", "unknown setting ''", id="nothing"),
        pytest.param("none.csv", "none.csv: no such file", id="file"),
    ],
)
def test_a_wrong_tile_cost_is_refused(text: str, message: str) -> None:
    with pytest.raises(BadInputError, match=message):
        tile_cost_of(text, CHIP)


def test_json_says_what_a_tile_cost_is(tiles_file: str) -> None:
    assert tile_cost_document("device", DEVICE) == {
        "name": "device",
        "matmul_swap": "always",
        "blocks": "whole",
    }
    cost = tile_cost_of(tiles_file, CHIP)
    document = tile_cost_document("t.csv", cost)
    assert document["measured"]["slice"]["tiles"] == 3
    low, high = document["measured"]["matmul"]["range"]["k"]
    assert 1 <= low < high
    assert "slice" not in document["leaves"]


MODEL = ("llama-2-7b", "--bind", "batch=1,seq=64,layers=1", "--chip", "ipu-mk2-hbm")


def compared(say: Say, *flags: str) -> dict[str, Any]:
    said = say(
        "compare", *MODEL, "--methods", "elk-dyn", "--no-plots", "--run-dir", "run",
        "--json", *flags,
    )  # fmt: skip
    document: dict[str, Any] = json.loads(said.out)
    assert (said.status, document["contradictions"]) == (0, [])
    return document


def test_a_comparison_says_which_tile_cost_it_is_of(say: Say) -> None:
    device, tree = compared(say), compared(say, "--tile-cost", "tree")
    assert device["problem"]["tile_cost"]["name"] == "device"
    assert tree["problem"]["tile_cost"]["name"] == "tree"
    assert len(tree["problem"]["tile_cost"]["digest"]) == 64
    by_formula, by_tree = (d["rows"][0]["objective"] for d in (device, tree))
    assert by_formula != by_tree
    assert by_tree == pytest.approx(by_formula, rel=0.05)
    configuration = json.loads(Path("run/configuration.json").read_text())
    assert configuration["configuration"]["tile_cost"] == "tree"


def test_a_kind_that_a_model_needs_and_no_tile_measures_is_named(
    say: Say, tiles_file: str
) -> None:
    said = say("compare", *MODEL, "--tile-cost", tiles_file)
    assert said.status == 2
    assert "tile is measured (measured kinds: matmul, slice, unary)" in said.line


def test_options_are_costed_by_a_tree_too(say: Say) -> None:
    asked = ("options", *MODEL, "--tile-cost", "tree", "--json")
    document = json.loads(say(*asked).out)
    assert document["tile_cost"]["name"] == "tree"


def test_least_memory_does_not_depend_on_tile_cost(say: Say) -> None:
    said = say("compare", *MODEL, "--min-capacity", "--tile-cost", "tree")
    assert said.line.startswith("elkhound: --tile-cost: has no effect")


def test_tiles_prints_one_row_per_kind_and_link(say: Say) -> None:
    said = say("tiles", "--chip", "toy-8", "--tiles", "50")
    assert (said.status, said.err) == (0, "")
    for name in (*TileKind, *links_of(CHIP)):
        assert f"\n {name} " in said.out


def test_tiles_writes_predictions_and_figure_12(say: Say) -> None:
    asked = ("tiles", "--chip", "toy-8", "--tiles", "50", "--output", "out", "--json")
    document = json.loads(say(*asked).out)
    assert list(document) == [
        "chip", "tile_cost", "tiles", "links", "left_out", "files",
    ]  # fmt: skip
    assert document["files"] == [
        "out/predictions.csv", "out/figure-12.svg", "out/figure-12.png",
    ]  # fmt: skip
    with open("out/predictions.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 50 * (len(TileKind) + len(links_of(CHIP)))
    worst = max(
        (row for row in rows if row["name"] == "matmul"),
        key=lambda row: abs(float(row["error"])),
    )
    assert document["tiles"][0]["worst"]["cycles"] == int(worst["cycles"])
    assert all(Path(name).stat().st_size for name in document["files"])


def test_measured_tiles_are_predicted_and_kinds_with_few_named(
    say: Say, tiles_file: str
) -> None:
    said = say("tiles", "--chip", "toy-8", "--tile-cost", tiles_file, "--json")
    document = json.loads(said.out)
    assert [row["name"] for row in document["tiles"]] == ["matmul", "unary"]
    assert document["left_out"] == ["slice"]


def test_measured_transfers_make_a_chip(say: Say) -> None:
    # 1 GHz: HBM 10 + bytes/32, exchange 6 + bytes/2
    Path("links.csv").write_text(
        "link,bytes,cycles\nhbm,320,20\nhbm,32000,1010\nexchange,2,7\nexchange,20,16\n"
    )
    said = say(
        "tiles", "--chip", "toy-8", "--links", "links.csv", "--output", "out", "--json"
    )
    assert json.loads(said.out)["files"][-1] == "out/chip.yaml"
    chip = load_chip("out/chip.yaml")
    assert chip.hbm.bytes_per_second == pytest.approx(32_000_000_000, rel=1e-6)
    assert chip.hbm.latency_ns == 10
    assert chip.links.exchange_bytes_per_second == pytest.approx(2e9, rel=1e-6)
    assert chip.links.sync_cycles == 3
    assert chip.links.bytes_per_second == CHIP.links.bytes_per_second


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(("--tile-cost", "tree"), "name what it is fitted to", id="tree"),
        pytest.param(("--links", "across.csv"), "across has no effect", id="link"),
        pytest.param(("--links", "none.csv"), "no such file", id="no file"),
        pytest.param(
            ("--tile-cost", "t.csv", "--links", "across.csv", "--tiles", "9"),
            "--tiles: has no effect where everything is measured",
            id="count",
        ),
        pytest.param(("--output", "across.csv"), "across.csv", id="a file is no place"),
    ],
)
def test_what_has_no_effect_or_cannot_be_is_refused(
    say: Say, arguments: tuple[str, ...], message: str
) -> None:
    Path("across.csv").write_text("link,bytes,cycles\nacross,1,1\nacross,9,2\n")
    said = say("tiles", "--chip", "toy-8", *arguments)
    assert said.status == 2
    assert message in said.line
