"""If, Loop and Scan: one branch taken, iterations written out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import GraphProto, TensorProto, helper, numpy_helper

from elkhound.model.errors import BadInputError
from elkhound.model.graph import Home, Pass

node = helper.make_node
value = helper.make_tensor_value_info


def branch(*ops: str) -> GraphProto:
    """A branch that applies operators to x, one after the other."""
    names = ["x", *(f"{op}{i}" for i, op in enumerate(ops))]
    nodes = [
        node(op, [names[i]], [names[i + 1]], name=f"{op}-{i}")
        for i, op in enumerate(ops)
    ]
    return helper.make_graph(
        nodes, "branch", [], [value(names[-1], TensorProto.FLOAT16, None)]
    )


def conditional(then: GraphProto, otherwise: GraphProto) -> list[Any]:
    return [
        node("Cast", ["c"], ["condition"], to=TensorProto.BOOL),
        node(
            "If",
            ["condition"],
            ["y"],
            name="choice",
            then_branch=then,
            else_branch=otherwise,
        ),
    ]


INPUTS = {"x": (3, 4), "c": (1,)}
BRANCHES = conditional(branch("Relu"), branch("Exp", "Sigmoid"))


def test_the_larger_branch_is_taken_and_said_so(files: Any) -> None:
    report = files.read(BRANCHES, INPUTS, "y")
    assert [o.name for o in report.graph.operators] == ["Exp-0", "Sigmoid-1"]
    assert any("takes its else branch" in warning for warning in report.warnings)
    assert any("--branch choice=then" in warning for warning in report.warnings)


def test_a_named_branch_is_taken(files: Any) -> None:
    options = {"branches": {"choice": "then"}}
    report = files.read(BRANCHES, INPUTS, "y", options=options)
    assert [o.name for o in report.graph.operators] == ["Relu-0"]


def test_a_constant_condition_decides_without_a_word(files: Any) -> None:
    nodes = BRANCHES[1:]
    constants = {"condition": np.array(True)}
    report = files.read(nodes, {"x": (3, 4)}, "y", constants=constants)
    assert [o.name for o in report.graph.operators] == ["Relu-0"]
    assert not any("choice" in warning for warning in report.warnings)


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        pytest.param(
            {"branches": {"choise": "then"}},
            "unknown-node",
            "no If called choise leaves this open .did you mean choice",
            id="misspelt",
        ),
        pytest.param(
            {"branches": {"choice": "both"}}, "bad-value", "then or else", id="both"
        ),
        pytest.param(
            {"trips": {"choice": 3}}, "unknown-node", "no Loop called", id="no-loop"
        ),
        pytest.param({"trips": {"l": 0}}, "bad-value", "at least once", id="no-trip"),
    ],
)
def test_a_choice_without_effect_is_refused(
    files: Any, options: Any, code: str, message: str
) -> None:
    with pytest.raises(BadInputError, match=message) as error:
        files.read(BRANCHES, INPUTS, "y", options=options)
    assert error.value.code == code


def test_what_the_other_branch_holds_does_not_matter(files: Any) -> None:
    nodes = conditional(branch("Det"), branch("Exp", "Sigmoid"))
    assert len(files.read(nodes, INPUTS, "y").graph.operators) == 2
    with pytest.raises(BadInputError, match="cannot plan operator Det"):
        files.read(nodes, INPUTS, "y", options={"branches": {"choice": "then"}})


def test_branches_inside_branches_are_taken_too(files: Any) -> None:
    inner = helper.make_graph(
        conditional(branch("Relu"), branch("Exp", "Sigmoid"))[1:],
        "inner",
        [],
        [value("y", TensorProto.FLOAT16, None)],
    )
    inner.node[0].output[0] = inner.output[0].name = "inner"
    inner.node[0].name = "deeper"
    report = files.read(conditional(inner, branch("Relu")), INPUTS, "y")
    assert [o.name for o in report.graph.operators] == ["Exp-0", "Sigmoid-1"]


def loop_body() -> GraphProto:
    """state := state · w; each state is an output."""
    return helper.make_graph(
        [
            node("MatMul", ["state", "w"], ["next"], name="step"),
            node("Identity", ["goes_on"], ["still"]),
            node("Identity", ["next"], ["seen"]),
        ],
        "body",
        [
            value("i", TensorProto.INT64, []),
            value("goes_on", TensorProto.BOOL, []),
            value("state", TensorProto.FLOAT16, [3, 4]),
        ],
        [
            value("still", TensorProto.BOOL, []),
            value("next", TensorProto.FLOAT16, [3, 4]),
            value("seen", TensorProto.FLOAT16, [3, 4]),
        ],
    )


def test_a_loop_with_a_known_count_is_written_out(files: Any) -> None:
    nodes = [node("Loop", ["n", "", "x"], ["y", "all"], name="loop", body=loop_body())]
    graph = files.read(
        nodes,
        {"x": (3, 4)},
        ["y", "all"],
        weights={"w": (4, 4)},
        constants={"n": np.array(5)},
    ).graph
    assert graph.macs == 5 * 3 * 4 * 4
    assert [o.name for o in graph.operators][:2] == ["step@0", "step@1"]
    # `all` is stacked of five copies
    assert graph.tensor["all"].shape == (5, 3, 4)
    # each iteration streams the weight
    assert sum(graph.streamed_bytes(o) for o in graph.operators) == 5 * 4 * 4 * 2


def test_a_loop_of_unknown_length_needs_a_trip_count(files: Any) -> None:
    nodes = [
        node("Cast", ["c"], ["n"], to=TensorProto.INT64),
        node("Loop", ["n", "", "x"], ["y", ""], name="loop", body=loop_body()),
    ]
    model: Any = (nodes, {"x": (3, 4), "c": ()}, "y")
    weights = {"w": (4, 4)}
    with pytest.raises(BadInputError, match=r"Loop .*--trip loop=N") as error:
        files.read(*model, weights=weights)
    assert error.value.code == "unbounded-loop"
    report = files.read(*model, weights=weights, options={"trips": {"loop": 7}})
    assert report.graph.macs == 7 * 3 * 4 * 4
    assert any("7 iterations planned" in warning for warning in report.warnings)


def test_a_scan_runs_once_per_slice(files: Any) -> None:
    body = helper.make_graph(
        [
            node("MatMul", ["row", "w"], ["product"], name="step"),
            node("Add", ["state", "product"], ["next"], name="sum"),
            node("Identity", ["next"], ["seen"]),
        ],
        "body",
        [
            value("state", TensorProto.FLOAT16, [3, 4]),
            value("row", TensorProto.FLOAT16, [3, 4]),
        ],
        [
            value("next", TensorProto.FLOAT16, [3, 4]),
            value("seen", TensorProto.FLOAT16, [3, 4]),
        ],
    )
    nodes = [node("Scan", ["s", "x"], ["y", "all"], body=body, num_scan_inputs=1)]
    graph = files.read(
        nodes,
        {"s": (3, 4), "x": (6, 3, 4)},
        ["y", "all"],
        weights={"w": (4, 4)},
    ).graph
    assert graph.macs == 6 * 3 * 4 * 4
    assert graph.tensor["all"].shape == (6, 3, 4)


def test_constants_inside_a_branch_are_weights(files: Any) -> None:
    inside = helper.make_graph(
        [node("MatMul", ["x", "w"], ["product"], name="product")],
        "branch",
        [],
        [value("product", TensorProto.FLOAT16, None)],
        [numpy_helper.from_array(np.zeros((4, 6), np.float16), "w")],
    )
    graph = files.read(conditional(inside, branch("Relu")), INPUTS, "y").graph
    assert sum(graph.streamed_bytes(o) for o in graph.operators) == 4 * 6 * 2


def repeated(count: Any, *condition: str, body: GraphProto | None = None) -> list[Any]:
    """A Loop over x of a constant count, and what reads its result."""
    loop = node("Loop", ["n", *condition, "x"], ["z", "all"], name="loop")
    loop.attribute.append(helper.make_attribute("body", body or loop_body()))
    return [
        node("Constant", [], ["n"], value=numpy_helper.from_array(np.array(count))),
        loop,
        node("Relu", ["z"], ["y"], name="after"),
    ]


@pytest.mark.parametrize(
    ("count", "constants"),
    [
        pytest.param(-1, {}, id="count-below-0"),
        pytest.param(3, {"never": np.array(False)}, id="condition-false"),
    ],
)
def test_a_loop_that_never_starts_costs_nothing(
    files: Any, count: int, constants: Any
) -> None:
    nodes = repeated(count, "never" if constants else "")
    nodes[1].output[1] = ""
    given = {"weights": {"w": (4, 4)}, "constants": constants}
    graph = files.read(nodes, {"x": (3, 4)}, "y", **given).graph
    assert [operator.name for operator in graph.operators] == ["after"]


EMPTY = helper.make_graph(
    [],
    "body",
    [
        value("i", TensorProto.INT64, []),
        value("goes_on", TensorProto.BOOL, []),
        value("state", TensorProto.FLOAT16, [3, 4]),
    ],
    [
        value("goes_on", TensorProto.BOOL, []),
        value("state", TensorProto.FLOAT16, [3, 4]),
    ],
)


def test_iterations_without_a_node_are_counted_as_well(files: Any) -> None:
    nodes = repeated(2**31 - 1, "", body=EMPTY)
    del nodes[1].output[1:]
    with pytest.raises(BadInputError, match="more than 50000 iterations") as error:
        files.read(nodes, {"x": (3, 4)}, "y")
    assert error.value.code == "too-many-nodes"


def scan(**attributes: Any) -> list[Any]:
    body = helper.make_graph(
        [node("Add", ["state", "row"], ["next"])],
        "body",
        [
            value("state", TensorProto.FLOAT16, []),
            value("row", TensorProto.FLOAT16, []),
        ],
        [value("next", TensorProto.FLOAT16, [])],
    )
    given = {"num_scan_inputs": 1} | attributes
    return [node("Scan", ["s", "x"], ["y"], name="scan", body=body, **given)]


@pytest.mark.parametrize(
    ("nodes", "inputs", "message"),
    [
        pytest.param(
            repeated(np.zeros(0, np.int64), ""),
            {"x": (3, 4)},
            "trip count has 0 elements",
            id="no-count",
        ),
        pytest.param(
            repeated(2, "", body=EMPTY),
            {"x": (3, 4)},
            "has 2 outputs, not 3",
            id="too-few-outputs",
        ),
        pytest.param(
            scan(scan_input_axes=[7]),
            {"s": (4,), "x": (3, 4)},
            "scans axis 7 of x, which has 2 axes",
            id="scan-axis",
        ),
        pytest.param(
            scan(scan_input_axes=[0, 1]),
            {"s": (4,), "x": (3, 4)},
            "scan_input_axes has 2 entries for 1 values",
            id="scan-axes",
        ),
        pytest.param(
            scan(scan_output_directions=[1]),
            {"s": (4,), "x": (3, 4)},
            "scan_output_directions has 1 entries for 0 values",
            id="scan-directions",
        ),
        pytest.param(
            scan(num_scan_inputs=9),
            {"s": (4,), "x": (3, 4)},
            "has 2 inputs, 9 of them scanned, and its body takes 2",
            id="scan-inputs",
        ),
        pytest.param(
            scan(), {"s": (), "x": ()}, "scans axis 0 of x, which has 0", id="scalar"
        ),
    ],
)
def test_control_flow_that_does_not_fit_is_one_line(
    files: Any, nodes: Any, inputs: Any, message: str
) -> None:
    with pytest.raises(
        BadInputError, match=rf"node \w+ \((Loop|Scan)\).*{message}"
    ) as e:
        files.read(nodes, inputs, "y", weights={"w": (4, 4)})
    assert e.value.code == "bad-node"


def test_a_scan_before_opset_9_is_one_line(files: Any) -> None:
    with pytest.raises(BadInputError, match="opset 9 has a batch axis"):
        files.read(scan(), {"s": (4,), "x": (3, 4)}, "y", opset=8)


def choosing() -> list[Any]:
    """A loop's body that asks each time which branch to take, of weights of its own."""
    heavy = helper.make_graph(
        [node("MatMul", ["state", "v"], ["m"], name="heavy")],
        "heavy",
        [],
        [value("m", TensorProto.FLOAT16, None)],
        [TensorProto(name="v", dims=(4, 4), data_type=TensorProto.FLOAT16)],
    )
    light = helper.make_graph(
        [node("Exp", ["state"], ["e"], name="light")],
        "light",
        [],
        [value("e", TensorProto.FLOAT16, None)],
    )
    body = helper.make_graph(
        [node("If", ["c"], ["t"], name="if", then_branch=heavy, else_branch=light)],
        "body",
        EMPTY.input,
        [EMPTY.output[0], value("t", TensorProto.FLOAT16, [3, 4])],
    )
    loop = node("Loop", ["n", "", "x"], ["y"], name="loop", body=body)
    count = numpy_helper.from_array(np.array(3))
    return [node("Constant", [], ["n"], value=count), loop]


def read_choosing(files: Any, **branches: str) -> Any:
    nodes = [node("Cast", ["b"], ["c"], to=TensorProto.BOOL), *choosing()]
    named = {name.replace("_", "@"): branch for name, branch in branches.items()}
    options = {"branches": named}
    return files.read(nodes, {"x": (3, 4), "b": ()}, "y", options=options).graph


def test_constants_of_a_loop_are_one_weight_however_often_it_runs(files: Any) -> None:
    graph = read_choosing(files)
    assert graph.macs == 3 * 3 * 4 * 4
    assert [t.name for t in graph.tensors if t.home is Home.HBM] == ["v"]
    # each iteration streams it
    assert sum(graph.streamed_bytes(o) for o in graph.operators) == 3 * 4 * 4 * 2


def test_a_branch_is_named_for_one_iteration_or_for_all(files: Any) -> None:
    every = read_choosing(files, **{"if": "else"})
    assert [o.einsum.passes for o in every.operators] == [(Pass.UNARY,)] * 3
    but_one = read_choosing(files, **{"if": "else", "if_1": "then"})
    assert [o.einsum.macs for o in but_one.operators] == [0, 3 * 4 * 4, 0]


def nested(depth: int, leaf: Any, *, mark: str = "") -> GraphProto:
    """A branch that holds an If in an If … `depth` deep, and `leaf` innermost."""
    result = f"{mark}{depth}"
    inner = leaf(result)
    if depth:
        then = nested(depth - 1, leaf, mark=mark)
        inner = node(
            "If", ["condition"], [result], then_branch=then, else_branch=branch("Abs")
        )
    return helper.make_graph(
        [inner], "branch", [], [value(result, TensorProto.FLOAT16, (3, 4))]
    )


def relu(result: str) -> Any:
    return node("Relu", ["x"], [result])


@pytest.mark.parametrize("depth", [20, 30])
def test_ifs_may_be_nested_as_deep_as_protobuf_reads(files: Any, depth: int) -> None:
    nodes = conditional(nested(depth - 1, relu), branch("Abs"))
    names = ["choice", *(f"{d}" for d in range(1, depth))]  # unnamed: by their outputs
    options = {"branches": dict.fromkeys(names, "then")}
    report = files.read(nodes, INPUTS, "y", options=options)
    assert [o.einsum.inputs[0].tensor for o in report.graph.operators] == ["x"]
    assert [o.name for o in report.graph.operators] == ["0"]  # the innermost


def test_ifs_that_are_nested_deeper_are_refused_for_it(files: Any) -> None:
    nodes = conditional(nested(30, relu), branch("Abs"))
    with pytest.raises(BadInputError, match="nested more than 30 deep") as error:
        files.read(nodes, INPUTS, "y")
    assert error.value.code == "too-deep"


def test_ifs_that_functions_nest_deeper_are_refused_for_it(files: Any) -> None:
    # 20 of the graph around 20 of the function
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("mine", 1)]
    inside = nested(20, relu, mark="f").node
    function = helper.make_function(
        "mine", "Deep", ["x", "condition"], ["f20"], inside, imports
    )

    def call(result: str) -> Any:
        return node("Deep", ["x", "condition"], [result], domain="mine")

    nodes = [
        *conditional(nested(19, call), branch("Abs")),
        node("Deep", ["y", "condition"], ["z"], domain="mine"),
    ]
    with pytest.raises(BadInputError, match="once its local functions are") as error:
        files.read(nodes, INPUTS, "z", functions=[function])
    assert error.value.code == "too-deep"
