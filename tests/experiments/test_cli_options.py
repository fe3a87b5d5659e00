"""`elkhound options`: fronts of operators as table, data and plot."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pytest
from fakes.said import Said
from onnx import TensorProto, helper
from rich.console import Console

from elkhound.experiments.fronts import padding_of, thinned
from elkhound.experiments.fronts_table import print_operator
from elkhound.model.io import load_chip
from elkhound.model.options import four_field_front, operator_options
from elkhound.model.schedule import OptionPayload
from elkhound.model.workloads import build_workload

Say = Callable[..., Said]

BIND = {"batch": 2, "seq": 64, "layers": 2}
MODEL = ("llama-2-7b", "--bind", "batch=2,seq=64,layers=2", "--chip", "toy-64")


CHIP = """
chip: small
chips: 1
cores_per_chip: 8
sram_bytes: {sram_bytes}
reserved_bytes: 0
clock_hz: 1000000000
links: {{topology: all-to-all, bytes_per_second: 4000000000}}
hbm: {{bytes_per_second: 16000000000, latency_ns: 400, controllers: 1}}
compute: {{mac_per_cycle: 64}}
"""


def ask(say: Say, *flags: str) -> Any:
    said = say("options", *MODEL, *flags, "--json")
    assert said.status == 0, said.err
    return json.loads(said.out)


@pytest.fixture
def product(tmp_path: Path) -> str:
    """p.onnx: 7 rows of 32 by 32 columns of 30, two bytes each."""
    half = TensorProto.FLOAT16
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"], name="product")],
        "small",
        [
            helper.make_tensor_value_info("x", half, [7, 32]),
            helper.make_tensor_value_info("w", half, [32, 30]),
        ],
        [helper.make_tensor_value_info("y", half, [7, 30])],
    )
    onnx.save(helper.make_model(graph), tmp_path / "p.onnx")
    return "p.onnx"


def test_without_op_every_distinct_operator_has_a_row(say: Say) -> None:
    document = ask(say)
    named = {name for row in document["operators"] for name in row["names"]}
    graph = build_workload("llama-2-7b", BIND)
    assert named == {operator.name for operator in graph.operators}
    assert len(document["operators"]) < len(named)
    by_name = {row["name"]: row for row in document["operators"]}
    assert by_name["layer0.q"]["names"] == [
        f"layer{i}.{name}" for i in (0, 1) for name in ("q", "k", "v", "o")
    ]
    chip = load_chip("toy-64")
    options = operator_options(graph, graph.operators[2], chip)
    row = by_name[graph.operators[2].name]
    assert row["options"] == len(options)
    assert row["four_field_options"] == len(four_field_front(options))
    assert row["execute_plans"] == len({o.execute_plan for o in options})
    assert row["thinned_options"] is None
    assert not Path("runs").exists()


def test_an_operator_has_its_whole_fronts(say: Say) -> None:
    document = ask(say, "--op", "layer1.gate", "--thin", "0.1", "--no-plots")
    graph = build_workload("llama-2-7b", BIND)
    operator = next(o for o in graph.operators if o.name == "layer1.gate")
    options = operator_options(graph, operator, load_chip("toy-64"))
    states = [
        state for plan in document["execute_front"] for state in plan["preload_states"]
    ]
    assert [state["option"] for state in states] == list(range(len(options)))
    told = [(s["preload_bytes"], s["execute_cycles"]) for s in states]
    assert told == [(o.preload_bytes, o.execute_cycles) for o in options]
    union = [options[k] for k in document["four_field_front"]]
    assert set(union) == set(four_field_front(options))
    kept = [options[k] for k in document["thinned"]]
    assert kept == list(thinned(options, 100))
    assert document["epsilon"] == 0.1
    assert document["operator"]["name"] == "layer1.gate"
    assert document["operator"]["hbm_bytes"] == 2 * 4096 * 11008


def test_work_with_padding_stands_beside_the_true_work(say: Say, product: str) -> None:
    said = say(
        "options", product, "--chip", "toy-8", "--op", "product", "--padding", "1.2",
        "--no-plots", "--json",
    )  # fmt: skip
    document = json.loads(said.out)
    assert document["operator"]["macs"] == 7 * 30 * 32
    plans = document["execute_front"]
    # Of 7 rows two tiles of ⌈7/2⌉ = 4 make 8.
    cut = next(p for p in plans if p["splits"] == {"m": 2, "n": 2, "k": 2})
    assert cut["padded_macs"] == 8 * 30 * 32
    assert cut["padding"] == 8 / 7
    assert cut["use"] == 1.0
    for plan in plans:
        assert plan["padded_macs"] >= document["operator"]["macs"]
        assert plan["padding"] <= 1.2


def test_thresholds_change_what_is_searched(say: Say, product: str) -> None:
    def splits(*flags: str) -> int:
        said = say("options", product, "--chip", "toy-8", *flags, "--json")
        (operator,) = json.loads(said.out)["operators"]
        assert isinstance(operator["splits"], int)
        return operator["splits"]

    assert splits("--use", "0.5") > splits() > splits("--padding", "1")


def test_a_run_directory_holds_data_and_plot(say: Say) -> None:
    document = ask(say, "--op", "layer0.q", "--run-dir", "run")
    assert document["run_dir"] == "run"
    kept = json.loads(Path("run/options.json").read_text())
    assert kept | {"run_dir": "run"} == document
    about = json.loads(Path("run/configuration.json").read_text())
    assert about["configuration"]["operator"] == "layer0.q"
    plots = {path.name for path in Path("run/plots").iterdir()}
    assert plots == {"fronts.svg", "fronts.png"}
    # Another question may be kept in its place.
    said = say("options", *MODEL, "--op", "head", "--run-dir", "run", "--no-plots")
    assert said.status == 0
    assert list(Path("run/plots").iterdir()) == []


def test_plans_beyond_the_sram_are_counted(say: Say, product: str) -> None:
    flags = ("--chip", "small.yaml", "--op", "product", "--no-plots")
    Path("small.yaml").write_text(CHIP.format(sram_bytes=64 * 1024))
    document = json.loads(say("options", product, *flags, "--json").out)
    sizes = sorted(plan["execute_bytes"] for plan in document["execute_front"])
    assert (
        f"{len(sizes)} of {len(sizes)} plans fit\n"
        in say("options", product, *flags).out
    )
    Path("small.yaml").write_text(CHIP.format(sram_bytes=sizes[-1] - 1))
    less = sum(size_bytes < sizes[-1] for size_bytes in sizes)
    assert f"{less} of {len(sizes)} plans fit\n" in say("options", product, *flags).out


def test_tables_name_plans_and_states(say: Say) -> None:
    flags = ("--op", "layer0.q", "--no-plots", "--thin", "0.05")
    said = say("options", *MODEL, *flags)
    assert "layer0.q (matmul, m=2, n=4096, k=4096)" in said.out
    assert "thinned to 5 %" in said.out
    document = ask(say, *flags)
    plan = max(document["execute_front"], key=lambda p: len(p["preload_states"]))
    chosen = say("options", *MODEL, *flags, "--plan", str(plan["execute_plan"])).out
    assert f"plan {plan['execute_plan']}: " in chosen
    for state in plan["preload_states"]:
        assert f"{state['distribute_cycles']} = " in chosen
    assert "13 distinct operators" in say("options", *MODEL).out


@pytest.mark.parametrize(
    ("flags", "line"),
    [
        pytest.param(
            ("--op", "layer0.quary"),
            "--op: llama-2-7b decode batch=2 seq=64 layers=2 has no operator "
            "'layer0.quary' (did you mean layer0.q?)",
            id="operator",
        ),
        pytest.param(
            ("--op", "head", "--plan", "100000"),
            "--plan: is 100000, must be below ",
            id="plan",
        ),
        pytest.param(
            ("--plan", "1"), "--plan: has no effect without --op", id="plan alone"
        ),
        pytest.param(
            ("--run-dir", "x"), "--run-dir: has no effect without --op", id="run dir"
        ),
        pytest.param(("--use", "0"), "--use: is 0, must be in (0, 1]", id="use"),
        pytest.param(
            ("--padding", "0.9"),
            "--padding: is 0.9, must be in [1, 1000]",
            id="padding",
        ),
        pytest.param(("--thin", "2"), "--thin: is 2, must be in [0.001, 1]", id="thin"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(
    say: Say, flags: tuple[str, ...], line: str
) -> None:
    said = say("options", *MODEL, *flags)
    assert said.status == 2
    assert line in said.line
    assert not Path("runs").exists()


def test_a_problem_file_has_no_splits_to_show(say: Say, problem_file: str) -> None:
    said = say("options", problem_file)
    assert said.status == 2
    assert "is a problem file" in said.line


def test_padding_counts_every_dimension() -> None:
    # 2·⌈7/2⌉ = 8 of 7, 3·⌈10/3⌉ = 12 of 10.
    payload = OptionPayload(
        (("m", 2), ("n", 3)), (), 6, 1, 0, 0, 0, 0, (("m", 7), ("n", 10))
    )
    assert padding_of(payload) == 96 / 70


@pytest.mark.parametrize("width", [80, 160])
def test_tables_fit_the_console_with_every_number(say: Say, width: int) -> None:
    document = ask(say, "--op", "layer0.gate", "--no-plots")
    console = Console(width=width, record=True, file=io.StringIO())
    print_operator(console, document, None)
    printed = console.export_text()
    first, last = document["execute_front"][0], document["execute_front"][-1]
    for plan in (first, last):
        assert str(plan["cycles_after_distribute"]) in printed
        assert str(plan["preload_states"][0]["distribute_cycles"]) in printed
    assert "distribute" in printed
