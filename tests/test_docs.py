"""What the pages tell a reader to write works."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from elkhound.experiments import compare
from elkhound.experiments.methods import SCHEDULE, Entry, Role
from elkhound.model.instances import random_schedule
from elkhound.model.io import read_problem

PAGE = Path(__file__).parent.parent / "docs" / "extending.md"
README = PAGE.parent.parent / "README.md"


def test_the_method_of_the_extending_page_plans_what_the_referee_accepts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (source,) = re.findall(r'```python\n("""On demand.*?)```', PAGE.read_text(), re.S)
    written: dict[str, Any] = {"__name__": "on_demand"}
    exec(compile(source, str(PAGE), "exec"), written)
    entry = Entry(
        Role.HEURISTIC, "no preload ahead", lambda settings: written["OnDemand"]()
    )
    monkeypatch.setitem(SCHEDULE, "on-demand", entry)
    table = compare(random_schedule(1, 4), ["on-demand", "cp-sat"])
    own, exact = table.rows
    assert own.verified
    assert own.objective is not None
    assert exact.objective is not None
    assert own.objective >= exact.objective
    assert table.contradictions == ()


def test_the_python_of_the_readme_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (source,) = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    monkeypatch.chdir(README.parent)
    exec(compile(source, str(README), "exec"), {"__name__": "reader"})
    said = [line.split()[:2] for line in capsys.readouterr().out.splitlines()]
    assert said == [["basic", "217841"], ["elk-dyn", "181496"], ["cp-sat", "179878"]]


def test_the_problem_of_the_readme_is_planned(tmp_path: Path) -> None:
    (text,) = re.findall(r"```json\n(.*?)```", README.read_text(), re.DOTALL)
    (tmp_path / "problem.json").write_text(text)
    table = compare(read_problem(tmp_path / "problem.json"), ["brute-force", "milp"])
    brute_force, milp = table.rows
    assert brute_force.status == milp.status == "optimal"
    assert brute_force.objective == milp.objective


def test_the_benchmark_protocol_lists_every_script() -> None:
    page = (PAGE.parent / "benchmarks.md").read_text()
    listed = set(re.findall(r"^\| `(\w+\.py)", page, re.MULTILINE))
    scripts = README.parent.glob("benchmarks/*.py")
    assert listed == {script.name for script in scripts}


@pytest.mark.parametrize(
    "page", sorted(PAGE.parent.rglob("*.md")), ids=lambda p: p.stem
)
def test_scripts_and_folders_that_a_page_names_are_there(page: Path) -> None:
    named = re.findall(
        r"`((?:benchmarks|examples|model|experiments|tests|simpy_chip)/[\w./-]*\w)`",
        page.read_text(),
    )
    for path in named:
        assert (README.parent / path).exists(), path
