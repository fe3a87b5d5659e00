"""Hand-computed cases: every number is worked out in the comment beside it."""

from __future__ import annotations

import json
from dataclasses import astuple, replace

import pytest

from elkhound.model.chip import AllToAll, Chip, Core, Hbm
from elkhound.model.errors import BadInputError
from elkhound.model.program import Program, program_of
from elkhound.model.schedule import (
    OptionPayload,
    Schedule,
    ScheduleOperator,
    ScheduleOption,
    ScheduleProblem,
)
from elkhound.simpy_chip import (
    Fidelity,
    PhaseKind,
    Score,
    TimeSplit,
    score_document,
    simulate,
)

CHIP = Chip(
    name="nanosecond",  # a clock of 1 GHz: one nanosecond is one cycle
    chips=1,
    cores_per_chip=4,
    clock_hz=1_000_000_000,
    core=Core(1000, 0, 16, 64, 64),
    links=AllToAll(4_000_000_000, 4_000_000_000, 2, 0, 1000),
    hbm=Hbm(4_000_000_000, 5, 1),
)


def option(
    execute: int,
    link: int = 0,
    *,
    preload: int = 0,
    preload_link: int = 0,
    execute_bytes: int = 0,
    preload_bytes: int = 0,
) -> ScheduleOption:
    """t and X, h and Y, bytes."""
    return ScheduleOption(
        0, execute_bytes, preload_bytes, preload, preload_link, execute, link
    )


def phased(
    distribute: int, compute: int, exchange: int, *, steps: int, total: int
) -> ScheduleOption:
    """An option with phases and supersteps that streams nothing."""
    payload = OptionPayload((), (), 1, steps, 0, 0, 0, 0)
    link = distribute + exchange
    return ScheduleOption(
        0, 0, 0, 0, 0, total, link, distribute, compute, exchange, payload
    )


def program(
    gates: list[int | None],
    *options: ScheduleOption,
    sram_bytes: int = 1000,
    chip: Chip | None = None,
) -> Program:
    operators = tuple(ScheduleOperator(f"op{i}", (o,)) for i, o in enumerate(options))
    problem = ScheduleProblem(sram_bytes, operators)
    return program_of(problem, Schedule(tuple(gates), (0,) * len(options)), chip)


def phases_of(score: Score, operator: int) -> list[tuple[str, int, int]]:
    return [
        (str(p.kind), p.start_cycle, p.end_cycle)
        for p in score.operators[operator].phases
    ]


def test_a_single_operator_is_preloaded_then_exchanges_then_computes() -> None:
    score = simulate(program([0], option(9, 4, preload=7, preload_link=3)))
    # preload 0–7, exchange 4 cycles 7–11, compute 9 − 4 = 5 cycles 11–16
    assert score.makespan_cycles == 16
    assert (score.operators[0].preload_start_cycle, score.operators[0].wait_cycles) == (
        0,
        7,
    )
    assert phases_of(score, 0) == [("exchange", 7, 11), ("compute", 11, 16)]
    assert score.split == TimeSplit(7, 9, 0, 0, 0)
    assert score.hbm_utilisation == pytest.approx(7 / 16)
    assert score.link_utilisation == pytest.approx((3 + 4) / 16)
    assert score.compute_utilisation == pytest.approx(5 / 16)


def test_an_execute_stalls_for_a_late_preload() -> None:
    score = simulate(
        program([0, 0], option(3, preload=2), option(4, preload=10)),
    )
    # P0 0–2, P1 2–12; E0 2–5; E1 is issued at 5, waits 7 cycles, runs 12–16
    late = score.operators[1]
    assert (late.execute_issue_cycle, late.wait_cycles) == (5, 7)
    assert score.makespan_cycles == 16
    # preload only 0–2 and 5–12, overlapped 2–5, execute only 12–16
    assert score.split == TimeSplit(9, 4, 3, 0, 0)


def test_an_execute_blocks_every_later_preload() -> None:
    score = simulate(program([0, 1], option(3, preload=2), option(4, preload=5)))
    # P0 0–2, E0 2–5, only then P1 5–10, E1 10–14
    assert score.operators[1].preload_issue_cycle == 5
    assert score.makespan_cycles == 14


def test_queued_preloads_run_one_after_another() -> None:
    score = simulate(
        program([0, 0], option(3, preload=5), option(2, preload=4)),
    )
    # both issued at 0: P0 0–5, P1 5–9; E0 5–8; E1 9–11
    second = score.operators[1]
    assert (second.preload_issue_cycle, second.preload_start_cycle) == (0, 5)
    assert second.preload_end_cycle == 9
    assert score.makespan_cycles == 11


@pytest.mark.parametrize(
    ("preload", "preload_link", "exchange_end", "preload_end"),
    [
        # u = ¼: exchange runs at ¾, 6 / ¾ = 8; the preload keeps its ¼, 8 cycles
        pytest.param(8, 2, 8, 8, id="below-half"),
        # u = ½: exchange at ½ does 6 in 12 cycles; the preload keeps its ½
        pytest.param(14, 7, 12, 14, id="half"),
        # u = ½ for 8 cycles: 4 of 6 are done at 8, the other 2 at full rate
        pytest.param(8, 4, 10, 8, id="preload-ends-inside-the-exchange"),
        # u = 1: both at ½; at 12 exchange is done and 6 of 9 preloaded; 3 more
        pytest.param(9, 9, 12, 15, id="above-half-slows-the-preload"),
        # u = ¾: both at ½ until 12; 6 of 9 preloaded, the other 3 at ¾ take 4
        pytest.param(12, 9, 12, 16, id="above-half-returns-to-its-cap"),
        # u = ⅓: exchange at ⅔ does 6 in 9
        pytest.param(12, 4, 9, 12, id="third"),
        # u = ⅗ > ½: both at ½; preload 3 done at 6, exchange has 3 left, at rate 1
        pytest.param(5, 3, 9, 6, id="slowed-preload-ends-first"),
        # Y = 0: the port is not touched
        pytest.param(20, 0, 6, 20, id="no-link-work"),
    ],
)
def test_preload_and_exchange_share_the_port_fairly(
    preload: int, preload_link: int, exchange_end: int, preload_end: int
) -> None:
    # E0 exchanges 6 cycles and computes 2; P1 is issued at 0 beside it
    first = option(8, 6)
    second = option(1, preload=preload, preload_link=preload_link)
    score = simulate(program([None, 0], first, second))
    assert phases_of(score, 0) == [
        ("exchange", 0, exchange_end),
        ("compute", exchange_end, exchange_end + 2),
    ]
    assert score.operators[0].contention_cycles == exchange_end - 6
    assert score.operators[1].preload_end_cycle == preload_end
    # E1 takes 1 cycle after the later of E0's end and P1's
    assert score.makespan_cycles == max(exchange_end + 2, preload_end) + 1


def test_the_end_of_a_contended_flow_is_rounded_up() -> None:
    score = simulate(
        program([None, 0], option(5, 3), option(1, preload=9, preload_link=3))
    )
    # u = ⅓: exchange at ⅔, 3 / ⅔ = 4.5, told at 5; compute 2 cycles 5–7
    assert phases_of(score, 0) == [("exchange", 0, 5), ("compute", 5, 7)]
    assert score.operators[0].contention_cycles == 2
    # overlapped: 0–7 without the 2 lost; preload alone 7–9; E1 9–10
    assert score.split == TimeSplit(2, 1, 5, 2, 0)


def test_a_flow_speeds_up_at_the_fraction_where_another_ends() -> None:
    score = simulate(
        program(
            [None, None, 0, 0],
            option(1),
            option(3, 3),
            option(0, preload=3, preload_link=1),
            option(0, preload=8, preload_link=6),
        )
    )
    # E0 0–1. E1's exchange from 1 beside P2 (u = ⅓, 0–3): ⅔ · 2 = 4/3 done at 3.
    # P3 (u = ¾) from 3: both at ½; 5/3 left take 10/3, to 6⅓, told at 7.
    # P3 has 5/3 of 6 at 6⅓, the other 13/3 at ¾ take 52/9: to 12 1/9, told at 13.
    assert score.operators[1].execute_end_cycle == 7
    assert score.operators[3].preload_end_cycle == 13
    assert score.cores[0].link_work_cycles == 3 + 1 + 6


def test_supersteps_alternate_exchange_and_compute_in_whole_shares() -> None:
    score = simulate(program([None], phased(1, 5, 3, steps=2, total=9)))
    # exchange 3 = 2 + 1, compute 5 = 3 + 2
    assert phases_of(score, 0) == [
        ("distribute", 0, 1),
        ("exchange", 1, 3),
        ("compute", 3, 6),
        ("exchange", 6, 7),
        ("compute", 7, 9),
    ]
    assert score.operators[0].phase_cycles(PhaseKind.COMPUTE) == 5


def test_overlapped_supersteps_last_as_long_as_the_slower_half() -> None:
    alone = program([None], phased(1, 5, 4, steps=2, total=6))
    # distribute 1, then max(2, 3) + max(2, 2)
    assert simulate(alone).makespan_cycles == 6
    beside = program(
        [None, 0],
        phased(1, 5, 4, steps=2, total=6),
        option(0, preload=20, preload_link=10),
    )
    score = simulate(beside)
    # u = ½ doubles every transfer: distribute 0–2, max(4, 3) 2–6, max(4, 2) 6–10
    assert phases_of(score, 0) == [
        ("distribute", 0, 2),
        ("compute", 2, 5),
        ("exchange", 2, 6),
        ("compute", 6, 8),
        ("exchange", 6, 10),
    ]
    assert score.operators[0].contention_cycles == 10 - 6


def test_latency_delays_the_first_byte_and_every_exchange_phase() -> None:
    timed = program(
        [0, 0],
        option(9, 4, preload=7),
        option(3, preload=6),
        chip=CHIP,
    )
    score = simulate(timed)
    # requests at 0, HBM latency 5: P0 5–12, P1's latency passed in the queue: 12–18
    # link latency 2: E0 exchanges 12–18, computes 18–23; E1 without link work 23–26
    first, second = score.operators
    assert (first.preload_start_cycle, first.preload_end_cycle) == (5, 12)
    assert (second.preload_start_cycle, second.preload_end_cycle) == (12, 18)
    assert phases_of(score, 0) == [("exchange", 12, 18), ("compute", 18, 23)]
    assert score.makespan_cycles == 26
    # idle 0–5, preload only 5–12, overlapped 12–18; latency is no contention
    assert score.split == TimeSplit(7, 8, 6, 0, 5)
    # without: P0 0–7, E0 7–16, E1 16–19
    assert simulate(timed, latency=False).makespan_cycles == 19
    assert simulate(replace(timed, chip=None)).makespan_cycles == 19


def test_a_chip_counts_its_cores_and_true_hbm_bytes() -> None:
    payload = OptionPayload((), (), 4, 1, 0, hbm_bytes=12, exchange_bytes=0,
                            distribute_bytes=0)  # fmt: skip
    streamed = replace(option(6, preload=4, preload_bytes=8), payload=payload)
    score = simulate(program([0], streamed, chip=CHIP), latency=False)
    assert score.cores[0].multiplicity == 4
    assert score.cores[0].delivered_bytes == 8
    assert score.hbm_bytes == 12
    # 4 GB/s at 1 GHz are 4 B/cycle: 12 B take 3 of the 10 cycles
    assert score.hbm_utilisation == pytest.approx(3 / 10)


def test_contention_off_lets_every_flow_run_at_its_cap() -> None:
    crowded = program([None, 0], option(8, 6), option(1, preload=9, preload_link=9))
    # E0 0–8, P1 0–9, E1 9–10
    assert simulate(crowded, contention=False).makespan_cycles == 10


def test_an_option_that_contradicts_the_overlap_switch_is_refused() -> None:
    overlapped = phased(0, 5, 4, steps=2, total=5)
    with pytest.raises(BadInputError, match="contradicts overlap_exchange = False"):
        simulate(program([None], overlapped, chip=CHIP))
    able = replace(CHIP, overlap_exchange=True)
    score = simulate(program([None], overlapped, chip=able), latency=False)
    assert score.makespan_cycles == 5


def test_a_program_of_no_cycles_has_no_utilisation() -> None:
    score = simulate(program([None], option(0)))
    assert score.makespan_cycles == 0
    assert score.link_utilisation is None


def test_the_score_document_is_json_with_every_interval() -> None:
    score = simulate(program([0], option(9, 4, preload=7, preload_link=3)))
    document = json.loads(json.dumps(score_document(score)))
    assert document["makespan_cycles"] == 16
    assert sum(document["split"].values()) == 16
    assert document["operators"][0]["phases"] == [
        ["exchange", 7, 11],
        ["compute", 11, 16],
    ]
    assert document["operators"][0]["wait_cycles"] == 7
    assert document["cores"][0]["link_work_cycles"] == 7


def test_a_whole_model_takes_thousands_of_events_not_one_per_byte() -> None:
    # 723 operators of 30 supersteps: two events and an alarm per phase, about 60
    # phases each, 723 · 60 · 3 = 130,140
    big = phased(100, 90_000, 60_000, steps=30, total=150_100)
    streamed = replace(
        big, preload_cycles=100_000, preload_link_cycles=49_000, preload_bytes=1
    )
    gates: list[int | None] = [max(0, j - 2) for j in range(723)]
    score = simulate(program(gates, *[streamed] * 723))
    assert score.events < 130_140
    assert sum(astuple(score.split)) == score.makespan_cycles


@pytest.mark.parametrize(
    ("compute", "exchange", "port", "ends"),
    [
        # 64 B in 2 supersteps: 32 B take 2 of the port's cycles; max(4, 5 + 2) twice
        pytest.param(10, 8, 16, 14, id="compute-is-longer"),
        # max(10, 2 + 2) twice: the compute has time to spare
        pytest.param(4, 20, 16, 20, id="exchange-is-longer"),
        # 32 B at 8 B/cycle: max(5, 4 + 4) twice
        pytest.param(8, 10, 8, 16, id="slow-port"),
        pytest.param(0, 8, 16, 8, id="nothing-to-compute"),
    ],
)
def test_reads_by_peers_take_the_sram_port_from_compute(
    compute: int, exchange: int, port: int, ends: int
) -> None:
    chip = replace(
        CHIP,
        overlap_exchange=True,
        core=replace(CHIP.core, sram_port_bytes_per_cycle=port),
    )
    payload = OptionPayload((), (), 4, 2, 0, 0, exchange_bytes=64, distribute_bytes=0)
    total = max(compute, exchange)
    option = replace(
        phased(0, compute, exchange, steps=2, total=total), payload=payload
    )
    timed = program([None], option, chip=chip)
    score = simulate(timed, latency=False)
    assert score.makespan_cycles == ends
    assert score.operators[0].contention_cycles == 0  # no preload has a part in it
    assert simulate(timed, latency=False, contention=False).makespan_cycles == total


def test_a_core_that_exchanges_first_is_not_disturbed() -> None:
    payload = OptionPayload((), (), 4, 2, 0, 0, exchange_bytes=64, distribute_bytes=0)
    serial = replace(phased(0, 10, 8, steps=2, total=18), payload=payload)
    score = simulate(program([None], serial, chip=CHIP), latency=False)
    assert (score.makespan_cycles, score.operators[0].stall_cycles) == (18, 0)


@pytest.mark.parametrize(
    ("size_bytes", "stripe", "burst", "cycles"),
    [
        # 4 controllers of 1 B/cycle each
        pytest.param(100, 0, 1, 25, id="evenly"),
        pytest.param(101, 0, 1, 26, id="evenly-rounded-up"),
        # 7 stripes of 16: rounds of 4, the busiest controller has 2 · 16
        pytest.param(100, 16, 1, 32, id="striped"),
        # 5 stripes, the last of 6 B: the first controller has 16 + 6, no other more
        pytest.param(70, 16, 1, 22, id="the second round is one short stripe"),
        # 4 stripes of 16 and one byte: 17 B are 5 bursts of 4
        pytest.param(65, 16, 4, 20, id="a short stripe fills a last burst"),
        # one stripe, one controller, 10 B of its own
        pytest.param(10, 16, 1, 10, id="one-controller-busy"),
        # 10 B in whole bursts of 8
        pytest.param(10, 16, 8, 16, id="whole-bursts"),
        # 25 B each, 4 bursts of 8
        pytest.param(100, 0, 8, 32, id="bursts-of-all"),
        pytest.param(6400, 16, 8, 1600, id="large-and-efficient"),
    ],
)
def test_stripes_and_bursts_slow_small_preloads(
    size_bytes: int, stripe: int, burst: int, cycles: int
) -> None:
    chip = replace(CHIP, hbm=Hbm(4_000_000_000, 0, 4, stripe, burst))
    planned = chip.hbm_cycles(size_bytes)
    payload = OptionPayload((), (), 4, 1, 0, size_bytes, 0, 0)
    streamed = replace(option(1, preload=planned, preload_bytes=1), payload=payload)
    timed = program([0], streamed, chip=chip)
    assert simulate(timed, latency=False).makespan_cycles == cycles + 1
    plain = simulate(timed, latency=False, efficiency=False)
    assert plain.makespan_cycles == planned + 1


def test_many_small_preloads_take_longer_than_one_large() -> None:
    chip = replace(CHIP, hbm=Hbm(4_000_000_000, 0, 4, 16, 16))
    small = OptionPayload((), (), 4, 1, 0, 40, 0, 0)
    large = OptionPayload((), (), 4, 1, 0, 400, 0, 0)
    parts = [replace(option(0, preload=10, preload_bytes=1), payload=small)] * 10
    whole = replace(option(0, preload=100, preload_bytes=10), payload=large)
    # 40 B are 3 stripes: 16 cycles, ten times; 400 B are 25 stripes: 7 rounds of 16
    score = simulate(program([0] * 10, *parts, chip=chip), latency=False)
    assert score.makespan_cycles == 160
    score = simulate(program([0], whole, chip=chip), latency=False)
    assert score.makespan_cycles == 112


@pytest.mark.parametrize("chip", [None, CHIP], ids=["no chip", "chip"])
@pytest.mark.parametrize("fidelity", Fidelity)
def test_a_program_without_operators_takes_no_time(
    chip: Chip | None, fidelity: Fidelity
) -> None:
    empty = Program((), (), 1000, chip)
    score = simulate(empty, fidelity=fidelity)
    assert (score.makespan_cycles, score.operators, score.peak_bytes) == (0, (), 0)
    # Four cores of a chip, one where there is none, all idle
    cores = sum(core.multiplicity for core in score.cores)
    assert cores == (1 if chip is None else 4)
    assert score.compute_utilisation is None
