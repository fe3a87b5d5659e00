"""Generated problems are repeatable, feasible, and press where their name says."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from itertools import product

import pytest

from elkhound.model.allocation import Allocation, AllocationProblem
from elkhound.model.errors import BadInputError
from elkhound.model.instances import (
    ADVERSARIAL,
    ALLOCATION_FAMILIES,
    KINDS,
    SCHEDULE_FAMILIES,
    adversarial_schedule,
    families,
    generate_problem,
    least_sram_bytes,
    overshoot,
    random_allocation,
    random_schedule,
)
from elkhound.model.referee import judge, judge_allocation
from elkhound.model.schedule import Contention, Schedule, ScheduleProblem

SEEDS = range(8)


def makespans(problem: ScheduleProblem) -> dict[Schedule, int]:
    """Every feasible plan of a tiny problem, by the referee."""
    gates = [
        range(j + 1) if operator.streams else (None,)
        for j, operator in enumerate(problem.operators)
    ]
    options = [range(len(operator.options)) for operator in problem.operators]
    plans = [Schedule(g, o) for g in product(*gates) for o in product(*options)]
    worth = {plan: judge(problem, plan).objective for plan in plans}
    return {plan: value for plan, value in worth.items() if value is not None}


def one_by_one(problem: ScheduleProblem) -> Schedule:
    """The plan that keeps nothing outstanding, in the options of least space."""
    return Schedule(
        tuple(j if o.streams else None for j, o in enumerate(problem.operators)),
        tuple(
            min(
                range(len(o.options)),
                key=lambda q: max(
                    o.options[q].execute_bytes,
                    o.options[q].preload_bytes,
                ),
            )
            for o in problem.operators
        ),
    )


@pytest.mark.parametrize("family", SCHEDULE_FAMILIES)
@pytest.mark.parametrize("size", [1, 2, 7, 40])
def test_a_schedule_problem_has_a_plan_exactly_when_asked(
    family: str, size: int
) -> None:
    for seed in SEEDS:
        problem = random_schedule(seed, size, family, max_outstanding=0)
        assert judge(problem, one_by_one(problem)).feasible
        tight = random_schedule(seed, size, family, feasible=False)
        assert tight.sram_bytes == least_sram_bytes(tight.operators) - 1
        assert not judge(tight, one_by_one(tight)).feasible


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_gives_the_same_problem_in_another_process(kind: str) -> None:
    script = (
        "import json; from dataclasses import asdict;"
        "from elkhound.model.instances import families, generate_problem;"
        f"print(json.dumps([asdict(generate_problem({kind!r}, 6, 3, family=f))"
        f" for f in families({kind!r})]))"
    )
    there = subprocess.run(
        [sys.executable, "-c", script],
        check=True,
        capture_output=True,
        text=True,
        env={"PYTHONHASHSEED": "12345", "PYTHONPATH": ":".join(sys.path)},
    ).stdout
    here = [asdict(generate_problem(kind, 6, 3, family=f)) for f in families(kind)]
    assert json.loads(there) == json.loads(json.dumps(here))


def test_seeds_and_families_differ() -> None:
    problems = [
        random_schedule(seed, 5, family)
        for seed in SEEDS
        for family in SCHEDULE_FAMILIES
    ]
    assert len(set(problems)) == len(problems)


def test_rule_and_limit_do_not_change_the_numbers_drawn() -> None:
    plain = random_schedule(1, 5)
    charged = random_schedule(1, 5, contention=Contention.CHARGE, max_outstanding=1)
    assert charged.operators == plain.operators
    assert charged.sram_bytes == plain.sram_bytes


def test_families_press_where_their_name_says() -> None:
    def all_options(family: str) -> list[tuple[ScheduleProblem, int, int]]:
        problems = [random_schedule(seed, 12, family) for seed in SEEDS]
        return [(p, i, q) for p in problems for i in range(12) for q in (0, -1)]

    def option_sum(family: str, field: str) -> int:
        return sum(
            getattr(p.operators[i].options[q], field) for p, i, q in all_options(family)
        )

    hbm, work = "preload_cycles", "execute_cycles"
    assert option_sum("hbm-bound", hbm) > 1.2 * option_sum("hbm-bound", work)
    assert option_sum("balanced", hbm) < 1.2 * option_sum("balanced", work)
    exchange = "execute_link_cycles"
    assert option_sum("link-bound", exchange) > 0.5 * option_sum("link-bound", work)
    assert option_sum("balanced", exchange) < 0.5 * option_sum("balanced", work)
    for seed in SEEDS:
        tight, roomy = (
            random_schedule(seed, 12, f) for f in ("tight-sram", "balanced")
        )
        assert tight.sram_bytes - least_sram_bytes(tight.operators) < 12 * 40 * 0.15
        assert roomy.sram_bytes > least_sram_bytes(roomy.operators)
        idle = random_schedule(seed, 12, "idle-mixed")
        assert 0 < len(idle.streaming) < 12
        assert any(
            o.resident_bytes for o in random_schedule(seed, 12, "resident").operators
        )


def test_only_the_unstructured_family_preloads_more_than_it_executes_in() -> None:
    def has_bulky_preloads(family: str) -> bool:
        return any(
            option.preload_bytes > option.execute_bytes
            for seed in SEEDS
            for operator in random_schedule(seed, 12, family).operators
            for option in operator.options
        )

    assert [f for f in SCHEDULE_FAMILIES if has_bulky_preloads(f)] == ["unstructured"]


def test_layers_repeat_one_block() -> None:
    operators = random_schedule(0, 12, "layers").operators
    assert [operator.layer for operator in operators] == [0] * 4 + [1] * 4 + [2] * 4
    assert operators[0].options == operators[4].options == operators[8].options


def test_options_count_execute_plans_times_preload_states() -> None:
    operator = random_schedule(0, 1, options=(3, 2)).operators[0]
    assert [option.execute_plan for option in operator.options] == [0, 0, 1, 1, 2, 2]
    assert [option.preload_bytes for option in operator.options][::2] == [
        operator.options[0].preload_bytes
    ] * 3


@pytest.mark.parametrize(
    ("name", "optimum", "identity_optimum"),
    [
        # arithmetic in each problem's docstring
        pytest.param("one-ahead", 59, 59, id="one-ahead"),
        pytest.param("fixed-split", 60, 60, id="fixed-split"),
        pytest.param("reordered", 82, 137, id="reordered"),
        pytest.param("stretch-trap", 135, 135, id="stretch-trap"),
        pytest.param("frozen-choice", 65, 65, id="frozen-choice"),
    ],
)
def test_hand_made_problems_have_their_stated_optimum(
    name: str, optimum: int, identity_optimum: int
) -> None:
    problem = adversarial_schedule(name)
    worth = makespans(problem)
    in_order = [
        v for p, v in worth.items() if judge(problem, p).order.name == "identity"
    ]
    assert (min(worth.values()), min(in_order)) == (optimum, identity_optimum)
    assert problem.name == name
    assert name in ADVERSARIAL


@pytest.mark.parametrize("family", ALLOCATION_FAMILIES)
def test_an_allocation_problem_has_a_plan_and_needs_a_choice(family: str) -> None:
    for seed in SEEDS:
        problem = random_allocation(seed, 4, family, options=10)
        smallest = Allocation((0,) * 4)
        largest = Allocation(tuple(len(item.options) - 1 for item in problem.items))
        assert judge_allocation(problem, smallest).feasible
        if smallest != largest:
            assert not judge_allocation(problem, largest).feasible
        for item in problem.items:
            cycles = [option.cycles for option in item.options]
            assert cycles == sorted(set(cycles), reverse=True)


def test_overshoot_has_optimum_three_and_a_ruinous_neighbour() -> None:
    problem = overshoot(1000)
    worth = {
        choice: judge_allocation(problem, Allocation(choice)).objective
        for choice in product((0, 1), repeat=2)
    }
    # A large and B large: 1001 B do not fit; A large, B small: 1 + 2; A small: 1000 + 1
    assert worth == {(1, 1): None, (1, 0): 3, (0, 1): 1001, (0, 0): 1002}


def test_generate_takes_the_first_family_unless_told() -> None:
    assert generate_problem("schedule", 5, 7) == random_schedule(7, 5)
    assert generate_problem("allocation", 5, 7) == random_allocation(7, 5)
    assert generate_problem("allocation", 50, family="overshoot") == overshoot(50)
    made = generate_problem("schedule", 99, family="reordered")
    assert isinstance(made, ScheduleProblem)
    assert made == adversarial_schedule("reordered")
    assert isinstance(generate_problem("allocation", 1), AllocationProblem)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(
            ("scedule", 3), r"kind scedule is unknown \(did you mean sched", id="kind"
        ),
        pytest.param(("schedule", 0), "size: 0, must be at least 1", id="size"),
        pytest.param(("allocation", -1), "size: -1, must be at least 1", id="items"),
    ],
)
def test_a_problem_that_cannot_be_made_is_refused(
    arguments: tuple[str, int], message: str
) -> None:
    with pytest.raises(BadInputError, match=message):
        generate_problem(*arguments)


def test_an_unknown_family_is_refused_with_the_nearest() -> None:
    with pytest.raises(BadInputError, match="did you mean hbm-bound"):
        generate_problem("schedule", 3, family="hbm-bond")
    with pytest.raises(BadInputError, match="did you mean convex"):
        random_allocation(0, 3, "convx")
    with pytest.raises(BadInputError, match="did you mean layers"):
        random_schedule(0, 3, "layer")
    with pytest.raises(BadInputError, match="did you mean reordered"):
        adversarial_schedule("reorderd")
    with pytest.raises(BadInputError, match="execute plans: 0, must be at least 1"):
        random_schedule(0, 3, options=(0, 1))
    with pytest.raises(BadInputError, match="options: 0, must be at least 1"):
        generate_problem("schedule", 3, options=0)
    with pytest.raises(BadInputError, match="scale: 2, must be at least 3"):
        overshoot(2)
