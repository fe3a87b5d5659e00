from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.methods import EARLY, EARLY_CYCLES, LATE, PROBLEM
from fakes.said import Said

from elkhound.experiments.cli.main import VERBS
from elkhound.experiments.rows import columns
from elkhound.model.allocation import (
    AllocationItem,
    AllocationOption,
    AllocationProblem,
)
from elkhound.model.io import read_plan, read_problem, write_plan, write_problem
from elkhound.model.schedule import Schedule

Say = Callable[..., Said]


def test_without_a_verb_there_is_help(say: Say) -> None:
    said = say()
    assert said.status == 0
    for verb in VERBS:
        assert f"\n  {verb} " in said.out


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_every_flag_and_shows_an_example(
    say: Say, verb: str
) -> None:
    said = say(verb, "--help")
    assert said.status == 0
    assert f"elkhound {verb}" in said.out.split("Example")[1]
    assert "--json" in said.out


def test_compare_prints_the_documented_object_and_nothing_else(
    say: Say, problem_file: str
) -> None:
    said = say(
        "compare", problem_file, "--methods", "static,ideal,cp-sat,brute-force",
        "--workers", "1", "--json", "--run-dir", "run", "--no-plots",
    )  # fmt: skip
    document = json.loads(said.out)
    assert said.status == 0
    assert list(document) == ["problem", "rows", "contradictions", "run_dir"]
    assert document["contradictions"] == []
    assert document["run_dir"] == "run"
    assert document["problem"]["kind"] == "schedule"
    for row in document["rows"]:
        assert tuple(row) == columns("schedule")
    static, ideal, cp_sat, brute_force = document["rows"]
    assert cp_sat["status"] == brute_force["status"] == "optimal"
    assert cp_sat["objective"] == brute_force["objective"] == EARLY_CYCLES
    assert static["gap"] == (static["objective"] - 15) / static["objective"]
    assert ideal["objective"] is None
    assert ideal["lower_bound"] <= EARLY_CYCLES


def test_compare_keeps_a_run_directory_below_runs(say: Say, problem_file: str) -> None:
    assert say("compare", problem_file, "--methods", "static", "--no-plots").status == 0
    (path,) = Path("runs").iterdir()
    assert path.name.endswith("-three")
    about = json.loads((path / "configuration.json").read_text())
    assert about["configuration"]["model"] == problem_file
    assert about["configuration"]["methods"] == ["static"]
    assert about["configuration"]["limits"]["seed"] == 0


def test_the_table_for_people_says_what_was_compared(
    say: Say, problem_file: str
) -> None:
    said = say("compare", problem_file, "--methods", "static,cp-sat", "--no-plots")
    assert "three on abstract chip: 3 operators, 30 B per core" in said.out
    assert "cycles under the none rule" in said.out
    assert "15 (proof)" in said.out
    assert "cp-sat: optimal, objective 15" in said.err


def test_plan_writes_a_file_that_evaluate_and_simulate_take(
    say: Say, problem_file: str
) -> None:
    said = say(
        "plan", problem_file, "--method", "cp-sat", "--output", "plan.json", "--json"
    )
    assert said.status == 0
    assert json.loads(said.out)["rows"][0]["objective"] == EARLY_CYCLES
    assert read_plan("plan.json").problem == PROBLEM

    said = say("evaluate", "--plan", "plan.json")
    assert said.out.startswith("plan.json: 15 cycles under the none rule")
    said = say("simulate", "plan.json", "--json")
    assert json.loads(said.out)["makespan_cycles"] == EARLY_CYCLES
    said = say("simulate", "plan.json")
    assert "simulated     15\n" in said.out


def test_evaluate_takes_a_bare_plan_beside_its_problem(
    say: Say, problem_file: str
) -> None:
    bare = {"gates": [0, 1, 2], "options": [0, 0, 0]}
    Path("bare.json").write_text(json.dumps(bare))
    said = say("evaluate", problem_file, "--plan", "bare.json", "--json")
    assert json.loads(said.out) == {
        "kind": "schedule",
        "problem": "three",
        "contention": "none",
        "objective": 19,
        "order": "identity",
        "verified": True,
        "violations": [],
    }
    assert say("simulate", "bare.json", "--problem", problem_file).status == 0


def tight_plan() -> None:
    """plan.json: three outstanding at once, 30 B where 25 B are."""
    from dataclasses import replace

    write_plan("plan.json", replace(PROBLEM, sram_bytes=25), EARLY)


def test_evaluate_lists_every_broken_rule(say: Say) -> None:
    tight_plan()
    said = say("evaluate", "--plan", "plan.json")
    assert said.status == 5
    assert "operator a" in said.err
    assert "25 B" in said.err
    said = say("evaluate", "--plan", "plan.json", "--json")
    document = json.loads(said.out)
    assert said.status == 5
    assert document["verified"] is False
    assert document["objective"] is None
    assert len(document["violations"]) >= 1


def test_a_plan_that_fails_verification_is_not_simulated(say: Say) -> None:
    tight_plan()
    said = say("simulate", "plan.json")
    assert said.status == 5
    assert "plan.json: fails verification" in said.line


def test_allocate_compares_allocations(say: Say) -> None:
    options = (AllocationOption(10, 1), AllocationOption(4, 6))
    items = (AllocationItem("x", options), AllocationItem("y", options))
    write_problem("step.json", AllocationProblem(14, items))
    methods = "delta,knapsack-dp,cp-sat,milp"
    said = say(
        "allocate", "step.json", "--methods", methods, "--workers", "1", "--json"
    )
    document = json.loads(said.out)
    assert said.status == 0
    assert [row["objective"] for row in document["rows"]] == [7, 7, 7, 7]
    assert tuple(document["rows"][0]) == columns("allocation")
    plan = Path(document["run_dir"]) / "plans" / "milp.json"
    said = say("evaluate", "--plan", str(plan))
    assert said.out == f"{plan}: 7 cycles\n"
    assert say("simulate", str(plan)).status == 0


@pytest.mark.parametrize("kind", ["schedule", "allocation"])
def test_generate_repeats_itself(say: Say, kind: str) -> None:
    flags = ("generate", "--kind", kind, "--size", "4", "--seed", "9")
    first, second = say(*flags), say(*flags)
    assert first.status == 0
    assert first.out == second.out
    assert say(*flags, "--output", "made.json").status == 0
    assert json.loads(Path("made.json").read_text()) == json.loads(first.out)
    read_problem("made.json")


@pytest.mark.parametrize("family", ["chain", "tree", "star"])
def test_generated_workloads_are_fused(say: Say, family: str) -> None:
    flags = ("generate", "--kind", "fusion", "--size", "3", "--family", family)
    assert say(*flags).out == say(*flags).out
    assert say(*flags, "--output", "w.json").status == 0
    methods = ("--methods", "pareto-join,cp-sat", "--accelerator", "simple")
    rows = json.loads(say("fuse", "w.json", *methods, "--no-plots", "--json").out)[
        "rows"
    ]
    join, exact = rows
    assert join["status"] == exact["status"] == "optimal"
    assert join["energy"] == exact["energy"]


def test_generate_of_fusion_refuses_what_has_no_effect(say: Say) -> None:
    said = say("generate", "--kind", "fusion", "--contention", "none")
    assert said.status == 2
    assert "--contention: has no effect on kind fusion" in said.err


def test_generate_makes_hand_made_problems(say: Say) -> None:
    said = say("generate", "--family", "one-ahead")
    assert json.loads(said.out)["kind"] == "schedule"


def test_import_lists_operators(say: Say) -> None:
    said = say("import", "llama-2-13b", "--bind", "batch=1,seq=128,layers=1", "--json")
    document = json.loads(said.out)
    assert list(document) == [
        "operators", "macs", "weight_bytes", "free_symbols", "unsupported", "warnings",
        "spilled",
    ]  # fmt: skip
    operators = document["operators"]
    assert list(operators[0]) == [
        "name", "kind", "dims", "macs", "weight_bytes", "streamed_bytes",
    ]  # fmt: skip
    assert document["macs"] == sum(operator["macs"] for operator in operators)
    people = say("import", "llama-2-13b", "--bind", "batch=1,seq=128,layers=1")
    assert f"{len(operators)} operators, {document['macs']} MACs" in people.out


def test_lists_can_be_read_by_programs(say: Say) -> None:
    methods = json.loads(say("methods", "--json").out)
    assert methods["schedule"]["milp"]["settings"]["backend"] == ["highs", "cbc"]
    chips = json.loads(say("chips", "--json").out)["chips"]
    assert "toy-8" in [chip["chip"] for chip in chips]
    workloads = json.loads(say("workloads", "--json").out)
    assert "llama-2-13b" in workloads["workloads"]
    assert workloads["phases"]["llama-2-13b"] == ["decode", "prefill", "training"]
    assert "schedule" in json.loads(say("schema").out)
    schema = json.loads(say("schema", "allocation").out)
    assert "capacity_bytes" in schema["properties"]


def test_lists_can_be_read_by_people(say: Say) -> None:
    assert "allocator = delta | delta-hull-fill" in say("methods").out
    assert "1 × 8 cores" in say("chips").out
    assert "llama-2-13b  decode, prefill, training\n" in say("workloads").out


def test_an_exported_workload_can_be_imported(say: Say) -> None:
    bind = ("--bind", "batch=1,seq=128,layers=1")
    said = say("workloads", "export", "llama-2-7b", *bind, "--output", "llama.onnx")
    assert (said.status, said.out) == (0, "wrote llama.onnx: 21 operators\n")
    ask = ("workloads", "export", "llama-2-7b", *bind, "--output")
    told = json.loads(say(*ask, "llama.onnx", "--json").out)
    assert told == {"path": "llama.onnx", "operators": 21}
    refused = say(*ask, "llama.txt")
    assert refused.status == 2
    assert "does not end in .onnx is not read as a model" in refused.line
    for folder, hint in (("", "model.onnx"), ("/", "/model.onnx")):
        refused = say(*ask, folder)
        assert (refused.status, f"({hint})" in refused.line) == (2, True)
    assert not Path("llama.txt").exists()
    there, back = (
        json.loads(say("import", *model, "--json").out)
        for model in (("llama-2-7b", *bind), ("llama.onnx",))
    )
    for key in ("macs", "weight_bytes", "unsupported", "warnings"):
        assert there[key] == back[key]
    for key in ("kind", "macs", "weight_bytes", "streamed_bytes"):
        assert [o[key] for o in there["operators"]] == [
            o[key] for o in back["operators"]
        ]


def test_the_doctor_lets_every_solver_prove_something(say: Say) -> None:
    said = say("doctor", "--json")
    document = json.loads(said.out)
    assert said.status == 0
    assert {"cp-sat", "highs"} <= {solver["name"] for solver in document["solvers"]}
    assert all(solver["works"] for solver in document["solvers"])
    assert "cp-sat       works" in say("doctor").out


def test_a_late_plan_is_worth_what_arithmetic_says(say: Say) -> None:
    write_plan("late.json", PROBLEM, LATE)
    assert say("evaluate", "--plan", "late.json").out.startswith("late.json: 19 cycles")
    write_plan("early.json", PROBLEM, Schedule((0, 0, 0), (0, 0, 0)))
    assert "early.json: 15 cycles" in say("evaluate", "--plan", "early.json").out


def test_a_gap_within_a_class_is_no_gap_to_a_better_plan_outside(say: Say) -> None:
    # identity order needs 137 cycles, which the renewal bound proves; free order 82
    problem = ("--kind", "schedule", "--family", "reordered")
    assert say("generate", *problem, "--output", "r.json").status == 0
    methods = ("--methods", "basic,elk-dyn,cp-sat", "--workers", "1", "--no-plots")
    said = say("compare", "r.json", *methods)
    assert (
        "basic, elk-dyn: the gap is to the bound of identity order; "
        "cp-sat has a plan below it in free order"
    ) in said.out
    alone = say("compare", "r.json", "--methods", "basic", "--no-plots")
    assert "the gap is to" not in alone.out
