from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.methods import PROBLEM
from fakes.said import Said

from elkhound.experiments.cli.main import run
from elkhound.model.io import write_problem


@pytest.fixture
def say(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., Said]:
    """Runs a command in an empty directory of its own."""
    monkeypatch.chdir(tmp_path)

    def ask(*arguments: str) -> Said:
        status = run(list(arguments))
        said = capsys.readouterr()
        return Said(status, said.out, said.err)

    return ask


@pytest.fixture
def problem_file(tmp_path: Path) -> str:
    """three.json: three operators, no contention."""
    write_problem(tmp_path / "three.json", PROBLEM)
    return "three.json"
