from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from matplotlib.patches import Rectangle

from elkhound.experiments.plots import plot_utilisation
from elkhound.experiments.plots.utilisation import utilisation_figure
from elkhound.simpy_chip import Score


def test_bars_are_the_utilisations_in_percent(small_score: Score) -> None:
    empty = replace(small_score, hbm_utilisation=None)
    figure = utilisation_figure({"basic": small_score, "cp-sat": empty})
    bars = {
        bar.get_gid(): bar.get_width()
        for axes in figure.axes
        for bar in axes.patches
        if isinstance(bar, Rectangle)
    }
    assert len(bars) == 6
    for number in ("hbm_utilisation", "link_utilisation", "compute_utilisation"):
        assert bars[f"basic {number}"] == pytest.approx(
            100 * getattr(small_score, number)
        )
    assert bars["cp-sat hbm_utilisation"] == 0
    assert "–" in [text.get_text() for text in figure.axes[0].texts]


def test_axes_say_what_is_used_and_in_which_unit(small_score: Score) -> None:
    figure = utilisation_figure({"basic": small_score})
    assert [axes.get_xlabel() for axes in figure.axes] == [
        "HBM bandwidth used (%)",
        "link bandwidth used (%)",
        "time cores compute (%)",
    ]


def test_it_is_saved_twice(small_score: Score, tmp_path: Path) -> None:
    for path in plot_utilisation(tmp_path / "utilisation", {"basic": small_score}):
        assert path.stat().st_size > 0
