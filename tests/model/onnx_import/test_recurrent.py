"""LSTM, GRU and RNN: exact products, R once on the chip, one row of Y per step."""

from __future__ import annotations

from typing import Any

import pytest
from onnx import helper

from elkhound.model.errors import BadInputError
from elkhound.model.graph import Home

node = helper.make_node


def recurrent(
    files: Any,
    op: str,
    gates: int,
    *,
    steps: int = 100,
    hidden: int = 64,
    directions: int = 1,
    outputs: tuple[str, ...] = ("y",),
    shape: tuple[int, ...] | None = None,
    bias: bool = True,
    **attributes: Any,
) -> Any:
    weights: dict[str, tuple[int, ...]] = {
        "w": (directions, gates * hidden, hidden),
        "r": (directions, gates * hidden, hidden),
    }
    if bias:
        weights["b"] = (directions, 2 * gates * hidden)
    nodes = [
        node(
            op,
            ["x", *weights],
            list(outputs),
            name="net",
            hidden_size=hidden,
            **attributes,
        )
    ]
    wanted = [name for name in outputs if name]
    inputs = {"x": shape or (steps, 1, hidden)}
    return files.read(nodes, inputs, wanted, weights=weights).graph


@pytest.mark.parametrize(
    ("op", "gates"),
    [
        pytest.param("LSTM", 4, id="lstm"),
        pytest.param("GRU", 3, id="gru"),
        pytest.param("RNN", 1, id="rnn"),
    ],
)
def test_products_are_gates_times_both_matrices_times_steps(
    files: Any, op: str, gates: int
) -> None:
    graph = recurrent(files, op, gates)
    # LSTM: 100 · 4 · 64 · (64 + 64) = 3,276,800
    assert graph.macs == 100 * gates * 64 * (64 + 64)


def test_the_lstm_of_100_steps_has_3276800_products(files: Any) -> None:
    assert recurrent(files, "LSTM", 4).macs == 3_276_800


def test_the_recurrent_matrix_is_loaded_once(files: Any) -> None:
    graph = recurrent(files, "LSTM", 4, steps=10)
    load = next(o for o in graph.operators if "loaded" in o.name)
    assert graph.streamed_bytes(load) == 4 * 64 * 64 * 2
    steps = [o for o in graph.operators if ".gates@" in o.name]
    assert len(steps) == 10
    # the first one reads the zeros that the state starts with
    assert [graph.streamed_bytes(o) for o in steps] == [64 * 2] + [0] * 9


def test_every_step_reads_what_the_one_before_wrote(files: Any) -> None:
    graph = recurrent(files, "LSTM", 4, steps=3)
    steps = [o for o in graph.operators if ".gates@" in o.name]
    assert [s.einsum.inputs[0].tensor for s in steps] == ["net.zeros", "y", "y"]
    rows = [o for o in graph.operators if ".row@" in o.name]
    assert {o.einsum.output.tensor for o in rows} == {"y"}
    assert graph.tensor["y"].shape == (3, 1, 1, 64)
    assert graph.tensor["y"].home is Home.CHIP


def test_two_directions_do_twice_the_work(files: Any) -> None:
    one = recurrent(files, "GRU", 3, steps=5)
    two = recurrent(files, "GRU", 3, steps=5, directions=2, direction="bidirectional")
    assert two.macs == 2 * one.macs


@pytest.mark.parametrize("before", [0, 1])
def test_a_gru_may_reset_before_or_behind_its_product(files: Any, before: int) -> None:
    graph = recurrent(files, "GRU", 3, steps=5, linear_before_reset=before)
    assert graph.macs == 5 * 3 * 64 * 128
    products = [o for o in graph.operators if o.einsum.macs]
    assert len(products) == 1 + 5 * (1 if before else 2)


@pytest.mark.parametrize(
    ("directions", "direction", "copies"),
    [
        pytest.param(1, "forward", 1, id="one"),
        pytest.param(1, "reverse", 1, id="backwards"),
        pytest.param(2, "bidirectional", 4, id="both"),
    ],
)
def test_the_last_states_are_outputs_of_their_own(
    files: Any, directions: int, direction: str, copies: int
) -> None:
    graph = recurrent(
        files,
        "LSTM",
        4,
        steps=4,
        directions=directions,
        direction=direction,
        outputs=("", "last", "cells"),
    )
    assert len(graph.outputs) == 2
    last = [o for o in graph.operators if ".last" in o.name]
    assert len(last) == copies


def test_steps_may_be_the_second_axis(files: Any) -> None:
    graph = recurrent(files, "LSTM", 4, shape=(2, 7, 64), layout=1)
    assert graph.macs == 2 * 7 * 4 * 64 * 128


def test_peepholes_are_refused_by_name(files: Any) -> None:
    names = ["x", "w", "r", "", "", "", "", "p"]
    weights = {"w": (1, 8, 2), "r": (1, 8, 2), "p": (1, 6)}
    with pytest.raises(BadInputError, match=r"node net \(LSTM\).*peepholes"):
        files.read(
            [node("LSTM", names, ["y"], name="net", hidden_size=2)],
            {"x": (3, 1, 2)},
            "y",
            weights=weights,
        )
