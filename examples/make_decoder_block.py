"""Write decoder_block.onnx: two Llama-like decoder layers for one decode step.

The proportions are those of Llama-2-13B (ffn ≈ 2.7 · hidden, as many key heads as
query heads), an order of magnitude smaller to suit a chip of 64 cores. Weights are
named and shaped but not stored: planning needs no more.

One token per sequence attends to `context` cached tokens. The caches are inputs; the
token's own key and value leave as outputs, for the runtime to append.

    python examples/make_decoder_block.py [FILE]
"""

from __future__ import annotations

import sys
from pathlib import Path

import onnx
from onnx import TensorProto, helper

LAYERS = 2
HIDDEN = 512
HEADS = 8
HEAD_DIM = 64
FFN = 1408
OPSET = 23
IR_VERSION = 11
HALF = TensorProto.FLOAT16
OUTPUT = Path(__file__).with_name("decoder_block.onnx")


def half(name: str, dims: list[int | str]) -> onnx.ValueInfoProto:
    """Declare an fp16 input or output."""
    return helper.make_tensor_value_info(name, HALF, dims)


class Decoder:
    """Collects the nodes and weights of the block, layer after layer."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self.caches: list[onnx.ValueInfoProto] = []
        self.new_entries: list[onnx.ValueInfoProto] = []

    def node(
        self, op: str, inputs: list[str], output: str, **attributes: int | list[int]
    ) -> str:
        """Append a node named after what it makes; return that."""
        made = helper.make_node(op, inputs, [output], name=output)
        made.attribute.extend(
            helper.make_attribute(key, value) for key, value in attributes.items()
        )
        self.nodes.append(made)
        return output

    def weight(self, name: str, *dims: int) -> str:
        """Declare a weight whose data lies in a file that is not there."""
        tensor = TensorProto(name=name, dims=dims, data_type=HALF)
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value="decoder_block.weights")
        self.initializers.append(tensor)
        return name

    def constant(self, name: str, kind: int, values: list[float]) -> str:
        """Store a small constant."""
        dims = [len(values)] if kind == TensorProto.INT64 else []
        self.initializers.append(helper.make_tensor(name, kind, dims, values))
        return name

    def rms_norm(self, source: str, name: str) -> str:
        """X / √(mean(x²) + ε) · weight, computed in fp32 as exporters write it."""
        wide = self.node("Cast", [source], f"{name}.wide", to=TensorProto.FLOAT)
        square = self.node("Pow", [wide, "two"], f"{name}.square")
        mean = self.node("ReduceMean", [square, "last_axis"], f"{name}.mean")
        shifted = self.node("Add", [mean, "epsilon"], f"{name}.shifted")
        root = self.node("Sqrt", [shifted], f"{name}.root")
        inverse = self.node("Reciprocal", [root], f"{name}.inverse")
        scaled = self.node("Mul", [wide, inverse], f"{name}.scaled")
        narrow = self.node("Cast", [scaled], f"{name}.narrow", to=HALF)
        return self.node("Mul", [narrow, self.weight(f"{name}.weight", HIDDEN)], name)

    def project(self, source: str, name: str, rows: int, columns: int) -> str:
        """Multiply by a weight."""
        weight = self.weight(f"{name}.weight", rows, columns)
        return self.node("MatMul", [source, weight], name)

    def heads(self, source: str) -> str:
        """(batch, 1, hidden) → (batch, heads, 1, head dimension)."""
        split = self.node("Reshape", [source, "split_heads"], f"{source}.split")
        return self.node("Transpose", [split], f"{source}.heads", perm=[0, 2, 1, 3])

    def rotate(self, source: str, output: str) -> str:
        """Apply the rotary position embedding."""
        return self.node("RotaryEmbedding", [source, "cos", "sin"], output)

    def cache(self, name: str) -> str:
        """Declare a cache input and the output that the runtime appends to it."""
        self.caches.append(half(f"{name}_cache", ["batch", HEADS, "context", HEAD_DIM]))
        self.new_entries.append(half(f"{name}_new", ["batch", HEADS, 1, HEAD_DIM]))
        return f"{name}_cache"

    def attention(self, source: str, layer: str) -> str:
        """Multi-head attention of one token to the cached ones."""
        query = self.heads(self.project(source, f"{layer}.q", HIDDEN, HIDDEN))
        key = self.heads(self.project(source, f"{layer}.k", HIDDEN, HIDDEN))
        value = self.project(source, f"{layer}.v", HIDDEN, HIDDEN)
        query = self.rotate(query, f"{layer}.q.rope")
        self.rotate(key, f"{layer}.key_new")
        self.node("Reshape", [value, "one_row"], f"{layer}.value_new")
        keys = self.cache(f"{layer}.key")
        flipped = self.node("Transpose", [keys], f"{layer}.keys", perm=[0, 1, 3, 2])
        scores = self.node("MatMul", [query, flipped], f"{layer}.scores")
        scaled = self.node("Mul", [scores, "scale"], f"{layer}.scaled")
        weights = self.node("Softmax", [scaled], f"{layer}.softmax", axis=-1)
        values = self.cache(f"{layer}.value")
        mixed = self.node("MatMul", [weights, values], f"{layer}.mixed")
        rows = self.node("Transpose", [mixed], f"{layer}.rows", perm=[0, 2, 1, 3])
        joined = self.node("Reshape", [rows, "join_heads"], f"{layer}.joined")
        return self.project(joined, f"{layer}.o", HIDDEN, HIDDEN)

    def feed_forward(self, source: str, layer: str) -> str:
        """SwiGLU: down(silu(gate(x)) · up(x))."""
        gate = self.project(source, f"{layer}.gate", HIDDEN, FFN)
        up = self.project(source, f"{layer}.up", HIDDEN, FFN)
        sigmoid = self.node("Sigmoid", [gate], f"{layer}.sigmoid")
        silu = self.node("Mul", [gate, sigmoid], f"{layer}.silu")
        gated = self.node("Mul", [silu, up], f"{layer}.gated")
        return self.project(gated, f"{layer}.down", FFN, HIDDEN)

    def layer(self, source: str, layer: str) -> str:
        """Attention and feed-forward, each behind a norm and around a residual."""
        normed = self.rms_norm(source, f"{layer}.attention_norm")
        attended = self.attention(normed, layer)
        middle = self.node("Add", [source, attended], f"{layer}.middle")
        normed = self.rms_norm(middle, f"{layer}.ffn_norm")
        fed = self.feed_forward(normed, layer)
        return self.node("Add", [middle, fed], f"{layer}.out")


def decoder_block() -> onnx.ModelProto:
    """Return the model."""
    decoder = Decoder()
    decoder.constant("two", TensorProto.FLOAT, [2.0])
    decoder.constant("epsilon", TensorProto.FLOAT, [1e-5])
    decoder.constant("scale", HALF, [HEAD_DIM**-0.5])
    decoder.constant("last_axis", TensorProto.INT64, [-1])
    decoder.constant("split_heads", TensorProto.INT64, [0, 1, HEADS, HEAD_DIM])
    decoder.constant("one_row", TensorProto.INT64, [0, HEADS, 1, HEAD_DIM])
    decoder.constant("join_heads", TensorProto.INT64, [0, 1, HIDDEN])
    hidden = "hidden"
    for index in range(LAYERS):
        hidden = decoder.layer(hidden, f"layer{index}")
    graph = helper.make_graph(
        decoder.nodes,
        "decoder_block",
        inputs=[
            half("hidden", ["batch", 1, HIDDEN]),
            half("cos", ["batch", 1, HEAD_DIM // 2]),
            half("sin", ["batch", 1, HEAD_DIM // 2]),
            *decoder.caches,
        ],
        outputs=[
            half(hidden, ["batch", 1, HIDDEN]),
            *decoder.new_entries,
        ],
        initializer=decoder.initializers,
    )
    return helper.make_model(
        graph,
        ir_version=IR_VERSION,
        opset_imports=[helper.make_opsetid("", OPSET)],
        producer_name="elkhound",
    )


def main(path: Path) -> None:
    """Write the file."""
    path.write_bytes(decoder_block().SerializeToString(deterministic=True))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else OUTPUT)
