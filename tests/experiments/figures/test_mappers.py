"""FFM figures 8 and 9: races of mappers become lines, sentences and drawings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from elkhound.experiments.figures.mapper_race import first_within, race, runs, typical
from elkhound.experiments.figures.registry import figure

Lines = list[Mapping[str, Any]]


@pytest.fixture(scope="module")
def lines() -> Lines:
    """Races of two and three small matmuls."""
    return [
        line
        for einsums in (2, 3)
        for line in race(
            workload="matmuls",
            bind={"einsums": einsums, "m": 16, "width": 16},
            accelerator="simple",
            objective="edp",
            evaluations=300,
            seeds=2,
        )
    ]


def test_no_line_of_a_race_is_below_the_joins(lines: Lines) -> None:
    for einsums in (2, 3):
        own = [line for line in lines if line["bind.einsums"] == einsums]
        (join,) = [line for line in own if line["method"] == "pareto-join"]
        assert join["status"] == "optimal"
        assert {line["method"] for line in own} == {
            "pareto-join",
            "set",
            "tileflow",
            "timeloop",
        }
        for line in own:
            assert line["value"] >= join["value"] * (1 - 1e-9)
            assert line["gap"] == pytest.approx(line["value"] / join["value"] - 1)


def test_the_papers_estimate_is_the_number_priced_times_the_price(
    lines: Lines,
) -> None:
    price = {
        line["bind.einsums"]: line["seconds_a_pmapping"]
        for line in lines
        if line["method"] == "pareto-join"
    }
    for line in lines:
        if line["method"] != "pareto-join":
            expected = line["evaluations"] * price[line["bind.einsums"]]
            assert line["priced_seconds"] == pytest.approx(expected)
            assert line["cpu_seconds"] > line["generation_cpu_seconds"]


def test_runs_are_near_where_they_first_fall_below_a_gap() -> None:
    run = [{"gap": 0.5, "evaluations": 3}, {"gap": 0.04, "evaluations": 9}]
    assert first_within(run, 0.05, "evaluations") == 9
    assert first_within(run, 0.5, "evaluations") == 3
    assert first_within(run, 0.01, "evaluations") is None


def test_runs_that_end_before_count_in_the_median() -> None:
    # of 5, never, 1: the middle one is 5; of 1, never: half never came
    assert typical([5.0, None, 1.0]) == 5
    assert typical([1.0, None]) is None
    assert typical([]) is None


def test_lines_are_sorted_into_runs(lines: Lines) -> None:
    found = runs([line for line in lines if line["bind.einsums"] == 2])
    assert {method: len(own) for method, own in found.items()} == {
        "set": 2,
        "tileflow": 2,
        "timeloop": 2,
    }


@pytest.mark.parametrize("name", ["ffm-8", "ffm-9"])
def test_figures_say_and_draw_what_was_measured(lines: Lines, name: str) -> None:
    made = figure(name)
    own = [x for x in lines if name == "ffm-9" or x["bind.einsums"] == 2]
    said = made.found(own)
    assert "set" in said
    assert "join" in said
    drawing = made.draw(own)
    assert len(drawing.axes) == 2
    assert made.measure.configuration(True) != made.measure.configuration(False)
