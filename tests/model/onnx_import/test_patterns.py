from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
from onnx import TensorProto, helper

from elkhound.model.graph import Graph
from elkhound.model.onnx_import import ImportReport
from elkhound.model.passes import GEGLU_PASSES, GELU_PASSES, SOFTMAX_PASSES

node = helper.make_node
WIDTH = 8


def cost(graph: Graph) -> list[tuple[object, ...]]:
    """Return what an operator costs, whatever its tensors are called."""
    return [
        (
            operator.kind,
            sorted(operator.einsum.sizes.items()),
            [access.axes for access in operator.einsum.inputs],
            operator.einsum.output.axes,
            operator.einsum.passes,
            operator.einsum.row_dimensions,
            operator.einsum.statistics_rounds,
            operator.einsum.macs,
            graph.streamed_bytes(operator),
        )
        for operator in graph.operators
    ]


def mean(opset: int, source: str, output: str) -> Any:
    """Return a row mean, its axes where the opset wants them."""
    if opset < 18:
        return node("ReduceMean", [source], [output], axes=[-1])
    return node("ReduceMean", [source, "axes"], [output])


def between(nodes: Sequence[Any]) -> list[Any]:
    """Put products before and behind, as in a network."""
    return [
        node("MatMul", ["input", "before"], ["x"]),
        *nodes,
        node("MatMul", ["y", "behind"], ["z"]),
    ]


def imported(files: Any, nodes: Sequence[Any], opset: int, **options: Any) -> Any:
    weights: dict[str, tuple[int, ...]]
    weights = {name: (WIDTH, WIDTH) for name in ("before", "behind")}
    weights |= {"scale": (WIDTH,), "bias": (WIDTH,)}
    constants = {"two": 2.0, "one": 1.0, "epsilon": 1e-5, "minus_half": -0.5}
    return files.read(
        between(nodes),
        {"input": (3, WIDTH)},
        "z",
        weights=weights,
        constants=constants | {"axes": [-1]},
        opset=opset,
        element_type=TensorProto.FLOAT,
        options=options,
    )


def layer_norm(opset: int, *, square: str, centred_twice: bool) -> list[Any]:
    again = "again" if centred_twice else "centred"
    square_inputs = [again, "two"] if square == "Pow" else [again, again]
    return [
        mean(opset, "x", "mean"),
        node("Sub", ["x", "mean"], ["centred"]),
        *([node("Sub", ["x", "mean"], ["again"])] if centred_twice else []),
        node(square, square_inputs, ["square"]),
        mean(opset, "square", "variance"),
        node("Add", ["variance", "epsilon"], ["shifted"]),
        node("Sqrt", ["shifted"], ["root"]),
        node("Div", ["centred", "root"], ["normed"]),
        node("Mul", ["normed", "scale"], ["scaled"]),
        node("Add", ["scaled", "bias"], ["y"]),
    ]


@pytest.mark.parametrize(
    ("opset", "square", "centred_twice"),
    [
        pytest.param(13, "Pow", False, id="opset-13"),
        pytest.param(18, "Pow", False, id="opset-18"),
        pytest.param(17, "Mul", False, id="square-as-product"),
        pytest.param(17, "Pow", True, id="centred-twice"),
    ],
)
def test_layer_norm_from_primitives_costs_what_the_operator_costs(
    files: Any, opset: int, square: str, centred_twice: bool
) -> None:
    primitive = layer_norm(opset, square=square, centred_twice=centred_twice)
    operator = [node("LayerNormalization", ["x", "scale", "bias"], ["y"])]
    one = imported(files, primitive, opset)
    other = imported(files, operator, 17)
    assert cost(one.graph) == cost(other.graph)
    assert one.pattern_counts == {"layer-norm": 1}
    assert len(one.patterns[0].nodes) == len(primitive)


def rms_norm(inverse: Sequence[Any], last: Any, opset: int = 17) -> list[Any]:
    return [
        node("Pow", ["x", "two"], ["square"]),
        mean(opset, "square", "variance"),
        node("Add", ["variance", "epsilon"], ["shifted"]),
        *inverse,
        last,
        node("Mul", ["scale", "normed"], ["y"]),
    ]


ROOT = node("Sqrt", ["shifted"], ["root"])
RMS_NORMS = [
    pytest.param([ROOT], node("Div", ["x", "root"], ["normed"]), id="div"),
    pytest.param(
        [ROOT, node("Reciprocal", ["root"], ["inverse"])],
        node("Mul", ["x", "inverse"], ["normed"]),
        id="reciprocal",
    ),
    pytest.param(
        [ROOT, node("Div", ["one", "root"], ["inverse"])],
        node("Mul", ["inverse", "x"], ["normed"]),
        id="one-over-root",
    ),
    pytest.param(
        [node("Pow", ["shifted", "minus_half"], ["inverse"])],
        node("Mul", ["x", "inverse"], ["normed"]),
        id="power",
    ),
]


@pytest.mark.parametrize(("inverse", "last"), RMS_NORMS)
def test_rms_norm_from_primitives_costs_what_the_operator_costs(
    files: Any, inverse: Any, last: Any
) -> None:
    one = imported(files, rms_norm(inverse, last), 17)
    operator = [node("RMSNormalization", ["x", "scale"], ["y"])]
    other = imported(files, operator, 23)
    assert cost(one.graph) == cost(other.graph)
    assert one.pattern_counts == {"rms-norm": 1}


def half_rms_norm(shared: bool) -> list[Any]:
    """RMSNorm in fp32 of an fp16 x; the widened x perhaps read elsewhere too."""
    return [
        node("Cast", ["x"], ["wide"], to=TensorProto.FLOAT),
        node("Mul", ["wide", "wide"], ["square"]),
        node("ReduceMean", ["square"], ["variance"], axes=[-1]),
        node("Add", ["variance", "epsilon"], ["shifted"]),
        node("Sqrt", ["shifted"], ["root"]),
        node("Div", ["wide", "root"], ["normed"]),
        node("Cast", ["normed"], ["narrow"], to=TensorProto.FLOAT16),
        node("Mul", ["narrow", "scale"], ["y"]),
        node("Neg", ["wide" if shared else "y"], ["z"]),
    ]


@pytest.mark.parametrize(
    ("shared", "operators"),
    [
        pytest.param(False, ["y", "z"], id="only-the-norm-widens"),
        pytest.param(True, ["wide", "y", "z"], id="the-wide-copy-is-read-elsewhere"),
    ],
)
def test_casts_around_a_norm_belong_to_it_if_nothing_else_reads_them(
    files: Any, shared: bool, operators: list[str]
) -> None:
    report: ImportReport = files.read(
        half_rms_norm(shared),
        {"x": (3, WIDTH)},
        ["y", "z"],
        weights={"scale": (WIDTH,)},
        constants={"epsilon": 1e-5},
    )
    assert [o.name for o in report.graph.operators] == operators
    assert report.graph.tensor["y"].dtype.name == "float16"
    assert report.pattern_counts == {"rms-norm": 1}


def test_a_norm_whose_inside_is_an_output_is_left_alone(files: Any) -> None:
    nodes = rms_norm([ROOT], node("Div", ["x", "root"], ["normed"]))
    report = files.read(
        nodes,
        {"x": (3, WIDTH)},
        ["y", "variance"],
        weights={"scale": (WIDTH,)},
        constants={"two": 2.0, "epsilon": 1e-5},
    )
    assert report.patterns == ()
    assert len(report.graph.operators) == len(nodes)


def test_a_cube_is_no_norm(files: Any) -> None:
    nodes = rms_norm([ROOT], node("Div", ["x", "root"], ["normed"]))
    report = files.read(
        nodes,
        {"x": (3, WIDTH)},
        "y",
        weights={"scale": (WIDTH,)},
        constants={"two": 3.0, "epsilon": 1e-5},
    )
    assert report.patterns == ()


def test_patterns_can_be_switched_off(files: Any) -> None:
    nodes = layer_norm(17, square="Pow", centred_twice=False)
    report = imported(files, nodes, 17, patterns=False)
    assert report.patterns == ()
    assert len(report.graph.operators) == len(nodes) + 2


def test_softmax_from_primitives_costs_what_the_operator_costs(files: Any) -> None:
    nodes = [
        node("ReduceMax", ["x"], ["top"], axes=[-1]),
        node("Sub", ["x", "top"], ["less"]),
        node("Exp", ["less"], ["e"]),
        node("ReduceSum", ["e", "axes"], ["sum"]),
        node("Div", ["e", "sum"], ["y"]),
    ]
    one = imported(files, nodes, 17)
    other = imported(files, [node("Softmax", ["x"], ["y"])], 17)
    assert cost(one.graph) == cost(other.graph)
    assert one.graph.operators[1].einsum.passes == SOFTMAX_PASSES


GELUS = [
    pytest.param(
        [
            node("Div", ["x", "root2"], ["a"]),
            node("Erf", ["a"], ["b"]),
            node("Add", ["b", "one"], ["c"]),
            node("Mul", ["x", "c"], ["d"]),
            node("Mul", ["d", "half"], ["y"]),
        ],
        id="erf-half-last",
    ),
    pytest.param(
        [
            node("Mul", ["x", "half"], ["h"]),
            node("Div", ["x", "root2"], ["a"]),
            node("Erf", ["a"], ["b"]),
            node("Add", ["one", "b"], ["c"]),
            node("Mul", ["h", "c"], ["y"]),
        ],
        id="erf-half-first",
    ),
    pytest.param(
        [
            node("Pow", ["x", "three"], ["cube"]),
            node("Mul", ["cube", "small"], ["s"]),
            node("Add", ["x", "s"], ["t"]),
            node("Mul", ["t", "root_2_pi"], ["a"]),
            node("Tanh", ["a"], ["b"]),
            node("Add", ["b", "one"], ["c"]),
            node("Mul", ["c", "half"], ["d"]),
            node("Mul", ["x", "d"], ["y"]),
        ],
        id="tanh-power",
    ),
    pytest.param(
        [
            node("Mul", ["x", "x"], ["square"]),
            node("Mul", ["square", "x"], ["cube"]),
            node("Mul", ["small", "cube"], ["s"]),
            node("Add", ["x", "s"], ["t"]),
            node("Mul", ["root_2_pi", "t"], ["a"]),
            node("Tanh", ["a"], ["b"]),
            node("Add", ["b", "one"], ["c"]),
            node("Mul", ["x", "c"], ["d"]),
            node("Mul", ["half", "d"], ["y"]),
        ],
        id="tanh-products",
    ),
]


@pytest.mark.parametrize("nodes", GELUS)
@pytest.mark.parametrize("gate", [False, True], ids=["alone", "gated"])
def test_gelu_is_recognised(files: Any, nodes: list[Any], gate: bool) -> None:
    constants = {"root2": math.sqrt(2), "one": 1.0, "half": 0.5, "three": 3.0}
    constants |= {"small": 0.044715, "root_2_pi": math.sqrt(2 / math.pi)}
    gated = [node("Mul", ["y", "up"], ["z"])] if gate else []
    report = files.read(
        [*nodes, *gated],
        {"x": (3, 8), "up": (3, 8)} if gate else {"x": (3, 8)},
        "z" if gate else "y",
        constants=constants,
    )
    # `up` is a graph input: it could be a parameter, so it is no gate.
    assert report.graph.operators[0].einsum.passes == GELU_PASSES
    assert report.pattern_counts == {"gelu": 1}


def test_gelu_times_a_computed_tensor_is_geglu(files: Any) -> None:
    nodes = [
        node("MatMul", ["x", "w"], ["gate"]),
        node("MatMul", ["x", "v"], ["up"]),
        node("Gelu", ["gate"], ["act"]),
        node("Mul", ["act", "up"], ["y"]),
    ]
    weights = {"w": (4, 5), "v": (4, 5)}
    report = files.read(nodes, {"x": (3, 4)}, "y", weights=weights, opset=20)
    assert report.graph.operators[-1].einsum.passes == GEGLU_PASSES
    assert report.pattern_counts == {"geglu": 1}


def test_a_bias_joins_its_product(files: Any) -> None:
    nodes = [node("MatMul", ["x", "w"], ["h"]), node("Add", ["b", "h"], ["y"])]
    weights = {"w": (4, 5), "b": (5,)}
    one = files.read(nodes, {"x": (3, 4)}, "y", weights=weights)
    gemm = [node("Gemm", ["x", "w", "b"], ["y"])]
    other = files.read(gemm, {"x": (3, 4)}, "y", weights=weights)
    assert cost(one.graph) == cost(other.graph)
    assert one.pattern_counts == {"bias": 1}


def test_a_residual_is_no_bias(files: Any) -> None:
    nodes = [node("MatMul", ["x", "w"], ["h"]), node("Add", ["x", "h"], ["y"])]
    report = files.read(nodes, {"x": (4, 4)}, "y", weights={"w": (4, 4)})
    assert report.patterns == ()
    assert len(report.graph.operators) == 2


def test_a_scale_joins_the_product_before_it(files: Any) -> None:
    nodes = [
        node("MatMul", ["x", "w"], ["h"]),
        node("Div", ["h", "root"], ["s"]),
        node("Softmax", ["s"], ["y"]),
    ]
    report = files.read(
        nodes, {"x": (3, 4)}, "y", weights={"w": (4, 5)}, constants={"root": 8.0}
    )
    assert [o.name for o in report.graph.operators] == ["h", "y"]
    assert report.graph.operators[1].einsum.inputs[0].tensor == "h"
    assert report.pattern_counts == {"scale": 1}


@pytest.mark.parametrize(
    ("nodes", "outputs"),
    [
        pytest.param([node("Mul", ["x", "c"], ["y"])], ["y"], id="of-an-input"),
        pytest.param(
            [node("Exp", ["x"], ["e"]), node("Mul", ["e", "c"], ["y"])],
            ["y", "e"],
            id="of-what-leaves-unscaled",
        ),
        pytest.param(
            [
                node("Exp", ["x"], ["e"]),
                node("Mul", ["e", "c"], ["s"]),
                node("Add", ["s", "e"], ["y"]),
            ],
            ["y"],
            id="of-what-is-read-unscaled",
        ),
    ],
)
def test_a_scale_that_needs_a_tensor_of_its_own_stays(
    files: Any, nodes: Any, outputs: Any
) -> None:
    report = files.read(nodes, {"x": (3, 4)}, outputs, constants={"c": 0.5})
    assert len(report.graph.operators) == len(nodes)
