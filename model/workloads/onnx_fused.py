"""Operators of a workload as contrib and fused ONNX nodes, where there is one.

| operators | node |
|---|---|
| residual add, norm | SkipSimplifiedLayerNormalization, SkipLayerNormalization |
| rotary embedding | RotaryEmbedding |
| scores, (cap,) softmax, mix | GroupQueryAttention, MultiHeadAttention |
| the same over a cache that query heads share | Attention of the standard |
| GELU, SiLU | FastGelu, QuickGelu |
| product with bias | Gemm |
| gradients of softmax, ReLU | SoftmaxGrad_13, ReluGrad |
| gradients of GELU, SiLU, lookup | GeluGrad, QuickGeluGrad, GatherGrad |
| parts of all chips | AllGather |

Whatever else there is (latent attention, experts, gradients of norms and of gates) is
written as plain nodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from elkhound.model.composites import Composite
from elkhound.model.graph import Home, Operator, OperatorKind
from elkhound.model.workloads.catalogue import Activation
from elkhound.model.workloads.onnx_file import CONTRIB
from elkhound.model.workloads.onnx_nodes import EPSILON, NonLinear, PlainNodes

GRADIENTS: Mapping[str, str] = {  # of composites with operands (x or y, gradient)
    "softmax-gradient": "SoftmaxGrad_13",
    "relu-gradient": "ReluGrad",
    "gelu-gradient": "GeluGrad",
    "silu-gradient": "QuickGeluGrad",
}


class FusedNodes(PlainNodes):
    """Writes operators as nodes, several as one where an operator stands for them."""

    def write(self) -> None:
        """Write all operators, runs of them that one node stands for together."""
        waiting = list(self.graph.operators)
        while waiting:
            count = self.norm_of_sum(waiting) or self.attention(waiting)
            if not count:
                self.operator(waiting[0])
                count = 1
            del waiting[:count]

    def norm_of_sum(self, waiting: list[Operator]) -> int:
        """Write a residual add and the norm behind it; return 2, or 0 if not."""
        if len(waiting) < 2:
            return 0
        add, norm = waiting[:2]
        tensors = [self.tensors[a.tensor] for a in add.einsum.inputs]
        total = self.tensors[add.einsum.output.tensor]
        weights = [a.tensor for a in norm.einsum.inputs[1:]]
        if not (
            add.kind is OperatorKind.ELEMENTWISE
            and norm.kind is OperatorKind.NORM
            and norm.einsum.inputs[0].tensor == total.name
            and add.name.endswith("_add")
            and all(
                t.home is Home.CHIP and t.size_bytes == total.size_bytes
                for t in tensors
            )
            and weights
            and all(self.tensors[w].home is Home.HBM for w in weights)
            and ".gradient_of." not in norm.name
        ):
            return 0
        simple = "Simplified" if norm.einsum.statistics_rounds == 1 else ""
        self.file.node(
            f"{CONTRIB}::Skip{simple}LayerNormalization",
            [
                *(self.file.reshape(t.name, total.shape) for t in tensors),
                *map(self.whole, weights),
            ],
            outputs=[norm.einsum.output.tensor, "", "", total.name],
            epsilon=EPSILON,
        )
        return 2

    def attention(self, waiting: list[Operator]) -> int:
        """Write scores, softmax and mix, and return how many operators they are."""
        names = [o.name.rpartition(".")[2] for o in waiting[:4]]
        capped = names[1:2] == ["scores_cap"]
        count = 4 if capped else 3
        inner = ["scores_cap"] if capped else []
        if names[:count] != ["scores", *inner, "softmax", "attention"]:
            return 0
        scores, mix = waiting[0], waiting[count - 1]
        inside = {o.einsum.output.tensor for o in waiting[: count - 1]}
        readers = [
            operator
            for operator in self.graph.operators
            if inside & {a.tensor for a in operator.einsum.inputs}
        ]
        if scores.kind is not OperatorKind.BATCHED_MATMUL or len(readers) != count - 1:
            return 0
        self.attend(scores, mix, softcap=float(capped))
        return count

    def attend(self, scores: Operator, mix: Operator, *, softcap: float) -> None:
        """Write one attention."""
        query, key = scores.einsum.inputs
        value = mix.einsum.inputs[1]
        sizes = scores.einsum.sizes
        batch, kv_heads, group = sizes["b"], sizes["h"], sizes.get("m", 1)
        tokens, length, width = sizes.get("s", 1), sizes["n"], sizes["k"]
        heads = kv_heads * group
        output = self.tensors[mix.einsum.output.tensor]
        cap: dict[str, Any] = {"softcap": 1.0} if softcap else {}
        reshape = self.file.reshape
        cached = self.tensors[key.tensor].home is Home.HBM
        if cached and (group > 1 or softcap):
            q = reshape(query.tensor, [batch, heads, 1, width])
            inputs = [q, key.tensor, value.tensor]
            made = self.file.node("Attention", inputs, **cap)
            reshape(made, output.shape, output=output.name)
            return
        q = reshape(query.tensor, [batch, tokens, heads * width])
        inputs = [q, key.tensor, value.tensor]
        if not cached:
            flat = [batch, tokens, kv_heads * width]
            inputs = [q, *(reshape(name, flat) for name in inputs[1:])]
        if cached or (group == 1 and not softcap):
            made = self.file.node(
                f"{CONTRIB}::MultiHeadAttention", inputs, num_heads=heads
            )
        else:
            last = self.file.constant("lengths", "int32", [batch], [length - 1] * batch)
            total = self.file.constant("length", "int32", [1], [length])
            made = self.file.node(
                f"{CONTRIB}::GroupQueryAttention",
                [*inputs, "", "", last, total],
                num_heads=heads,
                kv_num_heads=kv_heads,
                **cap,
            )
        reshape(made, output.shape, output=output.name)

    def steps(self, operator: Operator, known: Composite) -> None:
        """Write the gradient of one activation or of a softmax as one node."""
        if known.name not in GRADIENTS:
            super().steps(operator, known)
            return
        x, grad = self.operands(operator)
        attributes: dict[str, Any] = {}
        if known.name == "softmax-gradient":
            attributes = {"axis": -1}
        elif known.name == "silu-gradient":
            attributes = {"alpha": 1.0}
        op = f"{CONTRIB}::{GRADIENTS[known.name]}"
        self.result(operator, op, (grad, x), **attributes)

    def product(self, operator: Operator) -> None:
        """Write a Gemm where there is a bias."""
        bias = operator.einsum.inputs[2:]
        if not bias:
            super().product(operator)
            return
        x, weight, made = self.factors(operator)
        vector = self.whole(bias[0].tensor)
        self.result(operator, "Gemm", (x, weight, vector), made)

    def rope(self, operator: Operator) -> None:
        """Write a RotaryEmbedding; positions start at one offset for all sequences."""
        if ".gradient_of." in operator.name:
            super().rope(operator)
            return
        sizes = operator.einsum.sizes
        heads, half, tokens = sizes.get("h", 1), sizes["k"], sizes.get("s", 1)
        x, *tables = (a.tensor for a in operator.einsum.inputs)
        shape = [sizes["b"], tokens, heads * 2 * half]
        inputs = [
            self.file.reshape(x, shape),
            self.file.integers([0]),
            *(self.file.reshape(table, [tokens, half]) for table in tables),
        ]
        op = f"{CONTRIB}::RotaryEmbedding"
        self.result(operator, op, inputs, num_heads=heads)

    def non_linear(self, kind: Activation, x: str) -> NonLinear:
        """Return the contrib operator of GELU and SiLU."""
        if kind is Activation.GELU:
            return f"{CONTRIB}::FastGelu", [x], {}
        if kind is Activation.SILU:
            return f"{CONTRIB}::QuickGelu", [x], {"alpha": 1.0}
        return super().non_linear(kind, x)

    def scatter(self, operator: Operator) -> None:
        """Write a GatherGrad where whole rows are added."""
        if "shares.gradient_of" in operator.name:
            super().scatter(operator)
            return
        grad, index = operator.einsum.inputs
        target = self.tensors[operator.einsum.output.tensor]
        sizes = operator.einsum.sizes
        order = [axis.terms[0][0] for axis in operator.einsum.output.axes]
        rows = [d for d in order if d in index.dimensions]
        columns = sizes[order[-1]]
        shape = [target.size_bytes * 8 // target.dtype.bits // columns, columns]
        inputs = (
            self.file.integers(shape),
            self.file.reshape(index.tensor, [sizes[d] for d in rows]),
            self.view(operator, grad, order),
        )
        made = self.file.node(f"{CONTRIB}::GatherGrad", inputs, axis=0)
        self.file.reshape(made, target.shape, output=target.name)

    def all_gather(self, operator: Operator) -> None:
        """Write an AllGather."""
        source = operator.einsum.inputs[0].tensor
        chips = operator.einsum.sizes["n"] // self.tensors[source].shape[1]
        self.file.node(
            f"{CONTRIB}::AllGather",
            (source,),
            output=operator.einsum.output.tensor,
            axis=1,
            group_size=chips,
        )
