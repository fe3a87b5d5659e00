from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from onnx import helper

from elkhound.model.errors import BadInputError
from elkhound.model.onnx_import import import_onnx

node = helper.make_node


def three_convs(files: Any) -> Path:
    """Three 3×3 convolutions of 4 channels on an 8×8 image, batch left open."""
    nodes = [
        node("Conv", [f"x{i}", f"w{i}"], [f"x{i + 1}"], pads=[1, 1, 1, 1])
        for i in range(3)
    ]
    weights = {f"w{i}": (4, 4, 3, 3) for i in range(3)}
    path: Path = files.write(nodes, {"x0": ("batch", 4, 8, 8)}, "x3", weights=weights)
    return path


def test_an_unbound_symbol_is_named_with_its_origin_and_the_way_to_bind_it(
    files: Any,
) -> None:
    with pytest.raises(BadInputError, match="input x0 axis 0: batch") as error:
        import_onnx(three_convs(files))
    assert error.value.code == "unbound-symbol"
    assert error.value.hint == "--bind batch=1"


def test_macs_follow_the_batch_and_weights_do_not(files: Any) -> None:
    path = three_convs(files)
    one, eight = (import_onnx(path, bind={"batch": b}).graph for b in (1, 8))
    assert one.macs == 3 * 4 * 4 * 9 * 64
    assert eight.macs == 8 * one.macs
    assert [one.streamed_bytes(o) for o in one.operators] == [
        eight.streamed_bytes(o) for o in eight.operators
    ]


def test_the_report_lists_symbols_with_extent_and_origin(files: Any) -> None:
    (symbol,) = import_onnx(three_convs(files), bind={"batch": 2}).symbols
    assert (symbol.name, symbol.value) == ("batch", 2)
    assert symbol.origins == ("input x0 axis 0",)


@pytest.mark.parametrize(
    ("dim", "name"),
    [
        pytest.param(None, "x[0]", id="unnamed"),
        pytest.param(-1, "x[0]", id="minus-one"),
        pytest.param("a.b:0", "a.b:0", id="dotted"),
    ],
)
def test_every_open_axis_has_a_name_to_bind(files: Any, dim: Any, name: str) -> None:
    path = files.write([node("Relu", ["x"], ["y"])], {"x": (dim, 4)}, "y")
    with pytest.raises(BadInputError) as error:
        import_onnx(path)
    assert error.value.hint == f"--bind {name}=1"
    graph = import_onnx(path, bind={name: 3}).graph
    assert graph.tensor["y"].shape == (3, 4)


@pytest.mark.parametrize(
    ("bind", "code", "message"),
    [
        pytest.param(
            {"batsh": 1}, "unknown-symbol", "did you mean batch", id="misspelt"
        ),
        pytest.param({"batch": 0}, "bad-extent", "must be from 1 to", id="zero"),
        pytest.param({"batch": 10**19}, "bad-extent", "must be from 1 to", id="huge"),
        pytest.param({"batch": -3}, "bad-extent", "batch=-3", id="negative"),
    ],
)
def test_a_wrong_binding_is_refused(
    files: Any, bind: Any, code: str, message: str
) -> None:
    with pytest.raises(BadInputError, match=message) as error:
        import_onnx(three_convs(files), bind=bind)
    assert error.value.code == code


def test_an_input_that_reaches_no_output_needs_no_binding(files: Any) -> None:
    inputs = {"x": (3, 4), "unused": ("n", 4)}
    report = files.read(
        [node("Relu", ["x"], ["y"]), node("Relu", ["unused"], ["z"])], inputs, "y"
    )
    assert [o.name for o in report.graph.operators] == ["y"]
    assert report.warnings[-1] == "nodes that reach no output are left out: z"


@pytest.mark.parametrize("extent", [0, -2])
def test_an_empty_axis_is_refused_by_tensor_and_axis(files: Any, extent: int) -> None:
    nodes = [node("Conv", ["x", "w"], ["y"])]
    with pytest.raises(
        BadInputError, match=f"tensor x has extent {extent} on axis 2"
    ) as error:
        files.read(nodes, {"x": (1, 2, extent)}, "y", weights={"w": (4, 2, 3)})
    assert error.value.code == "empty-dimension"


def test_an_axis_that_computes_to_nothing_is_refused_by_node(files: Any) -> None:
    nodes = [node("Conv", ["x", "w"], ["y"], name="stem")]
    with pytest.raises(BadInputError, match=r"node stem .*tensor y has extent") as e:
        files.read(nodes, {"x": (1, 2, 2)}, "y", weights={"w": (4, 2, 3)})
    assert e.value.code == "empty-dimension"


def test_shapes_that_a_binding_makes_impossible_are_refused_by_node(
    files: Any,
) -> None:
    nodes = [node("MatMul", ["x", "w"], ["y"], name="head")]
    path = files.write(nodes, {"x": (2, "width")}, "y", weights={"w": (4, 5)})
    with pytest.raises(BadInputError, match=r"node head \(MatMul\): shapes \[2, 3\]"):
        import_onnx(path, bind={"width": 3})


def test_shape_arithmetic_is_folded(files: Any) -> None:
    # Reshape to (batch · tokens, heads, …), computed from Shape as exporters do.
    nodes = [
        node("Shape", ["x"], ["shape"]),
        node("Gather", ["shape", "zero"], ["batch"]),
        node("Gather", ["shape", "one"], ["tokens"]),
        node("Mul", ["batch", "tokens"], ["rows"]),
        node("Unsqueeze", ["rows", "front"], ["row"]),
        node("Concat", ["row", "rest"], ["target"], axis=0),
        node("Reshape", ["x", "target"], ["flat"]),
        node("MatMul", ["flat", "w"], ["y"]),
    ]
    report = files.read(
        nodes,
        {"x": ("batch", "tokens", 8)},
        "y",
        weights={"w": (4, 5)},
        constants={"zero": 0, "one": 1, "front": [0], "rest": [2, 4]},
        options={"bind": {"batch": 2, "tokens": 3}},
    )
    (operator,) = report.graph.operators
    assert operator.einsum.sizes == {"b0": 6, "m": 2, "n": 5, "k": 4}


def test_what_only_a_shape_needs_is_not_run(files: Any) -> None:
    nodes = [
        node("Exp", ["x"], ["e"]),
        node("Shape", ["e"], ["shape"]),
        node("Reshape", ["x", "shape"], ["same"]),
        node("Relu", ["same"], ["y"]),
    ]
    report = files.read(nodes, {"x": (3, 4)}, "y")
    assert [o.name for o in report.graph.operators] == ["y"]


def test_a_contrib_operator_does_not_stop_the_shapes_behind_it(files: Any) -> None:
    # onnx's own inference knows nothing of FastGelu, hence nothing of y.
    nodes = [
        node("FastGelu", ["x"], ["g"], domain="com.microsoft"),
        node("MatMul", ["g", "w"], ["h"]),
        node("Transpose", ["h"], ["t"], perm=[1, 0]),
        node("Softmax", ["t"], ["y"]),
    ]
    graph = files.read(nodes, {"x": (3, 4)}, "y", weights={"w": (4, 5)}).graph
    assert graph.tensor["y"].shape == (5, 3)
