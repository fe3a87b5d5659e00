"""Operands and results of a workload's operators as values of an ONNX file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from elkhound.model.graph import Access, Graph, Home, Operator, OperatorKind
from elkhound.model.workloads.catalogue import Activation
from elkhound.model.workloads.onnx_file import OnnxFile


class Values:
    """Shows tensors to nodes as their operators access them.

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
