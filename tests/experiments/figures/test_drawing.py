"""Every figure of Elk draws rows like those it stores, and says what they say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure as Drawing
from matplotlib.patches import Rectangle

from elkhound.experiments.figures import registry
from elkhound.experiments.plots.style import save

SAMPLES: dict[str, list[dict[str, Any]]] = json.loads(
    (Path(__file__).parent / "samples.json").read_text()
)
ELK = [n for n in registry.SCRIPTS if n.startswith("elk-") and n in SAMPLES]


@pytest.mark.parametrize("name", ELK)
def test_a_figure_draws_stored_rows(name: str, tmp_path: Path) -> None:
    figure = registry.figure(name)
    drawing = figure.draw(SAMPLES[name])
    assert isinstance(drawing, Drawing)
    assert all(
        axes.get_ylabel() or drawing.get_supylabel() for axes in drawing.axes[:1]
    )
    svg, png = save(drawing, tmp_path / name)
    assert svg.stat().st_size > 1000
    assert png.stat().st_size > 1000


@pytest.mark.parametrize("name", ELK)
def test_what_is_found_is_one_line_with_a_number(name: str) -> None:
    found = registry.figure(name).found(SAMPLES[name])
    assert "\n" not in found
    assert any(character.isdigit() for character in found)


@pytest.mark.parametrize("name", ["elk-17", "elk-18", "elk-19", "elk-20", "elk-22"])
def test_a_figure_without_any_plan_is_still_drawn(name: str) -> None:
    unknown = ("objective", "simulated", "planned_ms", "simulated_ms", "tflops")
    parts = ("hbm_utilisation", "link_utilisation", "lower_bound")
    lines = [{**line, **dict.fromkeys((*unknown, *parts))} for line in SAMPLES[name]]
    figure = registry.figure(name)
    assert isinstance(figure.draw(lines), Drawing)
    figure.found(lines)


def test_bars_of_figure_17_are_as_high_as_planned() -> None:
    lines = SAMPLES["elk-17"]
    drawing = registry.figure("elk-17").draw(lines)
    heights = {
        round(patch.get_height(), 9)
        for axes in drawing.axes
        for patch in axes.patches
        if isinstance(patch, Rectangle) and patch.get_height() > 0
    }
    known = {round(x["planned_ms"], 9) for x in lines if x["planned_ms"] is not None}
    assert heights == known


def test_no_value_of_figure_19_is_moved() -> None:
    lines = SAMPLES["elk-19"]
    drawing = registry.figure("elk-19").draw(lines)
    drawn = {
        round(y, 9)
        for axes in drawing.axes
        for line in axes.lines
        for y in np.asarray(line.get_ydata(), dtype=float).tolist()
    }
    known = {
        round(x[column], 9)
        for x in lines
        for column in ("planned_ms", "simulated_ms")
        if x[column] is not None
    }
    assert {y for y in drawn if y == y} == known


@pytest.mark.parametrize("name", ["elk-19", "elk-21", "elk-22", "elk-23"])
def test_no_point_lies_on_the_edge_of_its_panel(name: str) -> None:
    drawing = registry.figure(name).draw(SAMPLES[name])
    for axes in drawing.axes:
        if axes.lines:
            low, high = axes.get_ylim()
            assert low == 0
            assert axes.dataLim.y1 <= 0.95 * high
