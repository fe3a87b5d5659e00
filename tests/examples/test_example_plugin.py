"""The example package, found as if it were installed: by a dist-info on sys.path."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.said import Said

from elkhound.experiments.cli.main import run
from elkhound.experiments.methods import SCHEDULE, variant
from elkhound.experiments.points import point, subject
from elkhound.model.errors import BadInputError
from elkhound.model.instances import random_schedule
from elkhound.model.io import load_chip, write_problem

PACKAGE = Path(__file__).parent.parent.parent / "examples" / "elkhound-example-plugin"
ORIGIN = "elkhound-example-plugin 0.1.0"

Say = Callable[..., Said]


def install(folder: Path, name: str, version: str, groups: dict[str, str]) -> None:
    """Writes what pip would leave of a package: its metadata and entry points."""
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    )
    lines = [f"[{group}]\n{entries}\n" for group, entries in groups.items()]
    (info / "entry_points.txt").write_text("\n".join(lines))


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The example package, installed in a folder of its own."""
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    groups = {
        group: "\n".join(f"{name} = {value}" for name, value in entries.items())
        for group, entries in project["entry-points"].items()
    }
    site = tmp_path / "site"
    install(site, project["name"], project["version"], groups)
    monkeypatch.syspath_prepend(site)
    monkeypatch.syspath_prepend(PACKAGE)
    return site


@pytest.fixture
def say(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Say:
    """Runs a command in an empty directory of its own."""
    monkeypatch.chdir(tmp_path)

    def ask(*arguments: str) -> Said:
        status = run(list(arguments))
        said = capsys.readouterr()
        return Said(status, said.out, said.err)

    return ask


def test_its_method_is_listed_with_its_origin(plugin: Path, say: Say) -> None:
    told = json.loads(say("methods", "--json").out)["schedule"]
    assert told["look-ahead"] == {
        "role": "heuristic",
        "summary": "preload a few executes early, in the smallest options",
        "settings": {"depth": ["2", "1", "4", "8"]},
        "origin": ORIGIN,
    }
    assert told["cp-sat"]["origin"] == "elkhound"
    assert f"[{ORIGIN}]" in say("methods").out


def test_its_method_is_compared_like_any_other(plugin: Path, say: Say) -> None:
    write_problem("p.json", random_schedule(1, 6))
    names = "look-ahead,look-ahead:depth=1,cp-sat"
    said = say("compare", "p.json", "--methods", names, "--no-plots", "--json")
    assert said.status == 0
    two, one, exact = json.loads(said.out)["rows"]
    assert two["verified"] is one["verified"] is True
    assert two["objective"] >= exact["objective"]
    assert two["gap"] is not None


def test_its_chip_is_listed_and_planned_on(plugin: Path, say: Say) -> None:
    told = json.loads(say("chips", "--json").out)
    assert told["origins"]["example-16"] == ORIGIN
    assert told["origins"]["toy-8"] == "elkhound"
    assert f"[{ORIGIN}]" in say("chips").out
    assert load_chip("example-16").cores == 16
    assert load_chip("example-16", {"clock_hz": 5}).clock_hz == 5


def test_sweeps_run_it_in_their_workers(plugin: Path, say: Say) -> None:
    write_problem("p.json", random_schedule(1, 6))
    Path("grid.yaml").write_text("grid: {model: p.json, methods: look-ahead}")
    said = say("sweep", "grid.yaml", "--output", "run", "--json")
    (row,) = json.loads(said.out)["rows"]
    assert row["verified"] is True


def test_another_version_of_its_package_is_another_point(
    plugin: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    about = subject(random_schedule(1, 4))
    before = point(about, "look-ahead").key
    (plugin / "elkhound_example_plugin-0.1.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: elkhound-example-plugin\nVersion: 0.2.0\n"
    )
    assert point(about, "look-ahead").key != before


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        pytest.param(
            "no_such_module:ENTRY", "ModuleNotFoundError: No module named", id="import"
        ),
        pytest.param("json:no_such_name", "AttributeError", id="name"),
        pytest.param("json:loads", "is function, must be", id="type"),
    ],
)
def test_a_broken_entry_point_is_one_line_and_the_others_go_on(
    say: Say,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    value: str,
    reason: str,
) -> None:
    groups = {
        "elkhound.methods.schedule": f"wrecked = {value}",
        "elkhound.chips": f"wreck-8 = {value}",
    }
    install(tmp_path / "site", "wreckage", "3.1", groups)
    monkeypatch.syspath_prepend(tmp_path / "site")
    write_problem("p.json", random_schedule(1, 4))
    said = say("compare", "p.json", "--methods", "wrecked", "--no-plots")
    assert said.status == 2
    assert f"method wrecked of wreckage 3.1 ({value}) cannot be used: " in said.line
    assert reason in said.line
    listed = say("methods")
    assert listed.status == 0
    assert "broken: method wrecked of wreckage 3.1" in listed.out
    assert "cp-sat" in listed.out
    with pytest.raises(BadInputError, match=r"chip wreck-8 of wreckage 3.1 .*cannot"):
        load_chip("wreck-8")
    chips = json.loads(say("chips", "--json").out)
    assert reason in chips["broken"]["wreck-8"]
    assert "toy-8" in [chip["chip"] for chip in chips["chips"]]


def test_two_packages_with_one_name_are_refused(
    plugin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    groups = {"elkhound.methods.schedule": "look-ahead = json:loads"}
    install(tmp_path / "more", "rival", "1.0", groups)
    monkeypatch.syspath_prepend(tmp_path / "more")
    with pytest.raises(BadInputError, match=r"look-ahead is offered by .*rival 1.0"):
        variant("look-ahead", SCHEDULE)


def test_a_built_in_name_cannot_be_taken_over(
    say: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    groups = {"elkhound.methods.schedule": "cp-sat = json:loads"}
    install(tmp_path / "site", "rival", "1.0", groups)
    monkeypatch.syspath_prepend(tmp_path / "site")
    assert variant("cp-sat", SCHEDULE).origin == ""
    assert "the name is that of a built-in method" in say("methods").out


def test_an_installed_name_is_offered_as_the_nearest(plugin: Path) -> None:
    with pytest.raises(BadInputError, match=r"did you mean look-ahead\?"):
        variant("lookahead", SCHEDULE)
    with pytest.raises(BadInputError, match=r"did you mean example-16\?"):
        load_chip("exampel-16")
