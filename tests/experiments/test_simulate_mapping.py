"""`elkhound simulate MAPPING`: what it prints, writes and refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.said import Said

Say = Callable[..., Said]

MAPPING = """\
[MainMemory] stores A, B, C, Z
for ny tile=1
[GlobalBuffer] stores Y
Sequential
  Nested
    [GlobalBuffer] stores A
    for na tile=1
    compute Y on MAC
  Nested
    for nz tile=1
    compute Z on MAC
"""
ON_SIMPLE = ("--workload", "matvecs", "--accelerator", "simple")


@pytest.fixture
def mapping(tmp_path: Path) -> str:
    """mapping.txt: the matvecs fused."""
    (tmp_path / "mapping.txt").write_text(MAPPING)
    return "mapping.txt"


def test_a_mapping_is_simulated_beside_the_rules(say: Say, mapping: str) -> None:
    said = say("simulate", mapping, *ON_SIMPLE, "--json")
    assert said.status == 0, said.err
    document = json.loads(said.out)
    # a step of Y: 4 values of A pass through the buffer, in 8 bits per cycle: 4 in and
    # 4 out, 4 of Y written and 3 read; the first value fills before anything computes
    assert document["latency"] == 45 + 12
    assert document["busy_cycles"]["GlobalBuffer"] == 45 + 12
    assert document["simulated_cycles"] >= 57
    assert document["capacity"] == "fills overlap free"
    assert [e["analytical_cycles"] for e in document["einsums"]] == [45, 12]
    doubled = say("simulate", mapping, *ON_SIMPLE, "--physics", "double-buffer")
    assert "next tiles   counted" in doubled.out
    assert "GlobalBuffer 32 bit" in doubled.out


def test_a_trace_has_a_track_per_port(say: Say, mapping: str) -> None:
    said = say("simulate", mapping, *ON_SIMPLE, "--trace", "trace.json")
    assert said.status == 0, said.err
    events = json.loads(Path("trace.json").read_text())["traceEvents"]
    tracks = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert set(tracks.values()) == {"GlobalBuffer", "MAC"}
    assert 0 not in {e["tid"] for e in events}
    for track in tracks:
        slices = [e["ph"] for e in events if e["tid"] == track and e["ph"] != "M"]
        assert slices == ["B", "E"] * (len(slices) // 2)
    busy = sum(e["args"]["cycles"] for e in events if e["ph"] == "B")
    assert 0 < busy < 57 + 24  # the buffer's cycles and the MAC's; repeats are left out


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        pytest.param(ON_SIMPLE[:2], "a mapping needs --accelerator", id="accelerator"),
        pytest.param(("--physics", "overlap", *ON_SIMPLE), "no effect", id="overlap"),
        pytest.param(
            ("--fidelity", "core", *ON_SIMPLE), "no effect on a mapping", id="fidelity"
        ),
        pytest.param(
            ("--physics", "double-buffer"),
            "a mapping needs --workload (",
            id="no-mapping",
        ),
    ],
)
def test_what_has_no_meaning_is_refused(
    say: Say, mapping: str, flags: tuple[str, ...], message: str
) -> None:
    said = say("simulate", mapping, *flags)
    assert said.status == 2
    assert message in said.err


@pytest.mark.parametrize("form", ["txt", "yaml"])
@pytest.mark.parametrize(
    ("verb", "told"),
    [
        pytest.param(
            ("simulate",),
            "a mapping needs --workload (the einsums it maps: built in, YAML, or ONNX) "
            "and --accelerator (what it maps them onto: preset, chip, or YAML)",
            id="simulate",
        ),
        pytest.param(
            ("evaluate", "--plan"),
            "is a fusion mapping, not a plan; --mapping takes it, with --workload and "
            "--accelerator",
            id="evaluate",
        ),
        pytest.param(
            ("export",),
            "is a fusion mapping, not a plan; --format numpy takes it, with --workload "
            "and --accelerator",
            id="export",
        ),
    ],
)
def test_a_mapping_where_a_plan_is_meant_is_told_its_flags(
    say: Say, mapping: str, tmp_path: Path, verb: tuple[str, ...], told: str, form: str
) -> None:
    (tmp_path / "mapping.yaml").write_text(
        "mapping: m\nnodes: [{store: [A], memory: MainMemory}]"
    )
    said = say(*verb, f"mapping.{form}")
    assert said.status == 2
    assert said.err == f"elkhound: mapping.{form}: {told}\n"


def test_a_memory_that_is_too_small_is_named(
    say: Say, mapping: str, tmp_path: Path
) -> None:
    (tmp_path / "small.yaml").write_text(
        "accelerator: small\nmemories:\n"
        "  - {name: MainMemory, size_bits: inf, read_energy: 1, write_energy: 1}\n"
        "  - {name: GlobalBuffer, size_bits: 15, read_energy: 1, write_energy: 1}\n"
        "compute:\n  - {name: MAC, energy: 1, ops_per_cycle: 1}\n"
    )
    flags = ("--workload", "matvecs", "--accelerator", "small.yaml")
    said = say("simulate", mapping, *flags)
    assert said.status == 3
    assert "memory GlobalBuffer holds Y 8, A 8 bits in Y: needs 16 bits, has 15" in (
        said.err
    )
