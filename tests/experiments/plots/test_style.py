from __future__ import annotations

import matplotlib as mpl
import pytest

from elkhound.experiments.plots.style import MARKS, house_style, mark_of
from elkhound.experiments.plots.time_axis import time_axis

SCHEDULE_METHODS = (
    "brute-force", "cp-sat", "milp", "dp", "basic", "static", "elk-dyn", "elk-full",
    "ideal",
)  # fmt: skip


def test_schedule_methods_differ_in_colour_and_in_marker() -> None:
    marks = [MARKS[method] for method in SCHEDULE_METHODS]
    assert len({mark.color for mark in marks}) == len(marks)
    assert len({mark.marker for mark in marks}) == len(marks)


def test_a_variant_keeps_its_methods_colour() -> None:
    variant = mark_of("elk-dyn:order=permuted")
    assert variant.color == mark_of("elk-dyn").color
    assert variant.marker != mark_of("elk-dyn").marker
    assert variant == mark_of("elk-dyn:order=permuted")


def test_an_unknown_method_has_a_mark_too() -> None:
    assert mark_of("somebody-elses").color.startswith("#")


def test_the_style_leaves_the_users_settings_alone() -> None:
    before = mpl.rcParams["font.size"]
    with house_style():
        assert mpl.rcParams["font.size"] == 8
    assert mpl.rcParams["font.size"] == before


@pytest.mark.parametrize(
    ("cycles", "clock_hz", "unit", "value"),
    [
        pytest.param(999, None, "cycles", 999, id="cycles"),
        pytest.param(26_500, None, "thousand cycles", 26.5, id="thousands"),
        pytest.param(2_650_000, None, "million cycles", 2.65, id="millions"),
        pytest.param(0, None, "cycles", 0, id="nothing"),
        pytest.param(1_325_000, 1_325_000_000, "ms", 1.0, id="milliseconds"),
        pytest.param(2_650, 1_325_000_000, "µs", 2.0, id="microseconds"),
    ],
)
def test_a_time_axis_has_a_few_digits(
    cycles: int, clock_hz: int | None, unit: str, value: float
) -> None:
    time = time_axis(cycles, clock_hz)
    assert time.unit == unit
    assert time(cycles) == pytest.approx(value)
