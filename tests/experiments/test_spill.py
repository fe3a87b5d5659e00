"""--spill on the command line: a decoder block on a chip that is a little too small."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.said import Said

Say = Callable[..., Said]

ROOT = Path(__file__).parents[2]
MODEL = str(ROOT / "examples" / "decoder_block.onnx")
BIND = ("--bind", "batch=4,context=128")


@pytest.fixture
def chip(tmp_path: Path) -> str:
    """toy-8 with 184,500 B: `down` needs 184,064 B alone, `up` 185,664 B in all."""
    text = (ROOT / "model" / "presets" / "chips" / "toy-8.yaml").read_text()
    text = re.sub(r"(?m)^sram_bytes: \d+", "sram_bytes: 184500", text)
    text = re.sub(r"(?m)^reserved_bytes: \d+", "reserved_bytes: 0", text)
    (tmp_path / "small.yaml").write_text(text)
    return "small.yaml"


def test_a_model_that_does_not_fit_is_planned_with_spill(say: Say, chip: str) -> None:
    arguments = ("plan", MODEL, *BIND, "--chip", chip, "--method", "basic")
    refused = say(*arguments, "--output", "plan.json")
    assert refused.status == 3
    assert "the smallest option needs 185664 bytes" in refused.err
    planned = say(*arguments, "--output", "plan.json", "--spill", "auto")
    assert planned.status == 0
    assert "spilled in all: " in planned.err
    assert say("evaluate", "--plan", "plan.json").status == 0


def test_import_lists_what_moves_and_what_it_costs(say: Say, chip: str) -> None:
    arguments = ("import", MODEL, *BIND, "--chip", chip, "--spill", "auto")
    said = say(*arguments, "--json")
    moved = json.loads(said.out)["spilled"]
    assert moved
    assert all(m["write_cycles"] > 0 and m["read_cycles"] > 0 for m in moved)
    size = sum(m["bytes"] for m in moved)
    cycles = sum(m["write_cycles"] + m["read_cycles"] for m in moved)
    people = say(*arguments)
    total = f"spilled in all: {len(moved)} tensors, {size} B, {cycles} cycles"
    assert total in people.out.splitlines()
    assert f"spilled {moved[0]['tensor']}: " in people.out


def test_a_chip_means_nothing_to_an_import_that_spills_nothing(
    say: Say, chip: str
) -> None:
    said = say("import", MODEL, *BIND, "--chip", chip)
    assert said.status == 2
    assert said.err == "elkhound: --chip: has no effect without --spill auto\n"


def test_import_says_what_fits_not_even_with_spill(say: Say) -> None:
    """`down` needs 184,064 B alone, toy-8 has 64,512."""
    said = say("import", MODEL, *BIND, "--spill", "auto", "--chip", "toy-8")
    assert said.status == 3
    assert "spilled in all" in said.out
    assert "the smallest option needs 184" in said.err
    assert "64512 (63 KiB) are usable" in said.err
