"""What only a process of its own can show: imports, signals, pipes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from elkhound.experiments.cli.main import VERBS
from elkhound.solvers.backends import available

ELKHOUND = [sys.executable, "-m", "elkhound.experiments.cli.main"]
HEAVY = {
    "highspy",
    "matplotlib",
    "numpy",
    "onnx",
    "ortools",
    "pandas",
    "pulp",
    "pydantic",
    "simpy",
}
LOADED = """
import sys
from elkhound.experiments.cli.main import run
run({arguments!r})
print(sorted(set(sys.modules) & {heavy!r}), file=sys.stderr)
"""


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["--help"], id="help"),
        pytest.param(["--version"], id="version"),
        pytest.param(["methods"], id="methods"),
        *(pytest.param([verb, "--help"], id=f"{verb} help") for verb in VERBS),
    ],
)
def test_help_loads_no_solver_onnx_or_matplotlib(arguments: list[str]) -> None:
    script = LOADED.format(arguments=arguments, heavy=HEAVY)
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert ended.stderr == "[]\n"


@pytest.fixture
def hard_problem(tmp_path: Path) -> Path:
    """A problem that CP-SAT does not finish in a minute."""
    path = tmp_path / "hard.json"
    generate = ["generate", "--size", "60", "--options", "8", "--output", str(path)]
    subprocess.run([*ELKHOUND, *generate], check=True, capture_output=True)
    return path


def started(problem: Path, until: str) -> subprocess.Popen[str]:
    """A comparison that has come to `until`."""
    process = subprocess.Popen(
        [
            *ELKHOUND, "compare", str(problem), "--methods", "basic,cp-sat",
            "--time-limit", "600", "--workers", "1", "--run-dir", "run", "--json",
        ],
        cwd=problem.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith(until):
            return process
    raise AssertionError(f"ended with {process.wait()} before {until}")


def test_ctrl_c_stops_a_solver_and_prints_what_is_finished(hard_problem: Path) -> None:
    with started(hard_problem, "cp-sat: running") as process:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    document = json.loads(out)
    assert [row["method"] for row in document["rows"]] == ["basic"]
    assert err == "elkhound: interrupted; finished methods are kept\n"


def test_a_killed_run_keeps_what_was_finished(hard_problem: Path) -> None:
    with started(hard_problem, "cp-sat: running") as process:
        process.kill()
    kept = json.loads((hard_problem.parent / "run" / "rows.json").read_text())
    assert [row["method"] for row in kept["rows"]] == ["basic"]
    assert (hard_problem.parent / "run" / "plans" / "basic.json").exists()


def test_a_reader_who_leaves_is_no_error(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*ELKHOUND, "schema"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == ""
    assert process.wait(timeout=30) == 0


def test_solvers_print_nothing_into_the_json(tmp_path: Path) -> None:
    small = ["generate", "--size", "3", "--output", "small.json"]
    subprocess.run([*ELKHOUND, *small], cwd=tmp_path, check=True, capture_output=True)
    backends = {backend.name for backend in available()} & {"highs", "cbc"}
    methods = ["cp-sat", *(f"milp:backend={name}" for name in sorted(backends))]
    compare = ["compare", "small.json", "--methods", ",".join(methods), "--json"]
    ended = subprocess.run(
        [*ELKHOUND, *compare, "--no-plots"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    rows = json.loads(ended.stdout)["rows"]
    assert [row["method"] for row in rows] == methods
    assert {row["status"] for row in rows} == {"optimal"}


@pytest.mark.parametrize("flags", [[], ["--json"]], ids=["text", "json"])
def test_a_full_device_is_said_in_one_line(flags: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [*ELKHOUND, "chips", *flags],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert ended.returncode == 2
    assert ended.stderr == (
        "elkhound: standard output: cannot be used: No space left on device\n"
    )


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_do_no_harm(tmp_path: Path, closed: str) -> None:
    # The first file opened would take the place of a closed standard output.
    script = f'"$0" -m elkhound.experiments.cli.main "$@" {closed}'
    flags = ["generate", "--size", "3", "--output", "problem.json"]
    ended = subprocess.run(
        ["sh", "-c", script, sys.executable, *flags],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (0, "")
    assert json.loads((tmp_path / "problem.json").read_text())["kind"] == "schedule"


@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_names_in_any_bytes_are_printed_in_any_encoding(
    tmp_path: Path, encoding: str
) -> None:
    # The last byte of the stem is no UTF-8, and the file holds no other name.
    option = {
        "execute_bytes": 1, "preload_bytes": 0, "preload_cycles": 0,
        "preload_link_cycles": 0, "execute_cycles": 1, "execute_link_cycles": 0,
    }  # fmt: skip
    operators = [{"name": "é", "options": [option]}]
    problem = {"kind": "schedule", "sram_bytes": 1, "operators": operators}
    (tmp_path / "é\udcff.json").write_text(json.dumps(problem))
    flags = ["--methods", "basic", "--no-plots", "--run-dir", "run"]
    ended = subprocess.run(
        [*ELKHOUND, "compare", "é\udcff.json", *flags],
        cwd=tmp_path, env={**os.environ, "PYTHONIOENCODING": encoding},
        capture_output=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    rows = json.loads((tmp_path / "run" / "rows.json").read_text())
    assert rows["problem"]["name"] == "é\ufffd"


def test_a_refusal_sends_no_control_characters(tmp_path: Path) -> None:
    ended = subprocess.run(
        [*ELKHOUND, "import", "red\x1b[31m.onnx"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.stderr == "elkhound: red [31m.onnx: no such file\n"
