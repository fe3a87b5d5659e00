from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fakes.said import Said

from elkhound.experiments.comparison import compare
from elkhound.model.errors import BadInputError, InfeasibleError
from elkhound.model.instances import random_schedule
from elkhound.model.io import json_schemas, load_pins, write_problem
from elkhound.model.limits import Limits
from elkhound.model.pin import Pin, Pinned, pinned
from elkhound.model.result import OrderClass, Status
from elkhound.model.schedule import ScheduleProblem
from elkhound.solvers.schedule.brute_force import BruteForce
from elkhound.solvers.schedule.cp_sat import CpSat

Say = Callable[..., Said]
ONE: Limits[Any] = Limits(workers=1, seconds=60)
FIVE = random_schedule(1, 5)
"""79 B; op3 executes in 32 or 51 B and waits in 11 or 22 B."""


@pytest.fixture
def five(tmp_path: Path) -> str:
    """five.json: five operators of four options."""
    write_problem(tmp_path / "five.json", FIVE)
    return "five.json"


@pytest.mark.parametrize("order", ["free", "identity"])
@pytest.mark.parametrize("seed", range(12))
def test_both_methods_agree_on_problems_with_gates_given(seed: int, order: str) -> None:
    """Plans, or the proof that there is none; at every gate of every operator."""
    problem = random_schedule(seed, 4, options=(2, 1))
    classes = OrderClass(order)
    for j in problem.streaming:
        for gate in range(j + 1):
            gates = {j: gate}
            mine = CpSat(classes).with_gates(gates).solve(problem, ONE)
            oracle = BruteForce(classes).with_gates(gates).solve(problem, ONE)
            assert (mine.status, mine.objective) == (oracle.status, oracle.objective)
            if mine.plan is not None:
                assert mine.plan.gates[j] == gate


def test_gates_that_overflow_the_sram_are_proved_to_have_no_plan() -> None:
    """All five preloads at once need 5 + 9 + 15 + 11 + 15 = 55 B; 39 B are there."""
    tight = replace(FIVE, sram_bytes=max(o.least_bytes for o in FIVE.operators))
    assert tight.sram_bytes == 39
    result = CpSat().with_gates(dict.fromkeys(range(5), 0)).solve(tight, ONE)
    assert result.status is Status.INFEASIBLE


def test_a_proof_that_no_plan_keeps_the_pins_names_them() -> None:
    """Each waits in its smallest option, but never both of them in a later step."""
    tight = replace(FIVE, sram_bytes=46)
    pins = pinned(tight, (Pin("op4", option=1, gate=3), Pin("op3", option=3, gate=3)))
    with pytest.raises(InfeasibleError, match="operator op3: its smallest option left"):
        compare(tight, ["cp-sat"], limits=ONE, pins=pins)


def test_pinning_an_optimal_plan_whole_gives_that_plan() -> None:
    best = CpSat().solve(FIVE, ONE)
    assert best.plan is not None
    pins = pinned(
        FIVE,
        tuple(
            Pin(operator.name, option, gate=gate)
            for operator, option, gate in zip(
                FIVE.operators, best.plan.options, best.plan.gates, strict=True
            )
        ),
    )
    (outcome,) = compare(FIVE, ["cp-sat"], limits=ONE, pins=pins).outcomes
    assert outcome.plan == best.plan
    assert outcome.verified_objective == best.objective


def test_pins_cost_what_an_exact_method_says_and_never_gain() -> None:
    free, *_ = compare(FIVE, ["cp-sat"], limits=ONE).rows
    late = tuple(Pin(f"op{j}", gate=j) for j in (2, 3, 4))  # hardly any overlap
    pins = pinned(FIVE, (*late, Pin("op1", option=0)))
    table = compare(FIVE, ["cp-sat", "brute-force", "ideal"], limits=ONE, pins=pins)
    exact, oracle, ideal = table.rows
    assert exact.objective == oracle.objective
    assert exact.status is Status.OPTIMAL
    assert free.objective is not None
    assert exact.objective is not None
    assert exact.objective > free.objective
    assert ideal.lower_bound is not None
    assert table.contradictions == ()


@pytest.mark.parametrize(
    "method", ["basic", "static", "elk-dyn", "elk-full", "dp", "milp", "cp-sat"]
)
def test_every_method_keeps_pinned_options(method: str) -> None:
    pins = pinned(FIVE, (Pin("op3", option=0), Pin("op1", option=0)))
    (outcome,) = compare(FIVE, [method], limits=ONE, pins=pins).outcomes
    if outcome.plan is None:
        assert method == "static"  # no split of 79 B serves all operators
        return
    assert outcome.verified
    assert (outcome.plan.options[3], outcome.plan.options[1]) == (0, 0)


@pytest.mark.parametrize("method", ["basic", "elk-full", "dp", "milp"])
def test_a_method_that_cannot_keep_a_gate_is_refused_by_name(method: str) -> None:
    pins = pinned(FIVE, (Pin("op3", gate=2),))
    message = rf"method {method}.* cannot keep a gate \(cp-sat and brute-force can\)"
    with pytest.raises(BadInputError, match=message):
        compare(FIVE, ["cp-sat", method], limits=ONE, pins=pins)


def test_pins_that_cannot_fit_say_what_is_needed_where() -> None:
    """op1, op2 and op3 wait for at least 9 + 15 + 11 B during op0, which needs 14."""
    tight = replace(FIVE, sram_bytes=max(o.least_bytes for o in FIVE.operators))
    pins = pinned(tight, tuple(Pin(f"op{j}", gate=0) for j in (1, 2, 3)))
    message = (
        r"operator op0: its smallest option left needs 14 B beside the pinned preloads "
        r"of op1 \(gate 0, at least 9 B\), .*: 49 B in all, 39 B are usable"
    )
    with pytest.raises(InfeasibleError, match=message) as refused:
        compare(tight, ["cp-sat"], limits=ONE, pins=pins)
    assert (refused.value.needed_bytes, refused.value.available_bytes) == (49, 39)


def test_a_smaller_sram_for_addresses_keeps_the_pins() -> None:
    """Planning again for a plan without addresses goes through the same pins."""
    from elkhound.experiments.pinning import PinnedMethod

    pins = pinned(FIVE, (Pin("op3", option=0),))
    smaller = replace(FIVE, sram_bytes=70)
    result = PinnedMethod(CpSat(), pins).solve(smaller, ONE)
    assert result.plan is not None
    assert result.plan.options[3] == 0
    assert BruteForce().solve(pinned_in(smaller), ONE).objective == result.objective


def pinned_in(problem: ScheduleProblem) -> ScheduleProblem:
    return pinned(problem, (Pin("op3", option=0),)).problem


def read(tmp_path: Path, text: str) -> Pinned:
    file = tmp_path / "pins.yaml"
    file.write_text(text)
    return load_pins(file).on(FIVE)


def test_after_an_operator_is_the_gate_behind_it(tmp_path: Path) -> None:
    pins = read(tmp_path, "pin:\n  - {operator: op3, after: op1}\n")
    assert pins.gates == {3: 2}
    assert pins.said == "gate 2 of op3"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        pytest.param(
            "{operator: op9}", r":2: pin\[0\]: no operator is called 'op9' \(did you",
            id="operator",
        ),
        pytest.param(
            "{operator: op3, option: 4}", r"option is 4, must be from 0 to 3",
            id="option",
        ),
        pytest.param(
            "{operator: op3, gate: 4}", r"gate is 4, must be at most 3", id="gate"
        ),
        pytest.param(
            "{operator: op3, after: op3}", r"after is op3, 4 executes, must be at most",
            id="after",
        ),
        pytest.param(
            "{operator: op3, after: op1, gate: 2}", "has no effect beside gate",
            id="both",
        ),
        pytest.param(
            "{operator: op3, splits: {m: 4}}", "splits has no effect on a problem file",
            id="splits",
        ),
        pytest.param(
            "{operator: op3, gaet: 4}", r"unknown key .*gaet \(did you mean gate",
            id="key",
        ),
        pytest.param(
            "{operator: op3}\n  - {operator: op3}", "op3 is pinned twice", id="twice"
        ),
    ],
)  # fmt: skip
def test_a_wrong_pin_is_refused_by_line(
    tmp_path: Path, line: str, message: str
) -> None:
    with pytest.raises(BadInputError, match=message) as refused:
        read(tmp_path, f"pin:\n  - {line}\n")
    assert "pins.yaml:" in str(refused.value)


def test_pins_do_nothing_to_an_allocation(say: Say) -> None:
    say("generate", "--kind", "allocation", "--output", "a.json")
    Path("pins.yaml").write_text("pin: [{operator: op3, gate: 1}]")
    said = say("compare", "a.json", "--methods", "delta", "--pin", "pins.yaml")
    assert said.status == 2
    assert "--pin: has no effect on an allocation" in said.line


@pytest.mark.parametrize("flags", [("--thin", "0.1"), ("--prove",)])
def test_pinned_gates_go_neither_with_thinning_nor_with_second_proofs(
    say: Say, five: str, flags: tuple[str, ...]
) -> None:
    Path("pins.yaml").write_text("pin: [{operator: op3, gate: 1}]")
    ask = ("--methods", "cp-sat", "--pin", "pins.yaml", "--run-dir", "run")
    said = say("compare", five, *ask, *flags)
    assert said.status == 2
    assert "cannot be given with pinned gates" in said.err


def test_the_schema_of_pins_is_told() -> None:
    assert "pin" in json_schemas()["pin"]["properties"]


def test_p05_a_pinned_split_and_gate_are_in_the_plan_exactly(say: Say) -> None:
    """A model's operator keeps a split that the free optimum does not have.

    The plan re-evaluates to the same cycles bit for bit.
    """
    block = str(Path(__file__).parent.parent.parent / "examples/decoder_block.onnx")
    model = (block, "--bind", "batch=4,context=512", "--chip", "toy-64")
    flags = ("--method", "cp-sat", "--time-limit", "3", "--workers", "1")
    free = say("plan", *model, *flags, "--output", "free.json", "--json")
    assert free.status == 0
    document = json.loads(Path("free.json").read_text())
    problem, gates = document["problem"], document["gates"]
    names = [operator["name"] for operator in problem["operators"]]
    j = next(k for k, gate in enumerate(gates) if gate is not None and k >= 3)
    splits = document["payload"][j]["splits"]
    pin = {"operator": names[j], "splits": splits, "after": names[j - 2]}
    Path("pins.json").write_text(json.dumps({"pin": [pin]}))
    ask = ("plan", *model, *flags, "--pin", "pins.json", "--output", "p.json")
    said = say(*ask, "--json")
    assert said.status == 0, said.out
    (row,) = json.loads(said.out)["rows"]
    plan = json.loads(Path("p.json").read_text())
    assert plan["payload"][j]["splits"] == splits
    assert plan["gates"][j] == j - 1
    told = json.loads(say("evaluate", "--plan", "p.json", "--json").out)
    assert (told["verified"], told["objective"]) == (True, row["objective"])
    Path("p.json").unlink()
    pin["splits"] = {next(iter(splits)): 63}
    Path("pins.json").write_text(json.dumps({"pin": [pin]}))
    none = say(*ask)
    assert none.status == 3
    assert "no option has the splits" in none.line
    assert not Path("p.json").exists()
