from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.patches import StepPatch

from elkhound.experiments.plots import plot_gantt
from elkhound.experiments.plots.gantt import (
    BINS,
    ROW_HEIGHT,
    busy_share,
    gantt_figure,
    spans_of,
)
from elkhound.model.program import Execute, Program, Task
from elkhound.model.schedule import ScheduleOption
from elkhound.simpy_chip import Score, simulate


def drawn_spans(bars: PolyCollection) -> list[tuple[float, float]]:
    """Left and right edge of every bar of a collection."""
    corners = [np.asarray(path.vertices)[:, 0] for path in bars.get_paths()]
    return [(float(np.min(x)), float(np.max(x))) for x in corners]


def test_every_interval_of_a_small_score_is_a_bar(small_score: Score) -> None:
    axes = gantt_figure({"plan": small_score}).axes[0]
    drawn = {
        bars.get_gid(): drawn_spans(bars)
        for bars in axes.collections
        if isinstance(bars, PolyCollection)
    }
    planned = spans_of(small_score)
    assert drawn == planned
    preloads = [
        (o.preload_start_cycle, o.preload_end_cycle) for o in small_score.operators
    ]
    assert planned["preload"] == preloads
    assert len(planned["compute"]) == len(planned["exchange"]) == 4
    # E0 waits 0–50 for its preload; the others' preloads are hidden
    assert planned["wait"] == [(0, 50)]


def test_a_large_score_is_drawn_as_shares_that_add_up_to_its_cycles(
    large_score: Score,
) -> None:
    axes = gantt_figure({"plan": large_score}).axes[0]
    makespan = large_score.makespan_cycles
    planned = spans_of(large_score)
    patches = [patch for patch in axes.patches if isinstance(patch, StepPatch)]
    assert {patch.get_gid() for patch in patches} == set(planned)
    for patch in patches:
        heights, _, baseline = patch.get_data()
        shares = (heights - np.asarray(baseline)) / ROW_HEIGHT
        cycles = float(np.sum(shares)) * makespan / BINS
        kind = str(patch.get_gid())
        assert cycles == pytest.approx(sum(e - s for s, e in planned[kind]))
    assert "share of time" in axes.get_xlabel()
    assert "numbers" not in axes.get_xlabel()


def test_the_busy_share_of_a_bin_is_the_covered_part_of_it() -> None:
    # bins 0–10, 10–20, 20–30: covered 5, 10 and 2 + 3 cycles
    shares = busy_share([(5, 22), (27, 30)], makespan=30, bins=3)
    assert shares == pytest.approx([0.5, 1.0, 0.5])


def test_scores_share_one_time_axis_in_seconds_of_the_clock(
    small_score: Score, large_score: Score
) -> None:
    figure = gantt_figure(
        {"one": small_score, "two": large_score}, clock_hz=1_000_000_000
    )
    first, second = figure.axes
    assert first.get_xlim() == second.get_xlim()
    assert first.get_title("left").startswith("one: ")
    assert second.get_xlabel().startswith("time (µs)")


def test_the_chart_is_written_twice_and_repeatably(
    tmp_path: Path, small_score: Score
) -> None:
    svg, png = plot_gantt(tmp_path / "new" / "plan.v1", {"plan": small_score})
    assert (svg.name, png.name) == ("plan.v1.svg", "plan.v1.png")
    first = svg.read_bytes()
    assert first.startswith(b"<?xml")
    assert png.read_bytes().startswith(b"\x89PNG")
    plot_gantt(tmp_path / "new" / "plan.v1", {"plan": small_score})
    assert svg.read_bytes() == first


def test_overlapped_exchange_stands_above_its_compute() -> None:
    overlapped = ScheduleOption(0, 0, 0, 0, 0, 60, 30, 0, 60, 30)
    score = simulate(Program((Execute(0),), (Task("op0", overlapped, 0),), 10))
    axes = gantt_figure({"plan": score}).axes[0]
    rows = {
        bars.get_gid(): np.asarray(bars.get_paths()[0].vertices)[:, 1]
        for bars in axes.collections
        if isinstance(bars, PolyCollection) and bars.get_paths()
    }
    assert np.min(rows["exchange"]) == pytest.approx(np.max(rows["compute"]))


def test_the_numbers_in_the_bars_are_explained(small_score: Score) -> None:
    axes = gantt_figure({"plan": small_score}).axes[0]
    assert [text.get_text() for text in axes.texts]
    assert axes.get_xlabel().endswith("numbers: operators, the first is 0")
