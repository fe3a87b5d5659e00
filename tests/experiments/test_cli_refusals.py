from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakes.methods import EARLY, LATE, PROBLEM, Fake, entry
from fakes.said import Said

from elkhound.experiments.kinds import ScheduleKind
from elkhound.experiments.methods import SCHEDULE, Entry, Role
from elkhound.model.io import problem_document, write_plan, write_problem
from elkhound.model.limits import Limits
from elkhound.model.result import OrderClass, Result, Status

Say = Callable[..., Said]
STATIC = ("--methods", "static", "--no-plots")


def edited(**changes: Any) -> str:
    """edited.json: the problem with top-level keys changed."""
    document = problem_document(PROBLEM) | changes
    Path("edited.json").write_text(json.dumps(document, indent=1))
    return "edited.json"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(
            ["comprae", "x"], "no verb 'comprae' (did you mean compare?)", id="verb"
        ),
        pytest.param(
            ["compare", "three.json", "--method", "static"],
            "no flag --method (did you mean --methods?)",
            id="flag",
        ),
        pytest.param(["compare"], "missing argument 'MODEL'", id="no model"),
        pytest.param(
            ["compare", "three.json", "four.json"],
            "unexpected extra argument (four.json)",
            id="two models",
        ),
        pytest.param(
            ["plan", "three.json", "--method", "static"],
            "missing option '--output'",
            id="no output",
        ),
        pytest.param(
            ["compare", "three.json", "--methods", "statik"],
            "--methods: unknown method 'statik' (did you mean static?)",
            id="method",
        ),
        pytest.param(
            ["compare", "three.json", "--methods", "static:order=free"],
            "--methods: method static has no setting 'order' (it has none)",
            id="setting of another method",
        ),
        pytest.param(
            ["compare", "three.json", "--contention", "strech"],
            "--contention: 'strech' (did you mean stretch?)",
            id="value",
        ),
        pytest.param(
            ["compare", "three.json", "--time-limit", "0"],
            "--time-limit: is 0, must be above 0 seconds",
            id="time limit 0",
        ),
        pytest.param(
            ["compare", "three.json", "--time-limit", "-3"],
            "--time-limit: is -3, must be above 0 seconds",
            id="negative time limit",
        ),
        pytest.param(
            ["compare", "three.json", "--time-limit", "nan"],
            "--time-limit: is nan, must be above 0 seconds",
            id="time limit nan",
        ),
        pytest.param(
            ["compare", "three.json", "--time-limit", "soon"],
            "--time-limit: 'soon' is not a number of seconds",
            id="time limit in words",
        ),
        pytest.param(
            ["compare", "three.json", "--gap", "1"],
            "--gap: is 1, must be in [0, 1)",
            id="gap",
        ),
        pytest.param(
            ["compare", "three.json", "--workers", "0"], "--workers: 0", id="workers"
        ),
        pytest.param(
            ["compare", "three.json", "--seed", "x"], "--seed: 'x'", id="seed"
        ),
        pytest.param(
            ["compare", "m.onnx", "--bind", "a=0"],
            "--bind: 'a=0' is not of the form symbol=positive integer",
            id="bind",
        ),
        pytest.param(
            ["compare", "m.onnx", "--bind", "a=" + "9" * 5000],
            "is not of the form symbol=positive integer of at most 10^15",
            id="bind of 5000 digits",
        ),
        pytest.param(
            ["compare", "three.json", "--workers", "100000"],
            "--workers: 100000 is not in the range 1<=x<=256",
            id="too many workers",
        ),
        pytest.param(
            ["generate", "--size", "1000000000"],
            "--size: 1000000000 is not in the range 1<=x<=10000",
            id="size",
        ),
        pytest.param(
            ["compare", "three.json", "--methods", "static,,"],
            "--methods: unknown method ''",
            id="no method between commas",
        ),
        pytest.param(
            ["compare", "llama-2-13b", "--chip", "", "--methods", "static"],
            "no chip is called ''",
            id="empty chip",
        ),
        pytest.param(
            ["options", "llama-2-13b", "--bind", "batch=1,seq=8", "--chip", ""],
            "no chip is called ''",
            id="empty chip of options",
        ),
        pytest.param(["tiles", "--chip", ""], "no chip is called ''", id="of tiles"),
        pytest.param(
            [
                "import",
                "llama-2-13b",
                "--bind",
                "batch=1,seq=8",
                "--spill=auto",
                "--chip=",
            ],
            "no chip is called ''",
            id="empty chip of import",
        ),
        pytest.param(
            ["compare", "llama-2-13b", "--bind", "batch=1,seq=8", "--tile-cost", ""],
            "--tile-cost: ''",
            id="empty tile cost",
        ),
        pytest.param(
            ["compare", ""], "no such file, and no built-in workload ''", id="no name"
        ),
        pytest.param(
            ["compare", "m.onnx", "--bind", "a=1", "--bind", "a=2"],
            "--bind: a is bound to 1 and to 2",
            id="bind twice",
        ),
        pytest.param(
            ["compare", "nowhere.json"], "nowhere.json: no such file", id="no problem"
        ),
        pytest.param(
            ["compare", "nowhere.onnx"], "nowhere.onnx: no such file", id="no onnx"
        ),
        pytest.param(
            ["compare", "lama-2-13b"],
            "no such file, and no built-in workload 'lama-2-13b' (did you mean llama",
            id="no workload",
        ),
        pytest.param(
            ["compare", "llama-2-13b", "--chip", "ipu-pod5-hbm"],
            "no chip is called 'ipu-pod5-hbm', and no file (did you mean ipu-pod4-hbm",
            id="no chip",
        ),
        pytest.param(
            ["compare", "three.json", "--chip", "toy-8"],
            "--chip: has no effect on a problem file",
            id="chip without effect",
        ),
        pytest.param(
            ["evaluate", "--plan", "nowhere.json"], "nowhere.json", id="no plan"
        ),
        pytest.param(
            ["plan", "three.json", "--method", "ideal", "--output", "p.json"],
            "--method: ideal gives a bound and no plan",
            id="no plan from a bound",
        ),
        pytest.param(
            ["plan", "three.json", "--method", "static", "--output", "no/p.json"],
            "no/p.json: cannot be written",
            id="output in no directory",
        ),
        pytest.param(
            ["plan", "three.json", "--method", "static", "--output", "/proc/p.json"],
            "/proc/p.json: cannot be written",
            id="output that cannot be written",
        ),
        pytest.param(
            ["compare", "llama-2-13b", "--bind", "batch=1,seq=8", "--phase", "decod"],
            "phase 'decod' does not exist (did you mean decode?)",
            id="phase",
        ),
        pytest.param(
            ["allocate", "three.json"],
            "three.json: holds another kind of problem",
            id="schedule given to allocate",
        ),
        pytest.param(
            ["generate", "--kind", "shedule"],
            "--kind: 'shedule' (did you mean schedule?)",
            id="kind",
        ),
        pytest.param(["generate", "--size", "0"], "--size: 0", id="size"),
        pytest.param(
            ["generate", "--kind", "allocation", "--contention", "none"],
            "--contention: has no effect on the",
            id="generate without effect",
        ),
        pytest.param(
            ["schema", "shedule"],
            "KIND: no kind of file 'shedule' (did you mean schedule",
            id="schema",
        ),
        pytest.param(
            ["import", "three.json"], "three.json: is a problem file", id="import"
        ),
    ],
)
def test_bad_input_is_refused_in_one_line(
    say: Say, problem_file: str, arguments: list[str], message: str
) -> None:
    said = say(*arguments)
    assert said.status == 2
    assert message in said.line
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param({"sram_bytes": -1}, "sram_bytes", id="negative size"),
        pytest.param({"srambytes": 1}, "srambytes", id="unknown key"),
        pytest.param({"kind": "shedule"}, "did you mean schedule?", id="kind"),
        pytest.param({"contention": "strech"}, "contention", id="rule"),
        pytest.param({"operators": []}, "operators", id="no operators"),
    ],
)
def test_a_bad_problem_file_is_refused_with_its_line(
    say: Say, changes: dict[str, Any], message: str
) -> None:
    line = say("compare", edited(**changes), *STATIC).line
    assert "elkhound: edited.json:" in line
    assert message in line


def test_a_gate_beyond_its_index_is_refused(say: Say, problem_file: str) -> None:
    bare = {"gates": [0, 2, 2], "options": [0, 0, 0]}
    Path("bare.json").write_text(json.dumps(bare))
    said = say("evaluate", problem_file, "--plan", "bare.json")
    assert said.status == 2
    assert "bare.json:1: operator b: gate is 2, must be from 0 to 1" in said.line


def test_a_plan_of_another_problem_is_refused(say: Say, problem_file: str) -> None:
    write_plan("plan.json", replace(PROBLEM, sram_bytes=31), LATE)
    said = say("simulate", "plan.json", "--problem", problem_file)
    assert said.status == 2
    assert "the plan is for another problem" in said.line


def test_a_bare_plan_needs_its_problem(say: Say) -> None:
    Path("bare.json").write_text('{"gates": [0], "options": [0]}')
    said = say("simulate", "bare.json")
    assert said.status == 2
    assert "the plan names no problem" in said.line


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"Dear diary, today I trained a model.\n", id="text"),
        pytest.param(b"", id="empty"),
        pytest.param(b"\x08\x0a\x12\x07pytorch:\xff\xff\x07", id="truncated"),
    ],
)
def test_what_is_no_onnx_file_is_refused(say: Say, content: bytes) -> None:
    Path("model.onnx").write_bytes(content)
    said = say("compare", "model.onnx", "--chip", "toy-8", *STATIC)
    assert said.status == 2
    assert "model.onnx" in said.line


def test_too_little_sram_is_infeasible_with_the_numbers(say: Say) -> None:
    said = say("compare", edited(sram_bytes=9), *STATIC)
    assert said.status == 3
    assert (
        "operator a: its smallest option needs 10 B per core, 9 B are usable; "
        "the smallest capacity that works for all operators is 10 B"
    ) in said.line


def test_a_foreign_run_directory_is_refused(say: Say, problem_file: str) -> None:
    Path("mine").mkdir()
    Path("mine/notes.txt").write_text("mine")
    said = say("compare", problem_file, *STATIC, "--run-dir", "mine")
    assert said.status == 2
    assert "mine: is not empty and not a run directory" in said.line


@pytest.mark.parametrize(
    ("arguments", "status", "code", "where"),
    [
        pytest.param(
            ["compare", "nowhere.json"], 2, "no-such-file", "nowhere.json", id="file"
        ),
        pytest.param(
            ["compare", "three.json", "--time-limit", "0"],
            2,
            "usage",
            "--time-limit",
            id="flag",
        ),
        pytest.param(["comprae"], 2, "unknown-verb", "", id="verb"),
    ],
)
def test_with_json_a_refusal_is_an_object_on_standard_output(
    say: Say,
    problem_file: str,
    arguments: list[str],
    status: int,
    code: str,
    where: str,
) -> None:
    said = say(*arguments, "--json")
    assert said.status == status
    assert said.err == ""
    document = json.loads(said.out)
    assert list(document) == ["error"]
    assert list(document["error"]) == ["code", "message", "where", "hint"]
    assert document["error"]["code"] == code
    assert document["error"]["where"] == where


def answering(result: Result[Any] | BaseException) -> Entry:
    def answer(limits: Limits[Any]) -> Result[Any]:
        if isinstance(result, BaseException):
            raise result
        return result

    return entry(Fake("fake", answer), Role.EXACT)


def test_a_contradiction_is_loud(
    say: Say, problem_file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lie = Result("fake", Status.OPTIMAL, LATE, 12, order=OrderClass.free())
    monkeypatch.setitem(SCHEDULE, "liar", answering(lie))
    monkeypatch.setattr(ScheduleKind, "bounds", lambda self, problem: ())
    said = say("compare", problem_file, "--methods", "liar", "--no-plots")
    assert said.status == 5
    assert "CONTRADICTION liar: says its plan is worth 12, the referee computes 19" in (
        said.out
    )
    said = say("compare", problem_file, "--methods", "liar", "--no-plots", "--json")
    assert said.status == 5
    assert len(json.loads(said.out)["contradictions"]) == 1


def test_ctrl_c_prints_what_is_finished(
    say: Say, problem_file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Result("fake", Status.FEASIBLE, EARLY, 15, order=OrderClass.identity())
    monkeypatch.setitem(SCHEDULE, "done", answering(found))
    monkeypatch.setitem(SCHEDULE, "stopped", answering(KeyboardInterrupt()))
    said = say("compare", problem_file, "--methods", "done,stopped", "--json")
    assert said.status == 130
    document = json.loads(said.out)
    assert [row["method"] for row in document["rows"]] == ["done"]
    kept = Path(document["run_dir"], "rows.csv").read_text().splitlines()
    assert [line.split(",")[1] for line in kept] == ["method", "done"]


def test_a_fault_of_ours_is_one_line_too(
    say: Say, problem_file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SCHEDULE, "buggy", answering(ZeroDivisionError("oops")))
    said = say("plan", problem_file, "--method", "buggy", "--output", "p.json")
    assert said.status == 1
    assert said.err.splitlines()[-1] == (
        "elkhound: internal error: ZeroDivisionError: oops "
        "(ELKHOUND_DEBUG=1 shows where)"
    )
    monkeypatch.setenv("ELKHOUND_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        say("plan", problem_file, "--method", "buggy", "--output", "p.json")


def test_no_plan_in_time_is_said(
    say: Say, problem_file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing: Result[Any] = Result("fake", Status.UNKNOWN, order=OrderClass.free())
    monkeypatch.setitem(SCHEDULE, "slow", answering(nothing))
    said = say("compare", problem_file, "--methods", "slow", "--no-plots")
    assert said.status == 4
    assert "slow: no plan found" in said.out


def test_a_problem_name_with_markup_is_printed_as_it_is(say: Say) -> None:
    write_problem("odd.json", replace(PROBLEM, name="[red]odd[/red] [x"))
    said = say("compare", "odd.json", *STATIC)
    assert said.status == 0
    assert "[red]odd[/red] [x on abstract chip" in said.out


@pytest.mark.parametrize(
    ("arguments", "read"),
    [
        pytest.param(["simulate", "p.json", "--trace", "p.json"], "PLAN", id="trace"),
        pytest.param(
            ["simulate", "p.json", "--problem", "three.json", "--trace", "three.json"],
            "--problem",
            id="trace-over-a-flag",
        ),
        pytest.param(
            ["plan", "three.json", "--method", "static", "--output", "./three.json"],
            "MODEL",
            id="plan",
        ),
        pytest.param(
            ["export", "p.json", "--output", "p.json"],
            "PLAN|MODEL|MAPPING",
            id="export",
        ),
    ],
)
def test_no_file_is_written_over_what_is_read(
    say: Say, problem_file: str, arguments: list[str], read: str
) -> None:
    assert say("plan", problem_file, "--method=static", "--output=p.json").status == 0
    before = {name: Path(name).read_bytes() for name in ("p.json", problem_file)}
    said = say(*arguments)
    assert said.status == 2
    assert f"is {read}, which is read; write to another file" in said.err
    assert before == {name: Path(name).read_bytes() for name in before}
