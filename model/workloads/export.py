"""A built-in workload as an ONNX file: plain operators, weights without data."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from elkhound.model.errors import BadInputError
from elkhound.model.graph import Access, Graph, Home, Operator, OperatorKind, Pass
from elkhound.model.passes import MATMUL_BIAS_PASSES, MATMUL_PASSES
from elkhound.model.workloads.catalogue import CATALOGUE, Activation, LatentMixture
from elkhound.model.workloads.workload import build_workload

OPSET = 23
IR_VERSION = 11


def export_workload(
    name: str, bind: Mapping[str, int], phase: str | None, path: Path
) -> Graph:
    """Write a workload as an ONNX file and return its graph.

    Importing the file gives an equal graph under other names. Scales by constants,
    which cost nothing, are left out; of a position table only the rows that are read
    are there.

    Raises
    ------
    BadInputError
        What `build_workload` raises; or the workload has an operator that plain ONNX
        operators do not give back.
    """
    import onnx

    graph = build_workload(name, bind, phase)
    model = CATALOGUE[name]
    activation = Activation.GELU
    if not isinstance(model, LatentMixture):
        activation = getattr(model, "activation", Activation.GELU)
    onnx.save(_Writer(graph, activation).model(), str(path))
    return graph


class _Writer:
    """Writes operators as nodes; every tensor is a value of its name and shape."""

    def __init__(self, graph: Graph, activation: Activation) -> None:
        from onnx import helper

        self.helper = helper
        self.graph = graph
        self.activation = activation
        self.tensors = graph.tensor
        self.nodes: list[Any] = []
        self.initializers: dict[str, Any] = {}
        self.copies: Counter[str] = Counter()
        self.values = 0

    def model(self) -> Any:
        """Return the model."""
        for operator in self.graph.operators:
            self.write(operator)
        made = {name for node in self.nodes for name in node.output}
        read = {name for node in self.nodes for name in node.input}
        inputs = [
            self.info(name)
            for name in self.tensors
            if name in read and name not in made and name not in self.initializers
        ]
        graph = self.helper.make_graph(
            self.nodes,
            self.graph.name,
            inputs,
            [self.info(name) for name in self.graph.outputs],
            list(self.initializers.values()),
        )
        return self.helper.make_model(
            graph,
            ir_version=IR_VERSION,
            opset_imports=[self.helper.make_opsetid("", OPSET)],
            producer_name="elkhound",
        )

    def write(self, operator: Operator) -> None:
        """Write one operator."""
        match operator.kind:
            case OperatorKind.MATMUL | OperatorKind.BATCHED_MATMUL:
                self.product(operator)
            case OperatorKind.SOFTMAX if operator.einsum.passes[0] is Pass.REDUCE:
                self.rowwise(operator, "Softmax")
            case OperatorKind.NORM:
                rounds = operator.einsum.statistics_rounds
                norm = "RMSNormalization" if rounds == 1 else "LayerNormalization"
                self.rowwise(operator, norm)
            case OperatorKind.ROPE:
                self.rope(operator)
            case OperatorKind.ACTIVATION:
                self.activate(operator)
            case OperatorKind.ELEMENTWISE:
                op = "Mul" if operator.name.endswith("_gate") else "Add"
                self.result(operator, op, self.operands(operator))
            case OperatorKind.GATHER:
                index, table = operator.einsum.inputs
                self.result(
                    operator, "Gather", (self.whole(table.tensor), index.tensor)
                )
            case OperatorKind.COPY:
                self.copy(operator)
            case _:
                raise self.refusal(operator)

    def product(self, operator: Operator) -> None:
        """Write a MatMul, its row dimensions as one, and an Add for a bias."""
        einsum = operator.einsum
        if einsum.passes not in (MATMUL_PASSES, MATMUL_BIAS_PASSES):
            raise self.refusal(operator)
        left, right, *bias = einsum.inputs
        order = [d.name for d in einsum.dimensions]
        in_left, in_right, out = left.dimensions, right.dimensions, einsum.output
        batch = [d for d in order if d in in_left & in_right & out.dimensions]
        rows = [d for d in order if d in (in_left - in_right) & out.dimensions]
        columns = [d for d in order if d in in_right - in_left]
        reduced = list(einsum.reduced)
        if len(columns) != 1 or len(reduced) != 1:
            raise self.refusal(operator)
        x = self.view(operator, left, [*batch, *rows, *reduced])
        if len(rows) != 1:
            sizes = einsum.sizes
            merged = math.prod(sizes[d] for d in rows)
            x = self.reshape(x, [*(sizes[d] for d in batch), merged, sizes[reduced[0]]])
        weight = self.view(operator, right, [*batch, *reduced, *columns])
        made = [*batch, *rows, *columns]
        if not bias:
            self.result(operator, "MatMul", (x, weight), made)
            return
        value = self.node("MatMul", (x, weight))
        self.result(operator, "Add", (value, self.whole(bias[0].tensor)), made)

    def rowwise(self, operator: Operator, op: str) -> None:
        """Write a softmax or norm over the last dimension."""
        self.result(operator, op, self.operands(operator), axis=-1)

    def rope(self, operator: Operator) -> None:
        """Write x · cos + (−second half, first half) · sin."""
        x, cosine, sine = self.operands(operator)
        half = operator.einsum.sizes["k"] // 2
        first, second = self.slice(x, 0, half), self.slice(x, half, 2 * half)
        turned = self.node("Concat", (self.node("Neg", (second,)), first), axis=-1)
        terms = (self.node("Mul", (x, cosine)), self.node("Mul", (turned, sine)))
        self.result(operator, "Add", terms)

    def activate(self, operator: Operator) -> None:
        """Write the model's activation, or SiLU where the condition goes through it."""
        gate, *up = self.operands(operator)
        place = operator.name.rpartition(".")[2]
        if place.endswith("_cap"):
            self.result(operator, "Tanh", (gate,))
            return
        kind = self.activation if place == "activation" else Activation.SILU
        op, inputs = kind.value.capitalize(), [gate]
        if kind is Activation.SILU:
            op, inputs = "Mul", [gate, self.node("Sigmoid", (gate,))]
        if up:
            op, inputs = "Mul", [self.node(op, inputs), up[0]]
        self.result(operator, op, inputs)

    def copy(self, operator: Operator) -> None:
        """Write a stack of several inputs, or one place of an axis of the input."""
        first, *others = operator.einsum.inputs
        if others:
            self.result(operator, "Concat", self.operands(operator), axis=0)
            return
        sizes = operator.einsum.sizes
        place = next((i for i, axis in enumerate(first.axes) if not axis.terms), None)
        if place is None:
            raise self.refusal(operator)
        shape = [axis.extent(sizes) for axis in first.axes]
        extent = math.prod(self.tensors[first.tensor].shape) // math.prod(shape)
        shape[place] = extent
        number = self.copies[first.tensor]
        self.copies[first.tensor] += 1
        number = extent - 1 if operator.name == "last_token" else number
        index = self.constant([number], [])
        whole = self.reshape(first.tensor, shape)
        self.result(operator, "Gather", (whole, index), axis=place)

    def operands(self, operator: Operator) -> tuple[str, ...]:
        """Return the inputs as seen in the output's order, absent dimensions 1 long."""
        order = [axis.terms[0][0] for axis in operator.einsum.output.axes]
        return tuple(self.view(operator, a, order) for a in operator.einsum.inputs)

    def view(self, operator: Operator, access: Access, order: Sequence[str]) -> str:
        """Return a value with the dimensions of an access in the given order."""
        sizes = operator.einsum.sizes
        present = [axis.terms[0][0] for axis in access.axes if axis.terms]
        shape = [sizes[d] for d in present]
        tensor = self.tensors[access.tensor]
        value = access.tensor
        if math.prod(shape) != math.prod(tensor.shape):
            if tensor.home is not Home.HBM or operator.name != "position":
                raise self.refusal(operator)
            value = self.weight(f"{tensor.name}.rows", tensor.dtype.name, shape)
        elif tensor.home is Home.HBM and not tensor.name.endswith("_cache"):
            value = self.reshape(self.whole(tensor.name), shape)
        else:
            value = self.reshape(value, shape)
        kept = [d for d in order if d in present]
        if kept != present:
            perm = [present.index(d) for d in kept]
            value = self.node("Transpose", (value,), perm=perm)
        spread = [sizes[d] if d in present else 1 for d in order]
        while spread and spread[0] == 1 and order[len(order) - len(spread)] not in kept:
            spread.pop(0)  # broadcasting adds leading axes by itself
        if operator.kind is OperatorKind.COPY:
            spread = [sizes[d] if d in present else 1 for d in order]
        known = [sizes[d] for d in kept]
        return value if known == spread else self.reshape(value, spread, known)

    def result(
        self,
        operator: Operator,
        op: str,
        inputs: Sequence[str],
        made: Sequence[str] = (),
        **attributes: Any,
    ) -> None:
        """Write the last node; what it makes ends in the shape of the output tensor.

        `made` are the dimensions it has, in order; none: those of the output.
        """
        output = operator.einsum.output
        sizes = operator.einsum.sizes
        tensor = self.tensors[output.tensor]
        stored = [axis.terms[0][0] for axis in output.axes]
        made = list(made) or stored
        if math.prod(sizes[d] for d in stored) != math.prod(tensor.shape):
            raise self.refusal(operator)
        value = self.node(op, inputs, **attributes)
        if made != stored:
            value = self.reshape(value, [sizes[d] for d in made], [])
            perm = [list(made).index(d) for d in stored]
            value = self.node("Transpose", (value,), perm=perm)
        self.nodes.append(
            self.helper.make_node(
                "Reshape",
                [value, self.constant(list(tensor.shape), [len(tensor.shape)])],
                [tensor.name],
                name=f"{tensor.name}.shape",
            )
        )

    def node(self, op: str, inputs: Sequence[str], **attributes: Any) -> str:
        """Write a node and return its output."""
        self.values += 1
        name = f"{op}_{self.values}"
        self.nodes.append(
            self.helper.make_node(op, list(inputs), [name], name=name, **attributes)
        )
        return name

    def reshape(
        self, value: str, shape: Sequence[int], known: Sequence[int] | None = None
    ) -> str:
        """Return a value in another shape; itself if it has that already."""
        if known is None and value in self.tensors:
            known = self.tensors[value].shape
        if known is not None and list(known) == list(shape):
            return value
        return self.node("Reshape", (value, self.constant(list(shape), [len(shape)])))

    def slice(self, value: str, start: int, end: int) -> str:
        """Return a part of a value's last axis."""
        bounds = (self.constant([n], [1]) for n in (start, end, -1))
        return self.node("Slice", (value, *bounds))

    def whole(self, tensor: str) -> str:
        """Return a weight's value."""
        known = self.tensors[tensor]
        return self.weight(tensor, known.dtype.name, known.shape)

    def weight(self, name: str, dtype: str, shape: Sequence[int]) -> str:
        """Declare a weight without data."""
        import onnx

        tensor = onnx.TensorProto(name=name, data_type=_type(dtype), dims=shape)
        self.initializers.setdefault(name, tensor)
        return name

    def constant(self, numbers: Sequence[int], shape: Sequence[int]) -> str:
        """Declare an int64 constant."""
        import onnx

        name = f"constant_{'_'.join(map(str, numbers))}_{len(shape)}"
        self.initializers.setdefault(
            name,
            self.helper.make_tensor(name, onnx.TensorProto.INT64, shape, numbers),
        )
        return name

    def info(self, name: str) -> Any:
        """Return the declaration of a tensor."""
        tensor = self.tensors[name]
        return self.helper.make_tensor_value_info(
            name, _type(tensor.dtype.name), tensor.shape
        )

    def refusal(self, operator: Operator) -> BadInputError:
        """Return why an operator cannot be written."""
        return BadInputError(
            f"operator {operator.name}: plain ONNX operators do not give it back",
            code="not-exportable",
        )


def _type(dtype: str) -> int:
    """Return onnx's number of an element type."""
    import onnx

    number: int = onnx.TensorProto.DataType.Value(
        {"float16": "FLOAT16", "bfloat16": "BFLOAT16", "int32": "INT32"}[dtype]
    )
    return number
