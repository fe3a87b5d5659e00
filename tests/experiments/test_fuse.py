"""`elkhound fuse`: rows, files, exit statuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import onnx
import pytest
from fakes.said import Said
from onnx import TensorProto, helper

from elkhound.experiments.fusion_methods import FUSION
from elkhound.experiments.methods import Entry, Role
from elkhound.heuristics.fusion.pareto_join import ParetoJoin
from elkhound.model.fusion import mapping_text
from elkhound.model.fusion.problem import FusionPlan, FusionProblem, FusionResult
from elkhound.model.io import load_mapping
from elkhound.model.limits import Limits

CHAIN = """\
workload: chain
sizes: {m: 64, n0: 64, n1: 64, n2: 64}
bits: 8
einsums: ["T1[m,n1] = T0[m,n0] * W0[n0,n1]", "T2[m,n2] = T1[m,n1] * W1[n1,n2]"]
"""
TINY = """\
accelerator: tiny
memories:
  - {name: DRAM, size_bits: inf, read_energy: 9, write_energy: 9, keep: all}
  - {name: Buffer, size_bits: 16, read_energy: 1, write_energy: 1, keep: all}
compute:
  - {name: MAC, energy: 1, tensors: 3}
"""


@pytest.fixture
def chain(tmp_path: Path) -> str:
    """chain.yaml: two matmuls of 64³ in 8 bit."""
    (tmp_path / "chain.yaml").write_text(CHAIN)
    return "chain.yaml"


def test_fuse_prints_the_golden_optimum_and_keeps_its_mapping(
    say: Callable[..., Said], chain: str
) -> None:
    said = say("fuse", chain, "--accelerator", "simple", "--run-dir", "run", "--json")
    assert said.status == 0
    document = json.loads(said.out)
    assert document["problem"]["kind"] == "fusion"
    assert document["contradictions"] == []
    (row,) = document["rows"]
    assert (row["method"], row["status"]) == ("pareto-join", "optimal")
    assert row["objective"] == row["energy"] == row["lower_bound"] == 30_474_240
    assert row["latency"] == 2_105_344
    assert row["edp"] == row["energy"] * row["latency"]
    assert row["pareto_points"] == [{"energy": 30_474_240, "latency": 2_105_344}]
    assert row["verified"] is True
    assert row["simulated"] == row["simulated_latency"] >= row["latency"]
    assert row["model_error"] == row["simulated_latency"] / row["latency"] - 1
    assert row["pmappings"] > 0
    kept = [load_mapping(f"run/plans/pareto-join{s}") for s in (".txt", ".yaml")]
    assert [mapping_text(tree) for tree in kept] == [row["mapping"]] * 2
    again = say(
        "evaluate", "--mapping", "run/plans/pareto-join.txt", "--workload", chain,
        "--accelerator", "simple", "--json",
    )  # fmt: skip
    assert json.loads(again.out)["energy"] == row["energy"]
    assert "def " in (Path("run") / "plans" / "pareto-join.py").read_text()
    for plot in ("energy", "fused", "looptree"):
        assert (Path("run") / "plots" / f"{plot}.png").stat().st_size > 0


def test_a_front_has_its_nine_points_in_row_files_and_plot(
    say: Callable[..., Said], chain: str
) -> None:
    said = say(
        "fuse", chain, "--accelerator", "simple", "--objective", "front",
        "--run-dir", "run", "--json",
    )  # fmt: skip
    (row,) = json.loads(said.out)["rows"]
    points = row["pareto_points"]
    assert len(points) == 9
    assert points[0] == {"energy": 1_671_692_288, "latency": 524_288}
    assert points[-1] == {"energy": 30_474_240, "latency": 2_105_344}
    assert len(list(Path("run/plans").glob("pareto-join-point-*.txt"))) == 9
    assert (Path("run") / "plots" / "pareto.svg").exists()
    assert '""energy""' in (Path("run") / "rows.csv").read_text()


def test_the_table_has_costs_and_no_columns_of_schedules(
    say: Callable[..., Said], chain: str
) -> None:
    said = say("fuse", chain, "--accelerator", "simple", "--no-plots")
    assert said.status == 0
    assert "chain on simple: 2 einsums, least energy, latency in cycles" in said.out
    assert "30474240" in said.out
    assert "model error" not in said.out
    assert "1 of 1 plans verified by the referee" in said.out


def test_without_fusion_every_intermediate_goes_through_main_memory(
    say: Callable[..., Said], chain: str
) -> None:
    ask = ("fuse", chain, "--accelerator", "simple", "--no-plots", "--json")
    (fused,) = json.loads(say(*ask).out)["rows"]
    (unfused,) = json.loads(say(*ask, "--no-fuse").out)["rows"]
    # T1 (64 · 64 · 8 bit) is written to and read from main memory at 100 a bit, and
    # takes no part in the buffer's traffic less.
    assert unfused["energy"] - fused["energy"] >= 2 * 64 * 64 * 8 * 100 * 0.99
    said = say(*ask, "--no-fuse", "--max-fused-loops", "1")
    assert said.status == 2
    assert json.loads(said.out)["error"]["where"] == "--max-fused-loops"


def test_what_fits_nowhere_names_memory_need_and_size(
    say: Callable[..., Said], chain: str, tmp_path: Path
) -> None:
    (tmp_path / "tiny.yaml").write_text(TINY)
    said = say("fuse", chain, "--accelerator", "tiny.yaml", "--no-plots", "--json")
    assert said.status == 3
    message = json.loads(said.out)["error"]["message"]
    assert "memory Buffer needs at least 24 bits, has 16" in message


@pytest.mark.parametrize(
    ("objective", "said"),
    [
        pytest.param((), "energy", id="default"),
        pytest.param(("--objective", "energy"), "energy", id="energy"),
        pytest.param(("--objective", "edp"), "edp", id="edp"),
        pytest.param(("--objective", "front"), "front", id="front"),
    ],
)
def test_an_accelerator_without_energies_is_mapped_onto_for_latency_alone(
    say: Callable[..., Said], chain: str, objective: tuple[str, ...], said: str
) -> None:
    # a chip, and none of its parts' energies is known
    refused = say("fuse", chain, "--accelerator", "toy-8", *objective)
    assert refused.status == 2
    assert refused.err == (
        "elkhound: accelerator toy-8: has no energy per action (all are 0), which "
        f"objective {said} needs (--objective latency of elkhound fuse needs none)\n"
    )
    assert not Path("runs").exists()


@pytest.mark.filterwarnings("error")
def test_the_fastest_mapping_without_energies_is_drawn_in_silence(
    say: Callable[..., Said], chain: str, tmp_path: Path
) -> None:
    cold = TINY
    for some, none in (("energy: 9", "energy: 0"), ("energy: 1", "energy: 0"),
                       ("bits: 16,", "bits: 65536, bits_per_cycle: 8,")):  # fmt: skip
        cold = cold.replace(some, none)
    (tmp_path / "cold.yaml").write_text(cold)
    ask = ("fuse", chain, "--accelerator", "cold.yaml")
    said = say(*ask, "--objective", "latency", "--run-dir", "run", "--json")
    assert said.status == 0, said.err
    (row,) = json.loads(said.out)["rows"]
    assert row["energy"] == 0 < row["latency"]
    drawn = {path.name for path in Path("run/plots").glob("*.png")}
    assert drawn == {"fused.png", "looptree.png"}  # and no energies


def test_an_accelerator_without_rates_is_mapped_onto_for_energy_alone(
    say: Callable[..., Said], chain: str, tmp_path: Path
) -> None:
    (tmp_path / "tiny.yaml").write_text(TINY)
    ask = ("fuse", chain, "--accelerator", "tiny.yaml")
    said = say(*ask, "--objective", "latency")
    assert said.status == 2
    assert "accelerator tiny: has no rate (all are unlimited)" in said.err
    assert "(--objective energy of elkhound fuse needs none)" in said.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(("--objective", "edb"), "edp", id="objective"),
        pytest.param(("--methods", "pareto-joint"), "pareto-join", id="method"),
        pytest.param(("--accelerator", "simpel"), "simple", id="accelerator"),
        pytest.param(("--time-limit", "0"), "above 0 seconds", id="time"),
    ],
)
def test_wrong_words_are_answered_with_the_nearest(
    say: Callable[..., Said], chain: str, arguments: tuple[str, str], message: str
) -> None:
    said = say("fuse", chain, "--accelerator", "simple", *arguments)
    assert said.status == 2
    assert message in said.err
    assert said.err.count("\n") == 1


def test_exact_methods_prove_the_optimum_of_the_join(
    say: Callable[..., Said], chain: str
) -> None:
    said = say(
        "fuse", chain, "--accelerator", "tpu-v4i", "--objective", "energy",
        "--methods", "pareto-join,cp-sat", "--no-plots", "--json",
    )  # fmt: skip
    assert said.status == 0
    join, exact = json.loads(said.out)["rows"]
    assert join["objective"] == pytest.approx(1.82294949e-6, rel=1e-6)  # golden
    assert exact["objective"] == pytest.approx(join["objective"], rel=1e-9)
    assert join["status"] == exact["status"] == "optimal"
    assert join["verified"] is exact["verified"] is True


def test_the_problem_of_a_run_is_read_back(
    say: Callable[..., Said], chain: str
) -> None:
    flags = ("--no-plots", "--json")
    say(
        "fuse", chain, "--accelerator", "tpu-v4i", "--objective", "edp",
        "--max-fused-loops", "1", "--run-dir", "run", *flags,
    )  # fmt: skip
    again = json.loads(say("fuse", "run/problem.json", "--run-dir", "2", *flags).out)
    (row,) = again["rows"]
    assert row["energy"] == pytest.approx(1.82294939e-6, rel=1e-6)  # golden
    assert Path("run/problem.json").read_text() == Path("2/problem.json").read_text()
    (fast,) = json.loads(
        say("fuse", "run/problem.json", "--objective", "latency", *flags).out
    )["rows"]
    assert fast["objective"] == fast["latency"] <= row["latency"]


@pytest.mark.parametrize(
    ("flags", "where"),
    [
        pytest.param(("--accelerator", "simple"), "--accelerator", id="accelerator"),
        pytest.param(("--bind", "m=3"), "--bind", id="bind"),
        pytest.param(("--no-fuse",), "--no-fuse", id="space"),
    ],
)
def test_a_problem_file_takes_nothing_that_it_says_itself(
    say: Callable[..., Said], chain: str, flags: tuple[str, ...], where: str
) -> None:
    say("fuse", chain, "--accelerator", "simple", "--no-plots", "--run-dir", "run")
    said = say("fuse", "run/problem.json", *flags)
    assert said.status == 2
    assert f"{where}: has no effect on a problem file" in said.err


def test_a_workload_needs_an_accelerator(say: Callable[..., Said], chain: str) -> None:
    said = say("fuse", chain)
    assert said.status == 2
    assert "--accelerator: is missing" in said.err


def test_other_kinds_of_problems_are_sent_to_compare(say: Callable[..., Said]) -> None:
    say("generate", "--kind", "allocation", "--output", "problem.json")
    said = say("fuse", "problem.json")
    assert said.status == 2
    assert "elkhound compare problem.json" in said.err


@pytest.mark.parametrize(
    ("old", "new", "at", "message"),
    [
        pytest.param(
            '"bits": 8', '"bits": -8', '"bits"', "workload.bits is -8", id="range"
        ),
        pytest.param('"fuse":', '"fuze":', '"fuze"', "did you mean fuse", id="key"),
        pytest.param(
            '"energy",', '"enrgy",', '"enrgy"', "objective is 'enrgy'", id="word"
        ),
        pytest.param(
            "* W1[n1,n2]", "* T2[n1,n2]", "* T2", "reads T2 before", id="cycle"
        ),
        pytest.param(
            '"MAC"', '"MainMemory"', '"accelerator": {', "two parts", id="parts"
        ),
    ],
)
def test_faults_of_a_problem_file_have_their_line(
    say: Callable[..., Said], chain: str, old: str, new: str, at: str, message: str
) -> None:
    say("fuse", chain, "--accelerator", "simple", "--no-plots", "--run-dir", "run")
    text = Path("run/problem.json").read_text()
    assert old in text
    bad = text.replace(old, new)
    Path("bad.json").write_text(bad)
    said = say("fuse", "bad.json")
    assert said.status == 2
    assert message in said.err
    line = said.err.split("bad.json:")[1].partition(":")[0]
    assert at in bad.splitlines()[int(line) - 1]


@pytest.fixture
def activated(tmp_path: Path) -> str:
    """mlp.onnx: two products of 8³, my.domain::Act between; act.yaml describes it."""
    make, numbers = helper.make_node, TensorProto.FLOAT16
    nodes = [
        make("MatMul", ["x", "w0"], ["h"], name="up"),
        make("Act", ["h"], ["a"], name="act", domain="my.domain"),
        make("MatMul", ["a", "w1"], ["y"], name="down"),
    ]
    graph = helper.make_graph(
        nodes,
        "mlp",
        [helper.make_tensor_value_info("x", numbers, [8, 8])],
        [helper.make_tensor_value_info("y", numbers, [8, 8])],
        [TensorProto(name=w, dims=[8, 8], data_type=numbers) for w in ("w0", "w1")],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("my.domain", 1)]
    onnx.save(
        helper.make_model(graph, opset_imports=opsets, ir_version=8),
        tmp_path / "mlp.onnx",
    )
    (tmp_path / "act.yaml").write_text("operators: {'my.domain::Act': {as: Sigmoid}}")
    return "mlp.onnx"


def test_an_operator_that_is_not_known_is_described_to_every_verb_on_mappings(
    say: Callable[..., Said], activated: str
) -> None:
    onto = ("--accelerator", "simple")
    refused = say("fuse", activated, *onto)
    assert refused.status == 2
    assert "cannot plan operator my.domain::Act" in refused.err
    assert "--unknown zero" in refused.err
    read = ("--unknown", "act.yaml")
    said = say("fuse", activated, *onto, *read, "--no-plots", "--run-dir", "run")
    assert said.status == 0, said.err
    assert "mlp on simple: 3 einsums" in said.out
    assert "operator my.domain::Act is not known" in said.err
    mapping, on = "run/plans/pareto-join.txt", ("--workload", activated, *onto)
    for verb in (
        ("evaluate", "--mapping", mapping, *on),
        ("simulate", mapping, *on),
        ("export", mapping, "--format", "numpy", *on),
        ("export", activated, "--format", "fusion-workload"),
    ):
        assert say(*verb).status == 2
        assert say(*verb, *read).status == 0


def test_flags_about_onnx_files_are_refused_on_a_workload_of_einsums(
    say: Callable[..., Said], chain: str
) -> None:
    said = say("fuse", chain, "--accelerator", "simple", "--unknown", "zero")
    assert said.status == 2
    assert said.err == ("elkhound: --unknown: has no effect on a workload of einsums\n")


def test_the_proof_of_the_join_is_tried_again(
    say: Callable[..., Said], chain: str
) -> None:
    said = say("fuse", chain, "--accelerator", "simple", "--prove", "--no-plots")
    assert said.status == 0
    assert "pareto-join: proved again by cp-sat" in said.out


def test_a_search_has_nothing_to_prove(say: Callable[..., Said], chain: str) -> None:
    said = say(
        "fuse", chain, "--accelerator", "simple", "--methods", "timeloop", "--prove"
    )
    assert said.status == 2
    assert "--prove: has no effect without an exact method" in said.err


def test_fusion_problems_are_swept(say: Callable[..., Said], chain: str) -> None:
    say("fuse", chain, "--accelerator", "simple", "--no-plots", "--run-dir", "run")
    Path("grid.yaml").write_text(
        "grid: {model: [run/problem.json], methods: [pareto-join, cp-sat]}"
    )
    said = say("sweep", "grid.yaml", "--json")
    assert said.status == 0, said.err
    rows = json.loads(said.out)["rows"]
    assert [row["objective"] for row in rows] == [30_474_240] * 2


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("compare", "--min-capacity"), id="capacity"),
        pytest.param(("compare", "--thin", "0.1"), id="thin"),
        pytest.param(("allocate",), id="allocate"),
        pytest.param(("place",), id="place"),
        pytest.param(("evaluate", "--plan", "chain.yaml"), id="evaluate"),
    ],
)
def test_what_is_not_for_fusion_says_so(
    say: Callable[..., Said], chain: str, arguments: tuple[str, ...]
) -> None:
    say("fuse", chain, "--accelerator", "simple", "--no-plots", "--run-dir", "run")
    verb, *flags = arguments
    said = say(verb, "run/problem.json", *flags)
    assert said.status == 2
    assert said.err.count("\n") == 1


class Liar:
    """A method that changes what the join says."""

    name = "liar"

    def __init__(self, lie: Callable[[FusionResult], FusionResult]) -> None:
        self.lie = lie

    def solve(self, problem: FusionProblem, limits: Limits[FusionPlan]) -> FusionResult:
        return self.lie(ParetoJoin().solve(problem, limits))


def cheaper(result: FusionResult) -> FusionResult:
    """Call the mapping a tenth cheaper than it is."""
    assert result.plan is not None
    plan = replace(result.plan, energy=0.9 * result.plan.energy)
    return replace(result, plan=plan, objective=plan.energy, lower_bound=plan.energy)


def above(result: FusionResult) -> FusionResult:
    """Say that nothing is cheaper than twice the optimum."""
    assert result.objective is not None
    return replace(result, lower_bound=2 * result.objective)


def thinner(result: FusionResult) -> FusionResult:
    """Leave a point out of the front."""
    return replace(result, front=result.front[:3] + result.front[4:])


@pytest.mark.parametrize(
    ("lie", "objective", "said_of_it"),
    [
        pytest.param(cheaper, "energy", "energy is said to be", id="cheaper"),
        pytest.param(above, "energy", "exceeds the verified plan", id="bound"),
        pytest.param(thinner, "front", "has a verified mapping beyond it", id="front"),
    ],
)
def test_what_is_not_true_is_a_contradiction(
    say: Callable[..., Said],
    chain: str,
    monkeypatch: pytest.MonkeyPatch,
    lie: Any,
    objective: str,
    said_of_it: str,
) -> None:
    entry = Entry(Role.HEURISTIC, "lies", lambda settings: Liar(lie))  # type: ignore[arg-type,return-value]
    monkeypatch.setitem(FUSION, "liar", entry)
    said = say(
        "fuse", chain, "--accelerator", "simple", "--objective", objective,
        "--methods", "pareto-join,liar", "--no-plots", "--json",
    )  # fmt: skip
    assert said.status == 5
    assert said_of_it in " ".join(json.loads(said.out)["contradictions"])
