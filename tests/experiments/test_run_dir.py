from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from fakes.methods import EARLY, EARLY_CYCLES, PROBLEM, Fake, entry

from elkhound.experiments import compare
from elkhound.experiments.kept import file_name
from elkhound.experiments.kinds import ScheduleKind
from elkhound.experiments.methods import SCHEDULE
from elkhound.experiments.run_dir import RunDir, default_path
from elkhound.model.errors import BadInputError, ElkhoundError
from elkhound.model.io import read_plan, read_problem
from elkhound.model.limits import Limits
from elkhound.model.result import OrderClass, Result, Status


class Keeper:
    """An observer that only fills a run directory."""

    def __init__(self, run_dir: RunDir) -> None:
        self.run_dir = run_dir
        self.rows_seen: list[list[str]] = []

    def started(self, method: str) -> None:
        """Read what a process killed now would leave behind."""
        rows = self.run_dir.path / "rows.json"
        if rows.exists():
            kept = json.loads(rows.read_text())["rows"]
            self.rows_seen.append([row["method"] for row in kept])

    def improved(
        self, method: str, objective: float | None, bound: float | None
    ) -> None:
        """Keep nothing of it."""

    def finished(self, method: str, table: Any) -> None:
        self.run_dir.finished(method, table)


@pytest.fixture(autouse=True)
def methods(monkeypatch: pytest.MonkeyPatch) -> None:
    """A method with a plan and one that fails; no bounds."""

    def plans(limits: Limits[Any]) -> Result[Any]:
        order = OrderClass.identity()
        return Result("fake", Status.FEASIBLE, EARLY, EARLY_CYCLES, order=order)

    def fails(limits: Limits[Any]) -> Result[Any]:
        raise ElkhoundError("solver is not installed")

    monkeypatch.setattr(ScheduleKind, "bounds", lambda self, problem: ())
    monkeypatch.setitem(SCHEDULE, "plans", entry(Fake("plans", plans)))
    monkeypatch.setitem(SCHEDULE, "fails", entry(Fake("fails", fails)))


def test_a_run_leaves_everything_behind(tmp_path: Path) -> None:
    keep = RunDir(tmp_path / "run")
    keep.begin(PROBLEM, None, {"model": "three.json", "seed": 7})
    table = compare(PROBLEM, ["plans", "fails"], observer=Keeper(keep))
    keep.draw(table)

    about = json.loads((keep.path / "configuration.json").read_text())
    assert about["configuration"] == {"model": "three.json", "seed": 7}
    assert {"python", "elkhound", "ortools"} <= set(about["versions"])
    assert read_problem(keep.path / "problem.json") == PROBLEM
    assert read_plan(keep.path / "plans" / "plans.json").plan == EARLY
    score = json.loads((keep.path / "scores" / "plans.json").read_text())
    assert score["makespan_cycles"] == EARLY_CYCLES
    trace = json.loads((keep.path / "traces" / "plans.json").read_text())
    assert trace["otherData"]["makespan_cycles"] == EARLY_CYCLES
    with (keep.path / "rows.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["method"], row["objective"]) for row in rows] == [
        ("plans", "15"),
        ("fails", ""),
    ]
    drawn = {path.name for path in (keep.path / "plots").iterdir()}
    assert drawn == {
        f"{name}.{suffix}"
        for name in (
            "comparison",
            "gap-runtime",
            "gantt",
            "occupancy",
            "utilisation",
        )
        for suffix in ("svg", "png")
    }


def test_rows_are_there_as_soon_as_a_method_ends(tmp_path: Path) -> None:
    keep = RunDir(tmp_path)
    keep.begin(PROBLEM, None, {})
    keeper = Keeper(keep)
    compare(PROBLEM, ["plans", "fails"], observer=keeper)
    assert keeper.rows_seen == [["plans"]]
    assert not list(tmp_path.rglob("*.part"))


def test_results_of_an_earlier_run_are_replaced(tmp_path: Path) -> None:
    first = RunDir(tmp_path)
    first.begin(PROBLEM, None, {})
    compare(PROBLEM, ["plans"], observer=Keeper(first))
    second = RunDir(tmp_path)
    second.begin(PROBLEM, None, {})
    compare(PROBLEM, ["fails"], observer=Keeper(second))
    assert list((tmp_path / "plans").iterdir()) == []
    assert "plans" not in (tmp_path / "rows.csv").read_text()


def test_a_foreign_directory_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(BadInputError, match="is not empty and not a run directory"):
        RunDir(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize("text", ["{}", "[]", "not JSON", '{"versions": 3}'])
def test_somebody_elses_configuration_is_left_alone(tmp_path: Path, text: str) -> None:
    (tmp_path / "configuration.json").write_text(text)
    (tmp_path / "plans").mkdir()
    (tmp_path / "plans" / "garden.txt").write_text("mine")
    with pytest.raises(BadInputError, match="is not empty and not a run directory"):
        RunDir(tmp_path)
    assert (tmp_path / "plans" / "garden.txt").read_text() == "mine"


def test_a_file_is_no_run_directory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInputError, match="is a file"):
        RunDir(tmp_path / "file")


def test_a_place_that_cannot_be_written_is_refused() -> None:
    with pytest.raises(BadInputError, match="cannot write the run directory"):
        RunDir(Path("/proc/elkhound-run"))


def test_the_default_place_tells_the_model() -> None:
    path = default_path("llama 2/13b")
    assert path.parent == Path("runs")
    assert path.name.endswith("-llama-2-13b")


@pytest.mark.parametrize(
    ("method", "name"),
    [
        pytest.param("basic", "basic", id="plain"),
        pytest.param(
            "milp:order=free,backend=cbc", "milp-order-free-backend-cbc", id="v"
        ),
        pytest.param("../..", "run", id="path"),
    ],
)
def test_a_variant_becomes_a_file_name(method: str, name: str) -> None:
    assert file_name(method) == name
