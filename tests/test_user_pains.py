"""What users of such tools run into: each case with the answer it should have had.

The names P07 … P21 are those under which the project collected them. P04 is
`test_partial_sums_are_kept_and_exchanged_at_accumulator_type` in
tests/model/options/test_execute_plan.py; the verifier of P10 has its own tests in
tests/model/test_coverage.py and, for fusion, tests/model/fusion/test_legality.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import onnx
import pytest
from fakes.said import Said
from onnx import TensorProto, helper
from oracles.market_split import market_split

from elkhound.experiments import compare
from elkhound.experiments.cli.main import run
from elkhound.model import load_chip, schedule_problem
from elkhound.model.fusion import FusionWorkload, cost_of, parse_mapping
from elkhound.model.fusion.equation import parse_equation
from elkhound.model.instances import random_schedule
from elkhound.model.io import load_accelerator, write_plan, write_problem
from elkhound.model.limits import Limits
from elkhound.model.referee import judge_fusion
from elkhound.model.result import Status
from elkhound.model.schedule import (
    Contention,
    Schedule,
    ScheduleOperator,
    ScheduleOption,
    ScheduleProblem,
)
from elkhound.model.workloads import build_workload
from elkhound.solvers.backends import pulp

Say = Callable[..., Said]
KIB = 1024

ONE_CORE = """
chip: one-core
chips: 1
cores_per_chip: 1
sram_bytes: {sram_bytes}
reserved_bytes: {reserved_bytes}
clock_hz: 1000000000
links: {{topology: all-to-all, bytes_per_second: 4000000000}}
hbm: {{bytes_per_second: 2000000000, latency_ns: 400, controllers: 1}}
compute: {{mac_per_cycle: 64}}
"""


@pytest.fixture
def say(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Say:
    """Runs a command in an empty directory of its own."""
    monkeypatch.chdir(tmp_path)

    def ask(*arguments: str) -> Said:
        status = run(list(arguments))
        said = capsys.readouterr()
        return Said(status, said.out, said.err)

    return ask


def write_chip(usable_bytes: int) -> None:
    """one.yaml: a single core, 1 KiB of which is reserved."""
    text = ONE_CORE.format(sram_bytes=usable_bytes + KIB, reserved_bytes=KIB)
    Path("one.yaml").write_text(text)


def write_matmul() -> None:
    """m.onnx: 400 × 320 by 320 × 320 in two bytes each, 700 KiB with its result.

    400·320 + 320·320 + 400·320 = 358,400 elements, 716,800 bytes; one core must hold
    them all.
    """
    half = TensorProto.FLOAT16
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"], name="product")],
        "matmul",
        [
            helper.make_tensor_value_info("x", half, [400, 320]),
            helper.make_tensor_value_info("w", half, [320, 320]),
        ],
        [helper.make_tensor_value_info("y", half, [400, 320])],
    )
    onnx.save(helper.make_model(graph), "m.onnx")


def write_model(path: str, nodes: list[onnx.NodeProto], **shapes: list[int]) -> None:
    """A model of half precision; x is its input, w, where given, a weight."""
    half = TensorProto.FLOAT16
    graph = helper.make_graph(
        nodes,
        "model",
        [helper.make_tensor_value_info("x", half, shapes["x"])],
        [helper.make_tensor_value_info(nodes[-1].output[0], half, shapes["y"])],
        [
            TensorProto(name=name, dims=dims, data_type=half)
            for name, dims in shapes.items()
            if name not in "xy"
        ],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("my.domain", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)


def test_p01_an_extent_of_zero_is_refused_by_its_place(say: Say) -> None:
    conv = helper.make_node("Conv", ["x", "w"], ["y"], name="first")
    write_model("m.onnx", [conv], x=[1, 4, 0, 8], w=[6, 4, 3, 3], y=[1, 6, 1, 6])
    said = say("import", "m.onnx")
    assert said.status == 2
    assert "tensor x has extent 0 on axis 2, must be at least 1" in said.line


def test_p02_batches_are_symbols_that_scale_the_products(say: Say) -> None:
    convs = [
        helper.make_node("Conv", [left, f"w{i}"], [right], pads=[1, 1, 1, 1])
        for i, (left, right) in enumerate(pairwise(["x", "a", "b", "y"]))
    ]
    kernels = {f"w{i}": [4, 4, 3, 3] for i in range(3)}
    write_model("m.onnx", convs, x=[1, 4, 8, 8], y=[1, 4, 8, 8], **kernels)
    model = onnx.load("m.onnx")
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.shape.dim[0].dim_param = "batch"
    onnx.save(model, "m.onnx")
    said = say("import", "m.onnx")
    assert said.status == 2
    assert "input x axis 0: batch" in said.line
    one, eight = (
        json.loads(say("import", "m.onnx", "--bind", f"batch={n}", "--json").out)
        for n in (1, 8)
    )
    # three convolutions of 4 · 4 · 3 · 3 weights at 8 · 8 places
    assert one["macs"] == 3 * 4 * 4 * 3 * 3 * 8 * 8
    assert eight["macs"] == 8 * one["macs"]
    assert one["weight_bytes"] == eight["weight_bytes"] == 3 * 4 * 4 * 3 * 3 * 2


def test_p03_one_operator_too_large_leaves_the_others_reported(say: Say) -> None:
    # op5 multiplies (400, 320) by (320, 320): 700 KiB where 616 KiB are usable; the
    # others read and write 250 KiB each
    names = ["x", *(f"h{i}" for i in range(9)), "y"]
    nodes = [
        helper.make_node(
            "MatMul" if i == 5 else "Relu",
            [left, "w"] if i == 5 else [left],
            [right],
            name=f"op{i}",
        )
        for i, (left, right) in enumerate(pairwise(names))
    ]
    write_model("m.onnx", nodes, x=[400, 320], w=[320, 320], y=[400, 320])
    write_chip(616 * KIB)
    said = say("compare", "m.onnx", "--chip", "one.yaml")
    assert said.status == 3
    assert "9 of 10 operators fit, short are op5 by 84 KiB" in said.line
    listed = json.loads(say("import", "m.onnx", "--json").out)["operators"]
    assert len(listed) == 10


def test_p18_contrib_operators_have_shapes_of_their_own(say: Say) -> None:
    # MatMulNBits: 4 bits in blocks of 32; N and K stand in attributes alone
    product = helper.make_node(
        "MatMulNBits",
        ["x", "w", "s"],
        ["y"],
        domain="com.microsoft",
        N=16,
        K=64,
        bits=4,
        block_size=32,
    )
    write_model("m.onnx", [product], x=[5, 64], w=[16, 2, 16], s=[32], y=[5, 16])
    read = json.loads(say("import", "m.onnx", "--json").out)
    assert read["macs"] == 5 * 16 * 64
    assert read["weight_bytes"] == 16 * 64 // 2 + 16 * 2 * 2
    assert read["unsupported"] == []


def test_p20_an_unknown_operator_is_loud(say: Say) -> None:
    foo = helper.make_node("Foo", ["x"], ["f"], domain="my.domain", name="foo")
    relu = helper.make_node("Relu", ["f"], ["y"])
    write_model("m.onnx", [foo, relu], x=[3, 4], y=[3, 4])
    said = say("import", "m.onnx")
    assert said.status == 2
    assert "my.domain::Foo (node foo" in said.line
    Path("foo.yaml").write_text("operators:\n  my.domain::Foo: {passes: [unary]}\n")
    flags = ("import", "m.onnx", "--unknown", "foo.yaml")
    read = json.loads(say(*flags, "--json").out)
    assert read["unsupported"] == ["my.domain::Foo"]
    loud = [warning for warning in read["warnings"] if "my.domain::Foo" in warning]
    assert len(loud) == 1
    assert say(*flags, "--strict").status == 2
    assert say("import", "m.onnx", "--unknown", "").status == 2


def test_p09_what_does_not_fit_says_need_have_and_the_least_that_works(
    say: Say,
) -> None:
    write_matmul()
    write_chip(616 * KIB)
    said = say("compare", "m.onnx", "--chip", "one.yaml")
    assert said.status == 3
    assert "operator product: " in said.line
    assert "needs 716800 bytes per core" in said.line
    assert "630784 (616 KiB) are usable" in said.line
    assert "716800 bytes, 700 KiB per core" in said.line


def test_p09_min_capacity_is_the_least_that_works(say: Say) -> None:
    write_matmul()
    write_chip(616 * KIB)
    ask = ("compare", "m.onnx", "--chip", "one.yaml", "--min-capacity")
    assert json.loads(say(*ask, "--json").out) == {
        "smallest_capacity_bytes": 700 * KIB,
        "needed_by": "operator product",
        "available_bytes": 616 * KIB,
    }
    assert say(*ask).out == (
        "smallest capacity that works: 716800 B (700 KiB), needed by operator "
        "product; 630784 B (616 KiB) are available\n"
    )
    write_chip(700 * KIB)
    assert json.loads(say(*ask, "--json").out)["smallest_capacity_bytes"] == 700 * KIB
    plan = ("compare", "m.onnx", "--chip", "one.yaml", "--methods", "basic")
    assert say(*plan, "--no-plots").status == 0
    write_chip(700 * KIB - 1)
    assert say(*plan, "--no-plots").status == 3


def test_p09_min_capacity_of_problem_files(say: Say) -> None:
    problem = random_schedule(3, 6, "balanced", feasible=False)
    write_problem("p.json", problem)
    found = json.loads(say("compare", "p.json", "--min-capacity", "--json").out)
    least = found["smallest_capacity_bytes"]
    assert least > problem.sram_bytes == found["available_bytes"]
    for sram_bytes, status in ((least, 0), (least - 1, 3)):
        document = json.loads(Path("p.json").read_text()) | {"sram_bytes": sram_bytes}
        Path("q.json").write_text(json.dumps(document))
        said = say("compare", "q.json", "--methods", "basic", "--no-plots")
        assert said.status == status
    say("generate", "--kind", "allocation", "--output", "a.json")
    document = json.loads(Path("a.json").read_text())
    smallest = [min(o["bytes"] for o in i["options"]) for i in document["items"]]
    found = json.loads(say("compare", "a.json", "--min-capacity", "--json").out)
    assert found["smallest_capacity_bytes"] == sum(smallest)


@pytest.mark.parametrize(
    "flags",
    [
        pytest.param(("--methods", "basic"), id="methods"),
        pytest.param(("--time-limit", "5"), id="time limit"),
        pytest.param(("--prove",), id="prove"),
    ],
)
def test_p09_flags_about_planning_do_nothing_to_min_capacity(
    say: Say, flags: tuple[str, ...]
) -> None:
    write_problem("p.json", random_schedule(1, 3))
    said = say("compare", "p.json", "--min-capacity", *flags)
    assert said.status == 2
    assert f"{flags[0]}: has no effect where nothing is planned" in said.line


def test_p10_a_plan_whose_tiles_leave_work_out_fails_verification(say: Say) -> None:
    write_matmul()
    write_chip(1024 * KIB)
    plan = ("plan", "m.onnx", "--chip", "one.yaml", "--method", "basic")
    assert say(*plan, "--output", "plan.json").status == 0
    assert say("evaluate", "--plan", "plan.json").status == 0
    whole = Path("plan.json").read_text()
    document = json.loads(whole)
    dimension = next(iter(document["payload"][0]["splits"]))
    # Two tiles on one core: half of the rows are never computed.
    document["payload"][0]["splits"][dimension] = 2
    Path("half.json").write_text(json.dumps(document))
    said = say("evaluate", "--plan", "half.json")
    assert said.status == 5
    assert "operator product: splits" in said.err
    assert "make 2 tiles, 1 cores are used" in said.err


def test_p10_a_mapping_that_stops_before_single_points_is_refused() -> None:
    # Rows in tiles of 2, and nothing iterates inside them.
    simple = load_accelerator("simple")
    workload = FusionWorkload(
        "one",
        (("m", 4), ("k", 3)),
        (parse_equation("Z[m] = A[m,k] * B[k]"),),
        (("A", 8), ("B", 8), ("Z", 8)),
    )
    tree = parse_mapping(
        "[MainMemory] stores A, B, Z\n[GlobalBuffer] stores A, B, Z\n"
        "for m tile=2\nfor k tile=1\ncompute Z on MAC\n"
    )
    verdict = judge_fusion(simple, workload, tree)
    assert verdict.violations == ("einsum Z: tile of m is not 1 at last",)


def test_p11_a_split_that_does_not_divide_reports_true_and_padded_work(
    say: Say,
) -> None:
    # 13,824 columns on 1,472 cores: 1,383 tiles of 10 are 13,830 columns, the last
    # of them 4 wide.
    half = TensorProto.FLOAT16
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"], name="product")],
        "matmul",
        [
            helper.make_tensor_value_info("x", half, [1, 64]),
            helper.make_tensor_value_info("w", half, [64, 13_824]),
        ],
        [helper.make_tensor_value_info("y", half, [1, 13_824])],
    )
    onnx.save(helper.make_model(graph), "wide.onnx")
    said = say(
        "options", "wide.onnx", "--chip", "ipu-mk2-hbm", "--op", "product",
        "--no-plots", "--json",
    )  # fmt: skip
    document = json.loads(said.out)
    assert document["operator"]["macs"] == 13_824 * 64
    plans = [p for p in document["execute_front"] if p["splits"]["n"] == 1_383]
    assert plans
    for plan in plans:
        assert plan["padded_macs"] == 13_830 * 64
        assert plan["padding"] == 13_830 / 13_824
        assert plan["use"] == 1_383 / 1_472


def at_hbm_rate(bytes_per_second: int) -> tuple[float, Any]:
    """Plan a decode layer of Llama-2-13B; return cycles and score."""
    chip = load_chip("ipu-pod4-hbm")
    chip = replace(chip, hbm=replace(chip.hbm, bytes_per_second=bytes_per_second))
    graph = build_workload("llama-2-13b", {"batch": 32, "seq": 2048, "layers": 1})
    table = compare(schedule_problem(graph, chip), ["static"], chip=chip)
    (outcome,) = table.outcomes
    assert outcome.result is not None
    assert outcome.result.objective is not None
    return outcome.result.objective, outcome.score


def test_p12_half_the_hbm_rate_doubles_a_memory_bound_decode() -> None:
    fast, fast_score = at_hbm_rate(2 * 10**12)
    slow, slow_score = at_hbm_rate(10**12)
    assert 1.9 <= slow / fast <= 2.0
    assert 1.9 <= slow_score.makespan_cycles / fast_score.makespan_cycles <= 2.0


def test_p12_every_operator_says_what_bound_it(say: Say) -> None:
    slow = at_hbm_rate(10**12)[1].operators
    bound_by = {operator.name: str(operator.bound_by) for operator in slow}
    assert bound_by["layer0.gate"] == bound_by["layer0.scores"] == "hbm"
    assert bound_by["layer0.softmax"] == "compute"
    # HBM a thousand times as fast leaves the ports of the cores.
    fast = at_hbm_rate(10**15)[1].operators
    bound_by = {operator.name: str(operator.bound_by) for operator in fast}
    assert bound_by["layer0.q"] == "links"
    assert bound_by["layer0.scores"] == "compute"
    write_problem("p.json", random_schedule(1, 3))
    say("plan", "p.json", "--method", "basic", "--output", "plan.json")
    document = json.loads(say("simulate", "plan.json", "--json").out)
    for operator in document["operators"]:
        assert operator["bound_by"] in ("hbm", "links", "compute", "sram-port")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param(
            ("bytes_per_second: 4000000000}", "bytes_per_second: 4000000000, "
             "exchange_bytes_per_second: 5000000000}"),
            "exchange_bytes_per_second is 5000000000, must be at most "
            "bytes_per_second = 4000000000",
            id="exchange above the link",
        ),
        pytest.param(
            ("controllers: 1}", "controllers: 1, width_bits: 1024}"),
            "width_bits",
            id="a width beside the rate",
        ),
    ],
)  # fmt: skip
def test_p12_attributes_that_contradict_a_rate_are_refused(
    say: Say, change: tuple[str, str], message: str
) -> None:
    write_matmul()
    text = ONE_CORE.format(sram_bytes=1024 * KIB, reserved_bytes=KIB)
    assert change[0] in text
    Path("one.yaml").write_text(text.replace(*change))
    said = say("compare", "m.onnx", "--chip", "one.yaml")
    assert said.status == 2
    assert "one.yaml" in said.line
    assert message in said.line


@pytest.mark.parametrize(
    ("tile_kib", "held_kib"),
    [
        pytest.param(8, 59, id="tiles of 8 KiB"),
        pytest.param(16, 67, id="two buffers of 8 KiB"),
    ],
)
def test_p16_what_stays_in_hbm_takes_no_sram_but_its_tile(
    tile_kib: int, held_kib: int
) -> None:
    # A comes in tiles, the output stays in 64 KiB of buffer, B is never in it.
    chip = load_accelerator("simple")
    chip = replace(
        chip,
        memories=tuple(
            replace(memory, size_bits=8 * 64 * KIB)
            if memory.name == "GlobalBuffer"
            else memory
            for memory in chip.memories
        ),
    )
    workload = FusionWorkload(
        "streamed",
        (("k", 72 * KIB), ("n", 51 * KIB)),
        (parse_equation("Z[n] = A[k] * B[n]"),),
        (("A", 8), ("B", 8), ("Z", 8)),
    )
    tree = parse_mapping(
        "[MainMemory] stores A, B, Z\n[GlobalBuffer] stores Z\n"
        f"for k tile={tile_kib * KIB}\n[GlobalBuffer] stores A\n"
        "for n tile=1\nfor k tile=1\ncompute Z on MAC\n"
    )
    cost = cost_of(chip, workload, tree)
    assert cost.occupancy_bits["GlobalBuffer"] == 8 * held_kib * KIB
    verdict = judge_fusion(chip, workload, tree)
    assert verdict.peak_bits["GlobalBuffer"] == 8 * held_kib * KIB
    assert verdict.feasible == (held_kib <= 64)
    assert (cost.overflows == ()) == (held_kib <= 64)


@pytest.mark.parametrize("method", ["cp-sat", "milp"])
def test_p13_a_search_cut_off_has_an_incumbent_a_bound_and_a_gap(
    say: Say, method: str
) -> None:
    write_problem("large.json", random_schedule(1, 40, "unstructured", options=(4, 3)))
    said = say(
        "compare", "large.json", "--methods", f"basic,{method}", "--time-limit", "2",
        "--no-plots", "--json",
    )  # fmt: skip
    assert said.status == 0
    row = json.loads(said.out)["rows"][1]
    assert row["status"] == "feasible"
    assert row["verified"] is True
    assert 0 < row["lower_bound"] < row["objective"]
    missing = row["objective"] - row["lower_bound"]
    assert row["gap"] == missing / row["objective"]
    progress = next(
        line for line in said.err.splitlines() if line.startswith(f"{method}: feasible")
    )
    for word in ("objective", "bound", "gap", " s"):
        assert word in progress


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf"])
def test_p13_no_limit_means_anything_but_itself(say: Say, seconds: str) -> None:
    write_problem("p.json", random_schedule(1, 3))
    said = say("compare", "p.json", "--time-limit", seconds)
    assert said.status == 2
    assert f"--time-limit: is {seconds}, must be above 0 seconds" in said.line


def alone(name: str, execute_bytes: int, preload_bytes: int = 0) -> ScheduleOperator:
    """Return an operator of one option, 3 cycles long."""
    streams = 2 if preload_bytes else 0
    option = ScheduleOption(0, execute_bytes, preload_bytes, streams, 0, 3, 0)
    return ScheduleOperator(name, (option,))


def test_p14_what_overflows_names_every_resident_and_the_excess(say: Say) -> None:
    # 600 + 244 + 244 = 1088 B where 1024 B are: 64 too many.
    problem = ScheduleProblem(
        1024,
        (alone("a", 600), alone("b", 244, 244), alone("c", 244, 244)),
        Contention.NONE,
    )
    write_plan("plan.json", problem, Schedule((None, 0, 0), (0, 0, 0)))
    said = say("evaluate", "--plan", "plan.json", "--json")
    assert said.status == 5
    (violation,) = json.loads(said.out)["violations"]
    assert violation == (
        "operator a: 1088 B needed of 1024 B at execute 0 (execute 600 B, resident 0 "
        "B, preloaded b 244 B, preloaded c 244 B): 64 B over"
    )
    assert violation in say("evaluate", "--plan", "plan.json").err


def test_p15_what_is_free_counts_not_what_there_is(say: Say) -> None:
    # 1,310,720 B alone are less than 1,499,136 B, but 300,000 B lie there already.
    shard = ScheduleOperator("shard", alone("shard", 1_310_720).options, 300_000)
    problem = ScheduleProblem(1_499_136, (shard,))
    write_problem("p.json", problem)
    said = say("compare", "p.json")
    assert said.status == 3
    assert "operator shard: its smallest option needs 1610720 B" in said.line
    assert "1499136 B (1464 KiB) are usable" in said.line
    write_plan("plan.json", problem, Schedule((None,), (0,)))
    said = say("evaluate", "--plan", "plan.json")
    assert said.status == 5
    assert "resident 300000 B" in said.err
    assert "111584 B over" in said.err


def test_p15_a_preload_fits_only_where_it_is_free_all_the_time(say: Say) -> None:
    # b's 1,310,720 B fit beside a (100 B), and not beside the 300,000 B of c.
    operators = (alone("a", 100), alone("c", 300_000), alone("b", 1_310_720, 1_310_720))
    problem = ScheduleProblem(1_499_136, operators, Contention.NONE)
    write_problem("p.json", problem)
    methods = ("--methods", "brute-force,cp-sat,elk-full", "--workers", "1")
    said = say("compare", "p.json", *methods, "--no-plots", "--json")
    # P_b only after E_c: 3 + 3 + 2 + 3.
    assert [row["objective"] for row in json.loads(said.out)["rows"]] == [11] * 3
    write_plan("early.json", problem, Schedule((None, None, 0), (0, 0, 0)))
    said = say("evaluate", "--plan", "early.json")
    assert said.status == 5
    assert "operator c" in said.err
    assert "111584 B over" in said.err


def test_p15_reserved_bytes_of_the_chip_are_not_usable(say: Say) -> None:
    write_matmul()
    text = ONE_CORE.format(sram_bytes=700 * KIB, reserved_bytes=1)
    Path("one.yaml").write_text(text)
    said = say("compare", "m.onnx", "--chip", "one.yaml")
    assert said.status == 3
    assert "716799" in said.line


@pytest.mark.parametrize("backend", list(pulp.versions()))
def test_p21_a_market_split_cut_off_is_feasible_with_a_gap(backend: str) -> None:
    limits: Limits[None] = Limits(seconds=3, workers=1)
    answer = pulp.run(market_split(4), limits, backend)
    assert answer.status is Status.FEASIBLE
    assert answer.objective is not None
    assert answer.bound is not None
    assert 0 <= answer.bound < answer.objective


def test_p07_an_absent_backend_is_one_line_and_the_others_go_on(
    say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With HiGHS removed, every exact method that does not need it proves its plan."""
    monkeypatch.setattr("elkhound.solvers.backends.pulp.find_spec", lambda name: None)
    write_problem("p.json", random_schedule(1, 4))
    ask = ("compare", "p.json", "--no-plots", "--time-limit", "20", "--json")
    others = [f"milp:backend={name}" for name in pulp.versions()]
    names = ["brute-force", "cp-sat", "dp", *others]
    told = json.loads(say(*ask, "--methods", ",".join(names)).out)
    assert [row["status"] for row in told["rows"]] == ["optimal"] * len(names)
    said = say(*ask[:-1], "--methods", "milp:backend=highs")
    assert said.status == 2
    refusal = "MILP backend highs is not installed (present: "
    assert refusal in said.out
    assert "Traceback" not in said.out + said.err


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        pytest.param(
            "sram_bytes", "sram_bytez",
            "one.yaml:5: unknown key sram_bytez (did you mean sram_bytes?)",
            id="misspelt",
        ),
        pytest.param(
            "topology: all-to-all", "topology: all-to-all, rows: 1",
            "one.yaml:8: links.rows has no effect with topology all-to-all",
            id="of-the-mesh",
        ),
    ],
)  # fmt: skip
def test_p08_a_key_that_would_be_ignored_is_refused(
    say: Say, old: str, new: str, message: str
) -> None:
    write_matmul()
    text = ONE_CORE.format(sram_bytes=700 * KIB, reserved_bytes=0)
    Path("one.yaml").write_text(text.replace(old, new, 1))
    said = say("compare", "m.onnx", "--chip", "one.yaml")
    assert said.status == 2
    assert message in said.line
