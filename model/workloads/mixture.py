"""A decoder with latent attention and a mixture of experts: decode and prefill.

Decode is in the absorbed form: queries meet the compressed K and V in the cache, of
`cached_rank` numbers a token, and the rotated `rotary_dim` numbers in a cache of their
own. A prefill (and a training step) expands K and V of its tokens to all heads. Either
way the new tokens' entries leave the chip, and scores are the sum of two products.

Which experts work depends on data, so all are one generic expert: tokens spread evenly
over as many as they can reach, min(experts, rows · chosen), each with
⌈rows · chosen / experts at work⌉ rows. Only the weights of these experts stream. They
work in groups, one after the other, because the weights of all do not fit on a chip.
"""

from __future__ import annotations

from elkhound.model.graph import Access, Graph, OperatorKind
from elkhound.model.passes import (
    ADD_PASSES,
    GATHER_PASSES,
    MATMUL_PASSES,
    SOFTMAX_PASSES,
    SOFTMAX_ROUNDS,
)
from elkhound.model.workloads.builder import GraphBuilder, access
from elkhound.model.workloads.catalogue import Activation, LatentMixture, Norm
from elkhound.model.workloads.experts import Experts


def mixture_decode_step(
    name: str,
    model: LatentMixture,
    *,
    batch: int,
    cached: int,
    layers: int,
    group: int,
) -> Graph:
    """Return the graph of one decode step.

    `group` experts work at once; the other parameters are those of `decode_step`.
    """
    parts = MixtureParts(model, batch, group, cached=cached)
    return _forward(name, parts, layers)


def mixture_prefill(
    name: str,
    model: LatentMixture,
    *,
    batch: int,
    tokens: int,
    layers: int,
    group: int,
) -> Graph:
    """Return the graph of a prefill; parameters as above and of `prefill`."""
    parts = MixtureParts(model, batch, group, tokens=tokens)
    return _forward(name, parts, layers)


def _forward(name: str, parts: MixtureParts, layers: int) -> Graph:
    x, entries = parts.stack(layers)
    logits = parts.head(parts.last(x))
    return parts.build.graph(name, (logits, *entries))


class MixtureParts:
    """The parts of a forward pass, each appended to one graph.

    Dimensions: b sequence, s new token, m rows of both, h head, n column or attended
    token, k reduced.

    Parameters
    ----------
    model : LatentMixture
        Its shape.
    batch : int
        Sequences.
    group : int
        Experts at work at once.
    tokens : int or None
        New tokens in each, which attend to each other; None: one, in decode.
    cached : int
        Tokens in each cache, in decode.
    """

    def __init__(
        self,
        model: LatentMixture,
        batch: int,
        group: int,
        *,
        tokens: int | None = None,
        cached: int = 0,
    ) -> None:
        self.model = model
        self.batch = batch
        self.group = group
        self.tokens = tokens
        self.cached = cached
        self.build = GraphBuilder(model.dtype)
        self.rows = batch * (tokens or 1)
        self.wide = {"m": self.rows, "n": model.hidden}
        self.new = {} if tokens is None else {"s": tokens}

    def stack(self, layers: int) -> tuple[str, list[str]]:
        """Return the residual stream behind all layers, and their cache entries."""
        x = self.embed()
        entries: list[str] = []
        for layer in range(layers):
            self.build.layer = layer
            x, found = self.attention(x)
            entries.extend(found)
            x = self.feed_forward(x, routed=layer >= self.model.dense_layers)
        self.build.layer = None
        return x, entries

    def embed(self) -> str:
        """Gather a row per token."""
        build, model = self.build, self.model
        tokens = build.resident("tokens", self.rows, dtype="int32")
        table = build.streamed("embedding.weight", model.vocabulary, model.hidden)
        build.angles(*self.new.values(), model.rotary_dim // 2)
        return build.operator(
            "embedding",
            OperatorKind.GATHER,
            self.wide,
            (access(tokens, "m"), access(table, "m", "n")),
            ("m", "n"),
            GATHER_PASSES,
        )

    def last(self, x: str) -> str:
        """Return the last token of each sequence; later rows are these alone."""
        if self.new:
            x = self.build.last_token(x, self.batch, self.model.hidden)
            self.rows = self.batch
        return x

    def head(self, x: str) -> str:
        """Return the logits."""
        model = self.model
        normed = self.norm("final_norm", x, model.hidden)
        return self.project("head", normed, model.hidden, model.vocabulary)

    def attention(self, x: str) -> tuple[str, tuple[str, str]]:
        """Return the residual stream after attention, and the new cache entries."""
        model, build = self.model, self.build
        normed = self.norm("attention_norm", x, model.hidden)
        low = self.project("q_down", normed, model.hidden, model.query_rank)
        low = self.norm("q_norm", low, model.query_rank)
        heads = {"h": model.heads}
        width = model.heads * model.plain_dim
        plain = self.project("q_up", low, model.query_rank, width)
        turned = self.project(
            "q_rope_up", low, model.query_rank, model.heads * model.rotary_dim
        )
        turned = self.rope("rope_q", turned, heads)
        latent = self.project("kv_down", normed, model.hidden, model.cached_rank)
        latent = self.norm("kv_norm", latent, model.cached_rank)
        key = self.project("k_rope_down", normed, model.hidden, model.rotary_dim)
        key = self.rope("rope_k", key, {})
        attend = self.expanded if self.new else self.absorbed
        values = attend(plain, turned, latent, key)
        value_width = model.heads * model.value_dim
        out = self.project("o", values, value_width, model.hidden)
        return build.add("attention_add", x, out, self.wide), (latent, key)

    def absorbed(self, plain: str, turned: str, latent: str, key: str) -> str:
        """Append attention to the caches: queries go into the latent space, and back.

        The new tokens' `latent` and `key` are not attended to.
        """
        model = self.model
        query = self.by_head("k_up", plain, model.plain_dim, model.cached_rank)
        shape = (self.batch, self.cached)
        latents = self.build.streamed(
            self.build.scoped("latent_cache"), *shape, model.cached_rank
        )
        keys = self.build.streamed(
            self.build.scoped("rope_cache"), *shape, model.rotary_dim
        )
        rows = {"b": self.batch, "h": model.heads}
        parts = (
            self.scores("scores_plain", query, latents, rows, model.cached_rank),
            self.scores("scores_rope", turned, keys, rows, model.rotary_dim),
        )
        weights = self.weigh(parts, rows, self.cached)
        sizes = {**rows, "n": model.cached_rank, "k": self.cached}
        mixed = self.mix(weights, access(latents, "b", "k", "n"), sizes)
        return self.by_head("v_up", mixed, model.cached_rank, model.value_dim)

    def expanded(self, plain: str, turned: str, latent: str, key: str) -> str:
        """Append attention of the new tokens to each other, K and V of every head."""
        model, tokens = self.model, self.new["s"]
        rank = model.cached_rank
        keys = self.project("k_up", latent, rank, model.heads * model.plain_dim)
        values = self.project("v_up", latent, rank, model.heads * model.value_dim)
        rows = {"b": self.batch, "h": model.heads, "s": tokens}
        parts = (
            self.scores("scores_plain", plain, keys, rows, model.plain_dim, own="h"),
            self.scores("scores_rope", turned, key, rows, model.rotary_dim),
        )
        weights = self.weigh(parts, rows, tokens)
        sizes = {**rows, "n": model.value_dim, "k": tokens}
        return self.mix(weights, access(values, "b", "k", "h", "n"), sizes)

    def scores(
        self,
        name: str,
        query: str,
        key: str,
        rows: dict[str, int],
        width: int,
        *,
        own: str = "",
    ) -> str:
        """Append query · keyᵀ; one key for all heads, unless they have their `own`."""
        length = self.tokens or self.cached
        return self.build.operator(
            name,
            self.batched(own),
            {**rows, "n": length, "k": width},
            (
                access(query, "b", *self.new, "h", "k"),
                access(key, "b", "n", *own, "k"),
            ),
            (*rows, "n"),
            MATMUL_PASSES,
        )

    def weigh(self, parts: tuple[str, str], rows: dict[str, int], length: int) -> str:
        """Append the sum of both scores, and their softmax."""
        sizes = {**rows, "n": length}
        total = self.build.operator(
            "scores",
            OperatorKind.ELEMENTWISE,
            sizes,
            [access(part, *sizes) for part in parts],
            tuple(sizes),
            ADD_PASSES,
        )
        return self.build.operator(
            "softmax",
            OperatorKind.SOFTMAX,
            sizes,
            (access(total, *sizes),),
            tuple(sizes),
            SOFTMAX_PASSES,
            rows=("n",),
            rounds=SOFTMAX_ROUNDS,
        )

    def mix(self, weights: str, values: Access, sizes: dict[str, int]) -> str:
        """Append weights · values."""
        rows = [name for name in sizes if name not in "nk"]
        return self.build.operator(
            "attention",
            self.batched("h" if "h" in values.dimensions else ""),
            sizes,
            (access(weights, *rows, "k"), values),
            ("b", *self.new, "h", "n"),
            MATMUL_PASSES,
        )

    def batched(self, own: str) -> OperatorKind:
        """Return the kind of a product with keys or values."""
        several = bool(own) or self.batch > 1
        return OperatorKind.BATCHED_MATMUL if several else OperatorKind.MATMUL

    def by_head(self, name: str, x: str, k: int, n: int) -> str:
        """Append x[m, h, k] · weight[h, k, n]."""
        heads = self.model.heads
        weight = self.build.streamed(self.build.scoped(f"{name}.weight"), heads, k, n)
        return self.build.operator(
            name,
            OperatorKind.BATCHED_MATMUL,
            {"h": heads, "m": self.batch, "n": n, "k": k},
            (access(x, "m", "h", "k"), access(weight, "h", "k", "n")),
            ("m", "h", "n"),
            MATMUL_PASSES,
        )

    def rope(self, name: str, x: str, heads: dict[str, int]) -> str:
        """Append the rotation of every row, or of every head of every row."""
        sizes = {"b": self.batch, **self.new, **heads}
        width = self.model.rotary_dim
        return self.build.rope(name, x, sizes, width, by=tuple(self.new))

    def feed_forward(self, x: str, *, routed: bool) -> str:
        """Return the residual stream after the dense network or the experts."""
        model, build = self.model, self.build
        normed = self.norm("ffn_norm", x, model.hidden)
        if not routed:
            out = self.network("", normed, model.dense_ffn)
            return build.add("ffn_add", x, out, self.wide)
        out = self.network("shared_", normed, model.expert_ffn)
        experts = Experts(build, model, self.rows, self.group)
        total = build.add("shared_add", out, experts.append(normed), self.wide)
        return build.add("ffn_add", x, total, self.wide)

    def network(self, prefix: str, x: str, width: int) -> str:
        """Append a gated network that serves every token."""
        hidden = self.model.hidden
        gate = self.project(f"{prefix}gate", x, hidden, width)
        up = self.project(f"{prefix}up", x, hidden, width)
        inner = self.build.activate(
            f"{prefix}activation",
            (gate, up),
            {"m": self.rows, "n": width},
            Activation.SILU,
        )
        return self.project(f"{prefix}down", inner, width, hidden)

    def project(self, name: str, x: str, k: int, n: int) -> str:
        """Append a projection from width k to width n."""
        sizes = {"m": self.rows, "n": n, "k": k}
        return self.build.projection(name, x, sizes, bias=False)

    def norm(self, name: str, x: str, width: int) -> str:
        """Append a normalisation of every row."""
        return self.build.norm(name, x, {"m": self.rows, "n": width}, Norm.RMS)
