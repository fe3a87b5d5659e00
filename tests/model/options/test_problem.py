"""From a graph to the schedule problem."""

from __future__ import annotations

from dataclasses import replace

import pytest
from oracles.one_operator import matmul, small_chip

from elkhound.model.dtype import DTYPES
from elkhound.model.errors import BadInputError, InfeasibleError
from elkhound.model.graph import (
    Access,
    Axis,
    Dimension,
    Einsum,
    Graph,
    Home,
    Operator,
    OperatorKind,
    Pass,
    Tensor,
)
from elkhound.model.options import operator_options, schedule_problem
from elkhound.model.schedule import Contention


def residual_graph() -> Graph:
    """x → y = relu(x) → z = relu(y) → w = x + z: x is held past y and z."""
    half = DTYPES["float16"]
    names = ("x", "y", "z", "w")
    whole = (Axis((("e", 1),)),)

    def operator(name: str, inputs: str, output: str, sweep: Pass) -> Operator:
        return Operator(
            name,
            OperatorKind.ELEMENTWISE,
            Einsum(
                (Dimension("e", 100),),
                tuple(Access(tensor, whole) for tensor in inputs),
                Access(output, whole),
                (sweep,),
            ),
            layer=3,
        )

    return Graph(
        "residual",
        tuple(Tensor(name, (100,), half, Home.CHIP) for name in names),
        (
            operator("first", "x", "y", Pass.UNARY),
            operator("second", "y", "z", Pass.UNARY),
            operator("sum", "xz", "w", Pass.ELEMENTWISE),
        ),
    )


def test_a_problem_takes_its_numbers_from_the_chip_and_the_graph() -> None:
    graph = residual_graph()
    chip = small_chip(4, sram_bytes=4_096)
    problem = schedule_problem(
        graph, chip, contention=Contention.CHARGE, max_outstanding=2
    )
    assert problem.sram_bytes == 4_096
    assert problem.contention is Contention.CHARGE
    assert problem.max_outstanding == 2
    # HBM gives 8 B/cycle to ports of 4 · 2 B/cycle: u = 1, so σ is at its cap.
    assert problem.link_stretch_permille == 1_000
    assert problem.name == "residual on small"
    assert [o.name for o in problem.operators] == ["first", "second", "sum"]
    assert [o.layer for o in problem.operators] == [3, 3, 3]
    # x, 200 B over 4 cores, is held past the two operators that do not end it.
    assert [o.resident_bytes for o in problem.operators] == [50, 50, 0]
    assert [o.options for o in problem.operators] == [
        operator_options(graph, operator, chip) for operator in graph.operators
    ]


def test_options_beyond_the_sram_are_left_out() -> None:
    graph, operator = matmul(24, 40, 200)
    chip = small_chip(8, sram_bytes=6_000)
    everything = operator_options(graph, operator, chip)
    (kept,) = schedule_problem(graph, chip).operators
    assert kept.options == tuple(o for o in everything if o.own_bytes <= 6_000)
    assert 0 < len(kept.options) < len(everything)


def test_too_little_sram_names_operator_need_have_and_the_least_that_works() -> None:
    graph = residual_graph()
    # Tiles of 25 elements, 50 B: two of them and 50 B of x; the sum has three tiles.
    chip = small_chip(4, sram_bytes=149)
    with pytest.raises(
        InfeasibleError,
        match=r"operator first: the smallest option needs 150 bytes per core, 50 of "
        r"them activations held for later operators; 149 are usable; 0 of 3 operators "
        r"fit, short are first by 1 KiB, second by 1 KiB, sum by 1 KiB \(the smallest "
        r"usable SRAM that works is 150 bytes, 1 KiB per core\)",
    ) as caught:
        schedule_problem(graph, chip)
    assert caught.value.needed_bytes == 150
    assert caught.value.available_bytes == 149
    assert caught.value.smallest_capacity_bytes == 150


def test_the_smallest_capacity_works_and_one_byte_less_does_not() -> None:
    graph, _ = matmul(24, 40, 200)
    chip = small_chip(8, sram_bytes=100)
    with pytest.raises(InfeasibleError) as caught:
        schedule_problem(graph, chip)
    least = caught.value.smallest_capacity_bytes
    assert least is not None
    enough = replace(chip, core=replace(chip.core, sram_bytes=least))
    assert schedule_problem(graph, enough).operators
    short = replace(chip, core=replace(chip.core, sram_bytes=least - 1))
    with pytest.raises(InfeasibleError):
        schedule_problem(graph, short)


def test_the_name_of_a_problem_is_one_that_a_file_may_hold() -> None:
    graph = replace(residual_graph(), name="g" * 200)
    chip = replace(small_chip(cores=8), name="c" * 200)
    assert len(schedule_problem(graph, chip).name) == 200


def test_cycles_that_no_file_holds_are_refused_before_planning() -> None:
    """200 · 40 values of two bytes at 1 B/s of a 1 THz clock: 1.6 · 10^16 cycles."""
    graph, _ = matmul(24, 40, 200)
    chip = small_chip(8, sram_bytes=60_000)
    slow = replace(chip, clock_hz=10**12, hbm=replace(chip.hbm, bytes_per_second=1))
    with pytest.raises(BadInputError, match=r"takes \d+ cycles .* at most 10\^15"):
        schedule_problem(graph, slow)
