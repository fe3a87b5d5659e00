"""What users of such tools run into: each case with the answer it should have had.

The names P09 … P21 are those under which the project collected them.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
from fakes.said import Said
from onnx import TensorProto, helper

from elkhound.experiments.cli.main import run
from elkhound.model.instances import random_schedule
from elkhound.model.io import write_plan, write_problem
from elkhound.model.limits import Limits
from elkhound.model.result import Status
from elkhound.model.schedule import (
    Contention,
    Schedule,
    ScheduleOperator,
    ScheduleOption,
    ScheduleProblem,
)
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
    draw = random.Random(4)
    model = pulp.Model("market")
    x = [model.binary(f"x{i}") for i in range(26)]
    slacks = []
    for r in range(4):
        weights = [draw.randint(0, 99) for _ in x]
        over, under = (model.integer(f"{k}{r}", 0, 3000) for k in ("over", "under"))
        terms = [*zip(weights, x, strict=True), (1, under), (-1, over)]
        model.equal(terms, sum(weights) // 2)
        slacks += [(1, over), (1, under)]
    model.minimise(slacks)
    limits: Limits[None] = Limits(seconds=3, workers=1)
    answer = pulp.run(model, limits, backend)
    assert answer.status is Status.FEASIBLE
    assert answer.objective is not None
    assert answer.bound is not None
    assert 0 <= answer.bound < answer.objective
