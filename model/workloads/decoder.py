"""One decode step of a dense transformer: a new token for each sequence.

Every sequence has `cached` tokens in its K and V caches, which are streamed and
attended to; the new token's K and V leave the chip and are not attended to. All
sequences stand at the same position.
"""

from __future__ import annotations

from elkhound.model.graph import Access, Axis, Graph, OperatorKind, Pass
from elkhound.model.passes import (
    ADD_PASSES,
    COPY_PASSES,
    GATHER_PASSES,
    GEGLU_PASSES,
    GELU_PASSES,
    LAYER_NORM_PASSES,
    LAYER_NORM_ROUNDS,
    MATMUL_PASSES,
    RELU_PASSES,
    RMS_NORM_PASSES,
    RMS_NORM_ROUNDS,
    ROPE_PASSES,
    SILU_PASSES,
    SOFTMAX_PASSES,
    SOFTMAX_ROUNDS,
    SWIGLU_PASSES,
)
from elkhound.model.workloads.builder import GraphBuilder, access
from elkhound.model.workloads.catalogue import Activation, Norm, Transformer

_NORM_PASSES: dict[Norm, tuple[tuple[Pass, ...], int]] = {
    Norm.RMS: (RMS_NORM_PASSES, RMS_NORM_ROUNDS),
    Norm.LAYER: (LAYER_NORM_PASSES, LAYER_NORM_ROUNDS),
}
_ACTIVATION_PASSES = {
    (Activation.RELU, False): RELU_PASSES,
    (Activation.GELU, False): GELU_PASSES,
    (Activation.SILU, False): SILU_PASSES,
    (Activation.GELU, True): GEGLU_PASSES,
    (Activation.SILU, True): SWIGLU_PASSES,
}


def decode_step(
    name: str, model: Transformer, *, batch: int, cached: int, layers: int
) -> Graph:
    """Return the graph of one decode step through the first `layers` layers.

    Parameters
    ----------
    name : str
        Name of the graph.
    model : Transformer
        Its shape.
    batch : int
        Sequences.
    cached : int
        Tokens in the caches of each sequence, 1 or more.
    layers : int
        Layers between embedding and head.
    """
    step = _DecodeStep(model, batch, cached)
    x = step.embed()
    appended = []
    for layer in range(layers):
        step.build.layer = layer
        x, kv = step.attention(x)
        appended.append(kv)
        x = step.feed_forward(x)
    step.build.layer = None
    logits = step.head(x)
    return step.build.graph(name, (logits, *appended))


class _DecodeStep:
    """The parts of the step, each appended to one graph.

    Dimensions: m rows, n columns, k reduced; in attention b sequence, h KV head,
    m query heads of its group, n or k cached token.
    """

    def __init__(self, model: Transformer, batch: int, cached: int) -> None:
        self.model = model
        self.batch = batch
        self.cached = cached
        self.build = GraphBuilder(model.dtype)
        self.wide = {"m": batch, "n": model.hidden}

    def embed(self) -> str:
        """Gather a row per sequence; add the row of a learned position."""
        model, build = self.model, self.build
        tokens = build.resident("tokens", self.batch, dtype="int32")
        x = build.operator(
            "embedding",
            OperatorKind.GATHER,
            self.wide,
            (access(tokens, "m"), access(self._embedding(), "m", "n")),
            ("m", "n"),
            GATHER_PASSES,
        )
        if not model.learned_positions:
            build.resident("rope.cos", model.head_dim)
            build.resident("rope.sin", model.head_dim)
            return x
        table = build.streamed("position.weight", model.learned_positions, model.hidden)
        row = Access(table, (Axis(()), Axis((("n", 1),))))
        return build.operator(
            "position",
            OperatorKind.ELEMENTWISE,
            self.wide,
            (access(x, "m", "n"), row),
            ("m", "n"),
            ADD_PASSES,
        )

    def attention(self, x: str) -> tuple[str, str]:
        """Return the residual stream after attention, and the new K and V."""
        model = self.model
        normed = self.norm("attention_norm", x)
        query_width = model.heads * model.head_dim
        kv_width = model.kv_heads * model.head_dim
        q = self.project("q", normed, model.hidden, query_width)
        k = self.project("k", normed, model.hidden, kv_width)
        v = self.project("v", normed, model.hidden, kv_width)
        if not model.learned_positions:
            q = self.rope("rope_q", q, model.heads)
            k = self.rope("rope_k", k, model.kv_heads)
        appended = self.append(k, v)
        mixed = self.attend(q)
        out = self.project("o", mixed, query_width, model.hidden)
        if model.post_norms:
            out = self.norm("attention_post_norm", out)
        return self.build.add("attention_add", x, out, self.wide), appended

    def feed_forward(self, x: str) -> str:
        """Return the residual stream after the feed-forward network."""
        model = self.model
        normed = self.norm("ffn_norm", x)
        sides = ("gate", "up") if model.gated else ("up",)
        parts = [self.project(s, normed, model.hidden, model.ffn) for s in sides]
        inner = self.build.operator(
            "activation",
            OperatorKind.ACTIVATION,
            {"m": self.batch, "n": model.ffn},
            [access(part, "m", "n") for part in parts],
            ("m", "n"),
            _ACTIVATION_PASSES[model.activation, model.gated],
        )
        out = self.project("down", inner, model.ffn, model.hidden)
        if model.post_norms:
            out = self.norm("ffn_post_norm", out)
        return self.build.add("ffn_add", x, out, self.wide)

    def head(self, x: str) -> str:
        """Return the logits."""
        model, build = self.model, self.build
        normed = self.norm("final_norm", x)
        sizes = {"m": self.batch, "n": model.vocabulary, "k": model.hidden}
        if model.tied_head:
            weight = access(self._embedding(), "n", "k")
        else:
            name = build.streamed("head.weight", model.hidden, model.vocabulary)
            weight = access(name, "k", "n")
        return build.operator(
            "head",
            OperatorKind.MATMUL,
            sizes,
            (access(normed, "m", "k"), weight),
            ("m", "n"),
            (*MATMUL_PASSES, *self._capping()),
        )

    def project(self, name: str, x: str, k: int, n: int) -> str:
        """Append a projection from width k to width n."""
        sizes = {"m": self.batch, "n": n, "k": k}
        return self.build.projection(name, x, sizes, bias=self.model.bias)

    def norm(self, name: str, x: str) -> str:
        """Append a normalisation of every row."""
        build, hidden = self.build, self.model.hidden
        scoped = build.scoped(name)
        vectors = [build.streamed(f"{scoped}.weight", hidden)]
        passes, rounds = _NORM_PASSES[self.model.norm]
        if self.model.norm is Norm.LAYER:
            vectors.append(build.streamed(f"{scoped}.bias", hidden))
        return build.operator(
            name,
            OperatorKind.NORM,
            self.wide,
            (access(x, "m", "n"), *(access(vector, "n") for vector in vectors)),
            ("m", "n"),
            passes,
            rows=("n",),
            rounds=rounds,
        )

    def rope(self, name: str, x: str, heads: int) -> str:
        """Append the rotation of every head by its position's angles."""
        sizes = {"b": self.batch, "h": heads, "k": self.model.head_dim}
        angles = (access("rope.cos", "k"), access("rope.sin", "k"))
        return self.build.operator(
            name,
            OperatorKind.ROPE,
            sizes,
            (access(x, "b", "h", "k"), *angles),
            ("b", "h", "k"),
            ROPE_PASSES,
        )

    def append(self, k: str, v: str) -> str:
        """Append the copy of the new K (c = 0) and V (c = 1) to what leaves."""
        model = self.model
        sizes = {"c": 2, "b": self.batch, "h": model.kv_heads, "k": model.head_dim}
        return self.build.operator(
            "kv_append",
            OperatorKind.COPY,
            sizes,
            (access(k, "b", "h", "k"), access(v, "b", "h", "k")),
            ("c", "b", "h", "k"),
            COPY_PASSES,
        )

    def attend(self, q: str) -> str:
        """Append scores, softmax and their product with V; return [b, h, m, n]."""
        model, build = self.model, self.build
        tokens = self._attended()
        rows = {
            "b": self.batch,
            "h": model.kv_heads,
            "m": model.heads // model.kv_heads,
        }
        cache = (self.batch, model.kv_heads, tokens, model.head_dim)
        k_cache = build.streamed(build.scoped("k_cache"), *cache)
        v_cache = build.streamed(build.scoped("v_cache"), *cache)
        scores = build.operator(
            "scores",
            OperatorKind.BATCHED_MATMUL,
            {**rows, "n": tokens, "k": model.head_dim},
            (access(q, "b", "h", "m", "k"), access(k_cache, "b", "h", "n", "k")),
            ("b", "h", "m", "n"),
            MATMUL_PASSES,
        )
        weights = build.operator(
            "softmax",
            OperatorKind.SOFTMAX,
            {**rows, "n": tokens},
            (access(scores, "b", "h", "m", "n"),),
            ("b", "h", "m", "n"),
            (*self._capping(), *SOFTMAX_PASSES),
            rows=("n",),
            rounds=SOFTMAX_ROUNDS,
        )
        return build.operator(
            "attention",
            OperatorKind.BATCHED_MATMUL,
            {**rows, "n": model.head_dim, "k": tokens},
            (access(weights, "b", "h", "m", "k"), access(v_cache, "b", "h", "k", "n")),
            ("b", "h", "m", "n"),
            MATMUL_PASSES,
        )

    def _attended(self) -> int:
        """Return the cached tokens this layer reads: even layers may slide."""
        window = self.model.window
        if window is None or (self.build.layer or 0) % 2:
            return self.cached
        return min(self.cached, window)

    def _capping(self) -> tuple[Pass, ...]:
        return (Pass.UNARY,) if self.model.soft_capping else ()

    def _embedding(self) -> str:
        model = self.model
        return self.build.streamed("embedding.weight", model.vocabulary, model.hidden)
