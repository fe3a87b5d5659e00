"""The joined optimum against the goldens, and against what its mapping costs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from elkhound.heuristics.fusion.pareto_join import Joined, ParetoJoin, join
from elkhound.model.fusion import Accelerator, FusionWorkload, cost_of
from elkhound.model.fusion.catalogue import fusion_workload
from elkhound.model.fusion.mapspace import Mapspace, Objective, Tiles
from elkhound.model.fusion.pmappings import generate, rebuild
from elkhound.model.fusion.problem import FusionProblem
from elkhound.model.io import load_accelerator
from elkhound.model.limits import Limits
from elkhound.model.referee import judge_fusion


def simple(size_bits: int) -> Accelerator:
    accelerator = load_accelerator("simple")
    main, buffer = accelerator.memories
    return replace(accelerator, memories=(main, replace(buffer, size_bits=size_bits)))


def matmuls(einsums: int) -> FusionWorkload:
    return fusion_workload("matmuls", {"einsums": einsums, "m": 64, "width": 64})


def optima(
    workload: FusionWorkload, accelerator: Accelerator, *criteria: str
) -> tuple[Joined, ...]:
    """Return the front, each point verified by cost and referee."""
    pmappings = generate(workload, accelerator, criteria=criteria)
    found = join(pmappings, criteria)
    for joined in found:
        tree = rebuild(pmappings, joined.choice)
        cost = cost_of(accelerator, workload, tree)
        verdict = judge_fusion(accelerator, workload, tree)
        assert verdict.violations == ()
        assert cost.overflows == ()
        for mine in (cost, verdict):
            assert mine.energy == pytest.approx(joined.energy, rel=1e-9)
            assert mine.latency == pytest.approx(joined.latency, rel=1e-9)
    return found


@pytest.mark.parametrize(
    ("einsums", "size_bits", "energy"),
    [
        pytest.param(2, 65536, 30_474_240, id="two"),
        pytest.param(2, 32768, 37_093_376, id="two-in-half-the-buffer"),
        pytest.param(2, 16384, 47_022_080, id="two-in-a-quarter"),
        pytest.param(3, 16384, 72_187_904, id="three-in-a-quarter"),
        pytest.param(4, 16384, 94_044_160, id="four-in-a-quarter"),
    ],
)
def test_chains_of_matmuls_reach_the_golden_energy(
    einsums: int, size_bits: int, energy: int
) -> None:
    (best,) = optima(matmuls(einsums), simple(size_bits), "energy")
    assert best.energy == pytest.approx(energy, rel=1e-9)


@pytest.mark.parametrize("tiles", [Tiles.EVEN, Tiles.ANY])
def test_ragged_tiles_reach_the_energy_that_divisors_miss(tiles: Tiles) -> None:
    # rows in 22 + 22 + 20, or 31 + 31 + 2: three passes over the weights, where
    # divisors need four (docs/fusion.md)
    problem = FusionProblem(
        matmuls(2), simple(16384), Objective.ENERGY, Mapspace(tiles=tiles)
    )
    result = ParetoJoin().solve(problem, Limits())
    assert (result.objective, result.lower_bound) == (43_712_512, 43_712_512)
    assert result.plan is not None
    verdict = judge_fusion(problem.accelerator, problem.workload, result.plan.tree)
    assert (verdict.violations, verdict.energy) == ((), 43_712_512)


def test_the_front_of_two_matmuls_has_its_nine_points() -> None:
    found = optima(matmuls(2), simple(65536), "energy", "latency")
    assert [(point.latency, point.energy) for point in found] == [
        (524288, 1671692288),
        (528384, 1467383808),
        (532480, 1263075328),
        (782336, 1052082176),
        (1048576, 847773696),
        (1306624, 643399680),
        (1572864, 439091200),
        (1839104, 234782720),
        (2105344, 30474240),
    ]
