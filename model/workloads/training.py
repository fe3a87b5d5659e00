"""One training step of a dense transformer: forward, backward, weight gradients.

The forward pass is that of a prefill without K and V leaving and with the head on every
token. Backward goes through it operator by operator, last first; the gradient of an
einsum is an einsum over the same dimensions. What backward reads of the forward pass is
kept until then, nothing is computed twice but the statistics of norms. Gradients of
weights are written to HBM by the operator that makes them. The optimizer is not part of
the step.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from elkhound.model.graph import (
    Access,
    Dimension,
    Einsum,
    Graph,
    Home,
    Operator,
    OperatorKind,
    Pass,
)
from elkhound.model.passes import (
    ADD_PASSES,
    LAYER_NORM_PASSES,
    MATMUL_PASSES,
    RMS_NORM_PASSES,
    SOFTMAX_PASSES,
    SOFTMAX_ROUNDS,
)
from elkhound.model.workloads.builder import GraphBuilder, access
from elkhound.model.workloads.catalogue import Transformer
from elkhound.model.workloads.decoder import DecoderParts

# y · gradient, row sum, gradient − sum, · y.
SOFTMAX_GRADIENT_PASSES = (
    Pass.ELEMENTWISE,
    Pass.REDUCE,
    Pass.ELEMENTWISE,
    Pass.ELEMENTWISE,
)
# Of the normalised x̂: · weight, · x̂, row mean, x̂ · mean, difference, · 1/σ.
RMS_GRADIENT_PASSES = (
    Pass.ELEMENTWISE,
    Pass.ELEMENTWISE,
    Pass.REDUCE,
    Pass.ELEMENTWISE,
    Pass.ELEMENTWISE,
    Pass.ELEMENTWISE,
)
# The same, and the row mean of the gradient taken off.
LAYER_GRADIENT_PASSES = (*RMS_GRADIENT_PASSES, Pass.REDUCE, Pass.ELEMENTWISE)
PRODUCT_SUM_PASSES = (Pass.REDUCE, Pass.REDUCE)


def training_step(
    name: str, model: Transformer, *, batch: int, tokens: int, layers: int
) -> Graph:
    """Return the graph of a step on `batch` sequences of `tokens` tokens.

    The other parameters are those of `decode_step`. Its outputs are the gradients of
    all parameters.
    """
    parts = DecoderParts(model, batch, tokens=tokens)
    x = parts.embed()
    for layer in range(layers):
        parts.build.layer = layer
        x, _ = parts.attention(x, appended=False)
        x = parts.feed_forward(x)
    parts.build.layer = None
    logits = parts.head(x)
    return parts.build.graph(name, _Backward(parts.build, layers).run(logits))


class _Backward:
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
        self._made: dict[str, list[str]] = defaultdict(list)

    def run(self, logits: str) -> tuple[str, ...]:
        """Append everything and return the gradients of the parameters."""
        self._made[logits].append(self.loss(logits))
        parameters = dict.fromkeys(
            access.tensor
            for operator in self.forward
            for access in operator.einsum.inputs
            if self.build.tensor(access.tensor).home is Home.HBM
        )
        for operator in reversed(self.forward):
            forward = operator.layer
            self.layer = None if forward is None else 2 * self.layers - 1 - forward
            self.through(operator)
        self.layer = None
        return tuple(self.gradient(parameter) for parameter in parameters)

    def loss(self, logits: str) -> str:
        """Append softmax of the logits less the wanted distribution."""
        rows, columns = self.build.tensor(logits).shape
        labels = self.build.resident("labels", rows, dtype="int32")
        return self.build.operator(
            "loss.gradient",
            OperatorKind.SOFTMAX,
            {"m": rows, "n": columns},
            (access(logits, "m", "n"), access(labels, "m")),
            ("m", "n"),
            (*SOFTMAX_PASSES, Pass.ELEMENTWISE),
            rows=("n",),
            rounds=SOFTMAX_ROUNDS,
        )

    def through(self, operator: Operator) -> None:
        """Append the gradients of an operator's inputs."""
        match operator.kind:
            case OperatorKind.MATMUL | OperatorKind.BATCHED_MATMUL:
                self.product(operator)
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

    def norm(self, operator: Operator) -> None:
        """Append x̂ again, the gradients of weight and bias from it, and that of x."""
        x, weight, *bias = operator.einsum.inputs
        grad = self.of_output(operator)
        name = f"{operator.name}.normalised"
        self.build.resident(name, *self.build.tensor(x.tensor).shape)
        normalised = Access(name, x.axes)
        forward, backward = (
            (LAYER_NORM_PASSES[:-2], LAYER_GRADIENT_PASSES)
            if bias
            else (RMS_NORM_PASSES[:-1], RMS_GRADIENT_PASSES)
        )
        self.emit(name, operator.kind, operator, (x,), normalised, forward, rows=True)
        self.add(
            operator,
            OperatorKind.REDUCE,
            (normalised, grad),
            weight,
            PRODUCT_SUM_PASSES,
        )
        for vector in bias:
            self.add(operator, OperatorKind.REDUCE, (grad,), vector, (Pass.REDUCE,))
        passes = (*forward, *backward)
        self.add(operator, operator.kind, (x, grad, weight), x, passes, rows=True)

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
        passes = SOFTMAX_GRADIENT_PASSES
        self.add(operator, operator.kind, inputs, einsum.inputs[0], passes, rows=True)

    def rotation(self, operator: Operator) -> None:
        """Append the rotation back."""
        x, *angles = operator.einsum.inputs
        inputs = (self.of_output(operator), *angles)
        self.add(operator, operator.kind, inputs, x, operator.einsum.passes)

    def lookup(self, operator: Operator) -> None:
        """Append the rows of the table's gradient, each at its token."""
        tokens, table = operator.einsum.inputs
        inputs = (self.of_output(operator), tokens)
        self.add(operator, operator.kind, inputs, table, operator.einsum.passes)

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
        """Append an operator that makes a gradient of the tensor `target` reads."""
        name = f"{operator.name}.gradient_of.{target.tensor}"
        self.declare(target.tensor, name)
        self._made[target.tensor].append(name)
        written = Access(name, target.axes)
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
        """Append an operator over the dimensions of a forward operator."""
        forward = operator.einsum
        einsum = Einsum(
            dimensions=forward.dimensions,
            inputs=tuple(inputs),
            output=output,
            passes=passes,
            row_dimensions=forward.row_dimensions if rows else (),
            statistics_rounds=passes.count(Pass.REDUCE) if rows else 0,
        )
        self.build.append(Operator(name, kind, einsum, self.layer))
