"""Basic, Static and Elk-Dyn on problems small enough to plan by hand.

Every case has 100 bytes of SRAM unless it says otherwise.
"""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from elkhound.heuristics.allocation import DeltaEfficiency
from elkhound.heuristics.schedule import Basic, ElkDyn, Static
from elkhound.heuristics.schedule.static import earliest_gates
from elkhound.model.limits import Limits
from elkhound.model.result import Method, Result, Status
from elkhound.model.schedule import (
    Contention,
    Schedule,
    ScheduleOperator,
    ScheduleOption,
    ScheduleProblem,
)

LIMITS: Limits[Schedule] = Limits(seconds=600, workers=1)


def option(
    execute: tuple[int, int],
    preload: tuple[int, int] = (0, 0),
    *,
    links: tuple[int, int] = (0, 0),
    plan: int = 0,
) -> ScheduleOption:
    """Return an option from (bytes, cycles) of execute and preload.

    Parameters
    ----------
    links : tuple of int
        X and Y: link cycles of execute and preload.
    """
    return ScheduleOption(
        execute_plan=plan,
        execute_bytes=execute[0],
        execute_cycles=execute[1],
        preload_bytes=preload[0],
        preload_cycles=preload[1],
        execute_link_cycles=links[0],
        preload_link_cycles=links[1],
    )


def problem(
    *operators: list[ScheduleOption],
    sram_bytes: int = 100,
    contention: Contention = Contention.NONE,
    limit: int | None = None,
) -> ScheduleProblem:
    """Return a problem of operators a, b, c, …"""
    named = tuple(
        ScheduleOperator(name, tuple(choices))
        for name, choices in zip("abcdef", operators, strict=False)
    )
    return ScheduleProblem(
        sram_bytes, named, contention, link_stretch_permille=1000, max_outstanding=limit
    )


def solved(
    heuristic: Method[ScheduleProblem, Schedule], case: ScheduleProblem
) -> Result[Schedule]:
    """Return the result, which must be a plan."""
    result = heuristic.solve(case, LIMITS)
    assert result.status is Status.FEASIBLE
    assert result.plan is not None
    return result


def elk_dyn() -> ElkDyn:
    """Return the paper's planner."""
    return ElkDyn(DeltaEfficiency())


def one_ahead_case(sram_bytes: int) -> ScheduleProblem:
    """Build three operators of which each leaves room for one preload."""
    return problem(
        [option((60, 10), (10, 4)), option((55, 14), (10, 4), plan=1)],
        [option((70, 5), (50, 8)), option((40, 9), (40, 8), plan=1)],
        [option((50, 3), (40, 6))],
        sram_bytes=sram_bytes,
    )


def test_basic_executes_as_fast_as_fits_beside_the_next_preload() -> None:
    result = solved(Basic(), one_ahead_case(100))
    # c alone: 50. b beside P_c (40): 70 does not fit, 40 does. a beside P_b (40): 60.
    assert result.plan == Schedule((0, 0, 1), (0, 1, 0))
    # P_a 0–4, P_b 4–12, E_a 4–14, P_c 14–20, E_b 14–23, E_c 23–26.
    assert result.objective == 26


def test_basic_lets_a_preload_wait_where_nothing_fits_beside_it() -> None:
    result = solved(Basic(), one_ahead_case(90))
    # a beside P_b (40): 60 and 55 are both too large for 50. P_b waits for E_a, which
    # then takes its fastest option.
    assert result.plan == Schedule((0, 1, 1), (0, 1, 0))
    # P_a 0–4, E_a 4–14, P_b 14–22, P_c 22–28, E_b 22–31, E_c 31–34.
    assert result.objective == 34
    assert result.statistics["postponed"] == 1


def test_basic_preloads_nothing_beside_an_execute_if_none_may_be_outstanding() -> None:
    case = problem([option((10, 5), (10, 2))], [option((10, 5), (10, 3))], limit=0)
    result = solved(Basic(), case)
    assert result.plan == Schedule((0, 1), (0, 0))
    assert result.objective == 2 + 5 + 3 + 5


def test_basic_counts_only_operators_that_have_a_preload() -> None:
    case = problem(
        [option((10, 5), (10, 2))],
        [option((10, 7))],
        [option((10, 5), (10, 9))],
    )
    result = solved(Basic(), case)
    # P_c one ahead of c means beside E_a, past b: P_c 2–11, E_a 2–7, E_b 7–14, E_c –19.
    assert result.plan == Schedule((0, None, 0), (0, 0, 0))
    assert result.objective == 19


def test_static_keeps_one_split_and_refines_it() -> None:
    # C = 3700, so the 37 splits are E = 100, 200, …. With E < 1450 a takes 20 cycles,
    # from 1450 on 18, from 1550 on 10; b needs P ≥ 2150, that is E ≤ 1550, or takes
    # 50 cycles. P_b (5) is hidden beside E_a, so the first round's best is E = 1500:
    # 18 + 5. Half way to its neighbour, E = 1550 gives 10 + 5.
    case = problem(
        [
            option((1550, 10)),
            option((1450, 18), plan=1),
            option((100, 20), plan=2),
        ],
        [option((100, 5), (2150, 5)), option((100, 50), (100, 5))],
        sram_bytes=3700,
    )
    result = solved(Static(), case)
    assert result.plan == Schedule((None, 0), (0, 0))
    assert result.objective == 15
    assert result.statistics["execute_space_bytes"] == 1550


def test_static_finds_the_only_split_between_the_37() -> None:
    # b asks for 50 + 50, and 100 k / 37 is never 50. Then a has 50 at most: 20 cycles,
    # beside which P_b (15) is hidden.
    case = problem(
        [option((80, 10)), option((40, 20), plan=1)],
        [option((50, 5), (50, 15))],
    )
    result = solved(Static(), case)
    assert result.plan == Schedule((None, 0), (1, 0))
    assert result.objective == 25
    assert result.statistics["execute_space_bytes"] == 50


def test_static_knows_nothing_if_no_split_serves_all() -> None:
    # a wants E ≥ 80, b wants P ≥ 50; one after the other they would fit.
    case = problem([option((80, 10))], [option((60, 5), (50, 15))])
    result = Static().solve(case, LIMITS)
    assert (result.status, result.plan) == (Status.UNKNOWN, None)


def test_static_issues_preloads_as_early_as_the_space_for_them_allows() -> None:
    # E = P = 50: P_b and P_c (20 each) fit from the start, P_d only when E_b has ended.
    case = problem(
        [option((50, 9))],
        [option((50, 9), (20, 5))],
        [option((50, 9), (20, 5))],
        [option((50, 9), (20, 5))],
    )
    gates = earliest_gates(case, [0, 0, 0, 0], 50)
    assert gates == (None, 0, 0, 1)
    assert earliest_gates(case, [0, 0, 0, 0], 60) == (None, 0, 0, 1)  # E_a leaves 50
    assert earliest_gates(case, [0, 0, 0, 0], 39) == (None, 0, 1, 2)


@st.composite
def gate_cases(draw: st.DrawFn) -> tuple[ScheduleProblem, int]:
    """Draw up to 8 operators of one option that fit alone, and a preload space."""
    operators = []
    for i in range(draw(st.integers(1, 8))):
        size_bytes = draw(st.integers(0, 9))
        preload = (draw(st.integers(0, 9)), 1) if draw(st.booleans()) else (0, 0)
        operators.append(
            ScheduleOperator(
                f"op{i}",
                (option((size_bytes, 1), preload),),
                draw(st.integers(0, 3)),
            )
        )
    limit = draw(st.sampled_from([None, 0, 1, 2]))
    case = ScheduleProblem(
        draw(st.integers(12, 30)), tuple(operators), max_outstanding=limit
    )
    return case, draw(st.integers(0, 30))


@given(gate_cases())
@settings(derandomize=True, deadline=None, max_examples=400)
def test_no_gate_of_static_could_be_smaller(case: tuple[ScheduleProblem, int]) -> None:
    given_problem, space_bytes = case
    operators = given_problem.operators
    expected: list[int | None] = [None] * len(operators)

    def allowed(j: int, gate: int) -> bool:
        """Whether P_j fits beside E_i for i = gate … j − 1, by the rows."""
        for i in range(gate, j):
            beside = [j] + [
                k
                for k in range(i + 1, j)
                if expected[k] is not None and (expected[k] or 0) <= i
            ]
            own = operators[i].options[0]
            room_bytes = min(
                space_bytes,
                given_problem.sram_bytes
                - operators[i].resident_bytes
                - max(own.execute_bytes, own.preload_bytes),
            )
            if sum(operators[k].options[0].preload_bytes for k in beside) > room_bytes:
                return False
            limit = given_problem.max_outstanding
            if limit is not None and len(beside) > limit:
                return False
        return True

    before = 0
    for j, operator in enumerate(operators):
        if operator.streams:
            before = next(g for g in range(before, j + 1) if allowed(j, g))
            expected[j] = before
    zeros = [0] * len(operators)
    assert earliest_gates(given_problem, zeros, space_bytes) == tuple(expected)


def three_preloads(limit: int | None = None) -> ScheduleProblem:
    """Build three operators of one option; the last preload is long."""
    return problem(
        [option((20, 50), (10, 2))],
        [option((20, 2), (10, 3))],
        [option((40, 5), (40, 30))],
        limit=limit,
    )


def test_elk_dyn_covers_what_delays_the_start_least() -> None:
    # Backwards from 0. E_c −5, P_c −35.
    # E_b: p = 0 ends at P_c: −37; p = 1 ends at E_c: −7. P_b ends at P_c: −38.
    # E_a: p = 0 ends at P_b: −88; p = 1 at P_c: −85; p = 2 (20 + 10 + 40 bytes) at E_b:
    # −57. P_a ends at P_b: −40; so the program begins at −57.
    result = solved(elk_dyn(), three_preloads())
    assert result.plan == Schedule((0, 0, 0), (0, 0, 0))
    # Forwards P_a 0–2, P_b –5, P_c –35, E_a 2–52, E_b –54, E_c –59: P_a must precede
    # E_a, and so P_a ends at −57 and begins at −59 also backwards.
    assert result.objective == 59
    assert result.statistics["backward_cycles"] == 59


def test_elk_dyn_covers_no_more_than_it_gains_from() -> None:
    # E_b (50) hides P_c (3) whole: E_c −5, P_c −8, E_b −55 with p = 1. E_a ends when
    # E_b starts whether it covers P_c or not, so it does not: −60.
    case = problem([option((20, 5))], [option((20, 50))], [option((20, 5), (20, 3))])
    result = solved(elk_dyn(), case)
    assert result.plan == Schedule((None, None, 1), (0, 0, 0))
    assert result.objective == 60


def test_elk_dyn_keeps_to_the_limit_on_outstanding_preloads() -> None:
    # As above with p ≤ 1: E_a −85; P_a ends there: −87.
    result = solved(elk_dyn(), three_preloads(limit=1))
    assert result.plan == Schedule((0, 0, 1), (0, 0, 0))
    # P_a 0–2, P_b –5, E_a 2–52, P_c 52–82, E_b 52–54, E_c 82–87.
    assert result.objective == 87


def test_elk_dyn_leaves_a_preload_alone_that_would_stretch_too_much() -> None:
    # E_b −10, P_b −30. E_a: p = 0 ends at −30 and takes 100: −130; p = 1 ends at −10
    # but takes 100 + 100: −210.
    case = problem(
        [option((20, 100), (10, 5), links=(100, 2))],
        [option((20, 10), (10, 20), links=(10, 10))],
        contention=Contention.STRETCH,
    )
    result = solved(elk_dyn(), case)
    assert result.plan == Schedule((0, 1), (0, 0))
    assert result.objective == 5 + 100 + 20 + 10


def test_a_preload_that_uses_no_link_stretches_nothing() -> None:
    case = problem(
        [option((20, 100), (10, 5), links=(100, 2))],
        [option((20, 10), (10, 20), links=(10, 0))],
        contention=Contention.STRETCH,
    )
    result = solved(elk_dyn(), case)
    assert result.plan == Schedule((0, 0), (0, 0))
    assert result.objective == 5 + 100 + 10  # P_b 5–25 beside E_a 5–105


@pytest.mark.parametrize(
    ("link_cycles", "gate", "makespan"),
    [
        # E_c −1, P_c −9. E_b (10, of them 5 on links): p = 1 books 8 more on the
        # links, 13, ends at −1: −14; p = 0 ends at −9: −19. So p = 1.
        # E_a (20): p = 0 leaves P_c to E_b: −14 − 20 = −34. p = 1 takes it over: E_b
        # settles at −1 − 10 = −11, E_a has max(20, X + 8).
        pytest.param(2, 0, 31, id="taken-over"),  # 20: −31
        pytest.param(16, 1, 34, id="left"),  # 24: −35, so p = 0
    ],
)
def test_charge_settles_an_execute_when_the_one_before_it_is_chosen(
    link_cycles: int, gate: int, makespan: int
) -> None:
    case = problem(
        [option((20, 20), links=(link_cycles, 0))],
        [option((20, 10), links=(5, 0))],
        [option((20, 1), (20, 8), links=(0, 8))],
        contention=Contention.CHARGE,
    )
    result = solved(elk_dyn(), case)
    assert result.plan == Schedule((None, None, gate), (0, 0, 0))
    # taken over: P_c 0–8, E_a 0–20, E_b –30, E_c –31.
    # left: E_a 0–20, P_c 20–28, E_b 20–33, E_c –34.
    assert result.objective == makespan
    assert result.statistics["backward_cycles"] == makespan


def test_charge_places_a_preload_anew_when_its_execute_settles() -> None:
    # E_c −1, P_c −9. E_b: p = 1 books 13: −14; P_b (25) ends there: −39. E_a covering
    # both takes P_c over: E_b settles at −11, P_b at −36, and E_a at −11 − 20.
    case = problem(
        [option((20, 20), links=(2, 0))],
        [option((20, 10), (10, 25), links=(5, 0))],
        [option((20, 1), (20, 8), links=(0, 8))],
        contention=Contention.CHARGE,
    )
    result = solved(elk_dyn(), case)
    assert result.plan == Schedule((None, 0, 0), (0, 0, 0))
    assert result.statistics["backward_cycles"] == 36
    # P_b 0–25, P_c –33, E_a 0–20, E_b 25–35, E_c –36.
    assert result.objective == 36


def test_a_state_that_shrinks_is_paid_for_in_the_evaluation() -> None:
    # E_b takes 4 cycles with all of it preloaded: −4; P_b −9. E_a (60 bytes): p = 0
    # ends at −9: −19; p = 1 has 40 bytes left for P_b, whose state of 30 it takes, and
    # ends at −4: −14. But with that state E_b takes 7.
    case = problem(
        [option((60, 10))],
        [option((50, 4), (50, 5)), option((50, 7), (30, 5))],
    )
    result = solved(elk_dyn(), case)
    assert result.plan == Schedule((None, 0), (0, 1))
    assert result.statistics["backward_cycles"] == 14
    assert result.objective == 10 + 7


def test_an_execute_plan_is_kept_once_passed() -> None:
    # As above, but the smaller preload belongs to another execute plan.
    case = problem(
        [option((60, 10))],
        [option((50, 4), (50, 5)), option((50, 7), (30, 5), plan=1)],
    )
    result = solved(elk_dyn(), case)
    assert result.plan == Schedule((None, 1), (0, 0))
    assert result.objective == 10 + 5 + 4


def test_a_smaller_state_that_executes_in_more_space_is_not_taken() -> None:
    # E_b was passed with 50 bytes beside P_c of 50; its state of 30 bytes preloaded
    # would execute in 60.
    case = problem(
        [option((60, 10))],
        [option((50, 4), (50, 5)), option((60, 5), (30, 5))],
        [option((50, 9), (50, 2))],
    )
    result = solved(elk_dyn(), case)
    assert result.plan == Schedule((None, 1, 1), (0, 0, 0))
    assert result.objective == 10 + 5 + 4 + 9


def test_the_space_of_a_waiting_preload_counts_even_if_executing_takes_less() -> None:
    # P_b (70) is larger than E_b (10): beside E_b only 30 are left, too few for P_c.
    case = problem(
        [option((10, 5))],
        [option((10, 5), (70, 5))],
        [option((10, 5), (40, 5))],
    )
    assert solved(elk_dyn(), case).plan == Schedule((None, 0, 2), (0, 0, 0))


def test_one_operator_is_a_preload_and_an_execute() -> None:
    case = problem([option((20, 7), (10, 3))])
    for heuristic in (Basic(), Static(), elk_dyn()):
        assert solved(heuristic, case).objective == 10
