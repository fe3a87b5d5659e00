"""Nodes → operators in execution order, and the tensors they touch."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from elkhound.model.errors import BadInputError
from elkhound.model.graph import Access, Graph, Home, Operator, Pass, Tensor
from elkhound.model.onnx_import.lower import (
    attention,
    blocked,
    composites,
    copies,
    elementwise,
    matmul,
    recurrent,
    resize,
    rotary,
    rows,
    sums,
    user,
    windows,
)
from elkhound.model.onnx_import.lower.operand import Call, Operand, is_view, operands
from elkhound.model.onnx_import.operators import ELEMENTWISE, REDUCTIONS, UNARY
from elkhound.model.onnx_import.shapes.standard import reduced_axes
from elkhound.model.onnx_import.source import Node, Value

LARGEST_SPACE = 10**18

Lowering = Callable[[Call], tuple[Operator, ...]]

LOWERINGS: Mapping[str, Lowering] = {
    **dict.fromkeys(ELEMENTWISE, elementwise.elementwise),
    **dict.fromkeys(UNARY, elementwise.unary),
    **dict.fromkeys(REDUCTIONS, rows.reduce),
    **dict.fromkeys(("ArgMax", "ArgMin"), rows.reduce),
    **dict.fromkeys(("AveragePool", "MaxPool"), windows.pool),
    **dict.fromkeys(("GlobalAveragePool", "GlobalMaxPool"), windows.global_pool),
    **dict.fromkeys(("Softmax", "LogSoftmax"), rows.softmax),
    **dict.fromkeys(
        (
            "RMSNormalization",
            "SimplifiedLayerNormalization",
            "com.microsoft::SimplifiedLayerNormalization",
        ),
        rows.rms_norm,
    ),
    **dict.fromkeys(
        ("RotaryEmbedding", "com.microsoft::RotaryEmbedding"), rotary.rotary
    ),
    **dict.fromkeys(("elkhound::GeGLU", "elkhound::SwiGLU"), elementwise.gated),
    **dict.fromkeys(("LpPool",), windows.pool),
    **dict.fromkeys(("GlobalLpPool",), windows.global_pool),
    **dict.fromkeys(("QuantizeLinear", "DequantizeLinear"), elementwise.rescale),
    **dict.fromkeys(("Resize", "Upsample"), resize.resize),
    **dict.fromkeys(("Scatter", "ScatterElements", "ScatterND"), copies.scatter),
    "BatchNormalization": elementwise.batch_norm,
    "Concat": copies.concat,
    "Conv": windows.conv,
    "CumSum": rows.running,
    "Expand": copies.expand,
    "Gather": copies.gather,
    "GatherElements": copies.gather_elements,
    "GatherND": copies.gather_nd,
    "Gemm": matmul.gemm,
    "GridSample": resize.grid_sample,
    "Hardmax": rows.running,
    "LRN": windows.local_response,
    "LayerNormalization": rows.layer_norm,
    "MatMul": matmul.matmul,
    "OneHot": copies.one_hot,
    "Pad": copies.moved,
    "ReverseSequence": copies.moved,
    "Slice": copies.copy,
    "Split": copies.split,
    "Tile": copies.moved,
    "Trilu": copies.moved,
    "elkhound::ArgSort": rows.sort,
    "elkhound::Attention": attention.attention,
    "elkhound::BlockedMatMul": blocked.product,
    "elkhound::Columns": windows.columns,
    "elkhound::Composite": composites.composite,
    "elkhound::Copy": copies.moved,
    "elkhound::Einsum": sums.einsum,
    "elkhound::Free": elementwise.free,
    "elkhound::Fold": windows.fold,
    "elkhound::GroupNorm": rows.group_norm,
    "elkhound::GruReset": recurrent.gru_reset,
    "elkhound::GruRow": recurrent.gru_row,
    "elkhound::Load": copies.copy,
    "elkhound::LstmCell": recurrent.lstm_cell,
    "elkhound::LstmRow": recurrent.lstm_row,
    "elkhound::ProductSum": composites.product_sum,
    "elkhound::RecurrentProduct": recurrent.product,
    "elkhound::RnnRow": recurrent.rnn_row,
    "elkhound::Rope": rotary.rotary_tables,
    "elkhound::RowNorm": rows.row_norm,
    "elkhound::Scatter": composites.scatter,
    "elkhound::User": user.described,
}


def lower_graph(
    name: str,
    nodes: Sequence[Node],
    values: Mapping[str, Value],
    homes: Mapping[str, Home],
    outputs: Sequence[str],
) -> Graph:
    """Return the graph of the nodes that compute something.

    Parameters
    ----------
    name : str
        Name of the graph.
    nodes : sequence of Node
        Live nodes in execution order, patterns applied.
    values : mapping of str to Value
        Types and shapes.
    homes : mapping of str to Home
        Home of each graph input and constant; whatever is computed stays on chip.
    outputs : sequence of str
        Values that leave the graph.
    """
    seen = operands(nodes, values)
    operators: list[Operator] = []
    for node in nodes:
        if not is_view(node, values):
            operators.extend(_lowered(node, values, seen))
    if not operators:
        raise BadInputError(
            f"graph {name}: nothing to plan, it only renames and reshapes its inputs",
            code="nothing-to-plan",
        )
    _refuse_unwritten(operators, homes)
    _refuse_endless(operators)
    touched = dict.fromkeys(
        access.tensor
        for operator in operators
        for access in (*operator.einsum.inputs, operator.einsum.output)
    )
    for tensor in touched:
        if 0 in values[tensor].shape:
            raise BadInputError(
                f"tensor {tensor} is read but empty: {list(values[tensor].shape)}",
                code="empty-dimension",
            )
    leaving = dict.fromkeys(seen[o].root for o in outputs if o in seen)
    return Graph(
        name=name,
        tensors=tuple(
            Tensor(
                tensor,
                values[tensor].shape,
                values[tensor].dtype,
                homes.get(tensor, Home.CHIP),
            )
            for tensor in touched
        ),
        operators=tuple(operators),
        outputs=tuple(tensor for tensor in leaving if tensor in touched),
    )


def _lowered(
    node: Node, values: Mapping[str, Value], seen: Mapping[str, Operand]
) -> tuple[Operator, ...]:
    """Lower one node; whatever does not fit in it is the file's fault, by its name."""
    try:
        call = _call(node, values, seen)
        operators = LOWERINGS[node.op](call)
        return tuple(_rescaled(node, _decoding(call, o)) for o in operators)
    except (ValueError, IndexError, ZeroDivisionError) as error:
        raise BadInputError(
            f"node {node.name} ({node.op}): its shapes and attributes do not fit "
            f"({error})",
            code="bad-node",
        ) from error


def _decoding(call: Call, operator: Operator) -> Operator:
    """Add scales of quantised weights, and the pass that applies them in a product.

    A product of integers needs no such pass: its result is rescaled.
    """
    einsum = operator.einsum
    inputs, passes = einsum.inputs, einsum.passes
    for operand in call.inputs:
        if operand is None or not operand.decoded:
            continue
        access = next((a for a in inputs if a.tensor == operand.root), None)
        if access is None:
            continue
        if len(access.axes) == len(operand.order):
            for scale in operand.scales:
                own = access.axes if scale.axis is None else (access.axes[scale.axis],)
                inputs = (*inputs, Access(scale.root, own))
        integer = call.node.integer("requantize", 0)
        if Pass.MATMUL in passes and not integer and not operand.folded:
            second = len(inputs) > 1 and inputs[1].tensor == operand.root
            first = inputs[0].tensor == operand.root
            if first or second:
                passes = (*passes, Pass.DECODE if second else Pass.UNARY)
    if inputs == einsum.inputs and passes == einsum.passes:
        return operator
    return replace(operator, einsum=replace(einsum, inputs=inputs, passes=passes))


def _rescaled(node: Node, operator: Operator) -> Operator:
    """Add the passes of an operator that works on quantised numbers."""
    passes = (Pass.UNARY,) * node.integer("requantize", 0)
    if not passes:
        return operator
    einsum = replace(operator.einsum, passes=(*operator.einsum.passes, *passes))
    return replace(operator, einsum=einsum)


def _call(node: Node, values: Mapping[str, Value], seen: Mapping[str, Operand]) -> Call:
    if node.op in REDUCTIONS:  # axes may be an input: make them plain
        axes = reduced_axes(node, [values.get(n) if n else None for n in node.inputs])
        node = replace(node, attributes={**node.attributes, "axes": list(axes)})
    return Call(
        node=node,
        inputs=tuple(seen[name] if name else None for name in node.inputs),
        outputs=tuple(seen.get(name) for name in node.outputs),
    )


def _refuse_endless(operators: Sequence[Operator]) -> None:
    """Refuse iteration spaces that no 64-bit count holds."""
    for operator in operators:
        sizes = operator.einsum.sizes
        if math.prod(sizes.values()) > LARGEST_SPACE:
            spelt = " · ".join(f"{name}={size}" for name, size in sizes.items())
            raise BadInputError(
                f"operator {operator.name}: more than 10^18 steps, {spelt}",
                code="too-large",
            )


def _refuse_unwritten(operators: Sequence[Operator], homes: Mapping[str, Home]) -> None:
    """Refuse reading an optional output that no einsum writes (indices, masks …)."""
    written = set(homes)
    for operator in operators:
        for access in operator.einsum.inputs:
            if access.tensor not in written:
                raise BadInputError(
                    f"operator {operator.name} reads {access.tensor}, an optional "
                    f"output that cannot be planned",
                    code="unsupported-output",
                )
        written.add(operator.einsum.output.tensor)
