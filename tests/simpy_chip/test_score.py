"""What a score says of one operator."""

from __future__ import annotations

import pytest

from elkhound.simpy_chip import Limit, OperatorScore, Phase, PhaseKind


@pytest.mark.parametrize(
    ("wait", "exchange", "compute", "stall", "preload", "most"),
    [
        pytest.param(9, 3, 5, 0, Limit.HBM, Limit.HBM, id="HBM"),
        pytest.param(4, 3, 5, 0, Limit.LINKS, Limit.LINKS, id="links in all"),
        pytest.param(4, 3, 5, 0, Limit.HBM, Limit.COMPUTE, id="compute"),
        pytest.param(0, 3, 9, 5, Limit.HBM, Limit.SRAM_PORT, id="port"),
        pytest.param(0, 0, 0, 0, Limit.HBM, Limit.HBM, id="nothing"),
    ],
)
def test_an_operator_is_bound_by_what_takes_most_of_its_time(
    wait: int, exchange: int, compute: int, stall: int, preload: Limit, most: Limit
) -> None:
    start = 100 + wait
    moved = start + exchange
    end = moved + compute
    phases = (
        Phase(PhaseKind.EXCHANGE, start, moved),
        Phase(PhaseKind.COMPUTE, moved, end),
    )
    score = OperatorScore("o", 0, 0, start, 100, start, end, 0, stall, phases, preload)
    assert score.bound_by is most
