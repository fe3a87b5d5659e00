"""FFM figures 10 to 13: mappings become lines, sentences and drawings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure as Drawing
from matplotlib.patches import FancyArrowPatch

from elkhound.experiments.figures.ffm_12 import by_kind
from elkhound.experiments.figures.fused_mappings import (
    given,
    mapped,
    pairs,
    tree_of,
    workload_of,
)
from elkhound.experiments.figures.registry import figure
from elkhound.experiments.plots.style import save
from elkhound.model.fusion import cost_of
from elkhound.model.io import load_accelerator

Lines = list[dict[str, Any]]
SAMPLES: dict[str, Lines] = json.loads(
    (Path(__file__).parent / "samples.json").read_text()
)
ON_EDGE = SAMPLES["ffm-11"]


def rows_of(name: str) -> Lines:
    """Return stored rows; figures 11 to 13 are drawn from the same."""
    return SAMPLES["ffm-10"] if name == "ffm-10" else ON_EDGE


def small(method: str) -> Mapping[str, Any]:
    """Return the line of two matmuls of 16 × 16 × 16."""
    (line,) = mapped(
        workload="matmuls",
        bind={"einsums": 2, "m": 16, "width": 16},
        accelerator="simple",
        objective="energy",
        method=method,
    )
    return line


def test_a_line_is_taken_apart_without_remainder() -> None:
    line = small("pareto-join")
    assert line["status"] == "optimal"
    parts = given(line, "part.")
    assert sum(parts.values()) == pytest.approx(line["energy"])
    main = given(line, "main.")
    assert sum(main.values()) == pytest.approx(parts[line["main_memory"]])
    assert line["edp"] == pytest.approx(line["energy"] * line["latency"])


def test_a_line_without_a_mapping_has_no_values(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from elkhound.heuristics.fusion import transfusion

    # no partial mapping fuses: TransFusion has no mapping then
    monkeypatch.setattr(transfusion, "_is_fixed", lambda *_: False)
    line = small("transfusion")
    assert line["status"] == "unknown"
    assert "energy" not in line
    assert "no mapping" in figure("ffm-11").found([{**line, "bind.new_tokens": 16}])


def test_the_mapping_of_a_line_costs_what_the_line_says() -> None:
    for line in (small("transfusion"), *ON_EDGE):
        cost = cost_of(
            load_accelerator(line["accelerator"]), workload_of(line), tree_of(line)
        )
        assert cost.energy == pytest.approx(line["energy"])
        assert cost.latency == pytest.approx(line["latency"])


@pytest.mark.parametrize("name", ["ffm-10", "ffm-11", "ffm-12", "ffm-13"])
def test_figures_say_and_draw_what_is_stored(name: str, tmp_path: Path) -> None:
    made = figure(name)
    found = made.found(rows_of(name))
    assert "\n" not in found
    assert any(character.isdigit() for character in found)
    drawing = made.draw(rows_of(name))
    assert isinstance(drawing, Drawing)
    assert all(path.stat().st_size > 1000 for path in save(drawing, tmp_path / name))
    assert made.measure.configuration(True) != made.measure.configuration(False)


def test_ratios_are_those_of_the_rows() -> None:
    (best, fixed) = pairs(ON_EDGE)[4096]
    said = figure("ffm-11").found(ON_EDGE)
    assert f"4,096 tokens {fixed['edp'] / best['edp']:.2f}×" in said
    assert fixed["edp"] >= best["edp"]


def test_kinds_of_tensors_are_the_papers() -> None:
    for line in ON_EDGE:
        kinds, main = by_kind(line), given(line, "main.")
        assert sum(kinds.values()) == pytest.approx(sum(main.values()))
        assert kinds["intermediates (K, V)"] == pytest.approx(
            main.get("K", 0) + main.get("V", 0)
        )
        assert kinds["weights"] == pytest.approx(
            sum(value for tensor, value in main.items() if tensor.startswith("W"))
        )
        if line["method"] == "transfusion":
            assert kinds["intermediates (other)"] == 0


def test_arrows_show_where_intermediates_lie() -> None:
    drawing = figure("ffm-13").draw(ON_EDGE)
    arrows = [
        str(patch.get_gid())
        for axes in drawing.axes
        for patch in axes.patches
        if isinstance(patch, FancyArrowPatch)
    ]
    # AV goes to one consumer, in four rows: unfused only by the join at 4,096 tokens
    assert sorted(gid for gid in arrows if gid.startswith("AV ")) == [
        "AV chip",
        "AV chip",
        "AV chip",
        "AV main",
    ]
