"""Operators of a workload as plain ONNX nodes, one kind after the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from elkhound.model.composites import (
    COMPOSITES,
    PRODUCT_SUM_PASSES,
    Composite,
    number,
)
from elkhound.model.graph import Access, Graph, Home, Operator, OperatorKind
from elkhound.model.workloads.catalogue import Activation
from elkhound.model.workloads.onnx_file import OnnxFile, number_of

EPSILON = 1e-5
NonLinear = tuple[str, list[str], dict[str, Any]]


class PlainNodes:
    """Writes operators as nodes.

    Parameters
    ----------
    file : OnnxFile
        Takes the nodes.
    graph : Graph
        The workload.
    activation : Activation
        Of the feed-forward network.
    """

    def __init__(self, file: OnnxFile, graph: Graph, activation: Activation) -> None:
        self.file = file
        self.graph = graph
        self.activation = activation
        self.tensors = graph.tensor
        self.parts: dict[str, list[Operator]] = {}
        for operator in graph.operators:
            self.parts.setdefault(operator.einsum.output.tensor, []).append(operator)

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

    def chosen(self, operator: Operator) -> int:
        """Return how many experts each row picks."""
        name = operator.name.rpartition(".")[0]
        return self.tensors[f"{name}.chosen"].shape[1]

    def gather(self, operator: Operator) -> None:
        """Write rows or elements taken by an index, or added where it says."""
        index, table = operator.einsum.inputs
        place = operator.name.rpartition(".")[2]
        if ".gradient_of." in operator.name:
            self.scatter(operator)
        elif place == "shares":
            inputs = (table.tensor, index.tensor)
            self.result(operator, "GatherElements", inputs, axis=1)
        else:
            sizes = operator.einsum.sizes
            order = [axis.terms[0][0] for axis in operator.einsum.output.axes]
            rows = [d for d in order if d in index.dimensions]
            picked = self.file.reshape(index.tensor, [sizes[d] for d in rows])
            rows_of = self.matrix(table.tensor, sizes[order[-1]])
            self.result(operator, "Gather", (rows_of, picked))

    def matrix(self, tensor: str, columns: int) -> str:
        """Return a table as rows."""
        known = self.tensors[tensor]
        rows = math.prod(known.shape) // columns
        value = self.whole(tensor) if known.home is Home.HBM else tensor
        return self.file.reshape(value, [rows, columns])

    def scatter(self, operator: Operator) -> None:
        """Write the gradient of a Gather: rows, or elements, added into zeros."""
        grad, index = operator.einsum.inputs
        target = self.tensors[operator.einsum.output.tensor]
        sizes = operator.einsum.sizes
        order = [axis.terms[0][0] for axis in operator.einsum.output.axes]
        elements = "shares.gradient_of" in operator.name
        columns = target.shape[-1] if elements else sizes[order[-1]]
        shape = [math.prod(target.shape) // columns, columns]
        zeros = self.file.node(
            "ConstantOfShape",
            (self.file.integers(shape),),
            value=self.file.helper.make_tensor(
                "zero", number_of(target.dtype.name), [1], [0]
            ),
        )
        updates = self.view(operator, grad, order)
        if elements:
            inputs = (zeros, index.tensor, updates)
            made = self.file.node("ScatterElements", inputs, axis=1, reduction="add")
        else:
            rows = [sizes[d] for d in order if d in index.dimensions]
            places = self.file.reshape(index.tensor, [*rows, 1])
            if self.tensors[index.tensor].dtype.name == "int32":
                places = self.file.node("Cast", (places,), to=number_of("int64"))
            made = self.file.node(
                "ScatterND", (zeros, places, updates), reduction="add"
            )
        self.file.reshape(made, target.shape, output=target.name)

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

    def sort(self, operator: Operator) -> None:
        """Write the order of a row's elements: TopK of some or all of them."""
        x = operator.einsum.inputs[0]
        sizes = operator.einsum.sizes
        value = self.view(operator, x, [axis.terms[0][0] for axis in x.axes])
        if operator.name.endswith(".ranked"):
            return  # written by the TopK that keeps the first of them
        self.top_k(value, sizes["n"], operator.einsum.output.tensor, largest=0)

    def top_k(self, value: str, count: int, output: str, *, largest: int) -> None:
        """Write the indices of a row's first elements."""
        self.file.node(
            "TopK",
            (value, self.file.integers([count])),
            outputs=[self.file.fresh("sorted"), output],
            axis=-1,
            largest=largest,
        )

    def copy(self, operator: Operator) -> None:
        """Write whatever moves data."""
        einsum = operator.einsum
        source, *others = einsum.inputs
        target = self.tensors[einsum.output.tensor]
        siblings = self.parts[target.name]
        name = operator.name
        if others:
            self.result(operator, "Concat", self.operands(operator), axis=0)
        elif len(siblings) > 1:
            if operator is siblings[0]:
                self.join(siblings)
        elif name.endswith(".chosen"):
            ranked = self.parts[source.tensor][0]
            value = ranked.einsum.inputs[0].tensor
            self.top_k(value, einsum.sizes["c"], target.name, largest=1)
        elif name.endswith(".padded"):
            self.pad(source.tensor, target.name)
        elif name.endswith(".places"):
            self.split(source)
        elif name.endswith("_all_gather"):
            self.all_gather(operator)
        elif ".join.gradient_of." in name:
            self.part(operator)
        else:
            self.place(operator)

    def join(self, parts: Sequence[Operator]) -> None:
        """Write the Concat of what several operators copy into one tensor."""
        first = parts[0].einsum
        sizes = first.sizes
        target = self.tensors[first.output.tensor]
        order = [a.terms[0][0] for a in first.output.axes if a.terms]
        inside = [place for place, a in enumerate(first.output.axes) if not a.terms]
        axis = inside[0] if inside else 0
        values = []
        for part in parts:
            value = self.view(part, part.einsum.inputs[0], order)
            if inside:
                own = [sizes[d] for d in order]
                own.insert(axis, 1)
                value = self.file.reshape(value, own)
            values.append(value)
        made = self.file.node("Concat", values, axis=axis)
        self.file.reshape(made, target.shape, output=target.name)

    def pad(self, source: str, target: str) -> None:
        """Write zeros behind a list."""
        missing = self.tensors[target].shape[0] - self.tensors[source].shape[0]
        inputs = (source, self.file.integers([0, missing]))
        self.file.node("Pad", inputs, output=target)

    def split(self, source: Access) -> None:
        """Write the Split of a list into the parts of all groups, once."""
        parts = [
            o
            for o in self.graph.operators
            if o.name.endswith(".places") and o.einsum.inputs[0].tensor == source.tensor
        ]
        names = [o.einsum.output.tensor for o in parts]
        if any(name in node.output for node in self.file.nodes for name in names[:1]):
            return
        sizes = self.file.integers([self.tensors[name].shape[0] for name in names])
        self.file.node("Split", (source.tensor, sizes), outputs=names, axis=0)

    def all_gather(self, operator: Operator) -> None:
        """Write the parts of all chips: this chip's, repeated."""
        source = operator.einsum.inputs[0].tensor
        whole = operator.einsum.sizes["n"]
        chips = whole // self.tensors[source].shape[1]
        inputs = (source, self.file.integers([1, chips]))
        self.file.node("Tile", inputs, output=operator.einsum.output.tensor)

    def part(self, operator: Operator) -> None:
        """Write the Slice of a joined tensor that a group's outputs went into."""
        source = operator.einsum.inputs[0].tensor
        forward = operator.name.partition(".gradient_of.")[0]
        joined = next(o for o in self.graph.operators if o.name == forward)
        siblings = self.parts[joined.einsum.output.tensor]
        start = 0
        for sibling in siblings:
            if sibling is joined:
                break
            start += sibling.einsum.sizes["e"]
        end = start + joined.einsum.sizes["e"]
        self.result(operator, "Slice", self.bounds(source, 0, start, end))

    def bounds(self, value: str, axis: int, start: int, end: int) -> list[str]:
        """Return the inputs of a Slice."""
        return [value, *(self.file.integers([n]) for n in (start, end, axis))]

    def place(self, operator: Operator) -> None:
        """Write one place of an axis of the input."""
        source = operator.einsum.inputs[0]
        sizes = operator.einsum.sizes
        place = next(i for i, axis in enumerate(source.axes) if not axis.terms)
        shape = [axis.extent(sizes) for axis in source.axes]
        extent = math.prod(self.tensors[source.tensor].shape) // math.prod(shape)
        shape[place] = extent
        siblings = [o for o in self.graph.operators if source in o.einsum.inputs]
        number = siblings.index(operator)
        if operator.name == "last_token":
            number = extent - 1
        whole = self.file.reshape(source.tensor, shape)
        index = self.file.integers(number)
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
        value = self.stored(access, shape)
        kept = [d for d in order if d in present]
        value = self.file.transpose(value, [present.index(d) for d in kept])
        spread = [sizes[d] if d in present else 1 for d in order]
        if operator.kind is not OperatorKind.COPY:
            while spread and spread[0] == 1 and order[-len(spread)] not in kept:
                spread.pop(0)  # broadcasting adds leading axes by itself
        known = [sizes[d] for d in kept]
        return value if known == spread else self.file.reshape(value, spread, known)

    def stored(self, access: Access, shape: Sequence[int]) -> str:
        """Return a tensor, or the part of a weight that is read, in a shape."""
        tensor = self.tensors[access.tensor]
        value = tensor.name
        part = math.prod(shape) != math.prod(tensor.shape)
        if tensor.home is Home.HBM and part and tensor.name == "position.weight":
            return self.file.weight(f"{tensor.name}.rows", tensor.dtype.name, shape)
        if tensor.home is Home.HBM and not tensor.name.endswith("_cache"):
            value = self.whole(tensor.name)
            if part:  # a group of experts
                return self.file.slice(value, 0, 0, shape[0])
        return self.file.reshape(value, shape)

    def result(
        self,
        operator: Operator,
        op: str,
        inputs: Sequence[str],
        made: Sequence[str] = (),
        **attributes: Any,
    ) -> None:
        """Write the last node; what it makes ends in the shape of the output tensor.

        `made` are the dimensions it has, in order; none: those of the output. A part of
        a gradient is a value of its own.
        """
        output = operator.einsum.output
        sizes = operator.einsum.sizes
        tensor = self.tensors[output.tensor]
        stored = [axis.terms[0][0] for axis in output.axes]
        made = list(made) or stored
        value = self.file.node(op, inputs, **attributes)
        if made != stored:
            value = self.file.reshape(value, [sizes[d] for d in made], [])
            value = self.file.transpose(value, [made.index(d) for d in stored])
        name, shape = tensor.name, list(tensor.shape)
        if math.prod(sizes[d] for d in stored) != math.prod(tensor.shape):
            name, shape = operator.name, [sizes[d] for d in stored]
            self.file.leaves(name, tensor.dtype.name, shape)
        self.file.reshape(value, shape, output=name)

    def whole(self, tensor: str) -> str:
        """Return a weight's value."""
        known = self.tensors[tensor]
        return self.file.weight(tensor, known.dtype.name, known.shape)
