"""The backward pass through a forward pass, appended to the same graph."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from enum import Enum, auto

from elkhound.model.composites import (
    LAYER_NORM_GRADIENT,
    LOSS_GRADIENT,
    PRODUCT_SUM_PASSES,
    RMS_NORM_GRADIENT,
    SOFTMAX_GRADIENT,
)
from elkhound.model.graph import (
    Access,
    Dimension,
    Einsum,
    Home,
    Operator,
    OperatorKind,
    Pass,
)
from elkhound.model.passes import (
    ADD_PASSES,
    COPY_PASSES,
    LAYER_NORM_PASSES,
    MATMUL_PASSES,
    RMS_NORM_PASSES,
)
from elkhound.model.workloads.builder import GraphBuilder, access


class Loss(Enum):
    """What the step minimises; its value is not computed."""

    CROSS_ENTROPY = auto()
    SQUARED_ERROR = auto()


class Backward:
    """Appends the backward pass to the graph of a forward pass.

    Parameters
    ----------
    build : GraphBuilder
        Holds the forward pass.
    layers : int
        Its layers; backward through layer l is layer 2 · layers − 1 − l.
    """

    def __init__(self, build: GraphBuilder, layers: int) -> None:
        self.build = build
        self.layers = layers
        self.forward = build.operators
        self.layer: int | None = None
        self._written = {o.einsum.output.tensor for o in self.forward}
        self._made: dict[str, list[str]] = defaultdict(list)

    def run(self, made: str, loss: Loss) -> tuple[str, ...]:
        """Append everything and return the gradients of the parameters."""
        self._made[made].append(self.loss(made, loss))
        parameters = dict.fromkeys(
            access.tensor
            for operator in self.forward
            for access in operator.einsum.inputs
            if self.build.tensor(access.tensor).home is Home.HBM
        )
        for operator in reversed(self.forward):
            forward = operator.layer
            self.layer = None if forward is None else 2 * self.layers - 1 - forward
            if self._made[operator.einsum.output.tensor]:
                self.through(operator)
        self.layer = None
        return tuple(self.gradient(p) for p in parameters if self._made[p])

    def loss(self, made: str, loss: Loss) -> str:
        """Append softmax of the logits less the labels, or what is wrong."""
        rows, columns = self.build.tensor(made).shape
        sizes = {"m": rows, "n": columns}
        if loss is Loss.SQUARED_ERROR:
            target = self.build.resident("target", rows, columns)
            inputs = (access(made, "m", "n"), access(target, "m", "n"))
            return self.build.operator(
                "loss.gradient",
                OperatorKind.ELEMENTWISE,
                sizes,
                inputs,
                ("m", "n"),
                ADD_PASSES,
            )
        labels = self.build.resident("labels", rows, dtype="int32")
        return self.build.operator(
            "loss.gradient",
            LOSS_GRADIENT.kind,
            sizes,
            (access(made, "m", "n"), access(labels, "m")),
            ("m", "n"),
            LOSS_GRADIENT.passes,
            rows=("n",),
            rounds=LOSS_GRADIENT.rounds,
        )

    def through(self, operator: Operator) -> None:
        """Append the gradients of an operator's inputs."""
        match operator.kind:
            case OperatorKind.MATMUL | OperatorKind.BATCHED_MATMUL:
                self.product(operator)
            case OperatorKind.ELEMENTWISE if operator.name.endswith("_gate"):
                self.gate(operator)
            case OperatorKind.ELEMENTWISE:
                self.sum(operator)
            case OperatorKind.NORM:
                self.norm(operator)
            case OperatorKind.ACTIVATION:
                self.activation(operator)
            case OperatorKind.SOFTMAX:
                self.softmax(operator)
            case OperatorKind.ROPE:
                self.rotation(operator)
            case OperatorKind.GATHER:
                self.lookup(operator)
            case OperatorKind.REDUCE:
                self.weighted_sum(operator)
            case OperatorKind.COPY:
                self.copy(operator)
            case _:
                raise ValueError(f"operator {operator.name}: no gradient is known")

    def product(self, operator: Operator) -> None:
        """Append dA = dO · B and dB = dO · A, over the same dimensions, and Σ dO."""
        einsum = operator.einsum
        grad = self.of_output(operator)
        left, right, *bias = einsum.inputs
        for target, other in ((left, right), (right, left)):
            self.add(operator, operator.kind, (grad, other), target, MATMUL_PASSES)
        for vector in bias:
            self.add(operator, OperatorKind.REDUCE, (grad,), vector, (Pass.REDUCE,))

    def sum(self, operator: Operator) -> None:
        """Pass the gradient on to every addend; one read by all rows sums them."""
        grad = self.of_output(operator)
        for addend in operator.einsum.inputs:
            if self.build.tensor(addend.tensor).home is Home.HBM:
                self.add(operator, OperatorKind.REDUCE, (grad,), addend, (Pass.REDUCE,))
            else:
                self._made[addend.tensor].append(grad.tensor)

    def gate(self, operator: Operator) -> None:
        """Append dO times the gate, and the sum of dO · y over the gate's rows."""
        y, gate = operator.einsum.inputs
        grad = self.of_output(operator)
        self.add(operator, OperatorKind.ELEMENTWISE, (grad, gate), y, ADD_PASSES)
        reduce, passes = OperatorKind.REDUCE, PRODUCT_SUM_PASSES
        self.add(operator, reduce, (y, grad), gate, passes)

    def norm(self, operator: Operator) -> None:
        """Append x̂ again, the gradients of weight and bias from it, and that of x."""
        x, weight, *bias = operator.einsum.inputs
        grad = self.of_output(operator)
        name = f"{operator.name}.normalised"
        self.build.resident(name, *self.build.tensor(x.tensor).shape)
        normalised = Access(name, x.axes)
        layer = operator.einsum.statistics_rounds == 2
        forward = LAYER_NORM_PASSES[:-2] if layer else RMS_NORM_PASSES[:-1]
        self.emit(name, operator.kind, operator, (x,), normalised, forward, rows=True)
        reduce, passes = OperatorKind.REDUCE, PRODUCT_SUM_PASSES
        self.add(operator, reduce, (normalised, grad), weight, passes)
        for vector in bias:
            self.add(operator, reduce, (grad,), vector, (Pass.REDUCE,))
        known = LAYER_NORM_GRADIENT if layer else RMS_NORM_GRADIENT
        inputs = (x, grad, weight)
        self.add(operator, known.kind, inputs, x, known.passes, rows=True)

    def activation(self, operator: Operator) -> None:
        """Append the derivative times dO, and times the other side where gated."""
        parts = operator.einsum.inputs
        grad = self.of_output(operator)
        derived = (Pass.UNARY, *(Pass.ELEMENTWISE,) * len(parts))
        if len(parts) == 1:
            self.add(operator, operator.kind, (*parts, grad), parts[0], derived)
            return
        gate, up = parts
        self.add(operator, operator.kind, (gate, up, grad), gate, derived)
        self.add(operator, operator.kind, (gate, grad), up, operator.einsum.passes)

    def softmax(self, operator: Operator) -> None:
        """Append y · (dO − Σ y · dO)."""
        einsum = operator.einsum
        inputs = (einsum.output, self.of_output(operator))
        known = SOFTMAX_GRADIENT
        self.add(
            operator, known.kind, inputs, einsum.inputs[0], known.passes, rows=True
        )

    def rotation(self, operator: Operator) -> None:
        """Append the rotation back."""
        x, *angles = operator.einsum.inputs
        inputs = (self.of_output(operator), *angles)
        self.add(operator, operator.kind, inputs, x, operator.einsum.passes)

    def lookup(self, operator: Operator) -> None:
        """Append the rows of the table's gradient, each added at its place."""
        index, table = operator.einsum.inputs
        inputs = (self.of_output(operator), index)
        self.add(operator, operator.kind, inputs, table, operator.einsum.passes)

    def weighted_sum(self, operator: Operator) -> None:
        """Append dO times the shares, and the products' sums for every share."""
        y, shares = operator.einsum.inputs
        grad = self.of_output(operator)
        self.add(operator, OperatorKind.ELEMENTWISE, (grad, shares), y, ADD_PASSES)
        sizes = operator.einsum.sizes
        name = f"{operator.name}.products"
        self.build.resident(name, *(sizes[a.terms[0][0]] for a in y.axes))
        products = Access(name, y.axes)
        kind = OperatorKind.ELEMENTWISE
        self.emit(name, kind, operator, (y, grad), products, ADD_PASSES)
        reduce = OperatorKind.REDUCE
        self.add(operator, reduce, (products,), shares, (Pass.REDUCE,))

    def copy(self, operator: Operator) -> None:
        """Append the copy back: of a part, or into a part of the whole gradient.

        Parts of one tensor are copied back in order, once the last has its gradient.
        """
        source, target = operator.einsum.inputs[0], operator.einsum.output
        whole = self.build.tensor(source.tensor).shape
        if math.prod(whole) == source.elements(operator.einsum.sizes):
            grad = self.of_output(operator)
            self.add(operator, OperatorKind.COPY, (grad,), source, COPY_PASSES)
            return
        siblings = [o for o in self.forward if o.einsum.inputs[0] == source]
        if operator is not siblings[0]:
            return
        name = self.declare(source.tensor, f"{source.tensor}.gradient")
        self._made[source.tensor].append(name)
        for part in siblings:
            inputs = (Access(self.gradient(part.einsum.output.tensor), target.axes),)
            written = Access(name, source.axes)
            copied = f"{part.name}.gradient_copy"
            self.emit(copied, OperatorKind.COPY, part, inputs, written, COPY_PASSES)

    def of_output(self, operator: Operator) -> Access:
        """Return how an operator's gradient reads that of its output."""
        output = operator.einsum.output
        return Access(self.gradient(output.tensor), output.axes)

    def gradient(self, tensor: str) -> str:
        """Return the gradient of a tensor: the sum of all that was found."""
        made = self._made[tensor]
        while len(made) > 1:
            shape = self.build.tensor(tensor).shape
            sizes = {f"d{axis}": extent for axis, extent in enumerate(shape)}
            first, second = made.pop(0), made.pop(0)
            total = self.declare(tensor, f"{tensor}.gradient_sum{len(made)}")
            addends = (access(first, *sizes), access(second, *sizes))
            einsum = Einsum(
                dimensions=tuple(Dimension(n, extent) for n, extent in sizes.items()),
                inputs=addends,
                output=access(total, *sizes),
                passes=ADD_PASSES,
            )
            self.build.append(
                Operator(total, OperatorKind.ELEMENTWISE, einsum, self.layer)
            )
            made.insert(0, total)
        return made[0]

    def add(
        self,
        operator: Operator,
        kind: OperatorKind,
        inputs: Sequence[Access],
        target: Access,
        passes: tuple[Pass, ...],
        *,
        rows: bool = False,
    ) -> None:
        """Append an operator that makes a gradient of the tensor `target` reads.

        Nothing is made for an input of the graph. Products that read a part of a weight
        each write their part of one gradient.
        """
        whole = self.build.tensor(target.tensor)
        if whole.home is Home.CHIP and whole.name not in self._written:
            return
        name = f"{operator.name}.gradient_of.{target.tensor}"
        part = (
            whole.home is Home.HBM
            and Pass.MATMUL in passes
            and target.elements(operator.einsum.sizes) < math.prod(whole.shape)
        )
        tensor = f"{target.tensor}.gradient" if part else name
        self.declare(target.tensor, tensor)
        if tensor not in self._made[target.tensor]:
            self._made[target.tensor].append(tensor)
        written = Access(tensor, target.axes)
        self.emit(name, kind, operator, inputs, written, passes, rows=rows)

    def declare(self, tensor: str, name: str) -> str:
        """Declare a gradient: in HBM for a parameter, else on chip."""
        whole = self.build.tensor(tensor)
        if whole.home is Home.HBM:
            return self.build.spilled(name, *whole.shape)
        return self.build.resident(name, *whole.shape)

    def emit(
        self,
        name: str,
        kind: OperatorKind,
        operator: Operator,
        inputs: Sequence[Access],
        output: Access,
        passes: tuple[Pass, ...],
        *,
        rows: bool = False,
    ) -> None:
        """Append an operator over those dimensions of a forward operator it touches."""
        forward = operator.einsum
        touched = output.dimensions.union(*(read.dimensions for read in inputs))
        kept = [d for d in forward.dimensions if d.name in touched]
        if Pass.MATMUL in passes:
            kept = _as_product(kept, inputs, output)
        einsum = Einsum(
            dimensions=tuple(kept),
            inputs=tuple(inputs),
            output=output,
            passes=passes,
            row_dimensions=forward.row_dimensions if rows else (),
            statistics_rounds=passes.count(Pass.REDUCE) if rows else 0,
        )
        self.build.append(Operator(name, kind, einsum, self.layer))


def _as_product(
    dimensions: Sequence[Dimension], inputs: Sequence[Access], output: Access
) -> list[Dimension]:
    """Return dimensions as products list them: batch, rows, columns, reduced."""
    left, right = (read.dimensions for read in inputs)

    def place(dimension: Dimension) -> int:
        name = dimension.name
        if name not in output.dimensions:
            return 3
        return 0 if name in left & right else 1 if name in left else 2

    return sorted(dimensions, key=place)
