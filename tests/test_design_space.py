"""Every knob of a chip changes the simulated time, in the direction physics asks for.

The model is planned anew on every chip: options, plan and simulation all follow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from elkhound.experiments.source import ModelFlags, read_graph
from elkhound.heuristics.allocation import DeltaEfficiency
from elkhound.heuristics.schedule import ElkDyn
from elkhound.model.chip import Chip, Mesh2D
from elkhound.model.graph import Graph
from elkhound.model.io import load_chip
from elkhound.model.limits import Limits
from elkhound.model.options import schedule_problem
from elkhound.model.program import program_of
from elkhound.simpy_chip import simulate

EXAMPLE = Path(__file__).parents[1] / "examples" / "decoder_block.onnx"
TOY = load_chip("toy-64")  # 126 GB/s HBM, 4 GB/s ports, 64 cores, 72 KiB

Knob = Callable[[int], Chip]


@cache
def graph() -> Graph:
    flags = ModelFlags(bind={"batch": 4, "context": 512})
    return read_graph(str(EXAMPLE), flags).graph


@cache
def simulated_ns(chip: Chip) -> float:
    problem = schedule_problem(graph(), chip)
    plan = ElkDyn(DeltaEfficiency()).solve(problem, Limits()).plan
    assert plan is not None
    cycles = simulate(program_of(problem, plan, chip)).makespan_cycles
    return cycles * 1e9 / chip.clock_hz


def hbm(**changes: Any) -> Chip:
    return replace(TOY, hbm=replace(TOY.hbm, **changes))


def links(**changes: Any) -> Chip:
    return replace(TOY, links=replace(TOY.links, **changes))


def core(**changes: Any) -> Chip:
    return replace(TOY, core=replace(TOY.core, **changes))


def mesh(giga: int) -> Chip:
    return replace(TOY, links=Mesh2D(8, 8, giga * 10**9, giga * 10**9, 100, 118))


@pytest.mark.parametrize(
    ("knob", "worst_to_best"),
    [
        pytest.param(lambda v: hbm(bytes_per_second=v * 10**9), (63, 126, 252),
                     id="HBM bandwidth"),
        pytest.param(lambda v: hbm(latency_ns=v), (4000, 400, 0), id="HBM latency"),
        pytest.param(lambda v: hbm(controllers=4, stripe_bytes=v), (1 << 16, 1 << 12),
                     id="HBM stripes"),
        pytest.param(lambda v: hbm(burst_bytes=v), (1 << 19, 1 << 16, 1),
                     id="HBM bursts"),
        pytest.param(
            lambda v: links(bytes_per_second=v * 10**9,
                            exchange_bytes_per_second=v * 86 * 10**7),
            (2, 4, 8), id="link bandwidth"),
        pytest.param(lambda v: links(exchange_bytes_per_second=v * 10**7),
                     (172, 344, 400), id="exchange protocol"),
        pytest.param(lambda v: links(latency_ns=v), (2000, 100, 0), id="link latency"),
        pytest.param(lambda v: links(sync_cycles=v), (1000, 118, 0),
                     id="synchronisation"),
        pytest.param(mesh, (8, 16, 32), id="mesh link bandwidth"),
        pytest.param(lambda v: replace(TOY, cores_per_chip=v), (48, 64, 128),
                     id="core count"),
        pytest.param(lambda v: core(mac_per_cycle=v), (32, 64, 128),
                     id="matmul FLOPS"),
        pytest.param(lambda v: core(vector_flop_per_cycle=v), (1, 4, 8),
                     id="vector FLOPS"),
        pytest.param(lambda v: core(sram_bytes=v << 10), (72, 144), id="SRAM"),
        pytest.param(lambda v: core(sram_port_bytes_per_cycle=v), (2, 16),
                     id="SRAM port"),
        pytest.param(lambda v: replace(TOY, clock_hz=v * 10**8), (5, 10, 20),
                     id="clock"),
        pytest.param(lambda v: replace(TOY, overlap_exchange=bool(v)), (0, 1),
                     id="overlap"),
    ],
)  # fmt: skip
def test_a_better_chip_is_faster(knob: Knob, worst_to_best: tuple[int, ...]) -> None:
    times = [simulated_ns(knob(value)) for value in worst_to_best]
    assert times == sorted(times, reverse=True)
    assert len(set(times)) == len(times)


def test_the_topology_matters() -> None:
    assert simulated_ns(mesh(8)) != simulated_ns(TOY)


def test_crossing_chips_costs_exchange_time() -> None:
    def two(permille: int) -> Chip:
        return replace(links(cross_chip_permille=permille), chips=2, cores_per_chip=32)

    assert simulated_ns(two(2000)) > simulated_ns(two(1000))
