from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from fakes.said import Said

Say = Callable[..., Said]

WORKLOAD = """\
workload: chain
sizes:
  m: 64
  n0: 64
  n1: 64
  n2: 64
bits: 8
einsums:
  - "T1[m,n1] = T0[m,n0] * W0[n0,n1]"
  - "Last: T2[m,n2] = T1[m,n1] * W1[n1,n2]"
"""
ACCELERATOR = """\
accelerator: two-level
memories:
  - name: DRAM
    size_bits: inf
    read_energy: 100
    write_energy: 100
  - name: Buffer
    size_bits: 65536
    read_energy: 1
    write_energy: 1
    bits_per_cycle: 8
compute:
  - {name: MAC, energy: 1, ops_per_cycle: 1}
"""
MAPPING = """\
[DRAM] stores T0, W0, W1, T2
for m tile=1
[Buffer] stores T1
Sequential
  Nested
    for n0 tile=1
    for n1 tile=1
    compute T1 on MAC
  Nested
    for n2 tile=1
    for n1 tile=1
    compute Last on MAC
"""
FILES = {"w.yaml": WORKLOAD, "a.yaml": ACCELERATOR, "m.txt": MAPPING}
FLAGS = ("--mapping", "m.txt", "--workload", "w.yaml", "--accelerator", "a.yaml")


def evaluate(say: Say, folder: Path, file: str, old: str, new: str) -> Said:
    for name, text in FILES.items():
        changed = text.replace(old, new) if name == file else text
        assert name != file or not old or changed != text
        (folder / name).write_text(changed)
    return say("evaluate", *FLAGS)


def test_the_files_that_the_cases_break_are_good(say: Say, tmp_path: Path) -> None:
    said = evaluate(say, tmp_path, "w.yaml", "", "")
    assert said.status == 0
    assert said.err == ""


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        pytest.param(
            "w.yaml", "sizes:", "size:",
            "w.yaml:2: unknown key size (did you mean sizes?)",
            id="workload-typo",
        ),
        pytest.param(
            "a.yaml", "read_energy: 1\n", "read_enrgy: 1\n",
            "a.yaml:9: unknown key memories[1] 'Buffer'.read_enrgy (did you mean "
            "read_energy?)",
            id="accelerator-typo",
        ),
        pytest.param(
            "w.yaml", "T0[m,n0] *", "T2[m,n2] *",
            "w.yaml:9: einsum T1: reads T2 before Last has produced it: a cycle, or "
            "einsums out of order",
            id="cycle",
        ),
        pytest.param(
            "w.yaml", "T0[m,n0] * W0[n0,n1]", "T1[m,n1] * W0[n0,n1]",
            "w.yaml:9: einsum T1: reads T1 before T1 has produced it: a cycle, or "
            "einsums out of order",
            id="cycle-of-one",
        ),
        pytest.param(
            "w.yaml", "Last: T2[m,n2]", "Last: T1[m,n2]",
            "w.yaml:10: tensor T1 is produced twice, by T1 and Last (einsum 2)",
            id="produced-twice",
        ),
        pytest.param(
            "w.yaml", "  n2: 64\n", "",
            "w.yaml:9: einsum Last: rank variable n2 has no size",
            id="no-size",
        ),
        pytest.param(
            "w.yaml", "m: 64", "m: -5",
            "w.yaml:3: sizes.m is -5, must be an integer from 1 to 10^15",
            id="size-below-0",
        ),
        pytest.param(
            "w.yaml", "m: 64", "m: 64KB",
            "w.yaml:3: sizes.m is '64KB', must be an integer from 1 to 10^15",
            id="size-with-unit",
        ),
        pytest.param(
            "w.yaml", "m: 64", "m: 0",
            "w.yaml:3: sizes.m is 0, must be an integer from 1 to 10^15",
            id="size-0",
        ),
        pytest.param(
            "w.yaml", "m: 64", "m: 6.5",
            "w.yaml:3: sizes.m is 6.5, must be an integer from 1 to 10^15",
            id="size-broken",
        ),
        pytest.param(
            "w.yaml", "  n0: 64\n", "  n0: 64\n  n0: 32\n",
            "w.yaml:5: key 'n0' appears twice",
            id="size-twice",
        ),
        pytest.param(
            "w.yaml", "  n2: 64\n", "  n2: 64\n  q: 2\n",
            "w.yaml:7: no einsum uses q",
            id="size-unused",
        ),
        pytest.param(
            "w.yaml", "T1[m,n1] * W1", "T1[m] * W1",
            "w.yaml:10: tensor T1: [64, 64] in T1, [64] in Last",
            id="shape",
        ),
        pytest.param(
            "w.yaml", "bits: 8", "bits: 0",
            "w.yaml:7: bits is 0, must be an integer from 1 to 10^15",
            id="bits",
        ),
        pytest.param(
            "w.yaml", "bits: 8", "bits: [8",
            "w.yaml:8: is not YAML: did not find expected ',' or ']'",
            id="syntax",
        ),
        pytest.param(
            "a.yaml", "size_bits: 65536", "size_bits: 64KB",
            "a.yaml:8: memories[1] 'Buffer'.size_bits is '64KB', must be an integer "
            "from 1 to 10^15 or inf",
            id="memory-with-unit",
        ),
        pytest.param(
            "a.yaml", "size_bits: 65536", "size_bits: -5",
            "a.yaml:8: memories[1] 'Buffer'.size_bits is -5, must be an integer from 1 "
            "to 10^15 or inf",
            id="memory-below-0",
        ),
        pytest.param(
            "m.txt", "tile=1\n[Buffer]", "tile=0\n[Buffer]",
            "m.txt:2: 'for m tile=0' is no node",
            id="mapping-tile-0",
        ),
        pytest.param(
            "m.txt", "[Buffer]", "[Bufer]",
            "m.txt: unknown memory Bufer (did you mean Buffer?)",
            id="mapping-memory",
        ),
        pytest.param(
            "m.txt", "for n2 tile=1\n    for n1", "for n1",
            "m.txt: einsum Last: its innermost tile of n2 is 64, must be 1",
            id="mapping-misses-a-loop",
        ),
    ],
)  # fmt: skip
def test_a_broken_file_is_one_line_with_its_place(
    say: Say, tmp_path: Path, file: str, old: str, new: str, message: str
) -> None:
    said = evaluate(say, tmp_path, file, old, new)
    assert said.status == 2
    assert message in said.line
