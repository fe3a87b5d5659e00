"""Operators of a workload as plain ONNX nodes, one kind after the other."""

from __future__ import annotations

import math
from typing import Any

from elkhound.model.composites import (
    COMPOSITES,
    PRODUCT_SUM_PASSES,
    Composite,
    number,
)
from elkhound.model.graph import Operator, OperatorKind
from elkhound.model.workloads.catalogue import Activation
from elkhound.model.workloads.onnx_file import number_of
from elkhound.model.workloads.onnx_moves import Moves

EPSILON = 1e-5
NonLinear = tuple[str, list[str], dict[str, Any]]


class PlainNodes(Moves):
    """Writes operators as nodes."""

    def write(self) -> None:
        """Write all operators."""
        for operator in self.graph.operators:
            self.operator(operator)

    def operator(self, operator: Operator) -> None:
        """Write one operator."""
        einsum = operator.einsum
        known = self.composite(operator)
        if known is not None:
            self.steps(operator, known)
            return
        match operator.kind:
            case OperatorKind.MATMUL | OperatorKind.BATCHED_MATMUL:
                self.product(operator)
            case OperatorKind.SOFTMAX:
                self.rowwise(operator, "Softmax")
            case OperatorKind.NORM if len(einsum.inputs) == 1:
                self.normalised(operator)
            case OperatorKind.NORM if einsum.statistics_rounds == 1:
                self.rowwise(operator, "RMSNormalization")
            case OperatorKind.NORM:
                self.rowwise(operator, "LayerNormalization")
            case OperatorKind.ROPE:
                self.rope(operator)
            case OperatorKind.ACTIVATION:
                self.activate(operator)
            case OperatorKind.ELEMENTWISE:
                self.elementwise(operator)
            case OperatorKind.GATHER:
                self.gather(operator)
            case OperatorKind.REDUCE:
                self.reduce(operator)
            case _:
                self.copy(operator)

    def composite(self, operator: Operator) -> Composite | None:
        """Return the composite that an operator of a backward pass is."""
        einsum = operator.einsum
        place = operator.name.partition(".gradient_of.")[0].rpartition(".")[2]
        if operator.kind is OperatorKind.ACTIVATION and einsum.inputs:
            return self.slope(operator, place)
        if operator.kind in (OperatorKind.NORM, OperatorKind.SOFTMAX):
            for known in COMPOSITES.values():
                same = (known.kind, known.passes) == (operator.kind, einsum.passes)
                if same and len(known.inputs) == len(einsum.inputs):
                    return known
        return None

    def slope(self, operator: Operator, place: str) -> Composite | None:
        """Return the derivative that an activation's gradient is times."""
        backward = ".gradient_of." in operator.name
        gated = len(operator.einsum.inputs) == 3
        up = operator.name.endswith(("_up", ".up")) and not gated
        if not backward or (up and self.is_gated(place, operator)):
            return None
        kind = self.activation.value if place == "activation" else "silu"
        if place.endswith("_cap"):
            kind = "tanh"
        elif place == "affinity":
            kind = "sigmoid"
        return COMPOSITES[f"{kind}-gate-gradient" if gated else f"{kind}-gradient"]

    def is_gated(self, place: str, operator: Operator) -> bool:
        """Tell whether the activation in front of a gradient multiplies two sides."""
        forward = operator.name.partition(".gradient_of.")[0]
        return len(self.parts[forward][0].einsum.inputs) == 2

    def steps(self, operator: Operator, known: Composite) -> None:
        """Write the steps of a composite."""
        order = [axis.terms[0][0] for axis in operator.einsum.output.axes]
        dtype = self.tensors[operator.einsum.output.tensor].dtype.name
        values = {
            name: self.view(
                operator, access, order[:-1] if name == known.by_row else order
            )
            for name, access in zip(known.inputs, operator.einsum.inputs, strict=True)
        }
        columns = operator.einsum.sizes[order[-1]]
        values["columns"] = self.file.integers(columns)
        values["epsilon"] = self.file.number(EPSILON, dtype)
        if "zero_one" in known.text:
            values["zero_one"] = self.file.constant("zero_one", "int32", [2], [0, 1])
        for step in known.steps:
            operands = []
            for operand in step.operands:
                plain = number(operand)
                operands.append(
                    values[operand] if plain is None else self.file.number(plain, dtype)
                )
            if step.op.startswith("Reduce"):
                operands.append(self.file.integers([-1]))
            attributes: dict[str, Any] = {}
            if step.op == "Cast":
                attributes["to"] = number_of(dtype)
            if step is known.steps[-1]:
                self.result(operator, step.op, operands)
            else:
                values[step.name] = self.file.node(step.op, operands, **attributes)

    def product(self, operator: Operator) -> None:
        """Write a MatMul, its rows and what it reduces as one axis; Add for a bias."""
        x, weight, made = self.factors(operator)
        bias = operator.einsum.inputs[2:]
        if not bias:
            self.result(operator, "MatMul", (x, weight), made)
            return
        value = self.file.node("MatMul", (x, weight))
        self.result(operator, "Add", (value, self.whole(bias[0].tensor)), made)

    def factors(self, operator: Operator) -> tuple[str, str, list[str]]:
        """Return both factors as matrices, and the dimensions of what they make."""
        einsum = operator.einsum
        sizes = einsum.sizes
        left, right, *_ = einsum.inputs
        order = [d.name for d in einsum.dimensions]
        kept = einsum.output.dimensions
        both = left.dimensions & right.dimensions
        batch = [d for d in order if d in both & kept]
        rows = [d for d in order if d in left.dimensions - both]
        columns = [d for d in order if d in right.dimensions - both]
        reduced = [d for d in order if d in both - kept]
        counts = [
            math.prod(sizes[d] for d in part) for part in (rows, reduced, columns)
        ]
        outer = [sizes[d] for d in batch]
        x = self.view(operator, left, [*batch, *rows, *reduced])
        if (len(rows), len(reduced)) != (1, 1):
            x = self.file.reshape(x, [*outer, *counts[:2]])
        y = self.view(operator, right, [*batch, *reduced, *columns])
        if (len(reduced), len(columns)) != (1, 1):
            y = self.file.reshape(y, [*outer, *counts[1:]])
        return x, y, [*batch, *rows, *columns]

    def rowwise(self, operator: Operator, op: str) -> None:
        """Write a softmax or norm over the last dimension."""
        self.result(operator, op, self.operands(operator), axis=-1)

    def normalised(self, operator: Operator) -> None:
        """Write a norm without weight by its parts."""
        (x,) = self.operands(operator)
        dtype = self.tensors[operator.einsum.output.tensor].dtype.name
        centred = operator.einsum.statistics_rounds > 1
        self.result(operator, "Mul", self.inverse_root(x, dtype, centred=centred))

    def inverse_root(self, x: str, dtype: str, *, centred: bool) -> tuple[str, str]:
        """Write x, less its row mean where asked for, and one over its row's spread."""
        node, last = self.file.node, self.file.integers([-1])
        if centred:
            x = node("Sub", (x, node("ReduceMean", (x, last))))
        mean = node("ReduceMean", (node("Mul", (x, x)), last))
        shifted = node("Add", (mean, self.file.number(EPSILON, dtype)))
        return x, node("Reciprocal", (node("Sqrt", (shifted,)),))

    def rope(self, operator: Operator) -> None:
        """Write the halves a, b as a · cos − b · sin, b · cos + a · sin; or back."""
        sizes = operator.einsum.sizes
        rows = [a.terms[0][0] for a in operator.einsum.output.axes[:-2]]
        half = sizes["k"]
        outer = [sizes[d] for d in rows]
        x = self.file.reshape(operator.einsum.inputs[0].tensor, [*outer, 2 * half])
        tables = [
            self.view(operator, table, [*rows, "k"])
            for table in operator.einsum.inputs[1:]
        ]
        node = self.file.node
        first = self.file.slice(x, -1, 0, half)
        second = self.file.slice(x, -1, half, 2 * half)
        (a_cos, a_sin), (b_cos, b_sin) = (
            [node("Mul", (part, table)) for table in tables] for part in (first, second)
        )
        signs = ("Sub", "Add")
        if ".gradient_of." in operator.name:
            signs = ("Add", "Sub")
        halves = (node(signs[0], (a_cos, b_sin)), node(signs[1], (b_cos, a_sin)))
        self.result(operator, "Concat", halves, axis=-1)

    def activate(self, operator: Operator) -> None:
        """Write the model's activation, or the one of a named place."""
        gate, *up = self.operands(operator)
        place = operator.name.partition(".gradient_of.")[0].rpartition(".")[2]
        if place.endswith("_cap"):
            self.result(operator, "Tanh", (gate,))
            return
        if place == "affinity":
            self.result(operator, "Sigmoid", (gate,))
            return
        kind = self.activation if place == "activation" else Activation.SILU
        op, inputs, attributes = self.non_linear(kind, gate)
        if up:
            inputs = [self.file.node(op, inputs, **attributes), up[0]]
            op, attributes = "Mul", {}
        self.result(operator, op, inputs, **attributes)

    def non_linear(self, kind: Activation, x: str) -> NonLinear:
        """Return the last operator of an activation, its inputs and attributes."""
        if kind is Activation.SILU:
            return "Mul", [x, self.file.node("Sigmoid", (x,))], {}
        return kind.value.capitalize(), [x], {}

    def elementwise(self, operator: Operator) -> None:
        """Write a sum, difference, product, or the row of a pick."""
        name = operator.name
        if name.endswith(".token"):
            chosen = self.chosen(operator)
            inputs = (*self.operands(operator), self.file.integers(chosen))
            self.result(operator, "Div", inputs)
            return
        product = "_gate" in name.rpartition("layer")[2] and "sum" not in name
        product = product or ".combine." in name
        op = "Mul" if product else "Add"
        self.result(
            operator, "Sub" if name == "loss.gradient" else op, self.operands(operator)
        )

    def reduce(self, operator: Operator) -> None:
        """Write a sort, a sum of products, or a sum."""
        einsum = operator.einsum
        if einsum.row_dimensions:
            self.sort(operator)
            return
        order = [d.name for d in einsum.dimensions]
        parts = [self.view(operator, access, order) for access in einsum.inputs]
        value = parts[0]
        if einsum.passes == PRODUCT_SUM_PASSES:
            value = self.file.node("Mul", parts)
        kept = [axis.terms[0][0] for axis in einsum.output.axes]
        axes = [place for place, d in enumerate(order) if d not in kept]
        inputs = (value, self.file.integers(axes))
        made = [d for d in order if d in kept]
        self.result(operator, "ReduceSum", inputs, made, keepdims=0)
