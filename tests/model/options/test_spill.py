"""Activations moved out to HBM until every operator fits."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.one_operator import small_chip

from elkhound.model.dtype import DTYPES
from elkhound.model.errors import InfeasibleError
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
from elkhound.model.options import (
    Spilled,
    operator_options,
    schedule_problem,
    spill_to_fit,
)
from elkhound.model.options.search import least_bytes


def elementwise(steps: list[tuple[str, str]], size: int = 100) -> Graph:
    """Operators (inputs, output) over tensors of one letter each, 2 B an element."""
    whole = (Axis((("e", 1),)),)
    letters = dict.fromkeys(
        letter for step in steps for part in step for letter in part
    )
    return Graph(
        "elementwise",
        tuple(Tensor(x, (size,), DTYPES["float16"], Home.CHIP) for x in letters),
        tuple(
            Operator(
                f"make {output}",
                OperatorKind.ELEMENTWISE,
                Einsum(
                    (Dimension("e", size),),
                    tuple(Access(letter, whole) for letter in inputs),
                    Access(output, whole),
                    (Pass.ELEMENTWISE if len(inputs) > 1 else Pass.UNARY,),
                ),
            )
            for inputs, output in steps
        ),
    )


def two_residuals() -> Graph:
    """x is held past y, v and z; q past v, z and w."""
    return elementwise(
        [
            ("a", "x"),
            ("x", "q"),
            ("q", "y"),
            ("y", "v"),
            ("v", "z"),
            ("xz", "w"),
            ("qw", "u"),
        ]
    )


# Each tensor is 200 B, 50 B a core. y, v and z need two tiles and hold x and q, w needs
# three tiles and holds q: 200 B. u needs three tiles and holds nothing: 150 B.
ROOM = 200


def test_nothing_moves_where_everything_fits() -> None:
    graph = two_residuals()
    assert spill_to_fit(graph, small_chip(4, sram_bytes=ROOM)) == (graph, ())


def test_only_what_has_to_move_moves() -> None:
    graph = two_residuals()
    chip = small_chip(4, sram_bytes=ROOM - 1)
    with pytest.raises(InfeasibleError):
        schedule_problem(graph, chip)
    spilled, moved = spill_to_fit(graph, chip)
    # x would make room for y, v and z, but not for w; q makes room for all. 200 B take
    # 25 cycles at 8 B a cycle, as do 50 B at 2 B a cycle; y and u read q.
    assert moved == (Spilled("q", 200, write_cycles=25, read_cycles=50),)
    homes = {t.name: t.home for t in spilled.tensors if t.home is not Home.CHIP}
    assert homes == {"q": Home.SPILLED}
    problem = schedule_problem(spilled, chip)
    assert [o.resident_bytes for o in problem.operators] == [0, 50, 50, 50, 50, 0, 0]


def test_writers_and_readers_gain_link_time_and_no_preload() -> None:
    graph = two_residuals()
    chip = small_chip(4, sram_bytes=ROOM - 1)
    spilled, _ = spill_to_fit(graph, chip)
    gained = []
    for before, after in zip(graph.operators, spilled.operators, strict=True):
        old = operator_options(graph, before, chip)
        new = operator_options(spilled, after, chip)
        (gain,) = {
            b.execute_cycles - a.execute_cycles for a, b in zip(old, new, strict=True)
        }
        gained.append(gain)
        assert new == tuple(
            replace(
                option,
                execute_cycles=option.execute_cycles + gain,
                execute_link_cycles=option.execute_link_cycles + gain,
                distribute_cycles=(option.distribute_cycles or 0) + gain,
            )
            for option in old
        )
        assert not any(option.streams for option in new)
    assert gained == [0, 25, 25, 0, 0, 0, 25]


def test_an_operator_too_large_by_itself_is_refused_with_the_numbers() -> None:
    chip = small_chip(4, sram_bytes=149)
    spilled, _ = spill_to_fit(two_residuals(), chip)
    with pytest.raises(
        InfeasibleError,
        match="operator make w: the smallest option needs 150 bytes per core, 0 of",
    ):
        schedule_problem(spilled, chip)


def test_graph_inputs_stay() -> None:
    # a is held past everything, but nothing in the graph writes it.
    graph = elementwise([("a", "x"), ("x", "y"), ("y", "z"), ("za", "w")])
    chip = small_chip(4, sram_bytes=149)
    assert spill_to_fit(graph, chip) == (graph, ())


def test_a_part_that_is_read_or_written_is_paid_as_a_part() -> None:
    half = DTYPES["float16"]
    row = (Axis(()), Axis((("e", 1),)))
    einsum = Einsum(
        (Dimension("e", 64),), (Access("x", row),), Access("y", row), (Pass.SLICE,)
    )
    operator = Operator("copy", OperatorKind.COPY, einsum)
    tensors = tuple(Tensor(name, (8, 64), half, Home.SPILLED) for name in "xy")
    graph = Graph("rows", tensors, (operator,))
    assert graph.spilled_bytes(operator) == ({"x": 128}, {"y": 128})
    assert graph.streamed_bytes(operator) == 0


@given(
    steps=st.lists(
        st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=2, max_size=9
    ),
    room=st.integers(100, 400),
)
@settings(derandomize=True, deadline=None, max_examples=60)
def test_a_spilled_graph_fits_wherever_its_operators_fit_alone(
    steps: list[tuple[int, int]], room: int
) -> None:
    letters = "abcdefghijkl"
    graph = elementwise(
        [
            (
                "".join(dict.fromkeys(letters[k % (i + 1)] for k in pair)),
                letters[i + 1],
            )
            for i, pair in enumerate(steps)
        ]
    )
    chip = small_chip(4, sram_bytes=room)
    spilled, moved = spill_to_fit(graph, chip)
    assert {t.name for t in spilled.tensors if t.home is Home.SPILLED} == {
        m.tensor for m in moved
    }
    held = spilled.held_bytes(4)
    inputs = replace(
        spilled,
        tensors=tuple(
            t if t.name == "a" else replace(t, home=Home.SPILLED)
            for t in spilled.tensors
        ),
    ).held_bytes(4)
    for operator, beside, least_beside in zip(
        graph.operators, held, inputs, strict=True
    ):
        alone = least_bytes(graph, operator, chip)
        assert alone + beside <= room or alone + least_beside > room
    for tensor in moved:  # each has to be out
        back = replace(
            spilled,
            tensors=tuple(
                replace(t, home=Home.CHIP) if t.name == tensor.tensor else t
                for t in spilled.tensors
            ),
        )
        assert any(
            least_bytes(graph, operator, chip) + beside > room
            for operator, beside in zip(
                graph.operators, back.held_bytes(4), strict=True
            )
        )
