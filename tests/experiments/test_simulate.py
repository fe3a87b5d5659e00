"""`elkhound simulate`: flags and what they change."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.said import Said

EXAMPLE = Path(__file__).parents[2] / "examples" / "decoder_block.onnx"

Say = Callable[..., Said]


@pytest.fixture
def chip_plan(say: Say) -> str:
    """A plan for a decoder block on the 64 cores of toy-64."""
    said = say(
        "plan", str(EXAMPLE), "--bind", "batch=4,context=64",
        "--chip", "toy-64", "--method", "static", "--output", "chip-plan.json",
    )  # fmt: skip
    assert said.status == 0, said.err
    return "chip-plan.json"


def test_both_fidelities_agree_on_the_makespan(say: Say, chip_plan: str) -> None:
    scores = {
        fidelity: json.loads(
            say("simulate", chip_plan, "--fidelity", fidelity, "--json").out
        )
        for fidelity in ("core", "class")
    }
    assert scores["core"]["makespan_cycles"] == scores["class"]["makespan_cycles"]
    for fidelity, score in scores.items():
        assert score["fidelity"] == fidelity
        assert sum(core["multiplicity"] for core in score["cores"]) == 64


def test_fidelity_of_a_plan_without_a_chip_is_refused(
    say: Say, problem_file: str
) -> None:
    say("plan", problem_file, "--method", "static", "--output", "plan.json")
    said = say("simulate", "plan.json", "--fidelity", "core")
    assert said.status == 2
    assert "--fidelity has no effect: the plan names no chip" in said.line


def test_a_trace_is_written_beside_the_score(say: Say, chip_plan: str) -> None:
    said = say("simulate", chip_plan, "--trace", "trace.json", "--json")
    assert said.status == 0
    trace = json.loads(Path("trace.json").read_text())
    makespan = json.loads(said.out)["makespan_cycles"]
    assert trace["otherData"]["makespan_cycles"] == makespan
    assert {e["ph"] for e in trace["traceEvents"]} == {"M", "B", "E", "C", "i"}


def test_a_trace_that_cannot_be_written_is_refused(say: Say, chip_plan: str) -> None:
    said = say("simulate", chip_plan, "--trace", "nowhere/trace.json")
    assert said.status == 2
    assert "nowhere/trace.json: cannot be written: No such file" in said.line


def test_a_plan_whose_buffers_collide_is_not_simulated(
    say: Say, chip_plan: str
) -> None:
    document = json.loads(Path(chip_plan).read_text())
    for address in document["addresses"]:
        address["offset"] = 0
    Path(chip_plan).write_text(json.dumps(document))
    for verb in ("simulate", "export"):
        said = say(verb, chip_plan)
        assert said.status == 5
        assert "fails verification: buffers P." in said.line
        assert said.line.endswith(" more")
    said = say("evaluate", "--plan", chip_plan)
    assert said.status == 5
    assert said.err.count("\n") == 21
    assert said.err.endswith("more; --json lists them\n")


def test_a_chip_of_more_cores_than_can_be_simulated_is_refused(
    say: Say, chip_plan: str
) -> None:
    document = json.loads(Path(chip_plan).read_text())
    document["chip"]["chips"] = 10**9
    Path(chip_plan).write_text(json.dumps(document))
    said = say("simulate", chip_plan)
    assert said.status == 2
    assert "chips · cores_per_chip is 64000000000, must be at most 1000000" in said.line
