from __future__ import annotations

from itertools import pairwise
from typing import Any

from onnx import helper

node = helper.make_node


def test_equal_blocks_in_a_chain_are_layers(files: Any) -> None:
    nodes = [node("Exp", ["x"], ["x0"])]
    for i in range(3):
        nodes.append(node("MatMul", [f"x{i}", f"w{i}"], [f"h{i}"]))
        nodes.append(node("Relu", [f"h{i}"], [f"x{i + 1}"]))
    nodes.append(node("Softmax", ["x3"], ["y"]))
    weights = {f"w{i}": (4, 4) for i in range(3)}
    graph = files.read(nodes, {"x": (3, 4)}, "y", weights=weights).graph
    assert [o.layer for o in graph.operators] == [None, 0, 0, 1, 1, 2, 2, None]


def test_equal_operators_side_by_side_are_no_layers(files: Any) -> None:
    # Three projections of the same x: none reads what another made.
    nodes = [node("MatMul", ["x", f"w{i}"], [f"y{i}"]) for i in range(3)]
    weights = {f"w{i}": (4, 4) for i in range(3)}
    graph = files.read(nodes, {"x": (3, 4)}, ["y0", "y1", "y2"], weights=weights).graph
    assert [o.layer for o in graph.operators] == [None, None, None]


def test_blocks_of_different_width_are_no_layers(files: Any) -> None:
    nodes = [
        node("MatMul", ["x", "w0"], ["h"]),
        node("MatMul", ["h", "w1"], ["y"]),
    ]
    weights = {"w0": (4, 4), "w1": (4, 5)}
    graph = files.read(nodes, {"x": (3, 4)}, "y", weights=weights).graph
    assert [o.layer for o in graph.operators] == [None, None]


def test_blocks_that_no_later_block_reads_are_no_layers(files: Any) -> None:
    # Equal pairs of operators, the products of each read by the last operator alone.
    nodes, made = [], []
    for i in range(3):
        nodes.append(node("MatMul", ["x", f"w{i}"], [f"h{i}"]))
        nodes.append(node("Relu", [f"h{i}"], [f"r{i}"]))
        made.append(f"r{i}")
    nodes.append(node("Concat", made, ["y"], axis=0))
    weights = {f"w{i}": (4, 4) for i in range(3)}
    graph = files.read(nodes, {"x": (3, 4)}, "y", weights=weights).graph
    assert {o.layer for o in graph.operators} == {None}


def test_thousands_of_equal_operators_are_looked_through_at_once(files: Any) -> None:
    # Comparing blocks one by one would take minutes: 1500 periods at 3000 starts.
    names = ["x", *(f"h{i}" for i in range(3000))]
    nodes = [node("Relu", [a], [b]) for a, b in pairwise(names)]
    nodes.append(node("MatMul", [names[-1], "w"], ["y"]))
    graph = files.read(nodes, {"x": (3, 4)}, "y", weights={"w": (4, 4)}).graph
    assert {o.layer for o in graph.operators} == {None}
