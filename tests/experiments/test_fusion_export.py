from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fakes.said import Said
from oracles.einsums import random_inputs, results

from elkhound.experiments.fusion_source import read_fusion_workload
from elkhound.experiments.source import ModelFlags
from elkhound.model.fusion.catalogue import fusion_workload
from elkhound.model.io import load_fusion_workload

Say = Callable[..., Said]

MAPPING = """\
[MainMemory] stores A, B, C, Z
for ny tile=2
[GlobalBuffer] stores Y
Sequential
  Nested
    for ny tile=1
    for na tile=1
    compute Y on MAC
  Nested
    for ny tile=1
    for nz tile=1
    compute Z on MAC
"""
NEST = ("m.txt", "--format", "numpy", "--workload", "matvecs", "--accelerator")
EXAMPLE = Path(__file__).parents[2] / "examples" / "decoder_block.onnx"
BIND = ("--bind", "batch=2,context=128")


@pytest.fixture
def mapping_file(tmp_path: Path) -> str:
    """m.txt: two matrix–vector products, Y handed over in tiles of 2 and 1."""
    (tmp_path / "m.txt").write_text(MAPPING)
    return "m.txt"


def test_a_mapping_is_exported_as_a_nest_that_runs(
    say: Say, mapping_file: str, tmp_path: Path
) -> None:
    said = say("export", *NEST, "simple", "--output", "nest.py")
    assert said.status == 0
    assert said.out == "wrote nest.py\n"
    module: dict[str, Any] = {}
    exec((tmp_path / "nest.py").read_text(), module)
    workload = fusion_workload("matvecs")
    inputs = random_inputs(workload)
    expected = results(workload, inputs)["Z"]
    assert np.array_equal(module["run"](inputs)["Z"], expected)


def test_the_einsums_of_a_model_are_exported_and_read_back(
    say: Say, tmp_path: Path
) -> None:
    flags = ("--format", "fusion-workload", *BIND)
    said = say("export", str(EXAMPLE), *flags, "--json")
    assert said.status == 0
    assert "warning: operator layer0.q.rope: folds cos in" in said.err
    (tmp_path / "w.yaml").write_text(json.loads(said.out)["text"])
    workload, _ = read_fusion_workload(
        str(EXAMPLE), ModelFlags({"batch": 2, "context": 128})
    )
    assert load_fusion_workload("w.yaml") == workload


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(NEST[:-1], "a mapping needs --accelerator", id="accelerator"),
        pytest.param(
            (*NEST, "simple", "--order", "free"),
            "--order: has no effect on format numpy",
            id="order",
        ),
        pytest.param(
            (str(EXAMPLE), "--format", "fusion-workload", *BIND, "--workload", "w"),
            "--workload: has no effect on format fusion-workload",
            id="workload",
        ),
        pytest.param(
            ("m.txt", "--format", "program", "--workload", "w"),
            "--workload: has no effect on format program",
            id="program",
        ),
        pytest.param(
            (*NEST, "toy-8"), "m.txt: unknown memory MainMemory", id="illegal"
        ),
    ],
)
def test_what_does_not_fit_is_refused(
    say: Say, mapping_file: str, arguments: tuple[str, ...], message: str
) -> None:
    said = say("export", *arguments)
    assert said.status == 2
    assert message in said.line
