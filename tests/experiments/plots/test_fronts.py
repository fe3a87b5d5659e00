from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from elkhound.experiments.plots import plot_fronts
from elkhound.experiments.plots.fronts import fronts_figure, staircase, usual_plans

KIB = 1024


def plan(number: int, kib: int, cycles: int, *states: tuple[int, int]) -> Any:
    return {
        "execute_plan": number,
        "execute_bytes": kib * KIB,
        "cycles_after_distribute": cycles,
        "preload_states": [
            {
                "option": 10 * number + k,
                "preload_bytes": size * KIB,
                "distribute_cycles": distribute,
            }
            for k, (size, distribute) in enumerate(states)
        ],
    }


# Plan 1 takes more space and time than plan 0: it has less to exchange.
PLANS = [
    plan(0, 10, 9_000, (8, 0)),
    plan(1, 12, 9_500, (8, 0)),
    plan(2, 20, 5_000, (8, 800), (16, 0)),
    plan(3, 40, 3_000, (8, 2_400), (16, 1_600), (32, 0)),
    plan(4, 90, 2_000, (8, 6_400), (72, 0)),
]


@pytest.fixture
def document() -> dict[str, Any]:
    return {
        "model": "m",
        "chip": "c",
        "clock_hz": 1_000_000_000,
        "usable_bytes": 50 * KIB,
        "resident_bytes": 0,
        "epsilon": None,
        "operator": {"name": "product"},
        "execute_front": PLANS,
        "thinned": None,
    }


def lines(axes: Axes) -> dict[str, Line2D]:
    return {str(line.get_gid()): line for line in axes.lines if line.get_gid()}


def test_the_fastest_in_their_space_are_joined(document: dict[str, Any]) -> None:
    left, _ = fronts_figure(document).axes
    drawn = lines(left)
    points = np.array([[10, 9], [20, 5], [40, 3], [90, 2]])
    assert drawn["fastest"].get_xydata() == pytest.approx(points)
    assert drawn["less exchange"].get_xydata() == pytest.approx(np.array([[12, 9.5]]))
    usable = np.asarray(drawn["usable SRAM"].get_xdata())
    assert usable.tolist() == [50, 50]
    assert left.get_xlabel() == "execution space per core (KiB)"
    assert left.get_ylabel() == "execution time without distribution (µs)"


def test_preload_states_are_a_line_a_plan(document: dict[str, Any]) -> None:
    _, right = fronts_figure(document, chosen=[3]).axes
    assert len(right.lines) == len(PLANS)
    points = np.array([[8, 2.4], [16, 1.6], [32, 0]])
    assert lines(right)["states 3"].get_xydata() == pytest.approx(points)
    assert right.get_title(loc="left") == "9 preload states of 5 plans"


def test_the_usual_plans_are_the_ends_and_the_widest_that_fits(
    document: dict[str, Any],
) -> None:
    # Plan 4 has the widest range, 64 KiB, but 90 KiB are not usable.
    assert usual_plans(document) == {0: "smallest", 3: "between", 4: "fastest"}
    document["execute_front"] = [*PLANS[:4], plan(4, 50, 4_000, (8, 1), (48, 0))]
    assert usual_plans(document) == {
        0: "smallest",
        2: "between",
        3: "fastest",
        4: "widest preload range",
    }
    assert [p["execute_plan"] for p in staircase(PLANS)] == [0, 2, 3, 4]


def test_plans_kept_by_thinning_are_crossed(document: dict[str, Any]) -> None:
    figure = fronts_figure(document | {"thinned": [0, 21], "epsilon": 0.05})
    kept = lines(figure.axes[0])["kept"]
    assert kept.get_xydata() == pytest.approx(np.array([[10, 9], [20, 5]]))
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "kept at ε = 5 %" in labels


def test_long_ranges_are_logarithmic_with_plain_numbers(
    document: dict[str, Any],
) -> None:
    document["execute_front"] = [*PLANS, plan(5, 400, 300_000, (8, 0))]
    left, _ = fronts_figure(document).axes
    assert (left.get_xscale(), left.get_yscale()) == ("log", "log")
    assert left.xaxis.get_major_formatter()(200) == "200"


def test_without_distribution_there_is_one_panel(
    tmp_path: Path, document: dict[str, Any]
) -> None:
    document["execute_front"] = [plan(0, 10, 9_000, (0, 0))]
    assert len(fronts_figure(document).axes) == 1
    for path in plot_fronts(tmp_path / "fronts", document):
        assert path.stat().st_size > 0
