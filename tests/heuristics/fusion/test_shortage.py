"""Einsums that fit alone and not together: which memory, what it needs, what it has."""

from __future__ import annotations

from dataclasses import replace

import pytest
from oracles.fusion_trees import workload_of

from elkhound.heuristics.fusion.pareto_join import ParetoJoin
from elkhound.model.fusion.accelerator import Accelerator, Compute, Memory
from elkhound.model.fusion.mapspace import Objective
from elkhound.model.fusion.problem import FusionPlan, FusionProblem
from elkhound.model.limits import Limits
from elkhound.model.result import Status

LIMITS: Limits[FusionPlan] = Limits(workers=1)


def problem(buffer_bits: int) -> FusionProblem:
    """Two weights of 2 · 2 values that lie in the buffer throughout, nothing else."""
    main = Memory("Main", None, 9.0, 9.0, keep=("input", "output"))
    main = replace(main, may_keep=("input", "output"))
    buffer = Memory("Buffer", buffer_bits, 1.0, 1.0, keep=("weight",))
    workload = workload_of(
        {"a": 8, "k": 2, "b": 2, "c": 2},
        "T1[a,b] = T0[a,k] * W0[k,b]",
        "T2[a,c] = T1[a,b] * W1[b,c]",
    )
    workload = replace(
        workload,
        bits=tuple((tensor, 8) for tensor, _ in workload.bits),
        persistent=("W0", "W1"),
    )
    accelerator = Accelerator("small", (main, buffer), (Compute("MAC", 1.0, 1.0),))
    return FusionProblem(workload, accelerator, Objective.ENERGY)


def test_the_need_of_all_einsums_is_named() -> None:
    """Each weight has 4 · 8 = 32 bits: one fits into 56, both need 64."""
    result = ParetoJoin().solve(problem(56), LIMITS)
    assert result.status is Status.INFEASIBLE
    assert result.statistics["reason"] == (
        "every einsum has mappings, but none fit together: memory Buffer needs at "
        "least 64 bits, has 56"
    )


@pytest.mark.parametrize(
    ("bits", "status"), [(63, Status.INFEASIBLE), (64, Status.OPTIMAL)]
)
def test_the_need_is_enough_and_one_bit_less_is_not(bits: int, status: Status) -> None:
    assert ParetoJoin().solve(problem(bits), LIMITS).status is status


def test_two_memories_that_are_both_too_small_are_both_named() -> None:
    """Weights need 2 · 32 bits of one memory, inputs 2 · 128 of the other."""
    only = {"main": ("output",), "weights": ("weight",), "inputs": ("input",)}
    main, weights, inputs = (
        Memory(name, bits, 1.0, 1.0, keep=only[name], may_keep=only[name])
        for name, bits in (("main", None), ("weights", 56), ("inputs", 200))
    )
    workload = workload_of(
        {"a": 8, "k": 2, "b": 2, "c": 2},
        "T1[a,b] = T0[a,k] * W0[k,b]",
        "T2[a,c] = S[a,b] * W1[b,c]",
    )
    workload = replace(
        workload,
        bits=tuple((tensor, 8) for tensor, _ in workload.bits),
        persistent=("W0", "W1", "T0", "S"),
    )
    compute = (Compute("MAC", 1.0, 1.0),)
    accelerator = Accelerator("small", (main, weights, inputs), compute)
    result = ParetoJoin().solve(
        FusionProblem(workload, accelerator, Objective.ENERGY), LIMITS
    )
    assert result.status is Status.INFEASIBLE
    assert result.statistics["reason"] == (
        "every einsum has mappings, but none fit together, however large one of the "
        "memories is: weights has 56 bits, inputs has 200 bits"
    )
