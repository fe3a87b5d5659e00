"""Operators nobody knows: refused, let go free and listed, or described by a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from onnx import helper

from elkhound.model.errors import BadInputError
from elkhound.model.graph import Pass

node = helper.make_node
NODES = [
    node("Relu", ["x"], ["h"]),
    node("Foo", ["h"], ["f"], domain="my.domain", name="foo"),
    node("Exp", ["f"], ["y"]),
]
MODEL: Any = (NODES, {"x": (3, 4)}, "y")


def describe(path: Path, text: str) -> dict[str, Any]:
    file = path / "operators.yaml"
    file.write_text("operators:\n  my.domain::Foo:\n    " + text)
    return {"unknown": file}


def test_an_unknown_operator_refuses_the_file(files: Any) -> None:
    with pytest.raises(BadInputError, match=r"my\.domain::Foo .node foo") as error:
        files.read(*MODEL)
    assert error.value.code == "unsupported-operator"
    assert "--unknown" in str(error.value)


def test_let_go_free_it_is_a_warning_and_no_operator(files: Any) -> None:
    # its shape is nowhere: the file has to say it
    with pytest.raises(BadInputError, match="the shape of f is unknown"):
        files.read(*MODEL, options={"unknown": "zero"})


@pytest.fixture
def stated(files: Any) -> Any:
    """The model with the shape of the unknown operator's output in the file."""
    import onnx

    path = files.write(*MODEL)
    model = onnx.load(path)
    model.graph.value_info.append(
        helper.make_tensor_value_info("f", onnx.TensorProto.FLOAT16, [3, 4])
    )
    model.graph.output[0].type.CopyFrom(model.graph.value_info[0].type)
    onnx.save(model, path)
    return path


def test_one_unknown_operator_is_one_warning(stated: Any) -> None:
    from elkhound.model.onnx_import import import_onnx

    report = import_onnx(stated, unknown="zero")
    assert [o.name for o in report.graph.operators] == ["h", "y"]
    assert report.unsupported == ("my.domain::Foo",)
    assert len(report.warnings) == 1
    assert "my.domain::Foo is not known: its 1 nodes cost nothing" in report.warnings[0]


def test_strict_refuses_a_file_that_warns(stated: Any) -> None:
    from elkhound.model.onnx_import import import_onnx

    with pytest.raises(BadInputError, match="1 warnings, and none") as error:
        import_onnx(stated, unknown="zero", strict=True)
    assert error.value.code == "strict"
    assert error.value.exit_status == 2


def test_a_file_gives_shape_type_and_cost(files: Any, tmp_path: Path) -> None:
    options = describe(
        tmp_path, "{shape: ['0[1]', 7], dtype: int8, passes: [unary, elementwise]}"
    )
    graph = files.read(*MODEL, options=options).graph
    foo = graph.operators[1]
    assert foo.einsum.passes == (Pass.UNARY, Pass.ELEMENTWISE)
    assert graph.tensor["f"].shape == (4, 7)
    assert graph.tensor["f"].dtype.name == "int8"
    assert graph.tensor["y"].shape == (4, 7)


def test_a_file_names_an_operator_that_stands_in(files: Any, tmp_path: Path) -> None:
    graph = files.read(*MODEL, options=describe(tmp_path, "{as: Sigmoid}")).graph
    alike = files.read(
        [NODES[0], node("Sigmoid", ["h"], ["f"], name="foo"), NODES[2]],
        {"x": (3, 4)},
        "y",
    ).graph
    assert graph.operators == alike.operators


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("{pases: [unary]}", "did you mean passes", id="misspelt"),
        pytest.param("{passes: [sort]}", "sort", id="no-such-pass"),
        pytest.param(
            "{shape: [3]}", "needs as, a known operator, or passes", id="free"
        ),
        pytest.param("{as: Gelu, shape: [3]}", "no effect beside as", id="both"),
        pytest.param("{as: Sigmoit}", "did you mean Sigmoid", id="stand-in"),
        pytest.param("{passes: [unary], dtype: half}", "element type half", id="dtype"),
        pytest.param(
            "{passes: [unary], shape: ['3[0]']}", r"there is no 3\[0\]", id="no-input"
        ),
    ],
)
def test_a_wrong_description_is_refused(
    files: Any, tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(BadInputError, match=message):
        files.read(*MODEL, options=describe(tmp_path, text))


def test_neither_a_policy_nor_a_file(files: Any) -> None:
    with pytest.raises(BadInputError, match="neither error nor zero"):
        files.read(*MODEL, options={"unknown": "zeros"})
