"""A dense transformer: one decode step, or the prefill of whole prompts.

Decode: every sequence has `seq` tokens in its K and V caches, which are streamed and
attended to; the new token's K and V leave the chip and are not attended to. All
sequences stand at the same position.

Prefill: every sequence has `seq` new tokens and no cache. Each attends to all `seq`:
neither the causal mask nor a sliding window makes scores smaller. K and V stay for
attention and a copy of them leaves the chip. The head sees the last token only.
"""

from __future__ import annotations

from elkhound.model.graph import Access, Axis, Graph, OperatorKind, Pass
from elkhound.model.passes import (
    ADD_PASSES,
    COPY_PASSES,
    GATHER_PASSES,
    MATMUL_PASSES,
    SOFTMAX_PASSES,
    SOFTMAX_ROUNDS,
    TANH_PASSES,
)
from elkhound.model.units import ceil_div
from elkhound.model.workloads.builder import WHOLE, GraphBuilder, access
from elkhound.model.workloads.catalogue import Transformer


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
    return _forward(name, DecoderParts(model, batch, cached=cached), layers)


def prefill(
    name: str, model: Transformer, *, batch: int, tokens: int, layers: int
) -> Graph:
    """Return the graph of a prefill: `tokens` new tokens in each of `batch` sequences.

    The other parameters are those of `decode_step`.
    """
    return _forward(name, DecoderParts(model, batch, tokens=tokens), layers)


def _forward(name: str, parts: DecoderParts, layers: int) -> Graph:
    x = parts.embed()
    appended = []
    for layer in range(layers):
        parts.build.layer = layer
        x, kv = parts.attention(x)
        appended.append(kv)
        x = parts.feed_forward(x)
    parts.build.layer = None
    logits = parts.head(parts.last(x))
    return parts.build.graph(name, (logits, *appended))


class DecoderParts:
    """The parts of a forward pass, each appended to one graph.

    Dimensions: m rows, n columns, k reduced; in attention b sequence, h KV head,
    m query heads of its group, s new token where there are several, n or k attended
    token.

    Parameters
    ----------
    model : Transformer
        Its shape.
    batch : int
        Sequences.
    tokens : int or None
        New tokens in each, which attend to each other; None: one, in decode.
    cached : int
        Tokens in each cache, in decode.
    """

    def __init__(
        self,
        model: Transformer,
        batch: int,
        *,
        tokens: int | None = None,
        cached: int = 0,
    ) -> None:
        self.model = model
        self.batch = batch
        self.tokens = tokens
        self.cached = cached
        self.build = GraphBuilder(model.dtype)
        self.rows = batch * (tokens or 1)
        self.wide = {"m": self.rows, "n": model.hidden}
        self.new = {} if tokens is None else {"s": tokens}

    def embed(self) -> str:
        """Gather a row per token; add the row of a learned position."""
        model, build = self.model, self.build
        tokens = build.resident("tokens", self.rows, dtype="int32")
        x = build.operator(
            "embedding",
            OperatorKind.GATHER,
            self.wide,
            (access(tokens, "m"), access(self._embedding(), "m", "n")),
            ("m", "n"),
            GATHER_PASSES,
        )
        if not model.learned_positions:
            build.angles(*self.new.values(), model.head_dim // 2)
            return x
        table = build.streamed("position.weight", model.learned_positions, model.hidden)
        place = access(table, "s", "n").axes if self.new else (WHOLE, Axis((("n", 1),)))
        sizes = {"b": self.batch, **self.new, "n": model.hidden}
        return build.operator(
            "position",
            OperatorKind.ELEMENTWISE,
            sizes,
            (access(x, *sizes), Access(table, place)),
            tuple(sizes),
            ADD_PASSES,
        )

    def attention(self, x: str, *, appended: bool = True) -> tuple[str, str]:
        """Return the residual stream after attention, and the new K and V if copied."""
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
        copied = self.append(k, v) if appended else ""
        mixed = self.attend(q, k, v)
        out = self.all_reduce("o", self.project("o", mixed, query_width, model.hidden))
        if model.post_norms:
            out = self.norm("attention_post_norm", out)
        return self.build.add("attention_add", x, out, self.wide), copied

    def feed_forward(self, x: str) -> str:
        """Return the residual stream after the feed-forward network."""
        model = self.model
        normed = self.norm("ffn_norm", x)
        sides = ("gate", "up") if model.gated else ("up",)
        parts = [self.project(s, normed, model.hidden, model.ffn) for s in sides]
        inner = self.build.activate(
            "activation", parts, {"m": self.rows, "n": model.ffn}, model.activation
        )
        out = self.all_reduce(
            "down", self.project("down", inner, model.ffn, model.hidden)
        )
        if model.post_norms:
            out = self.norm("ffn_post_norm", out)
        return self.build.add("ffn_add", x, out, self.wide)

    def all_reduce(self, name: str, x: str) -> str:
        """Append the sum of what every chip has of x, where several share a layer.

        Each chip adds its part of the columns up, reading as much from all chips as x
        has, and then copies the parts of all. A byte from another chip is read as one
        of its own, so the copy reads more than the chip's part holds.
        """
        chips = self.model.chips
        if chips == 1:
            return x
        sizes = {"m": self.rows, "c": chips, "n": self.model.hidden // chips}
        build = self.build
        part = build.operator(
            f"{name}_reduce_scatter",
            OperatorKind.REDUCE,
            sizes,
            (access(x, "m", "c", "n"),),
            ("m", "n"),
            (Pass.REDUCE,),
        )
        return build.copy(f"{name}_all_gather", access(part, "m", "n"), self.wide)

    def last(self, x: str) -> str:
        """Return the last token of each sequence; later rows are these alone."""
        if self.new:
            x = self.build.last_token(x, self.batch, self.model.hidden)
            self.rows = self.batch
            self.wide = {"m": self.batch, "n": self.model.hidden}
        return x

    def head(self, x: str) -> str:
        """Return the logits."""
        model, build = self.model, self.build
        normed = self.norm("final_norm", x)
        columns = ceil_div(model.vocabulary, model.chips)
        sizes = {"m": self.rows, "n": columns, "k": model.hidden}
        if model.tied_head:
            weight = access(self._embedding(), "n", "k")
        else:
            name = build.streamed("head.weight", model.hidden, columns)
            weight = access(name, "k", "n")
        logits = build.operator(
            "head",
            OperatorKind.MATMUL,
            sizes,
            (access(normed, "m", "k"), weight),
            ("m", "n"),
            MATMUL_PASSES,
        )
        return self.cap("head_cap", logits, {"m": self.rows, "n": columns})

    def project(self, name: str, x: str, k: int, n: int) -> str:
        """Append a projection from width k to width n."""
        sizes = {"m": self.rows, "n": n, "k": k}
        return self.build.projection(name, x, sizes, bias=self.model.bias)

    def norm(self, name: str, x: str) -> str:
        """Append a normalisation of every row."""
        return self.build.norm(name, x, self.wide, self.model.norm)

    def rope(self, name: str, x: str, heads: int) -> str:
        """Append the rotation of every head by its position's angles."""
        sizes = {"b": self.batch, **self.new, "h": heads}
        width = self.model.head_dim
        return self.build.rope(name, x, sizes, width, by=tuple(self.new))

    def append(self, k: str, v: str) -> str:
        """Append the copy of the new K (c = 0) and V (c = 1) to what leaves."""
        model = self.model
        each = {
            "b": self.batch,
            **self.new,
            "h": model.kv_heads,
            "k": model.head_dim,
        }
        return self.build.operator(
            "kv_append",
            OperatorKind.COPY,
            {"c": 2, **each},
            (access(k, *each), access(v, *each)),
            ("c", *each),
            COPY_PASSES,
        )

    def attend(self, q: str, k: str, v: str) -> str:
        """Append scores, softmax and their product with V; return rows of heads."""
        model, build = self.model, self.build
        rows = {
            "b": self.batch,
            "h": model.kv_heads,
            "m": model.heads // model.kv_heads,
            **self.new,
        }
        length = self._attended()
        keys, values = self._attended_kv(k, v)
        scores = build.operator(
            "scores",
            OperatorKind.BATCHED_MATMUL,
            {**rows, "n": length, "k": model.head_dim},
            (access(q, "b", *self.new, "h", "m", "k"), keys),
            (*rows, "n"),
            MATMUL_PASSES,
        )
        scores = self.cap("scores_cap", scores, {**rows, "n": length})
        weights = build.operator(
            "softmax",
            OperatorKind.SOFTMAX,
            {**rows, "n": length},
            (access(scores, *rows, "n"),),
            (*rows, "n"),
            SOFTMAX_PASSES,
            rows=("n",),
            rounds=SOFTMAX_ROUNDS,
        )
        return build.operator(
            "attention",
            OperatorKind.BATCHED_MATMUL,
            {**rows, "n": model.head_dim, "k": length},
            (access(weights, *rows, "k"), values),
            ("b", *self.new, "h", "m", "n"),
            MATMUL_PASSES,
        )

    def cap(self, name: str, x: str, sizes: dict[str, int]) -> str:
        """Append c · tanh(x / c) where the model caps."""
        if not self.model.soft_capping:
            return x
        inputs = (access(x, *sizes),)
        return self.build.operator(
            name, OperatorKind.ACTIVATION, sizes, inputs, tuple(sizes), TANH_PASSES
        )

    def _attended_kv(self, k: str, v: str) -> tuple[Access, Access]:
        """Return how attention reads K and V: the new tokens', or the caches."""
        if self.new:
            return access(k, "b", "n", "h", "k"), access(v, "b", "k", "h", "n")
        model, build = self.model, self.build
        shape = (self.batch, model.kv_heads, self._attended(), model.head_dim)
        k_cache = build.streamed(build.scoped("k_cache"), *shape)
        v_cache = build.streamed(build.scoped("v_cache"), *shape)
        return access(k_cache, "b", "h", "n", "k"), access(v_cache, "b", "h", "k", "n")

    def _attended(self) -> int:
        """Return the tokens attended to: in decode, even layers may slide."""
        if self.tokens is not None:
            return self.tokens
        window = self.model.window
        if window is None or (self.build.layer or 0) % 2:
            return self.cached
        return min(self.cached, window)

    def _embedding(self) -> str:
        model = self.model
        return self.build.streamed("embedding.weight", model.vocabulary, model.hidden)
