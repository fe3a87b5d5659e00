from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elkhound.model.allocation import (
    AllocationItem,
    AllocationOption,
    AllocationProblem,
)
from elkhound.model.errors import BadInputError
from elkhound.model.io import (
    problem_document,
    problem_hash,
    read_problem,
    write_problem,
)
from elkhound.model.schedule import (
    Contention,
    OptionPayload,
    ScheduleOperator,
    ScheduleOption,
    ScheduleProblem,
)

SCHEDULE = """\
{"kind": "schedule", "sram_bytes": 100, "max_outstanding": null,
 "contention": "stretch", "link_stretch_permille": 1000,
 "operators": [
  {"name": "op0", "layer": 0, "resident_bytes": 0,
   "options": [
    {"execute_plan": 0, "execute_bytes": 40, "preload_bytes": 20,
     "preload_cycles": 7, "preload_link_cycles": 3,
     "execute_cycles": 9, "execute_link_cycles": 4}]},
  {"name": "op1",
   "options": [
    {"execute_bytes": 10, "preload_bytes": 0, "preload_cycles": 0,
     "preload_link_cycles": 0, "execute_cycles": 5, "execute_link_cycles": 0},
    {"execute_bytes": 12, "preload_bytes": 0, "preload_cycles": 0,
     "preload_link_cycles": 0, "execute_cycles": 4, "execute_link_cycles": 0}]}]}
"""
ALLOCATION = """\
kind: allocation
capacity_bytes: 100
items:
  - name: a
    options:
      - {bytes: 10, cycles: 5}
"""


def refusal(tmp_path: Path, text: str, name: str = "p.json") -> str:
    """Return the one line with which a problem file is refused, without its folder."""
    file = tmp_path / name
    file.write_text(text)
    with pytest.raises(BadInputError) as refused:
        read_problem(file)
    message = str(refused.value)
    assert "\n" not in message
    return message.removeprefix(f"{tmp_path}/")


def test_a_schedule_problem_is_read_with_its_defaults(tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text(SCHEDULE)
    problem = read_problem(tmp_path / "p.json")
    assert problem == ScheduleProblem(
        sram_bytes=100,
        operators=(
            ScheduleOperator("op0", (ScheduleOption(0, 40, 20, 7, 3, 9, 4),), layer=0),
            ScheduleOperator(
                "op1",
                (
                    ScheduleOption(0, 10, 0, 0, 0, 5, 0),
                    ScheduleOption(1, 12, 0, 0, 0, 4, 0),
                ),
            ),
        ),
        name="p",
    )


def test_an_allocation_problem_is_read_from_yaml(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(ALLOCATION)
    items = (AllocationItem("a", (AllocationOption(10, 5),)),)
    assert read_problem(tmp_path / "a.yaml") == AllocationProblem(100, items, "a")


def test_options_without_a_plan_number_get_unused_ones(tmp_path: Path) -> None:
    option = {
        "execute_bytes": 1,
        "preload_bytes": 0,
        "preload_cycles": 0,
        "preload_link_cycles": 0,
        "execute_cycles": 1,
        "execute_link_cycles": 0,
    }
    options = [option, {**option, "execute_plan": 4}, option]
    operators = [{"name": "a", "options": options}]
    document = {"kind": "schedule", "sram_bytes": 1, "operators": operators}
    (tmp_path / "p.json").write_text(json.dumps(document))
    problem = read_problem(tmp_path / "p.json")
    assert isinstance(problem, ScheduleProblem)
    plans = [option.execute_plan for option in problem.operators[0].options]
    assert plans == [5, 4, 6]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        pytest.param(
            '"execute_bytes": 40',
            '"execute_bytes": -40',
            "p.json:6: operators[0] 'op0'.options[0].execute_bytes is -40, "
            "must be an integer from 0 to 10^15",
            id="negative size",
        ),
        pytest.param(
            '"execute_bytes": 40',
            '"execute_bytes": 40.0',
            "p.json:6: operators[0] 'op0'.options[0].execute_bytes is 40.0, "
            "must be an integer from 0 to 10^15",
            id="float",
        ),
        pytest.param(
            '"execute_bytes": 40',
            '"execute_bytes": 1' + "0" * 16,
            "p.json:6: operators[0] 'op0'.options[0].execute_bytes is "
            "10000000000000000, must be an integer from 0 to 10^15",
            id="overflows sums",
        ),
        pytest.param(
            '"execute_bytes": 40',
            '"execute_byte": 40',
            "p.json:6: unknown key operators[0] 'op0'.options[0].execute_byte "
            "(did you mean execute_bytes?)",
            id="unknown key",
        ),
        pytest.param(
            '"execute_bytes": 40, ',
            "",
            "p.json:6: operators[0] 'op0'.options[0].execute_bytes is missing, "
            "must be an integer from 0 to 10^15",
            id="missing key",
        ),
        pytest.param(
            '"preload_link_cycles": 3',
            '"preload_link_cycles": 8',
            "p.json:7: operators[0] 'op0'.options[0]: preload_link_cycles is 8, "
            "must be at most preload_cycles = 7",
            id="more link work than time",
        ),
        pytest.param(
            '"execute_link_cycles": 4',
            '"execute_link_cycles": 4, "compute_cycles": 5',
            "p.json:8: operators[0] 'op0'.options[0]: distribute_cycles, "
            "compute_cycles and exchange_cycles: give all three or none",
            id="one phase of three",
        ),
        pytest.param(
            '"execute_bytes": 12, "preload_bytes": 0',
            '"execute_bytes": 12, "preload_bytes": 1',
            "p.json:10: operator op1: some options preload and some do not",
            id="mixed streaming",
        ),
        pytest.param(
            '"op1"',
            '"op0"',
            "p.json:9: operators[1].name is 'op0', the name of operators[0] already; "
            "names must differ",
            id="two of one name",
        ),
        pytest.param(
            '"sram_bytes": 100',
            '"sram_bytes": 0',
            "p.json:1: sram_bytes is 0, must be an integer from 1 to 10^15",
            id="no SRAM",
        ),
        pytest.param(
            '"stretch"',
            '"strech"',
            "p.json:2: contention is 'strech', must be none, stretch or charge",
            id="contention rule",
        ),
        pytest.param(
            '"max_outstanding": null',
            '"max_outstanding": "all"',
            "p.json:1: max_outstanding is 'all', "
            "must be an integer from 0 to 10^15 or null",
            id="number or null",
        ),
        pytest.param(
            '"kind": "schedule"',
            '"kind": "shedule"',
            "p.json:1: kind is 'shedule', must be schedule, allocation, "
            "placement or fusion (did you mean schedule?)",
            id="kind",
        ),
        pytest.param(
            '"kind": "schedule", ',
            "",
            "p.json:1: kind is missing, must be schedule, allocation, placement or "
            "fusion",
            id="no kind",
        ),
        pytest.param(
            '"kind": "schedule"',
            '"kind": "schedule-plan"',
            "p.json:1: kind is 'schedule-plan', must be schedule, allocation, "
            "placement or fusion (this is a plan, a problem is expected)",
            id="a plan",
        ),
        pytest.param(
            '"layer": 0',
            '"option_set": 0',
            "p.json:4: operators[0] 'op0' has both of options and option_set, "
            "must have one",
            id="options twice",
        ),
    ],
)
def test_a_bad_schedule_problem_is_refused_in_one_line(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert old in SCHEDULE
    assert refusal(tmp_path, SCHEDULE.replace(old, new)) == message


def test_lists_must_not_be_empty(tmp_path: Path) -> None:
    head, tail = SCHEDULE.split('"operators": [', 1)
    assert refusal(tmp_path, head + '"operators": []}') == (
        "p.json:3: operators has 0 entries, must be a list of at least 1"
    )
    start, end = tail.index('"options": ['), tail.index("]}")
    empty = head + '"operators": [' + tail[:start] + '"options": [' + tail[end:]
    assert refusal(tmp_path, empty) == (
        "p.json:5: operators[0] 'op0'.options has 0 entries, "
        "must be a list of at least 1 or null"
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        pytest.param(
            "{bytes: 10",
            "{bytes: -1",
            "a.yaml:6: items[0] 'a'.options[0].bytes is -1, "
            "must be an integer from 0 to 10^15",
            id="negative size",
        ),
        pytest.param(
            "cycles: 5",
            "cycles: 5.5",
            "a.yaml:6: items[0] 'a'.options[0].cycles is 5.5, "
            "must be an integer from 0 to 10^15",
            id="float",
        ),
        pytest.param(
            "capacity_bytes",
            "capacity",
            "a.yaml:2: unknown key capacity (did you mean capacity_bytes?)",
            id="unknown key",
        ),
    ],
)
def test_a_bad_allocation_problem_is_refused_in_one_line(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert refusal(tmp_path, ALLOCATION.replace(old, new), "a.yaml") == message


def test_names_with_line_breaks_keep_the_message_on_one_line(tmp_path: Path) -> None:
    text = SCHEDULE.replace('"op1"', '"op\\n1"').replace(
        '"execute_bytes": 12, "preload_bytes": 0',
        '"execute_bytes": 12, "preload_bytes": 1',
    )
    assert refusal(tmp_path, text).endswith(
        "operator op\\n1: some options preload and some do not"
    )


def test_odd_keys_are_quoted(tmp_path: Path) -> None:
    text = SCHEDULE.replace('"layer"', '"la\\nyer"')
    assert refusal(tmp_path, text) == (
        "p.json:4: unknown key operators[0] 'op0'.'la\\nyer' (did you mean layer?)"
    )


def test_an_option_set_beyond_the_last_is_refused(tmp_path: Path) -> None:
    document = {
        "kind": "schedule",
        "sram_bytes": 1,
        "operators": [{"name": "a", "option_set": 0}],
    }
    assert refusal(tmp_path, json.dumps(document)) == (
        "p.json:1: operators[0] 'a'.option_set is 0, must be below 0, "
        "the number of option_sets"
    )


def test_a_folder_that_does_not_exist_cannot_be_written(tmp_path: Path) -> None:
    problem = AllocationProblem(1, (AllocationItem("a", (AllocationOption(1, 1),)),))
    with pytest.raises(BadInputError, match="cannot be written: No such file"):
        write_problem(tmp_path / "none" / "p.json", problem)


cycles = st.integers(0, 10**12)


@st.composite
def schedule_options(draw: st.DrawFn, streams: bool) -> ScheduleOption:
    distribute, compute, exchange = draw(cycles), draw(cycles), draw(cycles)
    phases = draw(st.booleans())
    preload = draw(st.integers(1, 10**12)) if streams else 0
    return ScheduleOption(
        execute_plan=draw(st.integers(0, 9)),
        execute_bytes=draw(cycles),
        preload_bytes=draw(cycles) if streams else 0,
        preload_cycles=preload,
        preload_link_cycles=draw(st.integers(0, preload)),
        execute_cycles=distribute + compute + exchange,
        execute_link_cycles=distribute + exchange,
        distribute_cycles=distribute if phases else None,
        compute_cycles=compute if phases else None,
        exchange_cycles=exchange if phases else None,
    )


@st.composite
def schedule_problems(draw: st.DrawFn) -> ScheduleProblem:
    shared = [
        tuple(draw(st.lists(schedule_options(streams), min_size=1, max_size=3)))
        for streams in (True, False)
    ]
    operators = [
        ScheduleOperator(
            name=name,
            options=draw(st.sampled_from(shared)),
            resident_bytes=draw(cycles),
            layer=draw(st.none() | st.integers(0, 99)),
        )
        for name in draw(
            st.lists(
                st.text(
                    st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8
                ),
                min_size=1,
                max_size=4,
                unique=True,
            )
        )
    ]
    return ScheduleProblem(
        sram_bytes=draw(st.integers(1, 10**12)),
        operators=tuple(operators),
        contention=draw(st.sampled_from(Contention)),
        link_stretch_permille=draw(st.integers(0, 2000)),
        max_outstanding=draw(st.none() | st.integers(0, 9)),
    )


@settings(derandomize=True, deadline=None)
@given(schedule_problems(), st.sampled_from(["p.json", "p.yaml"]))
def test_a_schedule_problem_written_and_read_is_the_same(
    tmp_path_factory: pytest.TempPathFactory, problem: ScheduleProblem, name: str
) -> None:
    file = tmp_path_factory.getbasetemp() / name
    write_problem(file, problem)
    again = read_problem(file)
    assert again == problem
    assert problem_hash(again) == problem_hash(problem)


option_lists = st.lists(
    st.builds(AllocationOption, cycles, cycles), min_size=1, max_size=3
)


@settings(derandomize=True, deadline=None)
@given(cycles, st.lists(option_lists, min_size=1, max_size=3))
def test_an_allocation_problem_written_and_read_is_the_same(
    tmp_path_factory: pytest.TempPathFactory,
    capacity: int,
    options: list[list[AllocationOption]],
) -> None:
    items = tuple(AllocationItem(f"i{i}", tuple(o)) for i, o in enumerate(options))
    problem = AllocationProblem(capacity, items)
    file = tmp_path_factory.getbasetemp() / "a.json"
    write_problem(file, problem)
    assert read_problem(file) == problem


@pytest.fixture
def problem(tmp_path: Path) -> ScheduleProblem:
    """Two operators, the first streams."""
    (tmp_path / "p.json").write_text(SCHEDULE)
    problem = read_problem(tmp_path / "p.json")
    assert isinstance(problem, ScheduleProblem)
    return problem


def test_shared_option_lists_are_written_once(problem: ScheduleProblem) -> None:
    twin = dataclasses.replace(problem.operators[0], name="twin")
    wider = dataclasses.replace(problem, operators=(*problem.operators, twin))
    document = problem_document(wider)
    sets, operators = document["option_sets"], document["operators"]
    assert isinstance(sets, list)
    assert isinstance(operators, list)
    assert len(sets) == 2
    assert [operator["option_set"] for operator in operators] == [0, 1, 0]
    assert "option_sets" not in problem_document(problem)


def changed(problem: ScheduleProblem, **fields: int) -> ScheduleProblem:
    """Return the problem with its first option changed."""
    first, *others = problem.operators
    values = dataclasses.asdict(first.options[0]) | fields
    option = ScheduleOption(**values)
    first = dataclasses.replace(first, options=(option,))
    return dataclasses.replace(problem, operators=(first, *others))


@pytest.mark.parametrize(
    "field",
    [
        "execute_bytes",
        "preload_bytes",
        "preload_cycles",
        "preload_link_cycles",
        "execute_cycles",
        "execute_link_cycles",
    ],
)
def test_the_hash_depends_on_every_number_of_an_option(
    problem: ScheduleProblem, field: str
) -> None:
    value = getattr(problem.operators[0].options[0], field)
    assert problem_hash(changed(problem, **{field: value + 1})) != problem_hash(problem)


def test_the_hash_depends_on_the_limits(problem: ScheduleProblem) -> None:
    replace = dataclasses.replace
    others = [
        replace(problem, sram_bytes=99),
        replace(problem, max_outstanding=1),
        replace(problem, contention=Contention.NONE),
        replace(problem, contention=Contention.CHARGE),
        replace(problem, link_stretch_permille=999),
        replace(problem, operators=problem.operators[::-1]),
    ]
    assert len({problem_hash(p) for p in [problem, *others]}) == len(others) + 1


def test_the_hash_ignores_names_plan_numbers_phases_and_idle_sigma(
    problem: ScheduleProblem,
) -> None:
    replace = dataclasses.replace
    assert problem_hash(replace(problem, name="x")) == problem_hash(problem)
    assert problem_hash(changed(problem, execute_plan=7)) == problem_hash(problem)
    phases = {"distribute_cycles": 1, "compute_cycles": 5, "exchange_cycles": 3}
    assert problem_hash(changed(problem, **phases)) == problem_hash(problem)
    idle = replace(problem, contention=Contention.NONE)
    assert problem_hash(idle) == problem_hash(replace(idle, link_stretch_permille=1))


def test_payloads_stay_out_of_problem_files(
    problem: ScheduleProblem, tmp_path: Path
) -> None:
    option = problem.operators[0].options[0]
    payload = OptionPayload((), (), 1, 1, 0, 0, 0, 0)
    first = dataclasses.replace(
        problem.operators[0], options=(dataclasses.replace(option, payload=payload),)
    )
    loaded = dataclasses.replace(problem, operators=(first, *problem.operators[1:]))
    assert problem_document(loaded) == problem_document(problem)
    write_problem(tmp_path / "q.json", loaded)
    assert read_problem(tmp_path / "q.json") == problem
