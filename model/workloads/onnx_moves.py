"""Operators of a workload that gather, scatter, sort and copy, as plain ONNX nodes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from elkhound.model.graph import Access, Home, Operator
from elkhound.model.workloads.onnx_file import number_of
from elkhound.model.workloads.onnx_values import Values


class Moves(Values):
    """Writes what moves data."""

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
