"""Everything that computes the same number must compute the same number."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from oracles.cases import GROUPS, Group
from oracles.plans import all_plans, plan_count
from oracles.replay import replay

from elkhound.model.instances import SCHEDULE_FAMILIES, random_schedule
from elkhound.model.referee import judge
from elkhound.model.schedule import Contention, Schedule, ScheduleProblem
from elkhound.model.timing import fits, timeline

every_group = pytest.mark.parametrize("group", GROUPS, ids=str)


def test_the_suite_covers_every_rule_with_and_without_a_limit() -> None:
    sizes = [plan_count(problem) for group in GROUPS for problem in group.problems()]
    assert len(sizes) >= 300
    assert max(sizes) == 3840
    assert {(g.contention, g.limited) for g in GROUPS} == {
        (rule, limited) for rule in Contention for limited in (False, True)
    }
    problems = [problem for group in GROUPS for problem in group.problems()]
    assert len(set(problems)) == len(problems)


@every_group
def test_referee_timing_and_replay_agree_on_every_plan(group: Group) -> None:
    for problem in group.problems():
        for plan in all_plans(problem):
            assert_same_to_the_cycle(problem, plan)


@pytest.mark.parametrize("contention", Contention)
def test_referee_timing_and_replay_agree_on_random_plans_of_larger_problems(
    contention: Contention,
) -> None:
    random = Random(1)
    for family in SCHEDULE_FAMILIES:
        problem = random_schedule(2, 40, family, contention=contention)
        for reach in (1, 3, 40):
            gates = tuple(
                random.randint(max(0, j - reach), j) if operator.streams else None
                for j, operator in enumerate(problem.operators)
            )
            options = tuple(random.randrange(len(o.options)) for o in problem.operators)
            plan = Schedule(gates, options)
            needed = max(judge(problem, plan).occupancy_bytes)
            for sram_bytes in (needed - 1, needed):
                assert_same_to_the_cycle(replace(problem, sram_bytes=sram_bytes), plan)


def assert_same_to_the_cycle(problem: ScheduleProblem, plan: Schedule) -> None:
    """Compare every time, the peak of SRAM and feasibility of the three evaluators."""
    verdict = judge(problem, plan)
    times = timeline(problem, plan)
    log = replay(problem, plan)
    told = f"{problem}\n{plan}"
    assert verdict.feasible == fits(problem, plan) == log.fits, told
    assert verdict.execute_start == times.execute_start, told
    assert verdict.execute_end == times.execute_end, told
    assert verdict.preload_start == times.preload_start, told
    assert verdict.preload_end == times.preload_end, told
    assert dict(enumerate(times.execute_start)) == log.execute_start, told
    assert dict(enumerate(times.execute_end)) == log.execute_end, told
    started = {j: s for j, s in enumerate(times.preload_start) if s is not None}
    ended = {j: e for j, e in enumerate(times.preload_end) if e is not None}
    assert (started, ended) == (log.preload_start, log.preload_end), told
    assert max(verdict.occupancy_bytes) == log.peak_bytes, told
    assert verdict.objective == (times.makespan if log.fits else None), told
