"""Addresses of a schedule's buffers, and planning again where there are none."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fakes.methods import EARLY, PROBLEM, Fake, entry
from fakes.said import Said

from elkhound.experiments import compare
from elkhound.experiments.addresses import address_violations, with_addresses
from elkhound.experiments.methods import SCHEDULE
from elkhound.model.errors import BadInputError
from elkhound.model.io import read_plan, write_plan, write_problem
from elkhound.model.limits import Limits
from elkhound.model.placement import Addresses, Buffer
from elkhound.model.referee import judge
from elkhound.model.result import Bound, BoundKind, OrderClass, Result, Status
from elkhound.model.schedule import (
    Contention,
    Schedule,
    ScheduleOperator,
    ScheduleOption,
    ScheduleProblem,
)


def option(execute_bytes: int, preload_bytes: int, cycles: int = 10) -> ScheduleOption:
    return ScheduleOption(
        execute_plan=cycles,
        execute_bytes=execute_bytes,
        preload_bytes=preload_bytes,
        preload_cycles=5,
        preload_link_cycles=0,
        execute_cycles=cycles,
        execute_link_cycles=0,
    )


def operator(name: str, *options: ScheduleOption) -> ScheduleOperator:
    return ScheduleOperator(name, options)


# With gates 0, 1, 0, 1, 2 all 7 B are taken at every step, and CP-SAT refutes every
# placement of P.a … P.e and W.a … W.e.
CROWDED = ScheduleProblem(
    sram_bytes=7,
    operators=(
        operator("a", option(6, 3)),
        operator("b", option(2, 2)),
        operator("c", option(2, 1)),
        operator("d", option(6, 4)),
        operator("e", option(7, 1), option(5, 1, cycles=90)),
    ),
    contention=Contention.NONE,
)
FULL = Schedule(gates=(0, 1, 0, 1, 2), options=(0, 0, 0, 0, 0))
ON_DEMAND = Schedule(gates=(0, 1, 2, 3, 4), options=(0, 0, 0, 0, 1))  # at most 6 B


class Planner:
    """Returns FULL where it fits, else `smaller`."""

    name = "planner"

    def __init__(self, smaller: Schedule | None) -> None:
        self.smaller = smaller
        self.asked: list[int] = []

    def solve(
        self, problem: ScheduleProblem, limits: Limits[Schedule]
    ) -> Result[Schedule]:
        self.asked.append(problem.sram_bytes)
        plan = FULL if problem.sram_bytes >= 7 else self.smaller
        if plan is None:
            return Result("planner", Status.UNKNOWN)
        return Result(
            "planner",
            Status.OPTIMAL if plan is FULL else Status.FEASIBLE,
            plan,
            judge(problem, plan).objective,
            bound=Bound(
                50, BoundKind.PROOF, OrderClass.free(), contention=Contention.NONE
            ),
            order=OrderClass.free(),
        )


def test_every_buffer_of_a_plan_gets_an_address() -> None:
    fake = Fake("fake", lambda limits: Result("fake", Status.UNKNOWN))
    result = Result("fake", Status.FEASIBLE, EARLY, 15)
    found = with_addresses(fake, PROBLEM, result, Limits())
    assert found.note == ""
    assert found.result is result
    assert found.addresses is not None
    assert {b.name for b in found.addresses.buffers} == {"P.a", "P.b", "P.c"}
    assert address_violations(PROBLEM, EARLY, found.addresses) == ()


def test_a_plan_without_placement_is_planned_again() -> None:
    planner = Planner(ON_DEMAND)
    first = planner.solve(CROWDED, Limits())
    found = with_addresses(planner, CROWDED, first, Limits())
    assert planner.asked == [7, 6]
    assert found.result.plan == ON_DEMAND
    assert found.result.status is Status.FEASIBLE  # FULL was called optimal
    assert found.result.bound == first.bound
    assert found.addresses is not None
    assert address_violations(CROWDED, ON_DEMAND, found.addresses) == ()
    assert found.note.startswith(
        f"its first plan of {first.objective} cycles has no addresses: proved not to "
        "fit in 7 B per core: buffers "
    )
    assert " share " in found.note
    assert found.note.endswith("; this one is planned for 6 B")


def test_a_plan_is_kept_where_planning_again_does_not_help() -> None:
    planner = Planner(None)
    first = planner.solve(CROWDED, Limits())
    found = with_addresses(planner, CROWDED, first, Limits())
    assert found.result is first
    assert found.addresses is None
    assert found.note.startswith(f"its plan of {first.objective} cycles has no ")
    assert "proved not to fit in 7 B" in found.note


def test_a_plan_is_kept_where_nothing_is_proved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("elkhound.experiments.addresses.NODES", 1)
    planner = Planner(ON_DEMAND)
    first = planner.solve(CROWDED, Limits())
    found = with_addresses(planner, CROWDED, first, Limits())
    assert planner.asked == [7]
    assert found.result is first
    assert found.addresses is None
    assert "found none in" in found.note


def test_what_simply_fits_is_not_searched_for(monkeypatch: pytest.MonkeyPatch) -> None:
    # 300 operators, each preload issued three executes ahead: 600 buffers, which a
    # search of one node cannot place.
    monkeypatch.setattr("elkhound.experiments.addresses.NODES", 1)
    many = ScheduleProblem(
        sram_bytes=100,
        operators=tuple(operator(f"op{j}", option(30, 20)) for j in range(300)),
        contention=Contention.NONE,
    )
    ahead = Schedule(tuple(max(0, j - 3) for j in range(300)), (0,) * 300)
    fake = Fake("fake", lambda limits: Result("fake", Status.UNKNOWN))
    result = Result("fake", Status.FEASIBLE, ahead, judge(many, ahead).objective)
    found = with_addresses(fake, many, result, Limits())
    assert found.addresses is not None
    assert len(found.addresses.buffers) == 600
    assert address_violations(many, ahead, found.addresses) == ()


def test_the_row_says_which_buffers_collide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SCHEDULE, "planner", entry(Planner(ON_DEMAND)))
    table = compare(CROWDED, ["planner"])
    (row,) = table.rows
    assert table.contradictions == ()
    assert row.verified is True
    assert row.objective == judge(CROWDED, ON_DEMAND).objective
    assert row.status is Status.FEASIBLE
    assert "proved not to fit in 7 B per core: buffers" in row.reason


HELD = ScheduleProblem(
    sram_bytes=100,
    operators=(
        operator("a", option(30, 10)),
        ScheduleOperator("b", (option(20, 10),), resident_bytes=7),
        operator("c", option(30, 10)),
    ),
    contention=Contention.NONE,
)
HELD_PLAN = Schedule(gates=(0, 1, 2), options=(0, 0, 0))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param(
            lambda b, o: (b, (o[0], o[0], *o[2:])), "buffers P.a and W.a", id="same"
        ),
        pytest.param(lambda b, o: (b[1:], o[1:]), "buffer P.a has no address", id="no"),
        pytest.param(
            lambda b, o: ((*b, Buffer("P.z", 0, 1, 3)), (*o, 90)),
            "buffer P.z is not of the plan: it has address",
            id="foreign",
        ),
        pytest.param(
            lambda b, o: ((*b, Buffer("R.more", 1, 2, 3)), (*o, 90)),
            "10 bytes at step 1, must be resident_bytes = 7",
            id="held",
        ),
    ],
)
def test_addresses_are_judged(
    change: Callable[[Any, Any], tuple[Any, Any]], message: str
) -> None:
    fake = Fake("fake", lambda limits: Result("fake", Status.UNKNOWN))
    result = Result("fake", Status.FEASIBLE, HELD_PLAN, 45)
    held = (Buffer("R.skip", 1, 2, 7),)
    good = with_addresses(fake, HELD, result, Limits(), held).addresses
    assert good is not None
    assert "R.skip" in {b.name for b in good.buffers}
    assert address_violations(HELD, HELD_PLAN, good) == ()
    place = {b.name: k for k, b in enumerate(good.buffers)}
    assert (place["P.a"], place["W.a"]) == (0, 1)
    bad = Addresses(*change(good.buffers, good.offsets))
    (line,) = address_violations(HELD, HELD_PLAN, bad)
    assert message in line


def test_plan_files_keep_addresses(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    addresses = Addresses((Buffer("P.a", 0, 1, 10), Buffer("W.a", 0, 1, 20)), (5, 15))
    write_plan(path, HELD, HELD_PLAN, addresses=addresses)
    assert read_plan(path).addresses == addresses
    write_plan(path, HELD, HELD_PLAN)
    assert read_plan(path).addresses is None


def test_an_address_that_makes_no_sense_is_refused_by_line(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    addresses = Addresses((Buffer("P.a", 0, 1, 10), Buffer("W.a", 0, 1, 20)), (5, 15))
    write_plan(path, HELD, HELD_PLAN, addresses=addresses)
    text = path.read_text()
    path.write_text(text.replace('"offset": 15', '"offset": -15'))
    with pytest.raises(BadInputError, match=r"plan.json:\d+: addresses\[1\] 'W.a'.off"):
        read_plan(path)
    path.write_text(text.replace('"name": "W.a"', '"name": "P.a"'))
    with pytest.raises(BadInputError, match=r"addresses: two are called P\.a"):
        read_plan(path)


def test_plan_writes_addresses_and_evaluate_judges_them(
    say: Callable[..., Said],
) -> None:
    write_problem("held.json", HELD)
    said = say("plan", "held.json", "--method", "basic", "--output", "plan.json")
    assert said.status == 0
    document = json.loads(Path("plan.json").read_text())
    assert "R.0" in {buffer["name"] for buffer in document["addresses"]}
    assert say("evaluate", "--plan", "plan.json").status == 0
    for buffer in document["addresses"]:
        buffer["offset"] = 0
    Path("plan.json").write_text(json.dumps(document))
    bad = say("evaluate", "--plan", "plan.json", "--json")
    assert bad.status == 5
    assert json.loads(bad.out)["verified"] is False
    assert "share" in json.loads(bad.out)["violations"][0]
