from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.patches import StepPatch

from elkhound.experiments.plots import plot_occupancy
from elkhound.experiments.plots.occupancy import occupancy_figure
from elkhound.simpy_chip import Score

KIB = 1024


def test_the_layers_are_the_reserved_bytes_over_time(small_score: Score) -> None:
    axes = occupancy_figure({"plan": small_score}).axes[0]
    steps = small_score.occupancy
    layers = {
        patch.get_gid(): patch.get_data()
        for patch in axes.patches
        if isinstance(patch, StepPatch) and patch.get_gid()
    }
    for use in ("resident", "preloaded", "executing"):
        high, edges, low = layers[use]
        drawn = (high - np.asarray(low)) * KIB
        assert drawn == pytest.approx([getattr(step, f"{use}_bytes") for step in steps])
        assert list(edges[:-1]) == [step.cycle for step in steps]
    # stacked: the top of the last layer is the total
    top = layers["executing"][0] * KIB
    assert top == pytest.approx([step.total_bytes for step in steps])


def test_the_capacity_is_a_line(small_score: Score) -> None:
    axes = occupancy_figure({"plan": small_score}).axes[0]
    (line,) = axes.lines
    assert line.get_label() == "usable SRAM"
    assert list(np.asarray(line.get_ydata())) == [8192 / KIB] * 2
    assert axes.get_ylabel() == "SRAM per core (KiB)"


def test_the_chart_of_a_large_score_is_written(
    tmp_path: Path, large_score: Score
) -> None:
    for path in plot_occupancy(tmp_path / "sram", {"plan": large_score}):
        assert path.stat().st_size > 0
