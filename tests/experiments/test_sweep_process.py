"""What only a process of its own can show of a sweep: kill −9, Ctrl-C, two at once."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from elkhound.experiments.rows import ALL_COLUMNS
from elkhound.experiments.store import Store
from elkhound.model.instances import random_schedule
from elkhound.model.io import write_problem

ELKHOUND = [sys.executable, "-m", "elkhound.experiments.cli.main"]
TIMINGS = {"wall_seconds", "cpu_seconds"}
GRID = """\
grid:
  model: [p0.json, p1.json, p2.json, p3.json]
  methods: [basic, cp-sat, "cp-sat:order=identity"]
  limits: {seconds: 600, deterministic_work: 0.1, workers: 1}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """grid.yaml: twelve points, eight of them limited by deterministic work."""
    for seed in range(4):
        problem = random_schedule(seed, 25, options=(3, 3))
        write_problem(tmp_path / f"p{seed}.json", problem)
    (tmp_path / "grid.yaml").write_text(GRID)
    return tmp_path


def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*ELKHOUND, "sweep", "grid.yaml", *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # a process group of its own, as a shell gives it
    )


def run_until(process: subprocess.Popen[str], said: str) -> None:
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith(said):
            return
    raise AssertionError(f"ended with {process.wait()} before {said!r}")


def finish(process: subprocess.Popen[str]) -> str:
    _, said = process.communicate()
    assert process.returncode == 0, said
    return said


def without_timings(file: Path) -> str:
    """The table as text, all columns but the seconds."""
    with file.open(newline="") as text:
        lines = list(csv.DictReader(text))
    assert set(lines[0]) >= TIMINGS
    assert set(lines[0]) - set(ALL_COLUMNS) == {"model"}
    return "\n".join(
        ",".join(value for name, value in line.items() if name not in TIMINGS)
        for line in lines
    )


def test_p22_a_sweep_killed_in_its_seventh_point_loses_only_that(folder: Path) -> None:
    finish(start(folder, "--output", "whole"))
    killed = start(folder, "--output", "killed")
    run_until(killed, "6 of 12")
    killed.kill()
    assert killed.wait() == -signal.SIGKILL
    with Store(folder / "killed" / "store.sqlite") as store:
        kept = len(store)
    assert 6 <= kept < 12
    said = finish(start(folder, "--output", "killed", "--resume"))
    assert f"12 points: {kept} reused, {12 - kept} to compute" in said
    whole, resumed = (folder / name / "rows.csv" for name in ("whole", "killed"))
    assert len(without_timings(whole).splitlines()) == 12
    assert without_timings(resumed) == without_timings(whole)


def test_p22_a_changed_configuration_reuses_nothing(folder: Path) -> None:
    (folder / "grid.yaml").write_text(GRID.replace("0.1", "0.01"))
    finish(start(folder, "--output", "run"))
    (folder / "grid.yaml").write_text(GRID.replace("0.1", "0.02"))
    said = finish(start(folder, "--output", "run", "--resume"))
    assert "12 points: 0 reused, 12 to compute" in said
    with Store(folder / "run" / "store.sqlite") as store:
        assert len(store) == 24
        assert len(store.records()) == 12


@pytest.mark.skipif(
    not Path("/proc/self/task").exists(), reason="looks into Linux's /proc"
)
def test_a_killed_sweep_leaves_no_workers_behind(folder: Path) -> None:
    """A worker sees its parent go and ends, though it is in the middle of a solve."""
    write_problem(folder / "hard.json", random_schedule(0, 60, options=(4, 4)))
    text = "grid: {model: hard.json, methods: cp-sat, limits: {seconds: 600}}"
    (folder / "grid.yaml").write_text(text)
    process = start(folder, "--output", "run")
    run_until(process, "1 points")
    tasks = Path(f"/proc/{process.pid}/task")
    children: set[str] = set()
    while len(children) < 2:  # the worker and multiprocessing's resource tracker
        children = {c for t in tasks.iterdir() for c in _children(t)}
    process.kill()
    process.wait()
    for _ in range(300):
        if not any(Path(f"/proc/{child}/stat").exists() for child in children):
            return
        time.sleep(0.1)
    raise AssertionError(f"still there: {children}")


def _children(task: Path) -> list[str]:
    return (task / "children").read_text().split()


@pytest.mark.parametrize(
    ("said", "least"),
    [
        pytest.param("12 points", 0, id="while the workers start"),
        pytest.param("3 of 12", 3, id="in the middle"),
    ],
)
def test_ctrl_c_keeps_finished_rows_and_prints_them(
    folder: Path, said: str, least: int
) -> None:
    """As from a terminal, which sends it to the workers too."""
    process = start(folder, "--output", "run", "--json", "--jobs", "2")
    run_until(process, said)
    os.killpg(process.pid, signal.SIGINT)
    printed, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted; finished points are kept" in told
    assert "Traceback" not in told
    with Store(folder / "run" / "store.sqlite") as store:
        kept = len(store)
    assert least <= kept < 12
    assert f'"computed": {kept}' in printed
    assert f'"missing": {12 - kept}' in printed
    lines = (folder / "run" / "rows.csv").read_text().splitlines()
    assert len(lines) == kept + 1


def test_two_sweeps_of_one_store_end_with_every_row_once(folder: Path) -> None:
    first = start(folder, "--output", "run", "--resume")
    second = start(folder, "--output", "run", "--resume")
    for process in (first, second):
        process.communicate()
        assert process.returncode == 0
    with Store(folder / "run" / "store.sqlite") as store:
        assert len(store) == len(store.records()) == 12
