from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.patches import Rectangle

from elkhound.experiments.plots import plot_comparison
from elkhound.experiments.plots.comparison import comparison_figure
from elkhound.experiments.plots.values import best_bounds

Rows = list[dict[str, Any]]


def test_bars_are_the_planned_and_simulated_cycles(rows: Rows) -> None:
    axes = comparison_figure(rows).axes[0]
    bars = {
        bar.get_gid(): bar.get_width()
        for bar in axes.patches
        if isinstance(bar, Rectangle)
    }
    assert bars == {
        "basic objective": 200,
        "basic simulated": 190,
        "cp-sat objective": 120,
        "cp-sat simulated": 125,
        "elk-full objective": 160,
    }
    assert axes.get_xlabel() == "makespan (cycles)"


def test_lines_are_the_best_bound_of_each_order_class(rows: Rows) -> None:
    # free: the larger of 120 and 100; identity: 150
    axes = comparison_figure(rows).axes[0]
    lines = {
        line.get_label(): float(np.asarray(line.get_xdata())[0]) for line in axes.lines
    }
    assert lines == {
        "lower bound, any order": 120,
        "lower bound, identity order": 150,
    }


def test_a_class_with_the_bound_of_all_orders_has_no_line_of_its_own() -> None:
    rows: Rows = [
        {"method": "a", "lower_bound": 7, "order": "free"},
        {"method": "b", "lower_bound": 7, "order": "identity"},
        {"method": "c", "lower_bound": None, "order": "window:2"},
    ]
    assert best_bounds(rows) == {"free": 7}


def test_methods_without_a_plan_say_why(rows: Rows) -> None:
    axes = comparison_figure(rows).axes[0]
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert labels[-2:] == ["ideal (bound only)", "milp (no plan)"]


def test_a_clock_turns_cycles_into_seconds(rows: Rows) -> None:
    axes = comparison_figure(rows, clock_hz=1_000_000_000).axes[0]
    # 200 cycles of 1 ns
    assert axes.get_xlabel() == "makespan (ns)"
    bar = axes.patches[0]
    assert isinstance(bar, Rectangle)
    assert bar.get_width() == pytest.approx(200)


def test_a_table_of_nothing_still_makes_a_chart(tmp_path: Path, rows: Rows) -> None:
    for path in plot_comparison(tmp_path / "comparison", rows[-1:]):
        assert path.stat().st_size > 0
