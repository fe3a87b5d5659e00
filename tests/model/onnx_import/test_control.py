"""If, Loop and Scan: one branch taken, iterations written out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import GraphProto, TensorProto, helper, numpy_helper

from elkhound.model.errors import BadInputError

node = helper.make_node
value = helper.make_tensor_value_info


def branch(*ops: str) -> GraphProto:
    """A branch that applies operators to x, one after the other."""
    names = ["x", *(f"{op}{i}" for i, op in enumerate(ops))]
    nodes = [
        node(op, [names[i]], [names[i + 1]], name=f"{op}-{i}")
        for i, op in enumerate(ops)
    ]
    return helper.make_graph(
        nodes, "branch", [], [value(names[-1], TensorProto.FLOAT16, None)]
    )


def conditional(then: GraphProto, otherwise: GraphProto) -> list[Any]:
    return [
        node("Cast", ["c"], ["condition"], to=TensorProto.BOOL),
        node(
            "If",
            ["condition"],
            ["y"],
            name="choice",
            then_branch=then,
            else_branch=otherwise,
        ),
    ]


INPUTS = {"x": (3, 4), "c": (1,)}
BRANCHES = conditional(branch("Relu"), branch("Exp", "Sigmoid"))


def test_the_larger_branch_is_taken_and_said_so(files: Any) -> None:
    report = files.read(BRANCHES, INPUTS, "y")
    assert [o.name for o in report.graph.operators] == ["Exp-0", "Sigmoid-1"]
    assert any("takes its else branch" in warning for warning in report.warnings)
    assert any("--branch choice=then" in warning for warning in report.warnings)


def test_a_named_branch_is_taken(files: Any) -> None:
    options = {"branches": {"choice": "then"}}
    report = files.read(BRANCHES, INPUTS, "y", options=options)
    assert [o.name for o in report.graph.operators] == ["Relu-0"]


def test_a_constant_condition_decides_without_a_word(files: Any) -> None:
    nodes = BRANCHES[1:]
    constants = {"condition": np.array(True)}
    report = files.read(nodes, {"x": (3, 4)}, "y", constants=constants)
    assert [o.name for o in report.graph.operators] == ["Relu-0"]
    assert not any("choice" in warning for warning in report.warnings)


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        pytest.param(
            {"branches": {"choise": "then"}},
            "unknown-node",
            "no If called choise leaves this open .did you mean choice",
            id="misspelt",
        ),
        pytest.param(
            {"branches": {"choice": "both"}}, "bad-value", "then or else", id="both"
        ),
        pytest.param(
            {"trips": {"choice": 3}}, "unknown-node", "no Loop called", id="no-loop"
        ),
        pytest.param({"trips": {"l": 0}}, "bad-value", "at least once", id="no-trip"),
    ],
)
def test_a_choice_without_effect_is_refused(
    files: Any, options: Any, code: str, message: str
) -> None:
    with pytest.raises(BadInputError, match=message) as error:
        files.read(BRANCHES, INPUTS, "y", options=options)
    assert error.value.code == code


def test_what_the_other_branch_holds_does_not_matter(files: Any) -> None:
    nodes = conditional(branch("Det"), branch("Exp", "Sigmoid"))
    assert len(files.read(nodes, INPUTS, "y").graph.operators) == 2
    with pytest.raises(BadInputError, match="cannot plan operator Det"):
        files.read(nodes, INPUTS, "y", options={"branches": {"choice": "then"}})


def test_branches_inside_branches_are_taken_too(files: Any) -> None:
    inner = helper.make_graph(
        conditional(branch("Relu"), branch("Exp", "Sigmoid"))[1:],
        "inner",
        [],
        [value("y", TensorProto.FLOAT16, None)],
    )
    inner.node[0].output[0] = inner.output[0].name = "inner"
    inner.node[0].name = "deeper"
    report = files.read(conditional(inner, branch("Relu")), INPUTS, "y")
    assert [o.name for o in report.graph.operators] == ["Exp-0", "Sigmoid-1"]


def loop_body() -> GraphProto:
    """state := state · w; each state is an output."""
    return helper.make_graph(
        [
            node("MatMul", ["state", "w"], ["next"], name="step"),
            node("Identity", ["goes_on"], ["still"]),
            node("Identity", ["next"], ["seen"]),
        ],
        "body",
        [
            value("i", TensorProto.INT64, []),
            value("goes_on", TensorProto.BOOL, []),
            value("state", TensorProto.FLOAT16, [3, 4]),
        ],
        [
            value("still", TensorProto.BOOL, []),
            value("next", TensorProto.FLOAT16, [3, 4]),
            value("seen", TensorProto.FLOAT16, [3, 4]),
        ],
    )


def test_a_loop_with_a_known_count_is_written_out(files: Any) -> None:
    nodes = [node("Loop", ["n", "", "x"], ["y", "all"], name="loop", body=loop_body())]
    graph = files.read(
        nodes,
        {"x": (3, 4)},
        ["y", "all"],
        weights={"w": (4, 4)},
        constants={"n": np.array(5)},
    ).graph
    assert graph.macs == 5 * 3 * 4 * 4
    assert [o.name for o in graph.operators][:2] == ["step@0", "step@1"]
    # `all` is stacked of five copies
    assert graph.tensor["all"].shape == (5, 3, 4)
    # each iteration streams the weight
    assert sum(graph.streamed_bytes(o) for o in graph.operators) == 5 * 4 * 4 * 2


def test_a_loop_of_unknown_length_needs_a_trip_count(files: Any) -> None:
    nodes = [
        node("Cast", ["c"], ["n"], to=TensorProto.INT64),
        node("Loop", ["n", "", "x"], ["y", ""], name="loop", body=loop_body()),
    ]
    model: Any = (nodes, {"x": (3, 4), "c": ()}, "y")
    weights = {"w": (4, 4)}
    with pytest.raises(BadInputError, match=r"Loop .*--trip loop=N") as error:
        files.read(*model, weights=weights)
    assert error.value.code == "unbounded-loop"
    report = files.read(*model, weights=weights, options={"trips": {"loop": 7}})
    assert report.graph.macs == 7 * 3 * 4 * 4
    assert any("7 iterations planned" in warning for warning in report.warnings)


def test_a_scan_runs_once_per_slice(files: Any) -> None:
    body = helper.make_graph(
        [
            node("MatMul", ["row", "w"], ["product"], name="step"),
            node("Add", ["state", "product"], ["next"], name="sum"),
            node("Identity", ["next"], ["seen"]),
        ],
        "body",
        [
            value("state", TensorProto.FLOAT16, [3, 4]),
            value("row", TensorProto.FLOAT16, [3, 4]),
        ],
        [
            value("next", TensorProto.FLOAT16, [3, 4]),
            value("seen", TensorProto.FLOAT16, [3, 4]),
        ],
    )
    nodes = [node("Scan", ["s", "x"], ["y", "all"], body=body, num_scan_inputs=1)]
    graph = files.read(
        nodes,
        {"s": (3, 4), "x": (6, 3, 4)},
        ["y", "all"],
        weights={"w": (4, 4)},
    ).graph
    assert graph.macs == 6 * 3 * 4 * 4
    assert graph.tensor["all"].shape == (6, 3, 4)


def test_constants_inside_a_branch_are_weights(files: Any) -> None:
    inside = helper.make_graph(
        [node("MatMul", ["x", "w"], ["product"], name="product")],
        "branch",
        [],
        [value("product", TensorProto.FLOAT16, None)],
        [numpy_helper.from_array(np.zeros((4, 6), np.float16), "w")],
    )
    graph = files.read(conditional(inside, branch("Relu")), INPUTS, "y").graph
    assert sum(graph.streamed_bytes(o) for o in graph.operators) == 4 * 6 * 2
