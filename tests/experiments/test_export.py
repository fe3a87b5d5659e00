"""`elkhound export`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from fakes.said import Said

from elkhound.model.io import read_program


def test_export_writes_a_program_that_reads_back(
    say: Callable[..., Said], problem_file: str
) -> None:
    say("plan", problem_file, "--method", "basic", "--output", "plan.json")
    text = say("export", "plan.json")
    assert text.status == 0
    assert "preload_async(op=0)  # a\n" in text.out
    assert 'buffer "P.a" start_step=0 end_step=1 size_bytes=10 offset=' in text.out
    assert say("export", "plan.json", "--output", "p.txt").out == "wrote p.txt\n"
    written = say(
        "export", "plan.json", "--format", "program-json", "--output", "p.json"
    )
    assert written.status == 0
    assert read_program("p.txt") == read_program("p.json")


def test_a_bare_plan_gets_addresses_now(
    say: Callable[..., Said], problem_file: str
) -> None:
    Path("bare.json").write_text('{"gates": [0, 1, 2], "options": [0, 0, 0]}')
    said = say("export", "bare.json", "--problem", problem_file, "--json")
    document = json.loads(said.out)
    assert document["addresses"] is True
    assert document["program"].count("buffer ") == 3


def test_a_plan_that_breaks_a_rule_is_not_exported(
    say: Callable[..., Said], problem_file: str
) -> None:
    say("plan", problem_file, "--method", "basic", "--output", "plan.json")
    document = json.loads(Path("plan.json").read_text())
    for buffer in document["addresses"]:
        buffer["offset"] = 0
    Path("plan.json").write_text(json.dumps(document))
    said = say("export", "plan.json")
    assert said.status == 5
    assert "fails verification: buffers" in said.line
    say("generate", "--kind", "allocation", "--output", "a.json")
    say("plan", "a.json", "--method", "delta", "--output", "b.json")
    assert say("export", "b.json").line.endswith("only a schedule is a device program")
