"""LSTM, GRU and RNN: one product for all inputs, then step after step.

A step multiplies the state by R, which is copied onto the chip once, and combines the
gates. Every step writes its rows of Y, where the next one reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from elkhound.model.onnx_import.expand.expansion import Expansion
from elkhound.model.onnx_import.source import Value

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
MOST_STEPS = 4096


@dataclass(frozen=True, slots=True)
class Run:
    """One direction of a recurrent operator.

    Parameters
    ----------
    direction : int
        0 or 1: its place on the axis of directions.
    backwards : bool
        Whether it starts at the last step.
    inputs : str
        Products of all inputs with W: (steps, batch, gates · hidden).
    weights : str
        R on the chip: (gates · hidden, hidden).
    """

    direction: int
    backwards: bool
    inputs: str
    weights: str


@dataclass(frozen=True, slots=True)
class Sizes:
    """Extents of a recurrent operator."""

    steps: int
    batch: int
    hidden: int
    directions: int
    gates: int


def recurrent(do: Expansion) -> None:
    """Write out every direction and step; then the outputs that are asked for."""
    source = do.name(0)
    batch_first = do.node.integer("layout", 0) == 1
    if batch_first:
        source = do.transpose(source, (1, 0, 2), "steps_first")
    if len(do.node.inputs) > 7 and do.given(7):
        raise ValueError("peepholes cannot be planned")
    sizes = _sizes(do, source)
    _note_ignored(do, sizes)
    rows = do.fresh("rows") if batch_first or not do.output(0) else do.output(0)
    shape = (sizes.steps, sizes.directions, sizes.batch, sizes.hidden)
    dtype = do.value(source).dtype
    do.declare(rows, Value(dtype, shape))
    cells = [
        _direction(do, sizes, source, rows, index) for index in range(sizes.directions)
    ]
    if batch_first and do.output(0):
        do.transpose(rows, (2, 0, 1, 3), "batch_first", output=do.output(0))
    _last_rows(do, sizes, rows, batch_first)
    if do.output(2):
        _last_cells(do, sizes, cells, batch_first)


def _note_ignored(do: Expansion, sizes: Sizes) -> None:
    """Say what changes results but not the plan, or would make it shorter."""
    lengths = do.given(4)
    if lengths:
        data = do.value(lengths).data
        if data is None or any(int(n) != sizes.steps for n in data.reshape(-1)):
            do.note(
                f"every sequence is planned at its full {sizes.steps} steps, "
                f"whatever {lengths} says"
            )
    if "clip" in do.node.attributes:
        do.note("clip costs nothing")
    if do.node.integer("input_forget", 0):
        do.note("input_forget is planned as a gate of its own")


def _sizes(do: Expansion, source: str) -> Sizes:
    steps, batch, inputs = do.shape(source)
    weights, recurrence = do.shape(do.name(1)), do.shape(do.name(2))
    gates = GATES[do.node.op]
    directions, hidden = recurrence[0], recurrence[2]
    if do.node.integer("hidden_size", hidden) != hidden:
        stated = do.node.integer("hidden_size", hidden)
        raise ValueError(f"hidden_size {stated} and R {list(recurrence)} do not fit")
    expected = (directions, gates * hidden, inputs)
    if weights != expected or recurrence[1] != gates * hidden:
        raise ValueError(f"W {list(weights)} and R {list(recurrence)} do not fit")
    bidirectional = do.node.text("direction", "forward") == "bidirectional"
    if directions != 1 + bidirectional:
        raise ValueError(f"weights of {directions} directions")
    if steps > MOST_STEPS:
        raise ValueError(f"{steps} steps, at most {MOST_STEPS} are written out")
    return Sizes(steps, batch, hidden, directions, gates)


def _direction(do: Expansion, sizes: Sizes, source: str, rows: str, index: int) -> str:
    """Write one direction; return the last cell state of an LSTM."""
    mark = f"{index}" if sizes.directions > 1 else ""
    weights = _of_direction(do, do.name(1), index, f"W{mark}")
    turned = do.transpose(weights, (1, 0), f"W{mark}.turned")
    inputs = do.emit("MatMul", [source, turned], f"inputs{mark}")
    if do.given(3):
        bias = _bias(do, sizes, index, mark)
        inputs = do.emit("Add", [inputs, bias], f"biased{mark}")
    recurrence = _of_direction(do, do.name(2), index, f"R{mark}")
    loaded = do.emit("elkhound::Load", [recurrence], f"R{mark}.loaded")
    backwards = index == 1 or do.node.text("direction", "forward") == "reverse"
    run = Run(index, backwards, inputs, loaded)
    initial = do.given(5) or do.parameter(
        f"zeros{mark}",
        Value(
            do.value(source).dtype,
            (sizes.directions, sizes.batch, sizes.hidden),
            constant=True,
        ),
    )
    cell = do.given(6) if do.node.op == "LSTM" else ""
    if do.node.op == "LSTM" and not cell:
        cell = (
            initial
            if not do.given(5)
            else do.parameter(
                f"cell_zeros{mark}",
                Value(do.value(source).dtype, do.shape(initial), constant=True),
            )
        )
    order = range(sizes.steps - 1, -1, -1) if backwards else range(sizes.steps)
    before = -1
    for step in order:
        state = initial if before < 0 else rows
        places = {"step": step, "before": before, "direction": index}
        cell = STEPS[do.node.op](
            do, sizes, run, state, cell, rows, places, f"{mark}@{step}"
        )
        before = step
    return cell


def _of_direction(do: Expansion, name: str, index: int, suffix: str) -> str:
    shape = do.shape(name)
    if shape[0] == 1:
        return do.reshape(name, shape[1:], suffix)
    place = do.constant(f"{suffix}.index", index)
    return do.emit("Gather", [name, place], suffix, {"axis": 0})


def _bias(do: Expansion, sizes: Sizes, index: int, mark: str) -> str:
    """Return the sum of the biases of W and R."""
    width = sizes.gates * sizes.hidden
    both = do.reshape(do.name(3), (sizes.directions, 2, width), f"B{mark}.both")
    axis = do.constant(f"B{mark}.axis", [1])
    total = do.emit("ReduceSum", [both, axis], f"B{mark}.sum", {"keepdims": 0})
    return _of_direction(do, total, index, f"B{mark}")


def _product(
    do: Expansion,
    sizes: Sizes,
    run: Run,
    state: str,
    places: Mapping[str, int],
    suffix: str,
    gates: tuple[int, int],
) -> str:
    """State · R of some gates, plus the inputs' products of this step."""
    name = do.fresh(suffix)
    first, count = gates
    shape = (sizes.batch, count * sizes.hidden)
    do.declare(name, Value(do.value(run.inputs).dtype, shape))
    do.emit(
        "elkhound::RecurrentProduct",
        [state, run.weights, run.inputs],
        suffix,
        {**places, "first": first, "count": count},
        outputs=[name],
    )
    return name


def _combine(
    do: Expansion,
    op: str,
    inputs: list[str],
    output: str,
    places: Mapping[str, int],
    suffix: str,
) -> None:
    do.emit(f"elkhound::{op}", inputs, suffix, places, outputs=[output])


def _lstm(
    do: Expansion,
    sizes: Sizes,
    run: Run,
    state: str,
    cell: str,
    rows: str,
    places: Mapping[str, int],
    at: str,
) -> str:
    gates = _product(do, sizes, run, state, places, f"gates{at}", (0, 4))
    new = do.fresh(f"cell{at}")
    shape = (sizes.batch, sizes.hidden)
    do.declare(new, Value(do.value(rows).dtype, shape))
    _combine(do, "LstmCell", [gates, cell], new, places, f"cell{at}")
    _combine(do, "LstmRow", [gates, new], rows, places, f"row{at}")
    return new


def _gru(
    do: Expansion,
    sizes: Sizes,
    run: Run,
    state: str,
    cell: str,
    rows: str,
    places: Mapping[str, int],
    at: str,
) -> str:
    if do.node.integer("linear_before_reset", 0):
        gates = _product(do, sizes, run, state, places, f"gates{at}", (0, 3))
        _combine(do, "GruRow", [gates, state], rows, places, f"row{at}")
        return cell
    gates = _product(do, sizes, run, state, places, f"gates{at}", (0, 2))
    reset = do.fresh(f"reset{at}")
    shape = (1, sizes.batch, sizes.hidden)
    do.declare(reset, Value(do.value(rows).dtype, shape))
    _combine(do, "GruReset", [gates, state], reset, places, f"reset{at}")
    alone = {**places, "before": -1, "direction": 0}
    fresh = _product(do, sizes, run, reset, alone, f"candidate{at}", (2, 1))
    _combine(do, "GruRow", [gates, state, fresh], rows, places, f"row{at}")
    return cell


def _rnn(
    do: Expansion,
    sizes: Sizes,
    run: Run,
    state: str,
    cell: str,
    rows: str,
    places: Mapping[str, int],
    at: str,
) -> str:
    total = _product(do, sizes, run, state, places, f"gates{at}", (0, 1))
    _combine(do, "RnnRow", [total], rows, places, f"row{at}")
    return cell


STEPS = {"LSTM": _lstm, "GRU": _gru, "RNN": _rnn}


def _last_rows(do: Expansion, sizes: Sizes, rows: str, batch_first: bool) -> None:
    """Write Y_h: the last step of every direction."""
    if not do.output(1):
        return
    parts = []
    for index in range(sizes.directions):
        backwards = index == 1 or do.node.text("direction", "forward") == "reverse"
        step = 0 if backwards else sizes.steps - 1
        ends = [
            do.constant(f"last{index}.{name}", value)
            for name, value in (
                ("from", [step, index]),
                ("to", [step + 1, index + 1]),
                ("axes", [0, 1]),
            )
        ]
        part = do.emit("Slice", [rows, *ends], f"last{index}")
        parts.append(
            do.reshape(part, (1, sizes.batch, sizes.hidden), f"last{index}.row")
        )
    _stacked(do, parts, "last", do.output(1), batch_first)


def _last_cells(
    do: Expansion, sizes: Sizes, cells: list[str], batch_first: bool
) -> None:
    """Write Y_c: the last cell state of every direction."""
    parts = [
        do.reshape(cell, (1, sizes.batch, sizes.hidden), f"cells{index}")
        for index, cell in enumerate(cells)
    ]
    _stacked(do, parts, "cells", do.output(2), batch_first)


def _stacked(
    do: Expansion, parts: list[str], suffix: str, output: str, batch_first: bool
) -> None:
    whole = parts[0]
    if len(parts) > 1:
        outputs = [] if batch_first else [output]
        whole = do.emit("Concat", parts, suffix, {"axis": 0}, outputs=outputs)
    if batch_first:
        do.transpose(whole, (1, 0, 2), f"{suffix}.batch_first", output=output)
    elif len(parts) == 1:
        do.emit("Identity", [whole], f"{suffix}.named", outputs=[output])


EXPANSIONS: Mapping[str, Callable[[Expansion], None]] = dict.fromkeys(GATES, recurrent)
