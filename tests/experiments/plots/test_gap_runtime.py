from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from elkhound.experiments.plots import plot_gap_runtime
from elkhound.experiments.plots.gap_runtime import gap_runtime_figure

Rows = list[dict[str, Any]]


def points_of(axes: Axes) -> dict[str, Line2D]:
    return {str(line.get_gid()): line for line in axes.lines if line.get_gid()}


def test_points_are_the_gap_in_percent_over_cpu_seconds(rows: Rows) -> None:
    axes = gap_runtime_figure(rows).axes[0]
    points = points_of(axes)
    basic, cp_sat = points["basic"], points["cp-sat"]
    assert basic.get_xydata() == pytest.approx(np.array([[0.01, 25.0]]))
    assert cp_sat.get_xydata() == pytest.approx(np.array([[3.0, 0.0]]))
    assert axes.get_xscale() == "log"


def test_a_plan_without_a_bound_is_hollow_and_stands_at_unknown(rows: Rows) -> None:
    axes = gap_runtime_figure(rows).axes[0]
    points = points_of(axes)
    labels = [label.get_text() for label in axes.get_yticklabels()]
    unknown_at = axes.get_yticks()[labels.index("unknown")]
    assert points["elk-full"].get_xydata() == pytest.approx(
        np.array([[0.5, unknown_at]])
    )
    assert unknown_at > 25.0
    assert points["elk-full"].get_markerfacecolor() == "white"
    assert points["basic"].get_markerfacecolor() != "white"


def test_rows_without_a_point_are_named(rows: Rows) -> None:
    axes = gap_runtime_figure(rows).axes[0]
    assert set(points_of(axes)) == {"basic", "cp-sat", "elk-full"}
    assert "ideal (no plan), milp (no plan)" in axes.get_xlabel()


def test_a_table_without_any_plan_still_makes_a_chart(
    tmp_path: Path, rows: Rows
) -> None:
    for path in plot_gap_runtime(tmp_path / "gap", rows[-2:]):
        assert path.stat().st_size > 0


def test_a_method_appears_once_in_the_legend(rows: Rows) -> None:
    figure = gap_runtime_figure([*rows, {**rows[0], "cpu_seconds": 0.02}])
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["basic", "cp-sat", "elk-full", "hollow: no bound"]
