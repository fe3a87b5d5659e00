from __future__ import annotations

from pathlib import Path

import pytest
from fakes.methods import PROBLEM

from elkhound.experiments.source import ModelFlags, read_source
from elkhound.model.allocation import (
    AllocationItem,
    AllocationOption,
    AllocationProblem,
)
from elkhound.model.errors import BadInputError
from elkhound.model.io import write_problem
from elkhound.model.schedule import Contention

ALLOCATION = AllocationProblem(
    9, (AllocationItem("x", (AllocationOption(9, 1),)),), name="step"
)


@pytest.fixture
def schedule_file(tmp_path: Path) -> str:
    """A schedule problem without contention."""
    path = tmp_path / "three.json"
    write_problem(path, PROBLEM)
    return str(path)


@pytest.fixture
def allocation_file(tmp_path: Path) -> str:
    """An allocation problem."""
    path = tmp_path / "step.yaml"
    write_problem(path, ALLOCATION)
    return str(path)


def test_a_problem_file_stands_for_itself(schedule_file: str) -> None:
    source = read_source(schedule_file, ModelFlags())
    assert (source.name, source.problem, source.chip) == ("three", PROBLEM, None)


def test_flags_go_before_what_the_problem_file_says(schedule_file: str) -> None:
    flags = ModelFlags(contention="charge", max_outstanding=1)
    problem = read_source(schedule_file, flags).problem
    assert problem.contention is Contention.CHARGE
    assert problem.max_outstanding == 1


@pytest.mark.parametrize(
    ("flags", "flag"),
    [
        pytest.param(ModelFlags(chip="toy-8"), "--chip", id="chip"),
        pytest.param(ModelFlags(tile_cost="tree"), "--tile-cost", id="tile cost"),
        pytest.param(ModelFlags(bind={"a": 1}), "--bind", id="bind"),
        pytest.param(ModelFlags(phase="decode"), "--phase", id="phase"),
        pytest.param(ModelFlags(weights=("w",)), "--weight", id="weight"),
        pytest.param(ModelFlags(activations=("x",)), "--activation", id="activation"),
        pytest.param(ModelFlags(patterns=False), "--no-patterns", id="patterns"),
        pytest.param(ModelFlags(spill="none"), "--spill", id="spill"),
    ],
)
def test_a_flag_without_effect_on_a_problem_file_is_refused(
    schedule_file: str, flags: ModelFlags, flag: str
) -> None:
    with pytest.raises(BadInputError, match=f"{flag}: has no effect on a problem file"):
        read_source(schedule_file, flags)


@pytest.mark.parametrize(
    ("flags", "flag"),
    [
        pytest.param(ModelFlags(contention="none"), "--contention", id="contention"),
        pytest.param(ModelFlags(max_outstanding=2), "--max-outstanding", id="K"),
    ],
)
def test_a_flag_without_effect_on_an_allocation_is_refused(
    allocation_file: str, flags: ModelFlags, flag: str
) -> None:
    assert read_source(allocation_file, ModelFlags()).problem == ALLOCATION
    with pytest.raises(BadInputError, match=f"{flag}: has no effect on an allocation"):
        read_source(allocation_file, flags)


def test_a_flag_without_effect_on_a_workload_is_refused() -> None:
    with pytest.raises(BadInputError, match="--weight: has no effect on a built-in"):
        read_source("llama-2-13b", ModelFlags(weights=("w",)))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        pytest.param("nowhere.json", "nowhere.json: no such file", id="problem"),
        pytest.param("nowhere.onnx", "nowhere.onnx: no such file", id="onnx"),
        pytest.param(
            "llama-2-13", r"no built-in workload 'llama-2-13' \(did you mean", id="name"
        ),
    ],
)
def test_a_model_that_does_not_exist_is_refused(model: str, message: str) -> None:
    with pytest.raises(BadInputError, match=message):
        read_source(model, ModelFlags())


def test_a_file_of_another_type_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    path.write_text("")
    with pytest.raises(BadInputError, match="is neither an ONNX file"):
        read_source(str(path), ModelFlags())


def test_a_directory_is_no_model(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.mkdir()
    with pytest.raises(BadInputError, match="is a directory"):
        read_source(str(path), ModelFlags())


def test_a_workload_on_a_chip_becomes_a_schedule_problem() -> None:
    flags = ModelFlags(bind={"batch": 1, "seq": 128, "layers": 1}, contention="none")
    source = read_source("llama-2-13b", flags)
    assert source.chip is not None
    assert source.chip.name == "ipu-pod4-hbm"
    assert source.problem.sram_bytes == 616 * 1024
    assert source.problem.contention is Contention.NONE
    assert len(source.problem.operators) >= 18
