"""Uneven tiles: who has how much, worked out by hand."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest

from elkhound.model.chip import AllToAll, Chip, Core, Hbm
from elkhound.model.program import Execute, Instruction, PreloadAsync, Program, Task
from elkhound.model.schedule import OptionPayload, ScheduleOption
from elkhound.simpy_chip import Fidelity, simulate
from elkhound.simpy_chip.placement import tiles_of

CHIP = Chip(
    name="five cores",
    chips=1,
    cores_per_chip=5,
    clock_hz=1_000_000_000,
    core=Core(1000, 0, 16, 64, 64),
    links=AllToAll(4_000_000_000, 4_000_000_000, 0, 0, 1000),
    hbm=Hbm(4_000_000_000, 0, 1),
)


def payload(sizes: dict[str, int], splits: dict[str, int]) -> OptionPayload:
    return OptionPayload(
        tuple(splits.items()), (), 4, 1, 0, 0, 0, 0, tuple(sizes.items())
    )


def program(*options: ScheduleOption) -> Program:
    tasks = tuple(Task(f"op{i}", option, 0) for i, option in enumerate(options))
    order: list[Instruction] = []
    for i, option in enumerate(options):
        order += [PreloadAsync(i), Execute(i)] if option.streams else [Execute(i)]
    return Program(tuple(order), tasks, 1000, CHIP)


# 7 × 6 points cut 2 × 2: tiles of ⌈7/2⌉ · 3 = 12; rows 4 and 3; core 4 has nothing
UNEVEN = payload({"m": 7, "n": 6}, {"m": 2, "n": 2})


@pytest.mark.parametrize(
    ("sizes", "splits", "points", "most"),
    [
        pytest.param({"m": 8}, {"m": 4}, [2, 2, 2, 2, 0], 2, id="even"),
        pytest.param({"m": 7}, {"m": 4}, [2, 2, 2, 1, 0], 2, id="last-smaller"),
        # ⌈5/4⌉ = 2: two whole tiles, one of 1, and nothing for the fourth core
        pytest.param({"m": 5}, {"m": 4}, [2, 2, 1, 0, 0], 2, id="last-empty"),
        pytest.param(
            {"m": 7, "n": 6}, {"m": 2, "n": 2}, [12, 12, 9, 9, 0], 12, id="two"
        ),
    ],
)
def test_tiles_are_dealt_in_sequence(
    sizes: dict[str, int], splits: dict[str, int], points: list[int], most: int
) -> None:
    tiles = tiles_of(payload(sizes, splits), 5)
    assert [tile.points for tile in tiles] == points
    assert {tile.most for tile in tiles} == {most}


@pytest.mark.parametrize("fidelity", list(Fidelity))
def test_the_slowest_core_counts_and_the_others_do_less(fidelity: Fidelity) -> None:
    option = ScheduleOption(0, 0, 100, 16, 8, 20, 10, 0, 10, 10, UNEVEN)
    score = simulate(program(option), fidelity=fidelity)
    # preload 16, exchange 10, compute 10 on cores 0 and 1; ¾ of that, rounded up, on
    # cores 2 and 3: 6 and 8 link cycles, 75 B, 8 compute cycles; nothing on core 4
    assert score.makespan_cycles == 36
    done: Counter[tuple[int, Fraction, int]] = Counter()
    for core in score.cores:
        did = (core.delivered_bytes, core.link_work_cycles, core.compute_cycles)
        done[did] += core.multiplicity
    assert done == {(100, 18, 10): 2, (75, 14, 8): 2, (0, 0, 0): 1}
    # (10 + 10 + 8 + 8) / 5 of 36 cycles
    assert score.compute_utilisation == pytest.approx(36 / 5 / 36)


def test_in_a_ring_a_core_sends_what_the_next_one_receives() -> None:
    option = ScheduleOption(0, 0, 0, 0, 0, 20, 10, 0, 10, 10, UNEVEN)
    score = simulate(program(option), fidelity=Fidelity.CORE)
    # ring 0 → 1 → 2 → 3 → 0: receive 10 10 8 8, send 10 8 8 10
    ring = {
        core.name: (float(core.link_work_cycles), float(core.sent_work_cycles))
        for core in score.cores
    }
    assert list(ring) == ["core 0", "core 1", "core 2", "core 3", "core 4"]
    assert ring["core 0"] == (10, 10)
    assert ring["core 1"] == (10, 8)
    assert ring["core 2"] == (8, 8)
    assert ring["core 3"] == (8, 10)
    assert ring["core 4"] == (0, 0)
    assert simulate(program(option)).makespan_cycles == score.makespan_cycles == 20


def test_operators_cut_differently_make_more_classes() -> None:
    first = ScheduleOption(0, 0, 0, 0, 0, 20, 10, 0, 10, 10, UNEVEN)
    other = payload({"m": 9}, {"m": 5})  # 2 2 2 2 1
    second = ScheduleOption(0, 0, 0, 0, 0, 20, 10, 0, 10, 10, other)
    score = simulate(program(first, second))
    # cores 0 and 1: (12, 2); cores 2 and 3: (9, 2); core 4: (0, 1)
    assert [(core.name, core.multiplicity) for core in score.cores] == [
        ("core 0 and 1 like it", 2),
        ("core 2 and 1 like it", 2),
        ("core 4", 1),
    ]
