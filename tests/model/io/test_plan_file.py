from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from elkhound.model.allocation import (
    Allocation,
    AllocationItem,
    AllocationOption,
    AllocationProblem,
)
from elkhound.model.errors import BadInputError
from elkhound.model.io import (
    load_chip,
    problem_document,
    read_allocation_plan,
    read_plan,
    write_allocation_plan,
    write_plan,
    write_problem,
)
from elkhound.model.schedule import (
    OptionPayload,
    Schedule,
    ScheduleOperator,
    ScheduleOption,
    ScheduleProblem,
    TensorSplit,
)

# Three operators; a and c stream, b does not.
PROBLEM = ScheduleProblem(
    sram_bytes=100,
    operators=(
        ScheduleOperator("a", (ScheduleOption(0, 40, 20, 7, 3, 9, 4),)),
        ScheduleOperator("b", (ScheduleOption(0, 10, 0, 0, 0, 5, 0),)),
        ScheduleOperator(
            "c",
            (
                ScheduleOption(0, 40, 20, 7, 3, 9, 4, 1, 5, 3),
                ScheduleOption(1, 50, 30, 8, 3, 7, 4),
            ),
        ),
    ),
    name="three",
)
PLAN = Schedule(gates=(0, None, 1), options=(0, 0, 1))
ALLOCATION = AllocationProblem(
    100, (AllocationItem("a", (AllocationOption(10, 5), AllocationOption(20, 1))),)
)


def plan_document(**changes: Any) -> dict[str, Any]:
    """Return the plan as its file holds it, with changes; "absent" drops a key."""
    document: dict[str, Any] = {
        "kind": "schedule-plan",
        "gates": [0, None, 1],
        "options": [0, 0, 1],
    }
    problem = {"problem": problem_document(PROBLEM)}
    document |= {k: v for k, v in changes.items() if k != "problem"}
    document |= {k: changes.get(k, v) for k, v in problem.items()}
    return {k: v for k, v in document.items() if v != "absent"}


def refusal(
    tmp_path: Path,
    document: object,
    problem: ScheduleProblem | None = None,
) -> str:
    """Return the one line with which a plan is refused, without its folder."""
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(document, indent=1))
    with pytest.raises(BadInputError) as refused:
        read_plan(file, problem)
    message = str(refused.value)
    assert "\n" not in message
    return message.replace(f"{tmp_path}/", "")


def test_a_plan_written_with_its_problem_and_chip_is_read_back(tmp_path: Path) -> None:
    chip = load_chip("ipu-pod4-hbm")
    write_plan(tmp_path / "plan.json", PROBLEM, PLAN, chip=chip)
    file = read_plan(tmp_path / "plan.json")
    assert (file.plan, file.problem, file.chip) == (PLAN, PROBLEM, chip)


def test_a_plan_may_refer_to_its_problem_by_path_and_hash(tmp_path: Path) -> None:
    (tmp_path / "plans").mkdir()
    write_problem(tmp_path / "problem.json", PROBLEM)
    plan = tmp_path / "plans" / "plan.yaml"
    write_plan(plan, PROBLEM, PLAN, problem_path=tmp_path / "problem.json")
    assert '"path": "../problem.json"' in plan.read_text()
    file = read_plan(plan)
    assert (file.plan, file.problem, file.chip) == (PLAN, PROBLEM, None)


def test_a_changed_problem_is_noticed(tmp_path: Path) -> None:
    write_problem(tmp_path / "problem.json", PROBLEM)
    plan = tmp_path / "plan.json"
    write_plan(plan, PROBLEM, PLAN, problem_path=tmp_path / "problem.json")
    write_problem(
        tmp_path / "problem.json", dataclasses.replace(PROBLEM, sram_bytes=99)
    )
    with pytest.raises(
        BadInputError, match=r"plan\.json:5: problem\.hash is .* has changed since"
    ):
        read_plan(plan)


def test_a_missing_problem_file_is_named(tmp_path: Path) -> None:
    document = plan_document(problem={"path": "gone.json", "hash": "0"})
    assert refusal(tmp_path, document) == (
        "plan.json:14: problem.path: gone.json: no such file"
    )


def test_a_bare_plan_needs_its_problem_beside_it(tmp_path: Path) -> None:
    bare = plan_document(kind="absent", problem="absent")
    assert refusal(tmp_path, bare) == (
        "plan.json:1: the plan names no problem; give the problem file beside it"
    )
    assert read_plan(tmp_path / "plan.json", PROBLEM).plan == PLAN


def test_a_plan_of_another_problem_is_refused(tmp_path: Path) -> None:
    other = dataclasses.replace(PROBLEM, sram_bytes=99, name="other")
    message = refusal(tmp_path, plan_document(), other)
    assert message.startswith("plan.json:13: the plan is for another problem than 'oth")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param(
            {"gates": [0, None, 3]},
            "plan.json:6: operator c: gate is 3, must be from 0 to 2",
            id="gate beyond its index",
        ),
        pytest.param(
            {"gates": [0, 1, 1]},
            "plan.json:5: operator b: gate is 1, must be null, as it streams nothing",
            id="gate without a preload",
        ),
        pytest.param(
            {"gates": [0, None, None]},
            "plan.json:6: operator c: gate is null, must be from 0 to 2, as it streams",
            id="preload without a gate",
        ),
        pytest.param(
            {"gates": [0, None, -1]},
            "plan.json:6: gates[2] is -1, must be an integer from 0 to 10^15 or null",
            id="negative gate",
        ),
        pytest.param(
            {"gates": [0, None]},
            "plan.json:3: gates has 2 entries, must have 3, "
            "one for each operator of the problem",
            id="too few gates",
        ),
        pytest.param(
            {"options": [0, 0, 2]},
            "plan.json:11: operator c: option is 2, must be from 0 to 1",
            id="option beyond the last",
        ),
        pytest.param(
            {"options": [0, 0, 1, 0]},
            "plan.json:8: options has 4 entries, must have 3, "
            "one for each operator of the problem",
            id="too many options",
        ),
        pytest.param(
            {"options": [0, 0, 1.5]},
            "plan.json:11: options[2] is 1.5, must be an integer from 0 to 10^15",
            id="fraction",
        ),
        pytest.param(
            {"gatez": []},
            "plan.json:13: unknown key gatez (did you mean gates?)",
            id="unknown key",
        ),
        pytest.param(
            {"kind": "schedule"},
            "plan.json:2: kind is 'schedule', must be schedule-plan",
            id="a problem",
        ),
        pytest.param(
            {"payload": [None]},
            "plan.json:13: payload has 1 entries, must have 3, one per operator",
            id="too few payloads",
        ),
        pytest.param(
            {"problem": {"path": "p.json"}},
            "plan.json:13: problem.hash is missing, must be text of 1 to 200 "
            "characters",
            id="reference without a hash",
        ),
        pytest.param(
            {"problem": {"kind": "schedule", "sram_bytes": -1, "operators": []}},
            "plan.json:15: problem.sram_bytes is -1, must be an integer from 1 to "
            "10^15",
            id="fault inside the problem",
        ),
    ],
)
def test_a_bad_plan_is_refused_in_one_line(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    assert refusal(tmp_path, plan_document(**changes)) == message


def test_a_fault_inside_the_problem_has_its_own_line(tmp_path: Path) -> None:
    problem = problem_document(PROBLEM)
    problem["operators"] = [{"name": "a", "options": [], "option_set": 0}]
    message = refusal(tmp_path, plan_document(problem=problem))
    assert message.endswith(
        "problem.operators[0] 'a'.options has 0 entries, must be a list of at least 1 "
        "or null"
    )


@pytest.fixture
def with_payload() -> ScheduleProblem:
    """The problem with a payload on the option that the plan takes for c."""
    payload = OptionPayload(
        splits=(("m", 2), ("n", 4)),
        tensors=(TensorSplit("x"), TensorSplit("w", (("n", 2),), 2)),
        cores_used=8,
        steps=2,
        syncs=4,
        hbm_bytes=1000,
        exchange_bytes=64,
        distribute_bytes=32,
    )
    c = PROBLEM.operators[2]
    taken = dataclasses.replace(c.options[1], payload=payload)
    c = dataclasses.replace(c, options=(c.options[0], taken))
    return dataclasses.replace(PROBLEM, operators=(*PROBLEM.operators[:2], c))


def test_payloads_of_the_options_taken_go_with_the_plan(
    tmp_path: Path, with_payload: ScheduleProblem
) -> None:
    write_plan(tmp_path / "plan.json", with_payload, PLAN)
    assert read_plan(tmp_path / "plan.json").problem == with_payload


def test_a_payload_names_tensors_as_the_model_does(
    tmp_path: Path, with_payload: ScheduleProblem
) -> None:
    # Exporters name values after the path of modules that made them.
    operator = with_payload.operators[2]
    option = operator.options[1]
    assert option.payload is not None
    tensors = tuple(
        dataclasses.replace(tensor, tensor="module/" * 60)
        for tensor in option.payload.tensors
    )
    payload = dataclasses.replace(option.payload, tensors=tensors)
    options = (operator.options[0], dataclasses.replace(option, payload=payload))
    long = dataclasses.replace(operator, options=options)
    problem = dataclasses.replace(
        with_payload, operators=(*with_payload.operators[:2], long)
    )
    assert tensors
    write_plan(tmp_path / "plan.json", problem, PLAN)
    assert read_plan(tmp_path / "plan.json").problem == problem


def test_an_edited_plan_drops_payloads_of_options_it_no_longer_takes(
    tmp_path: Path, with_payload: ScheduleProblem
) -> None:
    file = tmp_path / "plan.json"
    write_plan(file, with_payload, PLAN)
    document = json.loads(file.read_text())
    document["options"] = [0, 0, 0]
    file.write_text(json.dumps(document))
    assert read_plan(file).problem == PROBLEM


def test_a_payload_that_contradicts_its_option_is_refused(
    tmp_path: Path, with_payload: ScheduleProblem
) -> None:
    file = tmp_path / "plan.json"
    write_plan(file, with_payload, PLAN)
    document = json.loads(file.read_text())
    document["payload"][2]["preload_bytes"] = 31
    assert refusal(tmp_path, document).endswith(
        "operator c: its payload says preload_bytes is 31, must be 30 as in option 1"
    )


def test_an_allocation_plan_is_read_back(tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    write_allocation_plan(file, ALLOCATION, Allocation((1,)))
    assert read_allocation_plan(file).plan == Allocation((1,))
    assert read_allocation_plan(file).problem == ALLOCATION
    write_problem(tmp_path / "p.json", ALLOCATION)
    write_allocation_plan(
        file, ALLOCATION, Allocation((1,)), problem_path=tmp_path / "p.json"
    )
    assert read_allocation_plan(file, ALLOCATION).problem == ALLOCATION


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param([2], "item a: option is 2, must be from 0 to 1", id="range"),
        pytest.param(
            [0, 0],
            "options has 2 entries, must have 1, one for each item of the problem",
            id="length",
        ),
    ],
)
def test_a_bad_allocation_plan_is_refused(
    tmp_path: Path, options: list[int], message: str
) -> None:
    file = tmp_path / "plan.json"
    file.write_text(json.dumps({"options": options}))
    with pytest.raises(BadInputError, match=message):
        read_allocation_plan(file, ALLOCATION)


def test_a_plan_cannot_refer_to_a_problem_of_another_kind(tmp_path: Path) -> None:
    write_problem(tmp_path / "p.json", ALLOCATION)
    document = plan_document(problem={"path": "p.json", "hash": "0"})
    assert refusal(tmp_path, document) == (
        "plan.json:14: problem.path is 'p.json', a problem of another kind"
    )


def test_a_plan_does_not_take_a_problem_of_another_kind_beside_it(
    tmp_path: Path,
) -> None:
    other: Any = ALLOCATION
    bare = plan_document(kind="absent", problem="absent")
    assert refusal(tmp_path, bare, other) == (
        "plan.json:1: the plan is for another kind of problem than 'allocation'"
    )


def test_sizes_of_other_dimensions_than_the_splits_are_refused(
    tmp_path: Path, with_payload: ScheduleProblem
) -> None:
    file = tmp_path / "plan.json"
    write_plan(file, with_payload, PLAN)
    document = json.loads(file.read_text())
    document["payload"][2]["sizes"] = {"m": 7, "n": 9}
    file.write_text(json.dumps(document))
    payload = read_plan(file).problem.operators[2].options[1].payload
    assert payload is not None
    assert payload.sizes == (("m", 7), ("n", 9))
    document["payload"][2]["sizes"] = {"m": 7}
    file.write_text(json.dumps(document))
    with pytest.raises(BadInputError, match="sizes name m, must name the dimensions"):
        read_plan(file)
