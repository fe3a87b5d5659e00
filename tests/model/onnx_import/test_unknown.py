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
    with pytest.raises(BadInputError, match="node foo: the shape of f is unknown") as e:
        files.read(*MODEL, options={"unknown": "zero"})
    assert "a file for --unknown can" in str(e.value)


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
    assert "my.domain::Foo is not known: its 1 node costs nothing" in report.warnings[0]


def test_strict_refuses_a_file_that_warns(stated: Any) -> None:
    from elkhound.model.onnx_import import import_onnx

    with pytest.raises(BadInputError, match="1 warning, and none") as error:
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
        pytest.param("{as: 'elkhound::Free'}", "not known", id="our-own"),
        pytest.param("{as: Loop}", "has no body", id="loop"),
        pytest.param(
            "{as: Relu, attributes: {a: [[2]]}}",
            "must be an integer or a number or text or a list",
            id="attribute",
        ),
        pytest.param("{as: Sigmoit}", "did you mean Sigmoid", id="stand-in"),
        pytest.param("{passes: [unary], dtype: half}", "element type half", id="dtype"),
        pytest.param(
            "{passes: [unary], shape: ['3[0]']}",
            r"3\[0\]: there is no input 3",
            id="no-input",
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


def test_an_einsum_gives_products_and_bytes(files: Any, tmp_path: Path) -> None:
    # h is (3, 4) = (m, k) as it is; the weight w of 20 is seen as (5, 4) = (n, k)
    options = describe(
        tmp_path,
        "{shape: ['0[0]', cols], passes: [matmul, unary], einsum: 'mk,nk->mn',"
        " views: [null, [cols, '0[1]']]}",
    )
    nodes = [
        NODES[0],
        node("Foo", ["h", "w"], ["f"], domain="my.domain", name="foo", cols=5),
        NODES[2],
    ]
    report = files.read(
        nodes, {"x": (3, 4)}, "y", weights={"w": (20,)}, options=options
    )
    foo = report.graph.operators[1]
    assert foo.einsum.sizes == {"m": 3, "k": 4, "n": 5}
    assert foo.einsum.macs == 3 * 4 * 5
    assert foo.einsum.passes == (Pass.MATMUL, Pass.UNARY)
    assert report.graph.tensor["f"].shape == (3, 5)
    assert report.graph.streamed_bytes(foo) == 20 * 2
    assert any("operators.yaml:2" in warning for warning in report.warnings)


def test_an_input_that_does_not_spread_is_read_whole(
    files: Any, tmp_path: Path
) -> None:
    # f is (3,); w has 3000 elements: 1000 of them for every element of f
    options = describe(tmp_path, "{shape: ['0[0]'], passes: [reduce], reads: [1]}")
    nodes = [NODES[0], node("Foo", ["h", "w"], ["f"], domain="my.domain"), NODES[2]]
    graph = files.read(
        nodes, {"x": (3, 4)}, "y", weights={"w": (100, 30)}, options=options
    ).graph
    foo = graph.operators[1]
    assert foo.einsum.sizes == {"d0": 3, "share": 1000}
    assert graph.streamed_bytes(foo) == 3000 * 2
    assert [access.tensor for access in foo.einsum.inputs] == ["w"]


def test_every_output_may_have_its_own_cost(files: Any, tmp_path: Path) -> None:
    options = describe(
        tmp_path,
        "{outputs: [{passes: [unary]}, {shape: ['elements(0)'], dtype: int64,"
        " passes: [gather]}]}",
    )
    nodes = [
        node("Foo", ["x"], ["f", "i"], domain="my.domain", name="foo"),
        node("Exp", ["f"], ["y"]),
        node("Neg", ["i"], ["z"]),
    ]
    graph = files.read(nodes, {"x": (3, 4)}, ["y", "z"], options=options).graph
    assert [o.name for o in graph.operators] == ["foo", "foo[1]", "y", "z"]
    assert graph.tensor["i"].shape == (12,)
    assert graph.tensor["i"].dtype.name == "int64"


def test_a_stand_in_takes_some_inputs_and_attributes(
    files: Any, tmp_path: Path
) -> None:
    options = describe(
        tmp_path, "{as: Einsum, inputs: [0, 2], attributes: {equation: 'mk,nk->mn'}}"
    )
    nodes = [
        NODES[0],
        node("Foo", ["h", "h", "w"], ["f"], domain="my.domain", name="foo"),
        NODES[2],
    ]
    graph = files.read(
        nodes, {"x": (3, 4)}, "y", weights={"w": (5, 4)}, options=options
    ).graph
    assert graph.operators[1].einsum.macs == 3 * 4 * 5


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        pytest.param("\n      shape: [3, 'a b']", 5, "formula 'a b'", id="syntax"),
        pytest.param("\n      shape: ['2**9']", 5, "formula '2[*][*]9'", id="power"),
        pytest.param("\n      shape: ['f()']", 5, r"formula 'f\(\)'", id="call"),
        pytest.param("\n      views: [[3]]", 5, "no effect without einsum", id="views"),
        pytest.param("\n      inputs: [0]", 3, "no effect without as", id="inputs"),
        pytest.param("\n      shape: ['0[0] // 0']", 3, "division by zero", id="zero"),
        pytest.param("\n      shape: ['0[0] - 9']", 3, "from 1 to 10", id="negative"),
        pytest.param("\n      shape: [heads]", 3, "attribute heads", id="attribute"),
        pytest.param("\n      einsum: 'ab->ba'", 3, "gives .4, 3.", id="einsum"),
        pytest.param("\n      einsum: 'ab,c->a'", 3, "2 operands|for 1", id="operands"),
        pytest.param("\n      reads: [4]", 3, "input 4", id="reads"),
    ],
)
def test_a_wrong_formula_is_refused_by_its_line(
    files: Any, tmp_path: Path, text: str, line: int, message: str
) -> None:
    file = tmp_path / "operators.yaml"
    file.write_text(
        f"# mine\noperators:\n  my.domain::Foo:\n      passes: [unary]{text}\n"
    )
    with pytest.raises(BadInputError, match=message) as error:
        files.read(*MODEL, options={"unknown": file})
    assert str(error.value).startswith(f"{file}:{line}: ")
    assert "\n" not in str(error.value)


def test_a_matmul_pass_needs_an_einsum(files: Any, tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="needs an einsum"):
        files.read(*MODEL, options=describe(tmp_path, "{passes: [matmul]}"))
    text = "{passes: [matmul], einsum: 'ab->ab'}"
    with pytest.raises(BadInputError, match="no product of two operands"):
        files.read(*MODEL, options=describe(tmp_path, text))


def test_a_known_operator_needs_no_description(files: Any, tmp_path: Path) -> None:
    file = tmp_path / "operators.yaml"
    file.write_text("operators:\n  Relu: {passes: [unary]}\n")
    with pytest.raises(BadInputError, match="Relu is known") as error:
        files.read(*MODEL, options={"unknown": file})
    assert error.value.code == "no-effect"
    assert error.value.where == f"{file}:2"


def test_a_description_of_no_operator_of_the_model_is_a_warning(
    files: Any, tmp_path: Path
) -> None:
    options = describe(tmp_path, "{as: Sigmoid}\n  my.domain::Fo: {passes: [unary]}")
    warnings = files.read(*MODEL, options=options).warnings
    assert [w for w in warnings if "my.domain::Fo," in w] == [
        f"{tmp_path / 'operators.yaml'}:4: describes operator my.domain::Fo, which the "
        "model does not have (did you mean my.domain::Foo?)"
    ]
    with pytest.raises(BadInputError, match="the model does not have"):
        files.read(*MODEL, options={**options, "strict": True})


def test_an_operator_that_is_nearly_described_is_told_where(
    files: Any, tmp_path: Path
) -> None:
    file = tmp_path / "operators.yaml"
    file.write_text("operators:\n  my.domain::Fooo: {passes: [unary]}\n")
    with pytest.raises(BadInputError, match="cannot plan operator") as error:
        files.read(*MODEL, options={"unknown": file})
    assert error.value.hint == (
        f"{file}:2 describes my.domain::Fooo; did you mean my.domain::Foo?"
    )


def test_a_description_of_an_operator_inside_a_branch_not_taken_is_in_use(
    files: Any, tmp_path: Path
) -> None:
    bodies = {}
    for name, op, domain in (("then", "Foo", "my.domain"), ("else", "Neg", "")):
        inside = [node(op, ["h"], [f"{name}_out"], domain=domain)]
        out = helper.make_tensor_value_info(f"{name}_out", 10, [3, 4])
        bodies[f"{name}_branch"] = helper.make_graph(inside, name, [], [out])
    nodes = [NODES[0], node("If", ["c"], ["y"], name="if", **bodies)]
    options = describe(tmp_path, "{passes: [unary]}")
    report = files.read(
        nodes, {"x": (3, 4)}, "y", constants={"c": False}, options=options
    )
    assert not any("describes operator" in warning for warning in report.warnings)


def test_an_empty_policy_is_refused(files: Any) -> None:
    with pytest.raises(BadInputError, match="'' is neither error nor zero"):
        files.read(*MODEL, options={"unknown": ""})
