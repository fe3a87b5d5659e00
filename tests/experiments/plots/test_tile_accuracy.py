from __future__ import annotations

from pathlib import Path

import numpy as np

from elkhound.experiments.plots import plot_tile_accuracy
from elkhound.experiments.plots.tile_accuracy import tile_accuracy_figure
from elkhound.experiments.tile_accuracy import Accuracy


def accuracy(name: str, cycles: list[int], predicted: list[float]) -> Accuracy:
    return Accuracy(name, {}, np.array(cycles), np.array(predicted), fitted=9)


KINDS = [accuracy(f"kind {i}", [10, 20, 40], [10.0, 25.0, 40.0]) for i in range(5)]


def test_every_kind_has_a_panel_with_all_its_predictions() -> None:
    panels = [axes for axes in tile_accuracy_figure(KINDS).axes if axes.axison]
    assert [axes.get_title(loc="left").split(",")[0] for axes in panels] == [
        kind.name for kind in KINDS
    ]
    for axes, kind in zip(panels, KINDS, strict=True):
        (points,) = (line for line in axes.lines if line.get_gid() == kind.name)
        assert np.asarray(points.get_xdata()).tolist() == [10, 20, 40]
        assert np.asarray(points.get_ydata()).tolist() == [10, 25, 40]


def test_the_title_has_mape_and_the_worst_error() -> None:
    (axes, *_) = tile_accuracy_figure(KINDS[:1]).axes
    # errors 0, +25 %, 0
    assert "MAPE 8.33%, worst +25.0%" in axes.get_title(loc="left")


def test_the_same_figure_is_the_same_file(tmp_path: Path) -> None:
    first = plot_tile_accuracy(tmp_path / "a", KINDS)
    second = plot_tile_accuracy(tmp_path / "b", KINDS)
    assert [p.suffix for p in first] == [".svg", ".png"]
    assert first[0].read_bytes() == second[0].read_bytes()
