"""Fused operators from the command line to the simulated chip."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fakes.said import Said

from elkhound.experiments.cli.options import OneOf
from elkhound.experiments.source import ModelFlags, read_source
from elkhound.model.io import load_chip, read_plan
from elkhound.model.program import program_of
from elkhound.simpy_chip import Fidelity, simulate

Say = Callable[..., Said]
MODEL = ("llama-2-7b", "--phase", "prefill", "--bind", "batch=1,seq=64,layers=1")
CHIP = ("--chip", "toy-64.yaml")
FUSED = (*MODEL, *CHIP, "--fuse", "pareto-join", "--spill", "auto")


@pytest.fixture(autouse=True)
def _large_toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work where toy-64.yaml is a toy with room for a layer."""
    from dataclasses import replace

    from elkhound.model.io import chip_document
    from elkhound.model.io.text import as_text

    monkeypatch.chdir(tmp_path)
    chip = load_chip("toy-64")
    chip = replace(chip, core=replace(chip.core, sram_bytes=8 << 20))
    Path("toy-64.yaml").write_text(as_text(chip_document(chip)))


def planned(say: Say) -> dict[str, Any]:
    said = say("plan", *FUSED, "--method", "static", "--output", "plan.json", "--json")
    assert said.status == 0, said.err
    document = json.loads(said.out)
    assert isinstance(document, dict)
    return document


def test_a_fused_plan_is_verified_simulated_and_read_back(say: Say) -> None:
    (row,) = planned(say)["rows"]
    assert row["verified"] is True
    assert row["simulated_cycles"] is not None
    file = read_plan("plan.json")
    fused = [o for o in file.problem.operators if "+" in o.name]
    assert fused
    for fidelity in Fidelity:
        program = program_of(file.problem, file.plan, file.chip, file.addresses)
        bare = simulate(
            program,
            fidelity=fidelity,
            contention=False,
            latency=False,
            efficiency=False,
        )
        phases = [task.option.execute_cycles for task in program.tasks]
        assert [o.execute_cycles for o in bare.operators] == phases


def test_members_that_take_other_time_than_their_option_are_no_plan(say: Say) -> None:
    planned(say)
    document = json.loads(Path("plan.json").read_text())
    (payload, *_) = [p for p in document["payload"] if p and "members" in p]
    payload["members"][0]["compute_cycles"] -= 1
    Path("edited.json").write_text(json.dumps(document))
    said = say("evaluate", "--plan", "edited.json")
    assert said.status == 5
    assert "its members have" in said.out + said.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(
            [*FUSED, "--min-capacity"], "--fuse: has no effect", id="min capacity"
        ),
        pytest.param(
            ["problem.json", "--fuse", "pareto-join"],
            "--fuse: has no effect on a problem file",
            id="problem file",
        ),
        pytest.param(
            [*MODEL, "--fuse", "pareto"],
            "'pareto' (did you mean pareto-join?)",
            id="word",
        ),
    ],
)
def test_a_flag_without_effect_is_refused(
    say: Say, arguments: list[str], message: str
) -> None:
    Path("problem.json").write_text("{}")
    said = say("compare", *arguments)
    assert said.status == 2
    assert message in said.err


def test_none_is_what_is_done_without_the_flag() -> None:
    flags = {"phase": "prefill", "bind": {"batch": 1, "seq": 64, "layers": 1}}
    chip = {"chip": "toy-64.yaml", "spill": "auto"}
    plain = read_source("llama-2-7b", ModelFlags(**flags, **chip))  # type: ignore[arg-type]
    none = read_source("llama-2-7b", ModelFlags(fuse="none", **flags, **chip))  # type: ignore[arg-type]
    assert none == plain


def test_words_are_those_that_joins_have() -> None:
    from elkhound.experiments.fusing import JOINS

    assert OneOf("none", *JOINS).words == ("none", "pareto-join", "exact")


def test_json_and_rows_name_the_operators_of_every_group(say: Say) -> None:
    document = planned(say)
    tried = document["problem"]["fused"]
    assert [(g["name"], g["operators"], g["adopted"]) for g in tried] == [
        (
            "layer0.scores+softmax+attention",
            ["layer0.scores", "layer0.softmax", "layer0.attention"],
            False,
        ),
        ("last_token+final_norm", ["last_token", "final_norm"], True),
    ]
    for group in tried:  # alone they gain; what is kept is what plans gain by
        assert group["cycles"] < group["operators_cycles"]
        gains = group["fused_plan_cycles"] < group["parted_plan_cycles"]
        assert gains == group["adopted"]
    assert document["rows"][0]["fused"] == [["last_token", "final_norm"]]
    steps = [o.name for o in read_plan("plan.json").problem.operators]
    assert [g["name"] in steps for g in tried] == [False, True]


def test_models_say_what_is_fused_in_them(say: Say) -> None:
    said = say(
        "export", *FUSED, "--format", "lp", "--order", "identity",
        "--output", "m.lp", "--json",
    )  # fmt: skip
    fused = {g["name"]: g["adopted"] for g in json.loads(said.out)["fused"]}
    assert fused == {
        "layer0.scores+softmax+attention": False,
        "last_token+final_norm": True,
    }


def test_nothing_is_said_of_groups_where_fusion_was_not_asked_for(say: Say) -> None:
    flags = (*MODEL, *CHIP, "--spill", "auto", "--method", "static")
    document = json.loads(say("plan", *flags, "--output", "p.json", "--json").out)
    assert document["problem"]["fused"] is None
    assert document["rows"][0]["fused"] is None


def test_rows_of_sweeps_name_the_groups(say: Say) -> None:
    Path("grid.yaml").write_text(
        "grid:\n  model: [llama-2-7b]\n  phase: [prefill]\n"
        "  bind: {batch: [1], seq: [64], layers: [1]}\n  chip: [toy-64.yaml]\n"
        "  fuse: [none, pareto-join]\n  spill: [auto]\n  methods: [static]\n"
    )
    assert say("sweep", "grid.yaml", "--jobs", "1", "--output", "run").status == 0
    lines = json.loads(say("rows", "run", "--json").out)["rows"]
    assert [(line["fuse"], line["fused"]) for line in lines] == [
        ("none", None),
        ("pareto-join", [["last_token", "final_norm"]]),
    ]
