"""`elkhound export` of models: other readers of the file find the same optimum."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import highspy
import pytest
from fakes.said import Said
from ortools.sat import cp_model_pb2
from ortools.sat.python import cp_model

from elkhound.model.instances import adversarial_schedule
from elkhound.model.io import write_problem

Say = Callable[..., Said]


def solved_by_highs(path: str) -> float:
    """Read an LP or MPS file and minimise it, as its user would."""
    highs: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    highs.setOptionValue("output_flag", False)
    assert highs.readModel(path) == highspy.HighsStatus.kOk
    highs.run()
    assert highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return float(highs.getObjectiveValue())


def solved_by_cp_sat(path: str) -> float:
    """Read a model proto and minimise it."""
    model = cp_model.CpModel()
    assert model.proto.parse_text_format(Path(path).read_text())
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    assert solver.solve(model) == cp_model.OPTIMAL
    return solver.objective_value


@pytest.mark.parametrize(
    ("form", "suffix", "solve"),
    [
        pytest.param("lp", "lp", solved_by_highs, id="lp"),
        pytest.param("mps", "mps", solved_by_highs, id="mps"),
        pytest.param("cp-sat", "pbtxt", solved_by_cp_sat, id="cp-sat"),
    ],
)
@pytest.mark.parametrize(
    ("order", "makespan"),
    [pytest.param("free", 82, id="free"), pytest.param("identity", 137, id="identity")],
)
def test_the_exported_model_has_the_optimum_of_its_order(
    say: Say,
    form: str,
    suffix: str,
    solve: Callable[[str], float],
    order: str,
    makespan: int,
) -> None:
    write_problem("r.json", adversarial_schedule("reordered"))
    said = say(
        "export", "r.json", "--format", form, "--order", order,
        "--output", f"r.{suffix}", "--json",
    )  # fmt: skip
    assert said.status == 0
    about = json.loads(said.out)
    assert about["rounding_error"] == 0
    assert about["method"].endswith(f":order={order}")
    found = solve(f"r.{suffix}") * about["cycles_per_unit"]
    assert found == pytest.approx(makespan, abs=1e-6)


def test_a_cp_sat_model_is_binary_or_text_by_its_ending(say: Say) -> None:
    write_problem("r.json", adversarial_schedule("reordered"))
    for name in ("r.pb", "r.pbtxt"):
        said = say("export", "r.json", "--format", "cp-sat", "--output", name)
        assert said.out.startswith(f"wrote {name}: cp-sat:order=free, one unit")
    proto = cp_model_pb2.CpModelProto()
    proto.ParseFromString(Path("r.pb").read_bytes())
    assert len(proto.variables) > 0
    assert Path("r.pbtxt").read_text().startswith("variables {")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(("--format", "mps"), "--output: format mps needs a file", id="no"),
        pytest.param(
            ("--format", "mps", "--output", "m.lp"),
            r"--output: m.lp must end in .mps for format mps",
            id="suffix",
        ),
        pytest.param(
            ("--format", "cp-sat", "--output", "m.lp"),
            r"must end in .pb or .pbtxt for format cp-sat",
            id="suffixes",
        ),
        pytest.param(
            ("--format", "lp", "--problem", "p.json", "--output", "m.lp"),
            "--problem: has no effect on format lp",
            id="problem",
        ),
        pytest.param(
            ("--order", "identity"), "--order: has no effect on format program", id="o"
        ),
        pytest.param(
            ("--bind", "a=1"), "--bind: has no effect on format program", id="bind"
        ),
    ],
)
def test_flags_that_do_not_go_together_are_refused(
    say: Say, problem_file: str, arguments: tuple[str, ...], message: str
) -> None:
    said = say("export", problem_file, *arguments)
    assert said.status == 2
    assert message in said.line


def test_only_schedules_that_have_a_plan_become_models(say: Say) -> None:
    say("generate", "--kind", "allocation", "--output", "a.json")
    said = say("export", "a.json", "--format", "lp", "--output", "a.lp")
    assert said.status == 2
    assert "only schedule problems are exported as models" in said.line
    say("generate", "--size", "3", "--output", "tight.json")
    tight = json.loads(Path("tight.json").read_text()) | {"sram_bytes": 1}
    Path("tight.json").write_text(json.dumps(tight))
    said = say("export", "tight.json", "--format", "lp", "--output", "t.lp")
    assert said.status == 3
    assert "1 B are usable" in said.line


def test_a_model_is_exported_without_a_problem_file(say: Say) -> None:
    said = say(
        "export", "llama-2-13b", "--bind", "batch=1,seq=128,layers=1",
        "--format", "cp-sat", "--output", "layer.pb",
    )  # fmt: skip
    assert said.status == 0
    assert Path("layer.pb").stat().st_size > 0
