"""Quantised weights stay as narrow as they are stored; fused costs what apart costs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from elkhound.model.graph import Graph, Pass

node = helper.make_node
FLOAT = TensorProto.FLOAT


def streamed(graph: Graph) -> int:
    return sum(graph.streamed_bytes(operator) for operator in graph.operators)


def weights_of(chain: int) -> tuple[list[Any], str]:
    """w as int8 behind `chain` pairs of DequantizeLinear and QuantizeLinear."""
    nodes, name = [], "w"
    for index in range(chain):
        nodes += [
            node("DequantizeLinear", [name, "s", "z"], [f"f{index}"]),
            node("QuantizeLinear", [f"f{index}", "s", "z"], [f"q{index}"]),
        ]
        name = f"q{index}"
    nodes.append(node("DequantizeLinear", [name, "s", "z"], ["dq"]))
    return nodes, "dq"


def constants(columns: int = 16) -> dict[str, Any]:
    return {
        "w": np.ones((8, columns), np.int8),
        "s": np.array(0.5, np.float32),
        "z": np.array(0, np.int8),
    }


@pytest.mark.parametrize("chain", [0, 1, 5])
def test_a_weight_behind_any_chain_streams_a_byte_per_element(
    files: Any, chain: int
) -> None:
    nodes, name = weights_of(chain)
    graph = files.read(
        [*nodes, node("MatMul", ["x", name], ["y"])],
        {"x": (3, 8)},
        "y",
        constants=constants(),
        element_type=FLOAT,
    ).graph
    assert streamed(graph) == 8 * 16
    assert [o.einsum.passes for o in graph.operators] == [(Pass.MATMUL, Pass.DECODE)]


def test_scales_per_column_stream_with_the_weight(files: Any) -> None:
    nodes = [
        node("DequantizeLinear", ["w", "s"], ["f"], axis=0),
        node("Transpose", ["f"], ["turned"], perm=[1, 0]),
        node("MatMul", ["x", "turned"], ["y"]),
    ]
    graph = files.read(
        nodes,
        {"x": (3, 16)},
        "y",
        constants={
            "w": np.ones((8, 16), np.int8),
            "s": np.ones(8, np.float32),
        },
        element_type=FLOAT,
    ).graph
    assert streamed(graph) == 8 * 16 + 8 * 4
    weight, scale = graph.operators[0].einsum.inputs[1:3]
    assert weight.axes[0] == scale.axes[0]


def test_four_bits_are_half_a_byte(files: Any) -> None:
    nodes = [
        node(
            "MatMulNBits",
            ["x", "b", "s"],
            ["y"],
            domain="com.microsoft",
            K=64,
            N=8,
            bits=4,
            block_size=32,
        )
    ]
    weights = {"s": (8 * 2,)}
    graph = files.read(
        nodes,
        {"x": (3, 64)},
        "y",
        weights=weights,
        constants={"b": np.zeros((8, 2, 16), np.uint8)},
    ).graph
    assert graph.macs == 3 * 8 * 64
    # 64 · 8 weights of half a byte, 16 scales of fp16
    assert streamed(graph) == 256 + 32
    assert graph.operators[0].einsum.passes == (Pass.MATMUL, Pass.DECODE)


@pytest.mark.parametrize(
    ("inner", "block", "parts"),
    [
        pytest.param(96, 32, [(3, 32)], id="three-full-blocks"),
        pytest.param(72, 32, [(2, 32), (1, 8)], id="two-and-a-quarter"),
        pytest.param(20, 32, [(1, 20)], id="less-than-one"),
        pytest.param(97, 16, [(6, 16), (1, 1)], id="one-more"),
    ],
)
@pytest.mark.parametrize("bias", [False, True])
def test_what_fills_up_the_last_block_is_stored_and_not_multiplied(
    files: Any, inner: int, block: int, parts: list[tuple[int, int]], bias: bool
) -> None:
    blocks = sum(count for count, _ in parts)
    stored = 8 * blocks * block // 2  # 8 columns, half a byte each
    names = ["x", "b", "s", "z", *(["", "c"] if bias else [])]
    graph = files.read(
        [
            node(
                "MatMulNBits",
                names,
                ["y"],
                domain="com.microsoft",
                K=inner,
                N=8,
                bits=4,
                block_size=block,
            )
        ],
        {"x": (3, inner)},
        "y",
        weights={"s": (8 * blocks,), "c": (8,)},
        constants={
            "b": np.zeros((8, blocks, block // 2), np.uint8),
            "z": np.zeros((8, (blocks + 1) // 2), np.uint8),
        },
    ).graph
    products = [o for o in graph.operators if Pass.MATMUL in o.einsum.passes]
    sizes = [o.einsum.sizes for o in products]
    assert [(each["kb"], each["ki"]) for each in sizes] == parts
    assert graph.macs == 3 * 8 * inner
    assert graph.tensor["b"].size_bytes == stored
    assert graph.tensor["z"].size_bytes == 8 * ((blocks + 1) // 2)
    # elements and zero points of half a byte, scales and bias of two
    points = sum(8 * count // 2 for count, _ in parts)
    assert streamed(graph) == 8 * inner // 2 + points + 8 * blocks * 2 + 16 * bias
    assert graph.outputs == ("y",)


def test_the_product_of_the_last_block_adds_to_that_of_the_others(files: Any) -> None:
    product = node(
        "MatMulNBits",
        ["x", "b", "s"],
        ["y"],
        domain="com.microsoft",
        K=40,
        N=8,
        block_size=32,
    )
    numbers = {"b": np.zeros((8, 2, 16), np.uint8)}
    graph = files.read(
        [product], {"x": (3, 40)}, "y", weights={"s": (16,)}, constants=numbers
    ).graph
    blocks, rest = graph.operators
    assert rest.einsum.inputs[-1].tensor == blocks.einsum.output.tensor
    assert rest.einsum.output.tensor == "y"
    assert rest.einsum.passes == (Pass.MATMUL, Pass.DECODE, Pass.ELEMENTWISE)


def quantised_matmul(files: Any, *, fused: bool) -> Graph:
    numbers = constants() | {"xs": np.array(0.1, np.float32)}
    start = node("QuantizeLinear", ["x", "xs", "z"], ["qx"])
    end = node("DequantizeLinear", ["qy", "s", "z"], ["y"])
    if fused:
        names = ["qx", "xs", "z", "w", "s", "z", "s", "z"]
        nodes = [start, node("QLinearMatMul", names, ["qy"], name="qy"), end]
    else:
        nodes = [
            start,
            node("DequantizeLinear", ["qx", "xs", "z"], ["fx"]),
            node("DequantizeLinear", ["w", "s", "z"], ["fw"]),
            node("MatMul", ["fx", "fw"], ["fy"]),
            node("QuantizeLinear", ["fy", "s", "z"], ["qy"]),
            end,
        ]
    graph: Graph = files.read(
        nodes, {"x": (3, 8)}, "y", constants=numbers, element_type=FLOAT
    ).graph
    return graph


def test_q_and_dq_around_a_product_are_the_quantised_product(files: Any) -> None:
    fused, apart = (quantised_matmul(files, fused=fused) for fused in (True, False))
    assert fused.operators == apart.operators
    assert fused.tensors == apart.tensors
    product = fused.operators[1]
    assert product.einsum.passes == (Pass.MATMUL, Pass.UNARY)
    assert fused.tensor["qy"].dtype.name == "int8"


def test_integer_products_add_up_in_int32(files: Any) -> None:
    nodes = [
        node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        node("MatMulInteger", ["q", "w"], ["i"]),
        node("Cast", ["i"], ["y"], to=FLOAT),
    ]
    graph = files.read(
        nodes, {"x": (3, 8)}, "y", constants=constants(), element_type=FLOAT
    ).graph
    assert graph.tensor["i"].dtype.name == "int32"
    assert graph.macs == 3 * 8 * 16


def test_the_range_of_a_tensor_is_reduced_before_it_is_quantised(files: Any) -> None:
    nodes = [
        node("DynamicQuantizeLinear", ["x"], ["q", "qs", "qz"]),
        node("MatMulInteger", ["q", "w", "qz"], ["i"]),
        node("Cast", ["i"], ["f"], to=FLOAT),
        node("Mul", ["f", "qs"], ["y"]),
    ]
    graph = files.read(
        nodes, {"x": (3, 8)}, "y", constants=constants(), element_type=FLOAT
    ).graph
    kinds = [o.kind.value for o in graph.operators]
    assert kinds[:2] == ["reduce", "reduce"]
    assert kinds.count("matmul") == 1
