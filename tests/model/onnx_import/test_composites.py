"""Transposed convolutions, resampling, sorting, sums by letters and group norms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

from elkhound.model.errors import BadInputError
from elkhound.model.graph import OperatorKind, Pass

node = helper.make_node
CONTRIB = "com.microsoft"


def test_a_transposed_convolution_multiplies_every_input_by_its_kernel(
    files: Any,
) -> None:
    nodes = [
        node("ConvTranspose", ["x", "w"], ["y"], strides=[2, 2], pads=[1, 1, 1, 1])
    ]
    graph = files.read(
        nodes, {"x": (1, 3, 5, 6)}, "y", weights={"w": (3, 4, 4, 4)}
    ).graph
    # 3 · 4 channels, 5 · 6 inputs, 4 · 4 taps
    assert graph.macs == 3 * 4 * 5 * 6 * 4 * 4
    # (5 − 1) · 2 + 4 − 2 = 10 and (6 − 1) · 2 + 4 − 2 = 12; 2 · 2 products overlap
    assert graph.tensor["y"].shape == (1, 4, 10, 12)
    assert graph.operators[1].einsum.sizes["overlap"] == 4


def test_without_overlap_the_product_is_all(files: Any) -> None:
    nodes = [node("ConvTranspose", ["x", "w", "b"], ["y"], strides=[2, 2])]
    weights = {"w": (3, 4, 2, 2), "b": (4,)}
    graph = files.read(nodes, {"x": (1, 3, 5, 6)}, "y", weights=weights).graph
    (operator,) = graph.operators
    assert operator.einsum.passes == (Pass.MATMUL, Pass.ELEMENTWISE)
    assert operator.einsum.output.elements(operator.einsum.sizes) == 4 * 10 * 12


def test_an_enlarged_image_is_read_once(files: Any) -> None:
    nodes = [node("Resize", ["x", "", "s"], ["y"], mode="nearest")]
    scales = {"s": np.array([1, 1, 2, 3], np.float32)}
    graph = files.read(nodes, {"x": (1, 2, 5, 6)}, "y", constants=scales).graph
    (operator,) = graph.operators
    sizes = operator.einsum.sizes
    assert graph.tensor["y"].shape == (1, 2, 10, 18)
    assert operator.einsum.inputs[0].elements(sizes) == 2 * 5 * 6
    assert operator.einsum.output.elements(sizes) == 2 * 10 * 18


def test_a_padded_image_is_a_copy(files: Any) -> None:
    nodes = [node("Pad", ["x", "pads"], ["y"])]
    pads = {"pads": np.array([0, 1, 0, 2])}
    graph = files.read(nodes, {"x": (3, 4)}, "y", constants=pads).graph
    assert graph.tensor["y"].shape == (3, 7)
    assert graph.operators[0].einsum.passes == (Pass.SLICE,)


def test_the_largest_k_are_sorted_kept_and_fetched(files: Any) -> None:
    nodes = [node("TopK", ["x", "k"], ["y", "i"])]
    constants = {"k": np.array([2])}
    graph = files.read(nodes, {"x": (3, 16)}, ["y", "i"], constants=constants).graph
    assert [o.kind for o in graph.operators] == [
        OperatorKind.REDUCE,
        OperatorKind.COPY,
        OperatorKind.GATHER,
    ]
    # 16 places in order: log₂ 16 = 4 sweeps
    assert graph.operators[0].einsum.passes == (Pass.ELEMENTWISE,) * 4
    assert graph.tensor["y"].shape == graph.tensor["i"].shape == (3, 2)


@pytest.mark.parametrize(
    ("equation", "shapes", "macs", "out"),
    [
        pytest.param("ab,bc->ac", [(3, 4), (4, 5)], 60, (3, 5), id="matmul"),
        pytest.param("...ab,...cb", [(2, 3, 4), (2, 5, 4)], 120, (2, 3, 5), id="dots"),
        pytest.param("ab,ab->ab", [(3, 4), (3, 4)], 0, (3, 4), id="product"),
        pytest.param(
            "ab,bc,cd->ad", [(3, 4), (4, 5), (5, 6)], 60 + 90, (3, 6), id="three"
        ),
        pytest.param("ab->b", [(3, 4)], 0, (4,), id="sum"),
    ],
)
def test_a_sum_by_letters_has_a_dimension_per_letter(
    files: Any, equation: str, shapes: Any, macs: int, out: Any
) -> None:
    names = "xyz"[: len(shapes)]
    nodes = [node("Einsum", list(names), ["o"], equation=equation)]
    graph = files.read(nodes, dict(zip(names, shapes, strict=True)), "o").graph
    assert graph.macs == macs
    assert graph.tensor["o"].shape == out


def test_a_diagonal_is_refused(files: Any) -> None:
    with pytest.raises(BadInputError, match="takes a diagonal"):
        files.read([node("Einsum", ["x"], ["y"], equation="aa->a")], {"x": (3, 3)}, "y")


@pytest.mark.parametrize(
    ("op", "groups"),
    [("InstanceNormalization", {}), ("GroupNormalization", {"num_groups": 2})],
)
def test_groups_of_channels_are_rows(files: Any, op: str, groups: Any) -> None:
    nodes = [node(op, ["x", "s", "b"], ["y"], **groups)]
    weights = {"s": (4,), "b": (4,)}
    inputs = {"x": (2, 4, 5, 6)}
    graph = files.read(nodes, inputs, "y", weights=weights, opset=21).graph
    operator = graph.operators[0]
    sizes = operator.einsum.sizes
    row = np.prod([sizes[name] for name in operator.einsum.row_dimensions])
    assert row == (5 * 6 if op == "InstanceNormalization" else 2 * 5 * 6)
    assert graph.streamed_bytes(operator) == 2 * 4 * 2


def test_a_skip_layer_norm_is_an_add_and_a_norm(files: Any) -> None:
    names = ["x", "z", "s", "b"]
    fused = [node("SkipLayerNormalization", names, ["y", "", "", "h"], domain=CONTRIB)]
    apart = [
        node("Add", ["x", "z"], ["h"]),
        node("LayerNormalization", ["h", "s", "b"], ["y"]),
    ]
    weights = {"s": (4,), "b": (4,)}
    graphs = [
        files.read(nodes, {"x": (3, 4), "z": (3, 4)}, ["y", "h"], weights=weights).graph
        for nodes in (fused, apart)
    ]
    assert [o.einsum for o in graphs[0].operators] == [
        o.einsum for o in graphs[1].operators
    ]


def test_a_scatter_copies_and_then_writes(files: Any) -> None:
    nodes = [node("ScatterND", ["x", "i", "u"], ["y"])]
    inputs = {"x": (8, 4), "u": (2, 4)}
    graph = files.read(nodes, inputs, "y", constants={"i": np.array([[1], [5]])}).graph
    assert [o.name for o in graph.operators] == ["y[data]", "y[updates]"]
    data, updates = graph.operators
    assert data.einsum.output.elements(data.einsum.sizes) == 8 * 4
    assert updates.einsum.output.elements(updates.einsum.sizes) == 2 * 4
