from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

from elkhound.model.errors import BadInputError
from elkhound.model.graph import Graph

node = helper.make_node


def reads(graph: Graph, index: int) -> list[tuple[str, list[tuple[str, ...]]]]:
    """Return root and dimensions per axis of each input of an operator."""
    return [
        (a.tensor, [tuple(name for name, _ in axis.terms) for axis in a.axes])
        for a in graph.operators[index].einsum.inputs
    ]


def test_a_transposed_view_permutes_the_axes_and_shares_the_storage(
    files: Any,
) -> None:
    nodes = [
        node("Relu", ["x"], ["k"]),
        node("Transpose", ["k"], ["t"], perm=[1, 0]),
        node("MatMul", ["x", "t"], ["y"]),
    ]
    graph = files.read(nodes, {"x": (3, 4)}, "y").graph
    assert reads(graph, 1) == [("x", [("m",), ("k",)]), ("k", [("n",), ("k",)])]
    assert [t.name for t in graph.tensors] == ["x", "k", "y"]


def test_a_reshaped_view_is_read_in_the_readers_own_axes(files: Any) -> None:
    nodes = [
        node("Relu", ["x"], ["h"]),
        node("Reshape", ["h", "shape"], ["v"]),
        node("Softmax", ["v"], ["y"]),
    ]
    graph = files.read(nodes, {"x": (3, 8)}, "y", constants={"shape": [3, 2, 4]}).graph
    assert reads(graph, 1) == [("h", [("d0",), ("d1",), ("d2",)])]


@pytest.mark.parametrize(
    "view",
    [
        pytest.param(node("Flatten", ["h"], ["v"]), id="flatten"),
        pytest.param(node("Identity", ["h"], ["v"]), id="identity"),
        pytest.param(node("Dropout", ["h"], ["v"]), id="dropout"),
        pytest.param(node("Unsqueeze", ["h", "axes"], ["v"]), id="unsqueeze"),
        pytest.param(node("Squeeze", ["h", "axes"], ["v"]), id="squeeze"),
        pytest.param(node("Cast", ["h"], ["v"], to=10), id="cast-to-the-same-type"),
    ],
)
def test_a_view_is_no_operator(files: Any, view: Any) -> None:
    nodes = [node("Relu", ["x"], ["h"]), view, node("Relu", ["v"], ["y"])]
    graph = files.read(nodes, {"x": (1, 8)}, "y", constants={"axes": [0]}).graph
    assert [o.name for o in graph.operators] == ["h", "y"]
    assert graph.operators[1].einsum.inputs[0].tensor == "h"


def test_views_of_one_weight_are_one_weight(files: Any) -> None:
    # A tied embedding: the table is gathered from, and transposed to be the head.
    nodes = [
        node("Cast", ["x"], ["rows"], to=7),
        node("Gather", ["table", "rows"], ["h"]),
        node("Transpose", ["table"], ["head"], perm=[1, 0]),
        node("MatMul", ["h", "head"], ["y"]),
    ]
    graph = files.read(nodes, {"x": (3,)}, "y", weights={"table": (100, 8)}).graph
    assert reads(graph, 2)[1] == ("table", [("n",), ("k",)])


def test_an_output_that_is_a_view_names_its_root(files: Any) -> None:
    nodes = [
        node("Relu", ["x"], ["h"]),
        node("Transpose", ["h"], ["y"], perm=[1, 0]),
        node("Exp", ["y"], ["z"]),
    ]
    graph = files.read(nodes, {"x": (3, 4)}, ["y", "z"]).graph
    assert graph.outputs == ("h", "z")


def test_a_graph_of_views_alone_has_nothing_to_plan(files: Any) -> None:
    nodes = [node("Transpose", ["x"], ["y"])]
    with pytest.raises(BadInputError, match="nothing to plan") as error:
        files.read(nodes, {"x": (3, 4)}, "y")
    assert error.value.code == "nothing-to-plan"


def test_unnamed_and_equally_named_nodes_get_stable_names(files: Any) -> None:
    nodes = [
        node("Relu", ["x"], ["a"], name="act"),
        node("Exp", ["a"], ["b"], name="act"),
        node("Relu", ["b"], ["y"]),
    ]
    graph = files.read(nodes, {"x": (3, 4)}, "y").graph
    assert [o.name for o in graph.operators] == ["act", "act#2", "y"]


def test_names_are_such_as_a_problem_file_may_hold(files: Any) -> None:
    long = "module/" * 60
    nodes = [
        node("Relu", ["x"], ["a"], name=long + "1"),
        node("Relu", ["a"], ["b"], name=long + "2"),
        node("Relu", ["b"], ["c"], name=long + "2"),
        node("Relu", ["c"], ["y"], name="red\x1b[31m\n"),
    ]
    graph = files.read(nodes, {"x": (3, 4)}, "y").graph
    names = [operator.name for operator in graph.operators]
    assert len(set(names)) == 4
    assert all(len(name) <= 200 for name in names)
    assert names[0].startswith("module/")
    assert names[0].endswith("/module/1")
    assert names[3] == "red_[31m_"


def test_a_cycle_is_refused_by_node(files: Any) -> None:
    nodes = [
        node("Add", ["x", "b"], ["a"], name="first"),
        node("Relu", ["a"], ["b"], name="second"),
        node("Exp", ["b"], ["y"]),
    ]
    with pytest.raises(BadInputError, match="node first depends on its own") as error:
        files.read(nodes, {"x": (3, 4)}, "y")
    assert error.value.code == "cyclic-graph"


def test_all_unsupported_types_are_named_in_one_line(files: Any) -> None:
    nodes = [
        node("Det", ["x"], ["a"], name="find"),
        node("Foo", ["a"], ["b"], domain="my.domain"),
        node("Relu", ["b"], ["y"]),
    ]
    with pytest.raises(
        BadInputError, match=r"operator Det \(node find, output a\); .*my.domain::F"
    ) as error:
        files.read(nodes, {"x": (3, 4)}, "y")
    assert error.value.code == "unsupported-operator"
    assert "\n" not in str(error.value)


def test_an_optional_output_that_is_not_computed_cannot_be_read(files: Any) -> None:
    nodes = [
        node("MaxPool", ["x"], ["p", "where"], kernel_shape=[2]),
        node("Cast", ["where"], ["y"], to=1),
    ]
    with pytest.raises(BadInputError, match="reads where, an optional output") as e:
        files.read(nodes, {"x": (1, 2, 8)}, "y")
    assert e.value.code == "unsupported-output"


def test_an_optional_output_that_leaves_the_graph_is_a_warning(files: Any) -> None:
    nodes = [node("MaxPool", ["x"], ["y", "where"], kernel_shape=[2])]
    report = files.read(nodes, {"x": (1, 2, 8)}, ["y", "where"])
    assert report.graph.outputs == ("y",)
    said = [w for w in report.warnings if "graph output where" in w]
    assert len(said) == 1


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        pytest.param(
            node("Add", ["x"], ["y"], name="sum"),
            r"node sum \(Add\): has 1 inputs, takes 2 to 2",
            id="too-few-inputs",
        ),
        pytest.param(
            node("Softmax", ["x"], ["y"], name="soft", axis=1.0),
            r"node soft \(Softmax\): attribute axis is 1.0 \(FLOAT\), must be an int",
            id="wrong-attribute-type",
        ),
        pytest.param(
            node("MaxPool", ["x"], ["y"], name="pool"),
            r"node pool \(MaxPool\): lacks attribute kernel_shape",
            id="missing-attribute",
        ),
        pytest.param(
            node("Conv", ["x", "x"], ["y"], name="conv", strides=[0, 0]),
            r"node conv \(Conv\): ",
            id="stride-zero",
        ),
    ],
)
def test_a_malformed_node_is_refused_by_name(
    files: Any, bad: Any, message: str
) -> None:
    with pytest.raises(BadInputError, match=message):
        files.read([bad], {"x": (1, 1, 3, 3)}, "y")


def test_an_empty_constant_that_is_only_concatenated_is_left_out(files: Any) -> None:
    nodes = [node("Concat", ["none", "x"], ["y"], axis=0)]
    graph = files.read(nodes, {"x": (3, 4)}, "y", weights={"none": (0, 4)}).graph
    assert [t.name for t in graph.tensors] == ["x", "y"]


@pytest.mark.parametrize(
    "writers",
    [
        pytest.param(["y", "y"], id="outputs"),
        pytest.param(["y", "h", "h"], id="values-nobody-reads"),
        pytest.param(["y", "x"], id="input"),
        pytest.param(["y", "w"], id="weight"),
    ],
)
def test_a_value_is_written_once(files: Any, writers: list[str]) -> None:
    nodes = [node("MatMul", ["x", "w"], [name]) for name in writers]
    with pytest.raises(BadInputError, match=f"{writers[-1]} is written twice") as error:
        files.read(nodes, {"x": (4, 4)}, "y", weights={"w": (4, 4)})
    assert error.value.code == "duplicate-output"


def test_a_view_keeps_the_number_of_elements(files: Any) -> None:
    # onnx infers [3, 5] from the constant without a look at x.
    nodes = [node("Reshape", ["x", "shape"], ["v"]), node("Relu", ["v"], ["y"])]
    with pytest.raises(BadInputError, match=r"\[4, 8\] cannot be reshaped to \[3, 5\]"):
        files.read(nodes, {"x": (4, 8)}, "y", constants={"shape": [3, 5]})


@pytest.mark.parametrize(
    ("limit", "step"),
    [pytest.param(2, 0, id="step-0"), pytest.param(2**40, 1, id="8-TiB")],
)
def test_a_range_that_cannot_be_counted_stays_unknown(
    files: Any, limit: int, step: int
) -> None:
    nodes = [
        node("Range", ["start", "limit", "step"], ["shape"]),
        node("Reshape", ["x", "shape"], ["v"]),
        node("Relu", ["v"], ["y"]),
    ]
    constants = {"start": np.int64(0), "limit": np.int64(limit), "step": np.int64(step)}
    with pytest.raises(BadInputError) as error:
        files.read(nodes, {"x": (4, 8)}, "y", constants=constants)
    assert error.value.code == "bad-shape"


@pytest.mark.filterwarnings("error")
def test_a_shape_that_is_no_number_stays_unknown(files: Any) -> None:
    nodes = [
        node("Cast", ["nan"], ["shape"], to=7),
        node("Reshape", ["x", "shape"], ["v"]),
        node("Relu", ["v"], ["y"]),
    ]
    with pytest.raises(BadInputError, match="is not a known constant"):
        files.read(nodes, {"x": (4, 8)}, "y", constants={"nan": [float("nan"), 1.0]})


def test_an_attribute_of_no_function_is_refused_by_name(files: Any) -> None:
    bad = node("Softmax", ["x"], ["y"], name="soft")
    bad.attribute.add(name="axis", ref_attr_name="outer", type="INT")
    with pytest.raises(BadInputError, match=r"node soft \(Softmax\): attribute axis"):
        files.read([bad], {"x": (4, 8)}, "y")


def test_a_refusal_names_the_file(files: Any) -> None:
    with pytest.raises(BadInputError) as error:
        files.read([node("Det", ["x"], ["y"])], {"x": (4, 8)}, "y")
    assert error.value.where == str(files.path)


def parts_of(files: Any, perm: list[int], shape: list[int]) -> Any:
    """Return the parts of h, stored as (2, 3, 4), transposed and then reshaped."""
    nodes = [
        node("Relu", ["x"], ["h"]),
        node("Transpose", ["h"], ["t"], perm=perm),
        node("Reshape", ["t", "shape"], ["v"]),
        node("Relu", ["v"], ["y"]),
    ]
    graph = files.read(nodes, {"x": (2, 3, 4)}, "y", constants={"shape": shape}).graph
    (read,) = graph.operators[1].einsum.inputs
    return read.parts


@pytest.mark.parametrize(
    ("perm", "shape", "parts"),
    [
        # strides of the storage are 12, 4 and 1
        pytest.param([0, 1, 2], [4, 6], (), id="re-cut-in-order"),
        pytest.param([1, 0, 2], [3, 8], (((4, 3),), ((12, 2), (1, 4))), id="merged"),
        pytest.param([2, 0, 1], [4, 6], (((1, 4),), ((4, 6),)), id="a-run-of-two"),
        pytest.param(
            [1, 0, 2], [3, 4, 2], (((4, 3),), ((12, 2), (2, 2)), ((1, 2),)), id="split"
        ),
        pytest.param([2, 1, 0], [8, 3], (((0, 8),), ((0, 3),)), id="no-strides-tell"),
    ],
)
def test_a_reshape_behind_a_transpose_tells_its_place_in_the_storage(
    files: Any, perm: list[int], shape: list[int], parts: Any
) -> None:
    assert parts_of(files, perm, shape) == parts
