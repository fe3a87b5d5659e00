"""Canonical shapes: equal exactly where options are."""

from __future__ import annotations

from dataclasses import replace

from oracles.one_operator import matmul, one_operator

from elkhound.model.graph import Graph, Home, Pass
from elkhound.model.options.shape import canonical


def test_names_and_dimensions_of_size_one_do_not_matter() -> None:
    one = one_operator(
        {"x": 4, "one": 1, "y": 5, "z": 6}, ["x one z", "z y"], "x y", (Pass.MATMUL,)
    )
    other = one_operator(
        {"m": 4, "n": 5, "k": 6}, ["m k", "k n"], "m n", (Pass.MATMUL,)
    )
    assert canonical(*one)[0] == canonical(*other)[0]
    names = canonical(*one)[1]
    assert names.dimensions == {"0": "x", "1": "y", "2": "z"}
    assert names.whole == ("one",)
    assert names.inputs == ("input0", "input1")


def test_types_homes_and_row_dimensions_matter() -> None:
    graph, operator = matmul(4, 5, 6)
    shape = canonical(graph, operator)[0]
    assert shape != canonical(*matmul(4, 5, 6, dtype="int8"))[0]
    assert shape != canonical(*matmul(4, 5, 6, streamed=()))[0]
    streamed = tuple(replace(tensor, home=Home.HBM) for tensor in graph.tensors)
    assert shape != canonical(Graph("g", streamed, (operator,)), operator)[0]


def test_twins_are_merged() -> None:
    shape, names = canonical(
        *one_operator(
            {"b": 3, "m": 4, "h": 5, "k": 6},
            ["b h m k", "b h k"],
            "b h m",
            (Pass.MATMUL,),
        )
    )
    assert [d.size for d in shape.einsum.dimensions] == [15, 4, 6]
    assert names.dimensions["0"] == "b*h"
    assert [len(access.axes) for access in shape.einsum.inputs] == [3, 2]


def test_dimensions_that_share_an_axis_or_a_stride_are_no_twins() -> None:
    shape, _ = canonical(
        *one_operator(
            {"oc": 4, "oh": 5, "ow": 6, "kh": 3, "kw": 3},
            ["oh+kh ow+kw", "oc kh kw"],
            "oc oh ow",
            (Pass.MATMUL,),
        )
    )
    assert len(shape.einsum.dimensions) == 5
    strided, _ = canonical(
        *one_operator({"oh": 5, "ow": 6}, ["2oh 2ow"], "oh ow", (Pass.SLICE,))
    )
    assert len(strided.einsum.dimensions) == 2


def test_a_pointwise_convolution_merges_its_positions() -> None:
    shape, names = canonical(
        *one_operator(
            {"oc": 4, "oh": 5, "ow": 6, "ic": 7, "kh": 1, "kw": 1},
            ["ic oh+kh ow+kw", "oc ic kh kw"],
            "oc oh ow",
            (Pass.MATMUL,),
        )
    )
    assert names.dimensions == {"0": "oc", "1": "oh*ow", "2": "ic"}
    assert (
        shape
        == canonical(
            *one_operator(
                {"n": 4, "m": 30, "k": 7}, ["k m", "n k"], "n m", (Pass.MATMUL,)
            )
        )[0]
    )


def test_rows_and_what_they_reduce_over_are_no_twins() -> None:
    shape, _ = canonical(
        *one_operator(
            {"m": 4, "n": 5}, ["m n"], "m n", (Pass.REDUCE,), row_dimensions=("n",)
        )
    )
    assert len(shape.einsum.dimensions) == 2
    assert shape.einsum.row_dimensions == ("1",)


def test_a_gather_keeps_rows_and_columns_apart() -> None:
    shape, _ = canonical(
        *one_operator({"i": 4, "h": 5}, ["i h"], "i h", (Pass.GATHER,))
    )
    assert len(shape.einsum.dimensions) == 2


def test_an_input_read_twice_alike_is_held_once() -> None:
    graph, operator = one_operator({"e": 6}, ["e", "e"], "e", (Pass.ELEMENTWISE,))
    first = operator.einsum.inputs[0]
    square = replace(operator, einsum=replace(operator.einsum, inputs=(first, first)))
    shape, names = canonical(graph, square)
    assert len(shape.einsum.inputs) == 1
    assert names.inputs == ("input0",)
