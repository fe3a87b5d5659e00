from __future__ import annotations

from typing import Any

import pytest
from onnx import helper

from elkhound.experiments.importing import import_document
from elkhound.experiments.source import ReadGraph
from elkhound.model.errors import BadInputError
from elkhound.model.graph import Home
from elkhound.model.onnx_import import ImportReport

node = helper.make_node


def homes(report: ImportReport) -> dict[str, Home]:
    return {choice.input: choice.home for choice in report.homes}


def test_a_static_second_operand_streams_and_the_first_stays(files: Any) -> None:
    nodes = [node("MatMul", ["x", "w"], ["y"])]
    report = files.read(nodes, {"x": (3, 4), "w": (4, 5)}, "y")
    assert homes(report) == {"x": Home.CHIP, "w": Home.HBM}
    assert report.homes[1].reason == "weight position"


def test_a_weight_behind_a_transpose_streams(files: Any) -> None:
    nodes = [
        node("Transpose", ["w"], ["t"], perm=[1, 0]),
        node("MatMul", ["x", "t"], ["y"]),
    ]
    report = files.read(nodes, {"x": (3, 4), "w": (5, 4)}, "y")
    assert homes(report)["w"] is Home.HBM


def test_a_conv_kernel_input_streams(files: Any) -> None:
    nodes = [node("Conv", ["x", "w", "b"], ["y"])]
    inputs = {"x": (1, 2, 9), "w": (4, 2, 3), "b": (4,)}
    report = files.read(nodes, inputs, "y")
    assert homes(report) == {"x": Home.CHIP, "w": Home.HBM, "b": Home.HBM}


def test_a_second_operand_with_a_symbolic_batch_axis_stays(files: Any) -> None:
    nodes = [node("MatMul", ["x", "z"], ["y"])]
    inputs = {"x": (3, 4), "z": ("batch", 5)}
    report = files.read(nodes, inputs, "y", options={"bind": {"batch": 4}})
    assert homes(report)["z"] is Home.CHIP
    assert "symbolic" in report.homes[1].reason


CACHE = ("batch", 2, "context", 4)
BIND = {"bind": {"batch": 3, "context": 6}}


@pytest.mark.parametrize(
    "nodes",
    [
        pytest.param(
            [
                node("Transpose", ["cache"], ["t"], perm=[0, 1, 3, 2]),
                node("MatMul", ["q", "t"], ["y"]),
            ],
            id="transposed",
        ),
        pytest.param(
            [
                node("Concat", ["cache", "q"], ["all"], axis=2),
                node("Transpose", ["all"], ["t"], perm=[0, 1, 3, 2]),
                node("MatMul", ["q", "t"], ["y"]),
            ],
            id="appended-to",
        ),
    ],
)
def test_a_cache_streams_though_its_batch_axis_is_symbolic(
    files: Any, nodes: Any
) -> None:
    inputs = {"q": ("batch", 2, 1, 4), "cache": CACHE}
    report = files.read(nodes, inputs, "y", options=BIND)
    assert homes(report) == {"q": Home.CHIP, "cache": Home.HBM}
    assert report.homes[1].reason.endswith("cache")


TAKEN_OUT = {
    "Gather": [
        node("Gather", ["past", "zero"], ["pk"], axis=0),
        node("Gather", ["past", "one"], ["pv"], axis=0),
    ],
    "Split": [
        node("Split", ["past"], ["pk1", "pv1"], axis=0),
        node("Squeeze", ["pk1", "first"], ["pk"]),
        node("Squeeze", ["pv1", "first"], ["pv"]),
    ],
    "Slice": [
        node("Slice", ["past", "first", "second", "first"], ["pk1"]),
        node("Slice", ["past", "second", "third", "first"], ["pv1"]),
        node("Squeeze", ["pk1", "first"], ["pk"]),
        node("Squeeze", ["pv1", "first"], ["pv"]),
    ],
    "": [],
}


@pytest.mark.parametrize("patterns", [True, False])
@pytest.mark.parametrize("op", TAKEN_OUT)
def test_a_cache_that_leaves_longer_is_no_weight(
    files: Any, op: str, patterns: bool
) -> None:
    # GPT-2: past (2, batch 3, heads 2, 6 tokens, 4), present of one token more
    nodes = [
        *TAKEN_OUT[op],
        node("MatMul", ["x", "w"], ["new"]),
        node("Concat", ["pk", "new"], ["k"], axis=2),
        node("Concat", ["pv", "new"], ["v"], axis=2),
        node("Transpose", ["k"], ["t"], perm=[0, 1, 3, 2]),
        node("MatMul", ["x", "t"], ["s"]),
        node("Softmax", ["s"], ["p"]),
        node("MatMul", ["p", "v"], ["y"]),
    ]
    inputs: dict[str, tuple[int, ...]] = {"x": (3, 2, 1, 4)}
    outputs = ["y"]
    if op:
        nodes += [
            node("Unsqueeze", ["k", "first"], ["k1"]),
            node("Unsqueeze", ["v", "first"], ["v1"]),
            node("Concat", ["k1", "v1"], ["present"], axis=0),
        ]
        inputs["past"] = (2, 3, 2, 6, 4)
        outputs.append("present")
    else:
        inputs |= {"pk": (3, 2, 6, 4), "pv": (3, 2, 6, 4)}
        outputs += ["k", "v"]
    places = {"first": [0], "second": [1], "third": [2], "zero": 0, "one": 1}
    report = files.read(
        nodes,
        inputs,
        outputs,
        weights={"w": (4, 4)},
        constants=places,
        options={"patterns": patterns},
    )
    assert {c.input for c in report.homes if c.cache} == set(inputs) - {"x"}
    document = import_document(ReadGraph(report.graph, report))
    # w has 4 · 4 numbers of two bytes, both caches 2 · 3 · 2 · 6 · 4
    assert document["weight_bytes"] == 32
    assert sum(o["weight_bytes"] for o in document["operators"]) == 32
    streamed = sum(o["streamed_bytes"] for o in document["operators"])
    assert streamed == 32 + 2 * 3 * 2 * 6 * 4 * 2
    assert {report.graph.tensor[name].home for name in outputs} == {Home.CHIP}


def test_a_table_whose_rows_are_added_is_a_weight(files: Any) -> None:
    nodes = [node("Gather", ["table", "i"], ["rows"]), node("Add", ["x", "rows"], "y")]
    report = files.read(
        nodes, {"x": (2, 4), "table": (9, 4)}, "y", constants={"i": [0, 1]}
    )
    assert [(c.input, c.home, c.cache) for c in report.homes] == [
        ("x", Home.CHIP, False),
        ("table", Home.HBM, False),
    ]


def test_an_activation_that_is_also_a_second_operand_stays(files: Any) -> None:
    # The Gram matrix x · xᵀ of a batch of activations.
    nodes = [
        node("Transpose", ["x"], ["t"], perm=[0, 2, 1]),
        node("MatMul", ["x", "t"], ["y"]),
    ]
    report = files.read(
        nodes, {"x": ("batch", 3, 4)}, "y", options={"bind": {"batch": 2}}
    )
    assert homes(report) == {"x": Home.CHIP}


def test_a_computed_second_operand_is_resident(files: Any) -> None:
    nodes = [
        node("MatMul", ["x", "w"], ["k"]),
        node("Transpose", ["k"], ["t"], perm=[1, 0]),
        node("MatMul", ["x", "t"], ["y"]),
    ]
    graph = files.read(nodes, {"x": (3, 4)}, "y", weights={"w": (4, 4)}).graph
    assert graph.tensor["k"].home is Home.CHIP
    assert graph.streamed_bytes(graph.operators[1]) == 0


def test_the_user_overrides_either_way(files: Any) -> None:
    nodes = [node("MatMul", ["x", "w"], ["h"]), node("Add", ["h", "b"], ["y"])]
    report = files.read(
        nodes,
        {"x": (3, 4), "w": (4, 5)},
        "y",
        weights={"b": (5,)},
        options={"weights": ["x"], "activations": ["w", "b"]},
    )
    graph = report.graph
    assert {n: graph.tensor[n].home for n in ("x", "w", "b")} == {
        "x": Home.HBM,
        "w": Home.CHIP,
        "b": Home.CHIP,
    }
    assert {choice.reason for choice in report.homes} == {"named by the user"}


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        pytest.param(
            {"weights": ["wieght"]}, "unknown-input", "did you mean weight", id="name"
        ),
        pytest.param(
            {"weights": ["x"], "activations": ["x"]},
            "contradictory-home",
            "x is named both",
            id="both",
        ),
    ],
)
def test_a_wrong_override_is_refused(
    files: Any, options: Any, code: str, message: str
) -> None:
    nodes = [node("MatMul", ["x", "weight"], ["y"])]
    with pytest.raises(BadInputError, match=message) as error:
        files.read(nodes, {"x": (3, 4), "weight": (4, 5)}, "y", options=options)
    assert error.value.code == code
