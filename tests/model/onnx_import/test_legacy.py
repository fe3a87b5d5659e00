"""Opsets before 7: operands spread by attributes, scales and types stated otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from elkhound.model.errors import BadInputError
from elkhound.model.graph import Home

node = helper.make_node
BINARY = ["Add", "Sub", "Mul", "Div", "Pow", "And", "Or", "Xor", "Equal", "Less"]
LOGIC = ("And", "Or", "Xor")


@pytest.mark.parametrize("opset", [1, 6])
@pytest.mark.parametrize("op", BINARY)
@pytest.mark.parametrize(
    ("part", "attributes", "dimensions"),
    [
        pytest.param((3, 4), {"axis": 1}, ["d1", "d2"], id="in-the-middle"),
        pytest.param((3,), {"axis": 1}, ["d1"], id="channels"),
        pytest.param((2,), {"axis": 0}, ["d0"], id="first"),
        pytest.param((4, 5), {}, ["d2", "d3"], id="last"),
        pytest.param((5,), {"axis": -1}, ["d3"], id="from-behind"),
    ],
)
def test_operands_are_spread_from_the_axis_on(
    files: Any, opset: int, op: str, part: Any, attributes: Any, dimensions: list[str]
) -> None:
    inputs: dict[str, Any] = {"x": (2, 3, 4, 5), "b": part}
    element = TensorProto.BOOL if op in LOGIC else TensorProto.FLOAT
    graph = files.read(
        [node(op, ["x", "b"], ["y"], broadcast=1, **attributes)],
        inputs,
        "y",
        opset=opset,
        element_type=element,
    ).graph
    assert graph.tensor["y"].shape == (2, 3, 4, 5)
    (einsum,) = (o.einsum for o in graph.operators)
    indexed = [a.terms[0][0] for a in einsum.inputs[1].axes if a.terms]
    assert indexed == dimensions


@pytest.mark.parametrize(("stated", "dimension"), [({"axis": 0}, "d0"), ({}, "d1")])
def test_rows_and_columns_of_a_square_are_told_apart(
    files: Any, stated: Any, dimension: str
) -> None:
    # b of 4 with 4 × 4: a number per row from axis 0 on, per column without it
    graph = files.read(
        [node("Add", ["x", "b"], ["y"], broadcast=1, **stated)],
        {"x": (4, 4)},
        "y",
        weights={"b": (4,)},
        opset=6,
    ).graph
    axes = graph.operators[0].einsum.inputs[1].axes
    assert [a.terms for a in axes if a.terms] == [((dimension, 1),)]
    assert graph.tensor["b"].home is Home.HBM


@pytest.mark.parametrize("part", [(), (1,), (1, 1, 1, 1)])
def test_one_element_goes_with_every_operand(files: Any, part: Any) -> None:
    graph = files.read(
        [node("Mul", ["x", "b"], ["y"], broadcast=1)],
        {"x": (4, 4), "b": part},
        "y",
        opset=6,
    ).graph
    assert graph.tensor["y"].shape == (4, 4)


REFUSED = [
    pytest.param(
        node("Add", ["x", "b"], ["y"]),
        r"node y \(Add of opset 6\): shapes \[2, 3, 4, 5\] and \[5\] differ, and there "
        r"is no broadcast=1 \(nearest supported: Add of opset 7\)",
        id="not-said",
    ),
    pytest.param(
        node("Sub", ["x", "b"], ["y"], broadcast=1, axis=1),
        r"\(Sub of opset 6\): \[5\] are not the extents of \[2, 3, 4, 5\] from axis 1",
        id="another-extent",
    ),
    pytest.param(
        node("Mul", ["b", "x"], ["y"], broadcast=1),
        r"\(Mul of opset 6\): axis -3 of a tensor with 1 axes",
        id="first-is-smaller",
    ),
    pytest.param(
        node("Div", ["x", "b"], ["y"], broadcast=1, axis=7),
        r"\(Div of opset 6\): axis 7 of a tensor with 4 axes",
        id="no-such-axis",
    ),
    pytest.param(
        node("Sum", ["x", "b"], ["y"]),
        r"\(Sum of opset 6\): shapes .* differ \(nearest supported: Sum of opset 8\)",
        id="sum",
    ),
    pytest.param(
        node("BatchNormalization", ["x", *["c"] * 4], ["y"], spatial=0),
        r"\(BatchNormalization of opset 6\): spatial=0, scales per element, cannot be "
        r"planned \(nearest supported: BatchNormalization of opset 9\)",
        id="norm-of-elements",
    ),
    pytest.param(
        node("Upsample", ["b"], ["y"], height_scale=2.0, width_scale=2.0),
        r"\(Upsample of opset 6\): an image of 1 axes, must have 4 \(nearest "
        r"supported: Upsample of opset 7\)",
        id="no-image",
    ),
    pytest.param(
        node("Upsample", ["x"], ["y"], height_scale=0.5, width_scale=2.0),
        r"\(Upsample of opset 6\): scales \[0.5, 2.0\], must be at least 1",
        id="smaller",
    ),
]


@pytest.mark.parametrize(("old", "message"), REFUSED)
def test_what_an_old_opset_does_not_say_is_refused(
    files: Any, old: Any, message: str
) -> None:
    weights = {"b": (5,), "c": (3, 4, 5)}
    nodes = [old, node("Abs", ["y"], ["end"])]
    with pytest.raises(BadInputError, match=message) as error:
        files.read(nodes, {"x": (2, 3, 4, 5)}, "end", weights=weights, opset=6)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("opset", [1, 6])
def test_images_are_upsampled_by_an_attribute_a_side(files: Any, opset: int) -> None:
    # 4 · 2.5 = 10 rows, ⌊5 · 1.5⌋ = 7 columns
    nodes = [node("Upsample", ["x"], ["y"], height_scale=2.5, width_scale=1.5)]
    graph = files.read(nodes, {"x": (2, 3, 4, 5)}, "y", opset=opset).graph
    assert graph.tensor["y"].shape == (2, 3, 10, 7)


def test_one_axis_is_tiled(files: Any) -> None:
    constants = {"tiles": np.array([3]), "axis": np.array([1])}
    graph = files.read(
        [node("Tile", ["x", "tiles", "axis"], ["y"])],
        {"x": (2, 4)},
        "y",
        constants=constants,
        opset=5,
    ).graph
    assert graph.tensor["y"].shape == (2, 12)


@pytest.mark.parametrize(
    ("name", "stored"), [("FLOAT", "float32"), ("INT64", "int64"), ("BOOL", "bool")]
)
def test_types_are_named(files: Any, name: str, stored: str) -> None:
    graph = files.read(
        [node("Cast", ["x"], ["y"], to=name)], {"x": (2, 4)}, "y", opset=5
    ).graph
    assert graph.tensor["y"].dtype.name == stored


def test_a_type_that_is_no_number_is_refused(files: Any) -> None:
    with pytest.raises(BadInputError, match="element type STRING") as error:
        files.read(
            [node("Cast", ["x"], ["y"], to="STRING")], {"x": (2, 4)}, "y", opset=5
        )
    assert error.value.code == "unsupported-type"
