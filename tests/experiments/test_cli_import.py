"""`elkhound import` on files that leave something open."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
from fakes.said import Said
from onnx import TensorProto, helper

Say = Callable[..., Said]
node = helper.make_node
value = helper.make_tensor_value_info


def branch(op: str) -> onnx.GraphProto:
    return helper.make_graph(
        [node(op, ["x"], [op], name=op)],
        op,
        [],
        [value(op, TensorProto.FLOAT, [3, 4])],
    )


@pytest.fixture
def model(tmp_path: Path) -> str:
    """An If by a runtime condition, then an operator nobody knows."""
    nodes = [
        node(
            "If",
            ["c"],
            ["h"],
            name="a=b",
            then_branch=branch("Relu"),
            else_branch=branch("Exp"),
        ),
        node("Foo", ["h"], ["y"], domain="my.domain", name="foo"),
    ]
    graph = helper.make_graph(
        nodes,
        "test",
        [value("x", TensorProto.FLOAT, [3, 4]), value("c", TensorProto.BOOL, [])],
        [value("y", TensorProto.FLOAT, [3, 4])],
    )
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("my.domain", 1)]
    file = tmp_path / "open.onnx"
    onnx.save(helper.make_model(graph, ir_version=10, opset_imports=imports), file)
    return "open.onnx"


@pytest.mark.skipif(
    "ELKHOUND_CASES" not in os.environ,
    reason="ELKHOUND_CASES does not name the folder with the real ONNX files",
)
def test_every_real_file_ends_in_a_graph_or_in_one_line(say: Say) -> None:
    folder = Path(os.environ.get("ELKHOUND_CASES", "")) / "onnx"
    paths = sorted(folder.glob("*.onnx"))
    assert paths
    for path in paths:
        said = say("import", str(path), "--json")
        document = json.loads(said.out)
        if said.status == 0:
            assert document["operators"]
        else:
            assert said.status == 2
            assert document["error"]["code"] != "error"
            assert "\n" not in document["error"]["message"]


def test_choices_are_flags_and_what_they_let_through_is_listed(
    say: Say, model: str
) -> None:
    flags = ("--branch", "a=b=else", "--unknown", "zero", "--json")
    said = say("import", model, *flags)
    document = json.loads(said.out)
    assert said.status == 0
    assert [o["name"] for o in document["operators"]] == ["Exp"]
    assert document["unsupported"] == ["my.domain::Foo"]
    assert len(document["warnings"]) == 2


def test_strict_ends_in_status_2(say: Say, model: str) -> None:
    said = say("import", model, "--unknown", "zero", "--strict")
    assert said.status == 2
    assert "2 warnings, and none is allowed" in said.line


def test_the_default_refuses_by_name(say: Say, model: str) -> None:
    said = say("import", model)
    assert said.status == 2
    assert "my.domain::Foo" in said.line


@pytest.mark.parametrize(
    ("flag", "text"),
    [
        pytest.param("--branch", "then", id="no-name"),
        pytest.param("--trip", "loop=many", id="no-number"),
        pytest.param("--trip", "=3", id="empty-name"),
        pytest.param("--trip", "loop=" + "9" * 5000, id="too-many-digits"),
    ],
)
def test_a_choice_is_a_name_and_a_value(
    say: Say, model: str, flag: str, text: str
) -> None:
    said = say("import", model, flag, text)
    assert said.status == 2
    assert "is not a node's name" in said.line


def test_a_workload_takes_none_of_them(say: Say) -> None:
    said = say("import", "llama-2-7b", "--bind", "batch=1,seq=64", "--strict")
    assert said.status == 2
    assert "--strict: has no effect on a built-in workload" in said.line
