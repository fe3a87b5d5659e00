"""Constants that cannot be planned: harmless as long as nothing reads them."""

from __future__ import annotations

from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

from elkhound.model.errors import BadInputError
from elkhound.model.onnx_import import import_onnx

node = helper.make_node

TEXTS = TensorProto(
    name="texts", dims=[2], data_type=TensorProto.STRING, string_data=[b"a", b"b"]
)
ODD = TensorProto(name="odd", dims=[2], data_type=99, raw_data=b"ab")


def write_with(files: Any, nodes: Any, *tensors: TensorProto, output: str = "y") -> Any:
    path = files.write(nodes, {"x": (3, 2)}, output, weights={"w": (2, 2)})
    model = onnx.load(path)
    model.graph.initializer.extend(tensors)
    path.write_bytes(model.SerializeToString())
    return path


def branch(result: str, *tensors: TensorProto, reads: str = "x") -> Any:
    return helper.make_graph(
        [node("Add", ["x", reads], [result])],
        "branch",
        [],
        [onnx.ValueInfoProto(name=result)],
        list(tensors),
    )


UNREAD = [
    pytest.param([], (TEXTS, ODD), id="initializers"),
    pytest.param(
        [node("Constant", [], ["said"], value_string="labels")], (), id="constant-node"
    ),
    pytest.param([node("Constant", [], ["said"], value=TEXTS)], (), id="text-tensor"),
    pytest.param(
        [node("Identity", ["texts"], ["said"])], (TEXTS,), id="read-for-nothing"
    ),
    pytest.param(
        [
            node("Constant", [], ["three"], value_ints=[3]),
            node("ConstantOfShape", ["three"], ["said"], value=TEXTS),
        ],
        (),
        id="attribute-of-a-node-for-nothing",
    ),
]


@pytest.mark.parametrize(("others", "tensors"), UNREAD)
def test_texts_that_nothing_reads_do_no_harm(
    files: Any, others: Any, tensors: Any
) -> None:
    nodes = [*others, node("MatMul", ["x", "w"], ["y"])]
    graph = import_onnx(write_with(files, nodes, *tensors)).graph
    assert graph.macs == 3 * 2 * 2
    assert {tensor.name for tensor in graph.tensors} == {"x", "w", "y"}


def test_texts_that_a_branch_holds_and_does_not_read_do_no_harm(files: Any) -> None:
    nodes = [
        node("Constant", [], ["yes"], value=helper.make_tensor("t", 9, [], [1])),
        node(
            "If",
            ["yes"],
            ["y"],
            then_branch=branch("a", TEXTS),
            else_branch=branch("b", TEXTS, reads="texts"),  # not taken
        ),
    ]
    report = import_onnx(write_with(files, nodes))
    assert [o.name for o in report.graph.operators] == ["a"]


READ = [
    pytest.param([node("Add", ["x", "texts"], ["y"])], "y", "texts", id="read"),
    pytest.param([node("Add", ["x", "odd"], ["y"])], "y", "odd", id="no-known-type"),
    pytest.param([node("Relu", ["x"], ["y"])], "texts", "texts", id="an-output"),
    pytest.param(
        [
            node("Constant", [], ["said"], value_string="labels"),
            node("Add", ["x", "said"], ["y"]),
        ],
        "y",
        "said",
        id="constant-node",
    ),
    pytest.param(
        [
            node("Constant", [], ["yes"], value=helper.make_tensor("t", 9, [], [1])),
            node(
                "If",
                ["yes"],
                ["y"],
                then_branch=branch("a", TEXTS, reads="texts"),
                else_branch=branch("b"),
            ),
        ],
        "y",
        "texts",
        id="in-a-branch",
    ),
    pytest.param(
        [
            node("Shape", ["x"], ["s"]),
            node("ConstantOfShape", ["s"], ["z"], name="fill", value=TEXTS),
            node("Add", ["x", "z"], ["y"]),
        ],
        "y",
        "in attribute value",
        id="attribute",
    ),
]


@pytest.mark.parametrize(("nodes", "output", "named"), READ)
def test_texts_that_are_read_are_refused(
    files: Any, nodes: Any, output: str, named: str
) -> None:
    path = write_with(files, nodes, TEXTS, ODD, output=output)
    with pytest.raises(BadInputError, match=f"constant {named}: ") as error:
        import_onnx(path)
    assert error.value.code == "unsupported-type"
