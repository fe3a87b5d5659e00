"""Figures of a small kind: measured, written, drawn, resumed, and failing alone."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakes.said import Said

from elkhound.experiments.cli import figures as verb
from elkhound.experiments.figures import registry
from elkhound.experiments.figures.designs import (
    SPLIT,
    design_bars_of,
    design_lines,
    fair_ratios,
    mean_ratio,
    planned,
    ratios,
    slower_cells,
)
from elkhound.experiments.figures.figure import Bench, Figure, Line, Measured
from elkhound.experiments.figures.measures import Computed, Swept, points_of_grids
from elkhound.experiments.figures.reduction import reduction
from elkhound.experiments.plots.design_bars import design_bars_figure
from elkhound.model.errors import BadInputError
from elkhound.model.result import own_version

Say = Callable[..., Said]


def grids(quick: bool) -> list[dict[str, Any]]:
    """A layer small enough for a chip of eight cores."""
    bind = {"batch": 1, "seq": 16, "layers": 1}
    chip = {"chip": "toy-8", "set": {"sram_bytes": 2**30, "chips": 1}}
    methods = ["basic", "elk-dyn", "ideal"][: 2 if quick else 3]
    return [{"model": "gpt-3-6.7b", "bind": bind, **chip, "methods": methods}]


def draw(lines: Sequence[Line]) -> Any:
    return design_bars_figure(
        design_bars_of(lines, "model", lambda line: str(line["bind.batch"])),
        label="latency (ms)",
    )


def squares(number: int) -> list[Line]:
    return [{"number": number, "square": number * number}]


def broken(number: int) -> list[Line]:
    raise ZeroDivisionError(f"at {number}")


def computed(name: str, compute: Callable[..., list[Line]]) -> Figure:
    pieces = Computed(name, lambda quick: [{"number": 2}, {"number": 3}], compute)
    return Figure(
        name=name,
        title="squares",
        said="squares grow",
        measure=pieces,
        draw=lambda lines: design_bars_figure({"x": {"g": []}}, label="squares"),
        found=lambda lines: f"the last is {lines[-1]['square']}",
        why="they are squares",
        quick_cpu_seconds=0,
    )


TINY = Figure(
    name="tiny",
    title="a tiny figure",
    said="nothing",
    measure=Swept(grids, design_lines),
    draw=draw,
    found=lambda lines: f"{len(lines)} lines",
    why="it is tiny",
    quick_cpu_seconds=1,
)


@pytest.fixture
def own_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Registers tiny, squares and broken in place of all figures; one job."""
    own = {f.name: f for f in (TINY, computed("broken", broken))}
    own["squares"] = computed("squares", squares)
    monkeypatch.setattr(registry, "SCRIPTS", dict.fromkeys(own, ""))

    def module(name: str) -> Any:
        raise AssertionError(name)

    monkeypatch.setattr(registry, "import_module", module)
    monkeypatch.setattr(registry, "figure", own.__getitem__)
    monkeypatch.setattr(verb, "default_jobs", lambda quick: 1)


@pytest.mark.usefixtures("own_figures")
def test_a_figure_is_measured_written_drawn_and_told(say: Say) -> None:
    said = say("figures", "tiny", "--output", "out")
    assert said.status == 0, said.err
    assert "measured: 3 lines" in said.out
    lines = list(csv.DictReader(Path("out/tiny/rows.csv").read_text().splitlines()))
    assert [line["method"] for line in lines] == ["basic", "elk-dyn", "ideal"]
    assert all(line["elkhound"].startswith("elkhound ") for line in lines)
    # Ideal's bound stands where the others have their planned time, and is below them
    times = [float(line["planned_ms"]) for line in lines]
    assert times[2] <= min(times)
    about = json.loads(Path("out/tiny/configuration.json").read_text())
    assert about["configuration"] == grids(False)
    assert about["versions"]["python"]
    assert Path("out/tiny/tiny.svg").read_text().startswith("<?xml")
    assert Path("out/tiny/tiny.png").read_bytes().startswith(b"\x89PNG")
    text = Path("out/tiny/finding.md").read_text()
    assert all(part in text for part in ("nothing", "3 lines", "it is tiny"))


@pytest.mark.usefixtures("own_figures")
def test_a_second_run_measures_nothing_and_writes_the_same_rows(say: Say) -> None:
    say("figures", "tiny", "squares", "--quick", "--output", "out")
    before = Path("out/tiny/rows.csv").read_bytes()
    said = say("figures", "tiny", "squares", "--quick", "--output", "out", "--json")
    tiny, square = json.loads(said.out)["figures"]
    assert (tiny["reused"], tiny["computed"]) == (2, 0)
    assert (square["reused"], square["computed"]) == (2, 0)
    assert Path("out/tiny/rows.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("flags", "jobs"),
    [
        pytest.param([], 5, id="as many as the machine allows"),
        pytest.param(["--jobs", "2"], 2, id="as many as asked for"),
    ],
)
def test_points_run_on_as_many_workers(
    say: Say, monkeypatch: pytest.MonkeyPatch, flags: list[str], jobs: int
) -> None:
    class Heard:
        def configuration(self, quick: bool) -> Any:
            return []

        def measured(self, bench: Bench) -> Measured:
            return Measured(({"number": 1, "square": bench.jobs},))

    squares_of_jobs = replace(computed("squares", squares), measure=Heard())
    monkeypatch.setattr(registry, "figure", {"squares": squares_of_jobs}.__getitem__)
    monkeypatch.setattr(verb, "default_jobs", lambda quick: 5)
    said = say("figures", "squares", "--output", "out", *flags)
    assert f"measured: the last is {jobs}" in said.out


@pytest.mark.usefixtures("own_figures")
def test_a_figure_that_fails_does_not_lose_the_others(say: Say) -> None:
    said = say("figures", "broken", "squares", "--output", "out")
    assert said.status == 2
    assert "failed: broken: internal error: ZeroDivisionError: at 2" in said.out
    assert "measured: the last is 9" in said.out
    assert Path("out/squares/squares.svg").exists()
    assert not Path("out/broken/rows.csv").exists()


@pytest.mark.usefixtures("own_figures")
def test_ctrl_c_keeps_the_figures_that_are_finished(
    say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(number: int) -> list[Line]:
        raise KeyboardInterrupt

    stopped = computed("stopped", interrupted)
    own = {"squares": computed("squares", squares), "stopped": stopped}
    monkeypatch.setattr(registry, "figure", own.__getitem__)
    said = say("figures", "squares", "stopped", "--output", "out", "--json")
    assert said.status == 130
    assert [f["name"] for f in json.loads(said.out)["figures"]] == ["squares"]
    assert Path("out/squares/squares.png").exists()


def test_an_unknown_name_is_answered_with_the_nearest(say: Say) -> None:
    said = say("figures", "elk-177")
    assert said.status == 2
    assert said.err.count("\n") == 1
    assert "no figure 'elk-177'" in said.err
    assert "elk-17" in said.err


def test_the_list_names_every_figure_once(say: Say) -> None:
    entries = json.loads(say("figures", "--list", "--json").out)["figures"]
    assert [entry["name"] for entry in entries] == list(registry.SCRIPTS)
    assert all(entry["title"] and entry["said"] for entry in entries)
    assert "elk-17" in say("figures", "--list").out
    assert "--quick: has no effect" in say("figures", "--list", "--quick").err


@pytest.mark.parametrize("name", registry.SCRIPTS)
@pytest.mark.parametrize("quick", [True, False], ids=["quick", "full"])
def test_every_configuration_is_json_and_not_empty(name: str, quick: bool) -> None:
    figure = registry.figure(name)
    assert figure.name == name
    configuration = figure.measure.configuration(quick)
    assert configuration
    assert json.loads(json.dumps(configuration)) == configuration


@pytest.mark.parametrize("name", registry.SCRIPTS)
def test_every_quick_grid_is_valid(name: str) -> None:
    measure = registry.figure(name).measure
    if isinstance(measure, Swept):
        points = measure.points(measure.configuration(True))
        assert all(point.key for point in points)
        assert points


def test_a_grid_that_is_wrong_is_refused_like_a_file() -> None:
    bind = {"batch": 1, "seq": 16, "layers": 1}
    grid = {"model": "llama-2-7b", "bind": bind, "methods": ["elk-ful"]}
    with pytest.raises(BadInputError, match="elk-ful"):
        points_of_grids([grid])


def test_ratios_count_the_cells_in_which_both_have_a_value() -> None:
    lines: list[Line] = [
        {"model": "a", "method": "basic", "planned_ms": 3.0},
        {"model": "a", "method": "elk-full", "planned_ms": 1.5},
        {"model": "b", "method": "basic", "planned_ms": None},
        {"model": "b", "method": "elk-full", "planned_ms": 1.0},
        {"model": "c", "method": "basic", "planned_ms": 4.0},
        {"model": "c", "method": "elk-full", "planned_ms": 0.5},
    ]
    found = ratios(lines, ["model"], "basic", "elk-full", planned)
    assert found == [2.0, 8.0]
    assert mean_ratio(found) == "4.000×"  # √(2 · 8)


def design(model: str, method: str, ms: tuple[float, float], **cycles: int) -> Line:
    parts = dict.fromkeys((f"{part}_cycles" for part in SPLIT), 0)
    parts |= {f"{part}_cycles": count for part, count in cycles.items()}
    return {"model": model, "method": method, "planned_ms": ms[0],
            "simulated_ms": ms[1], "clock_hz": 1_000_000, **parts}  # fmt: skip


def test_a_finding_says_where_the_paper_s_design_loses_and_to_what() -> None:
    lines = [
        design("a", "basic", (3.0, 4.0), idle=1000, contention=500),
        design("a", "elk-full", (3.5, 5.0), idle=1100, contention=2000),
        design("b", "basic", (2.0, 2.0)),
        design("b", "elk-full", (1.0, 2.5), execute_only=100),
        design("b", "static", (2.0, 2.0)),
    ]
    # a: 5.0 / 4.0 = 1.25, contention 1500 cycles longer at 1 MHz; b: as many per cent
    assert slower_cells(lines[:2], ["model"]).startswith(
        "It is slower than basic in 1 of 1 cells planned, 1 simulated (at most 25.0 %, "
        "a: contention +1.5 ms); than static nowhere; "
    )
    assert "basic in 1 of 2 cells planned, 2 simulated" in fair_ratios(lines, ["model"])
    assert "than static in 0 of 1 cells planned, 1 simulated (at most 25.0 %, b" in (
        slower_cells(lines, ["model"])
    )


@pytest.mark.parametrize(
    ("quick", "full", "said"),
    [
        pytest.param({"count": 2}, {"count": 9}, "count 2 in place of 9", id="other"),
        pytest.param(
            [{"bind": {"layers": 2}}], [{"bind": {}}], "layers 2 in place of all",
            id="all",
        ),
        pytest.param(
            [{"set": {"rate": [4e12]}}], [{"set": {"rate": [4e12, 8e12]}}],
            "rate 4e+12 of 4e+12, 8e+12", id="part",
        ),
        pytest.param(
            [{"seed": 0}], [{"seed": k} for k in range(7)], "seed 0 of 7 from 0 to 6",
            id="many",
        ),
        pytest.param([{"seed": 0}], [{"seed": 0}], "nothing", id="the-same"),
    ],
)  # fmt: skip
def test_a_reduced_figure_says_what_was_left_out(
    quick: Any, full: Any, said: str
) -> None:
    assert reduction(quick, full) == said


@pytest.mark.usefixtures("own_figures")
def test_only_a_reduced_figure_says_that_it_is(say: Say) -> None:
    left_out = "methods basic, elk-dyn of basic, elk-dyn, ideal"
    said = say("figures", "tiny", "--quick", "--output", "quick")
    assert f"  reduced: {left_out}\n" in said.out
    text = Path("quick/tiny/finding.md").read_text()
    assert f"* **Reduced by `--quick`:** {left_out}\n" in text
    assert f"`elkhound figures tiny --quick` of {own_version()};" in text
    full = json.loads(say("figures", "tiny", "--output", "full", "--json").out)
    assert full["figures"][0]["reduced"] == ""
    assert "Reduced" not in Path("full/tiny/finding.md").read_text()


def test_without_a_plan_a_ratio_is_unknown() -> None:
    lines: list[Line] = [
        {"model": "a", "method": m, "planned_ms": None, "simulated_ms": None}
        for m in ("basic", "static", "elk-dyn", "elk-full", "ideal")
    ]
    assert "unknown as fast as static" in fair_ratios(lines, ["model"])
