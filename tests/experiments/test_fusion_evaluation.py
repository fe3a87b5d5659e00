from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.said import Said

from elkhound.experiments.fusion_source import read_fusion_workload
from elkhound.experiments.looptree_picture import looptree_picture
from elkhound.experiments.source import ModelFlags
from elkhound.model.fusion import parse_mapping
from elkhound.model.fusion.catalogue import fusion_workload

Say = Callable[..., Said]

FUSED = """\
[MainMemory] stores A, B, C, Z
for ny tile=2
[GlobalBuffer] stores Y
Sequential
  Nested
    [GlobalBuffer] stores A
    for ny tile=1
    for na tile=1
    compute Y on MAC
  Nested
    for ny tile=1
    for nz tile=1
    compute Z on MAC
"""
FLAGS = ("--mapping", "m.txt", "--workload", "matvecs", "--accelerator", "simple")


@pytest.fixture
def mapping_file(tmp_path: Path) -> str:
    """m.txt: two matrix–vector products, Y handed over in tiles of 2 and 1."""
    (tmp_path / "m.txt").write_text(FUSED)
    return "m.txt"


def test_evaluate_prints_what_a_mapping_costs(say: Say, mapping_file: str) -> None:
    said = say("evaluate", *FLAGS, "--json")
    assert said.status == 0
    document = json.loads(said.out)
    assert document["verified"] is True
    # the buffer holds A, 4 values of 8 bits, and 2 of Y
    assert document["occupancy_bits"]["GlobalBuffer"] == 32 + 16
    counts = {
        (a["einsum"], a["component"], a["tensor"], a["action"]): a["count"]
        for a in document["actions"]
    }
    # A once for the tile of 2 and once for that of 1, in the buffer; Z is added to in
    # main memory for each of 12 operations, and its 4 first touches are not read
    assert counts["Y", "MainMemory", "A", "read"] == 2 * 32
    assert counts["Z", "MainMemory", "Z", "write"] == 12 * 8
    assert counts["Z", "MainMemory", "Z", "read"] == (12 - 4) * 8
    total = sum(entry["energy"] for entry in document["energy_by_component"])
    assert document["energy"] == total
    assert document["latency"] == sum(e["latency"] for e in document["einsums"])


def test_evaluate_prints_a_table_for_people(say: Say, mapping_file: str) -> None:
    said = say("evaluate", *FLAGS)
    assert said.status == 0
    assert said.out.startswith("matvecs on simple: energy ")
    assert "GlobalBuffer: 48 of 65536 bits" in said.out


def test_a_mapping_that_does_not_fit_is_listed(say: Say, tmp_path: Path) -> None:
    text = (
        "[MainMemory] stores T0, W0, T1\n[GlobalBuffer] stores T0, T1, W0\n"
        "for m tile=1\nfor n0 tile=1\nfor n1 tile=1\ncompute Matmul0 on MAC\n"
    )
    (tmp_path / "m.txt").write_text(text)
    flags = [*FLAGS[:3], "matmuls", *FLAGS[4:], "--bind", "einsums=1"]
    said = say("evaluate", *flags, "--json")
    assert said.status == 5
    assert json.loads(said.out)["violations"] == [
        "memory GlobalBuffer: holds 98304 bits at once, has 65536"
    ]
    assert "m.txt: memory GlobalBuffer: holds" in say("evaluate", *flags).err


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        pytest.param((), "give one of --plan and --mapping", id="nothing"),
        pytest.param(
            ("--plan", "p", "--mapping", "m"), "give one of --plan", id="both"
        ),
        pytest.param(
            ("--plan", "p", "--workload", "w"),
            "--workload: has no effect on a plan",
            id="workload-of-a-plan",
        ),
        pytest.param(
            ("--mapping", "m"), "m: a mapping needs --workload", id="workload"
        ),
        pytest.param(
            ("problem.json", *FLAGS), "PROBLEM has no effect on a mapping", id="problem"
        ),
        pytest.param(
            (*FLAGS, "--picture", "--json"), "--picture has no effect", id="picture"
        ),
        pytest.param((*FLAGS, "--bind", "m=2"), "has no symbol m", id="symbol"),
        pytest.param(
            (*FLAGS[:5], "simpel"), "no accelerator is called 'simpel'", id="preset"
        ),
        pytest.param(
            ("--mapping", "none.txt", *FLAGS[2:]), "none.txt: no such file", id="file"
        ),
    ],
)
def test_flags_that_do_not_fit_are_refused(
    say: Say, mapping_file: str, flags: tuple[str, ...], message: str
) -> None:
    said = say("evaluate", *flags)
    as_json = "--json" in flags
    assert said.status == 2
    assert message in (said.out if as_json else said.line)


def test_the_picture_shows_iterations_and_bits() -> None:
    picture = looptree_picture(fusion_workload("matvecs"), parse_mapping(FUSED))
    assert (
        picture
        == """\
[ MainMemory: A ]  32 bit
[ MainMemory: B ]  96 bit
[ MainMemory: C ]  96 bit
[ MainMemory: Z ]  32 bit
for ny in 1 × 2 + 1
[ GlobalBuffer: Y ]  16 bit
├─ [ GlobalBuffer: A ]  32 bit
│  for ny in 2 × 1
│  for na in 4 × 1
│  ( Y on MAC )
└─ for ny in 2 × 1
   for nz in 4 × 1
   ( Z on MAC )
"""
    )


def test_evaluate_draws_the_picture(say: Say, mapping_file: str) -> None:
    said = say("evaluate", *FLAGS, "--picture")
    assert said.status == 0
    assert said.out.endswith("   ( Z on MAC )\n")


def test_a_mapping_of_an_onnx_model_is_costed(say: Say, tmp_path: Path) -> None:
    example = Path(__file__).parents[2] / "examples" / "decoder_block.onnx"
    flags = ("--workload", str(example), "--bind", "batch=1,context=128")
    workload, _ = read_fusion_workload(
        str(example), ModelFlags({"batch": 1, "context": 128})
    )
    branches = "".join(
        "  Nested\n"
        + "".join(f"    for {rank} tile=1\n" for rank in einsum.ranks)
        + f"    compute {einsum.name} on MAC\n"
        for einsum in workload.einsums
    )
    stored = ", ".join(workload.tensors)
    text = f"[MainMemory] stores {stored}\nSequential\n{branches}"
    (tmp_path / "m.txt").write_text(text)
    said = say("evaluate", "--mapping", "m.txt", *flags, *FLAGS[4:], "--json")
    assert said.status == 0
    document = json.loads(said.out)
    counts = {
        (a["einsum"], a["tensor"]): a["count"]
        for a in document["actions"]
        if a["action"] == "read"
    }
    # 8 heads, 128 cached tokens, 64 wide, 16 bit: each of the products reads both
    assert counts["layer0_scores", "layer0_key_cache"] == 8 * 128 * 64 * 16
    assert "warning: operator layer0.attention_norm: folds" in said.err


def test_evaluate_draws_the_figure(say: Say, mapping_file: str, tmp_path: Path) -> None:
    said = say("evaluate", *FLAGS, "--plot", "tree", "--json")
    assert said.status == 0
    assert said.err == "wrote tree.svg\nwrote tree.png\n"
    assert (tmp_path / "tree.svg").is_file()
    assert (tmp_path / "tree.png").is_file()


def test_physics_is_reported_where_it_is_on(say: Say, mapping_file: str) -> None:
    plain = json.loads(say("evaluate", *FLAGS, "--json").out)
    assert plain["physics"] == []
    said = say("evaluate", *FLAGS, "--physics", "overlap,double-buffer", "--json")
    document = json.loads(said.out)
    assert document["physics"] == ["double-buffer", "overlap"]
    # A and Y's tiles are replaced by the loop over ny: both are held twice
    assert document["occupancy_bits"]["GlobalBuffer"] == 2 * (32 + 16)
    assert document["latency"] <= plain["latency"]
    shown = say("evaluate", *FLAGS, "--physics", "double-buffer")
    assert "physics: double-buffer" in shown.out
    picture = say("evaluate", *FLAGS, "--physics", "double-buffer", "--picture")
    assert "[ GlobalBuffer: Y ]  32 bit" in picture.out
    refused = say("evaluate", *FLAGS, "--physics", "overlapp")
    assert refused.status == 2
    assert "no physics is called 'overlapp' (did you mean overlap?)" in refused.line
