from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch

from elkhound.experiments.plots.fused import fused_figure
from elkhound.experiments.plots.fusion_fronts import fusion_fronts_figure

NAMES = ["q", "k", "scores", "softmax_of_all_scores", "context"]
EDGES = [("Q", 0, 2), ("K", 1, 2), ("S", 2, 3), ("A", 3, 4), ("R", 0, 4)]


@pytest.fixture
def drawing() -> Figure:
    """Five einsums, one of a long name; R skips three of them."""
    places = {"join": dict.fromkeys("QKSAR", "Buffer")}
    return fused_figure(NAMES, EDGES, places, main="DRAM")


def test_arrows_touch_no_einsum_but_their_own(drawing: Figure) -> None:
    (axes,) = drawing.axes
    arrows = [p for p in axes.patches if isinstance(p, FancyArrowPatch)]
    drawing.canvas.draw()
    dots = axes.transData.transform([(place, 0) for place in range(len(NAMES))])
    radius = axes.lines[0].get_markersize() / 2 * drawing.dpi / 72
    for arrow, (_, first, last) in zip(arrows, EDGES, strict=True):
        line = arrow.get_transform().transform_path(arrow.get_path())
        way = line.interpolated(20).vertices
        for place, dot in enumerate(dots):
            nearest = np.linalg.norm(way - dot, axis=1).min()
            assert nearest > radius * (0.5 if place in (first, last) else 2)


def test_no_name_stands_in_the_way_of_an_arrow(drawing: Figure) -> None:
    (axes,) = drawing.axes
    drawing.canvas.draw()
    names = [label.get_window_extent() for label in axes.get_xticklabels()]
    lowest = axes.transData.transform((0, 0))[1]
    assert len(names) == len(NAMES)
    assert all(box.y1 < lowest for box in names)
    assert all(a.x1 < b.x0 for a, b in pairwise(names))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("points", "scales"),
    [
        pytest.param([(0.0, 9.0), (2.0, 1.0)], ("linear", "log"), id="no-time"),
        pytest.param([(1.0, 9.0), (2.0, 0.0)], ("log", "linear"), id="no-energy"),
    ],
)
def test_a_front_that_holds_0_has_no_logarithm_of_it(
    points: list[tuple[float, float]], scales: tuple[str, str]
) -> None:
    drawing = fusion_fronts_figure({"join": points}, energy_unit="", latency_unit="s")
    drawing.canvas.draw()
    (axes,) = drawing.axes
    assert (axes.get_xscale(), axes.get_yscale()) == scales
