"""The steps of LSTM, GRU and RNN; see expand/recurrent.py for their operands."""

from __future__ import annotations

from elkhound.model.graph import Access, Axis, Operator, OperatorKind, Pass
from elkhound.model.onnx_import.lower.operand import (
    UNINDEXED,
    Call,
    Operand,
    indexed,
)
from elkhound.model.passes import MATMUL_BIAS_PASSES

U, E = Pass.UNARY, Pass.ELEMENTWISE

# Passes over one state: sigmoids and tanhs are unary, products and sums elementwise.
CELL_PASSES = (U, U, U, E, E, E)  # i, f, g; f · c + i · g
LSTM_ROW_PASSES = (U, U, E)  # o, tanh c; their product
GRU_RESET_PASSES = (U, E)  # r; r · h
GRU_ROW_PASSES = (U, U, E, E, E, E)  # z, tanh n; (1 − z) · n + z · h, r · (R h)


def product(call: Call) -> tuple[Operator, ...]:
    """gates[m, n] = Σₖ h[m, k] · R[n, k] + inputs[step, m, n], some gates of R."""
    state, weights = call.first, call.second
    inputs, out = call.input(2), call.output
    if inputs is None:
        raise ValueError("an operand is missing")
    m, n, k = indexed("m"), indexed("n"), indexed("k")
    batch, width = out.shape
    return (
        call.operator(
            OperatorKind.MATMUL,
            {"m": batch, "n": width, "k": weights.shape[1]},
            [
                state.access(_state_axes(state, "m", "k")),
                weights.access([n, k]),
                inputs.access([UNINDEXED, m, n]),
            ],
            out.access([m, n]),
            MATMUL_BIAS_PASSES,
        ),
    )


def lstm_cell(call: Call) -> tuple[Operator, ...]:
    """C = f · c + i · g."""
    return (_combined(call, 3, [call.second], CELL_PASSES),)


def lstm_row(call: Call) -> tuple[Operator, ...]:
    """H = o · tanh c, a row of the result."""
    return (_combined(call, 1, [call.second], LSTM_ROW_PASSES),)


def gru_reset(call: Call) -> tuple[Operator, ...]:
    """R · h."""
    return (_combined(call, 1, [call.second], GRU_RESET_PASSES),)


def gru_row(call: Call) -> tuple[Operator, ...]:
    """H = (1 − z) · n + z · h, a row of the result."""
    candidate = call.input(2)
    if candidate is not None:  # r · h was multiplied before
        others = [call.second, candidate]
        return (_combined(call, 1, others, GRU_ROW_PASSES[:-1]),)
    return (_combined(call, 3, [call.second], (U, *GRU_ROW_PASSES)),)


def rnn_row(call: Call) -> tuple[Operator, ...]:
    """H = tanh of the sum, a row of the result."""
    return (_combined(call, 1, [], (U,)),)


def _combined(
    call: Call, gates: int, others: list[Operand], passes: tuple[Pass, ...]
) -> Operator:
    """Combine gates and states, element by element.

    The gates of one state lie side by side: (batch, gates, hidden).
    """
    first, out = call.first, call.output
    batch, hidden = first.shape[0], out.shape[-1]
    sizes = {"b": batch, "h": hidden}
    gate = UNINDEXED
    if gates > 1:
        sizes["gate"], gate = gates, indexed("gate")
    every = first.split(1, (first.shape[1] // hidden, hidden))
    accesses: list[Access] = [every.access([indexed("b"), gate, indexed("h")])]
    accesses += [other.access(_state_axes(other, "b", "h")) for other in others]
    return call.operator(
        OperatorKind.ELEMENTWISE,
        sizes,
        accesses,
        out.access(_state_axes(out, "b", "h")),
        passes,
    )


def _state_axes(state: Operand, row: str, column: str) -> list[Axis]:
    """Return axes of (…, batch, hidden): one place on all others."""
    return [UNINDEXED] * (len(state.shape) - 2) + [indexed(row), indexed(column)]
