"""What cannot be mapped is refused with its memory, its need and its size."""

from __future__ import annotations

from dataclasses import replace

import pytest

from elkhound.heuristics.fusion.pareto_join import ParetoJoin
from elkhound.model.errors import BadInputError, InfeasibleError
from elkhound.model.fusion import Accelerator
from elkhound.model.fusion.catalogue import fusion_workload
from elkhound.model.fusion.problem import FusionProblem
from elkhound.model.io import load_accelerator
from elkhound.model.limits import Limits


def with_buffer(size_bits: int) -> Accelerator:
    """Two memories; the buffer must hold a copy of every tensor."""
    accelerator = load_accelerator("simple")
    main, buffer = accelerator.memories
    buffer = replace(buffer, size_bits=size_bits, keep=("all",))
    return replace(accelerator, memories=(main, buffer))


def test_a_buffer_below_one_value_of_each_tensor_is_named_with_its_need() -> None:
    problem = FusionProblem(fusion_workload("matvecs"), with_buffer(23))
    # A, B and Y, 8 bit each: 24 bit
    with pytest.raises(
        InfeasibleError,
        match=r"einsum Y: memory GlobalBuffer needs at least 24 bits, has 23",
    ):
        ParetoJoin().solve(problem, Limits())


def test_a_buffer_of_one_value_of_each_tensor_is_enough() -> None:
    problem = FusionProblem(fusion_workload("matvecs"), with_buffer(24))
    assert ParetoJoin().solve(problem, Limits()).plan is not None


def test_an_einsum_for_which_there_is_no_compute_unit_is_told_what_the_units_take() -> (
    None
):
    accelerator = with_buffer(24)
    units = tuple(replace(unit, tensors=2) for unit in accelerator.compute)
    accelerator = replace(accelerator, compute=units)
    problem = FusionProblem(fusion_workload("matvecs"), accelerator)
    name = units[0].name
    with pytest.raises(
        InfeasibleError,
        match=rf"einsum Y: has 3 tensors, for which there is no .*\({name} takes 2",
    ):
        ParetoJoin().solve(problem, Limits())


def test_main_memory_of_limited_size_is_refused() -> None:
    accelerator = load_accelerator("simple")
    main, buffer = accelerator.memories
    accelerator = replace(
        accelerator, memories=(replace(main, size_bits=10**9), buffer)
    )
    problem = FusionProblem(fusion_workload("matvecs"), accelerator)
    with pytest.raises(BadInputError, match="take main memory as unlimited"):
        ParetoJoin().solve(problem, Limits())
