"""The referee on what an option means: its tiles are the whole operator, once."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.one_operator import matmul, small_chip

from elkhound.model.options import operator_options
from elkhound.model.referee import judge
from elkhound.model.schedule import (
    OptionPayload,
    Schedule,
    ScheduleOperator,
    ScheduleOption,
    ScheduleProblem,
    TensorSplit,
)

# 7 × 6 points as 2 × 3 tiles of 4 × 2 points; b passes round in 2 pieces.
WHOLE = OptionPayload(
    splits=(("m", 2), ("n", 3)),
    tensors=(TensorSplit("a"), TensorSplit("b", (("n", 2),))),
    cores_used=6,
    steps=2,
    syncs=0,
    hbm_bytes=0,
    exchange_bytes=0,
    distribute_bytes=0,
    sizes=(("m", 7), ("n", 6)),
)


def violations(payload: OptionPayload) -> tuple[str, ...]:
    option = ScheduleOption(0, 1, 0, 0, 0, 1, 0, payload=payload)
    problem = ScheduleProblem(1, (ScheduleOperator("o", (option,)),))
    return judge(problem, Schedule((None,), (0,))).violations


def test_tiles_that_hold_every_point_once_are_accepted() -> None:
    assert violations(WHOLE) == ()
    assert violations(replace(WHOLE, sizes=())) == ()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        pytest.param(
            {"cores_used": 4, "tensors": ()} | {"steps": 1},
            "operator o: splits m 2 · n 3 make 6 tiles, 4 cores are used",
            id="fewer cores than tiles",
        ),
        pytest.param(
            {"splits": (("m", 2), ("n", 1)), "tensors": (), "steps": 1},
            "operator o: splits m 2 · n 1 make 2 tiles, 6 cores are used",
            id="more cores than tiles",
        ),
        pytest.param(
            {"splits": (("m", 14), ("n", 3)), "cores_used": 42},
            "operator o: m of 7 is cut into 14 tiles, must be from 1 to 7",
            id="empty tiles",
        ),
        pytest.param(
            {"steps": 3},
            "operator o: rotations take 2 steps, the plan says 3",
            id="a step too many",
        ),
        pytest.param(
            {"steps": 1},
            "operator o: rotations take 2 steps, the plan says 1",
            id="half the work",
        ),
        pytest.param(
            {"tensors": (TensorSplit("b", (("n", 3),)),), "steps": 3},
            "operator o: b rotates in 3 pieces on n, whose tile has 2 points",
            id="empty pieces",
        ),
        pytest.param(
            {"tensors": (TensorSplit("b", (("m", 4),)),), "steps": 4},
            "operator o: b in 4 pieces of share 1/1 does not go evenly over 6 cores",
            id="uneven pieces",
        ),
        pytest.param(
            {"tensors": (TensorSplit("b", (("k", 2),)),)},
            "operator o: b rotates on k, which is no dimension of its splits",
            id="dimension",
        ),
    ],
)
def test_work_left_out_or_done_twice_is_named(
    changed: dict[str, object], message: str
) -> None:
    assert violations(replace(WHOLE, **changed)) == (message,)  # type: ignore[arg-type]


@settings(derandomize=True, deadline=None, max_examples=25)
@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 12), st.integers(1, 12))
def test_every_option_computes_every_point_exactly_once(
    m: int, n: int, k: int, cores: int
) -> None:
    graph, operator = matmul(m, n, k)
    for option in operator_options(graph, operator, small_chip(cores)):
        payload = option.payload
        assert payload is not None
        assert violations(payload) == ()
        sizes = dict(payload.sizes)
        done: Counter[tuple[int, ...]] = Counter()
        for core in itertools.product(*(range(s) for _, s in payload.splits)):
            ranges = []
            for place, (name, split) in zip(core, payload.splits, strict=True):
                tile = -(-sizes[name] // split)
                end = min(sizes[name], (place + 1) * tile)
                ranges.append(range(place * tile, end))
            done.update(itertools.product(*ranges))
        assert set(done.values()) == {1}
        assert len(done) == m * n * k
