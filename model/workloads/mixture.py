"""A decode step with latent attention and a mixture of experts.

Attention in its absorbed form: queries meet the compressed K and V in the cache, of
`cached_rank` + `rotary_dim` numbers a token, which scores read whole and the product
with V without its rotary part. The new token's entry leaves the chip.

Which experts work depends on data, so all are one generic expert: tokens spread evenly
over as many as they can reach, min(experts, batch · chosen), each with
⌈batch · chosen / experts at work⌉ rows. Only the weights of these experts stream. They
work in groups, one after the other, because the weights of all do not fit on a chip.
"""

from __future__ import annotations

from elkhound.model.graph import Graph, OperatorKind, Pass
from elkhound.model.passes import (
    GATHER_PASSES,
    MATMUL_PASSES,
    ROPE_PASSES,
    SOFTMAX_PASSES,
    SOFTMAX_ROUNDS,
)
from elkhound.model.units import ceil_div
from elkhound.model.workloads.builder import GraphBuilder, access
from elkhound.model.workloads.catalogue import Activation, LatentMixture, Norm


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
    step = _MixtureStep(model, batch, cached, group)
    x = step.embed()
    appended = []
    for layer in range(layers):
        step.build.layer = layer
        x, entry = step.attention(x)
        appended.append(entry)
        x = step.feed_forward(x, routed=layer >= model.dense_layers)
    step.build.layer = None
    normed = step.norm("final_norm", x, model.hidden)
    logits = step.project("head", normed, model.hidden, model.vocabulary)
    return step.build.graph(name, (logits, *appended))


class _MixtureStep:
    """The parts of the step, each appended to one graph.

    Dimensions: b or m sequence, h head, n column or cached token, k reduced,
    e expert at work, m its rows, c which of the chosen.
    """

    def __init__(
        self, model: LatentMixture, batch: int, cached: int, group: int
    ) -> None:
        self.model = model
        self.batch = batch
        self.cached = cached
        self.group = group
        self.build = GraphBuilder(model.dtype)
        self.wide = {"m": batch, "n": model.hidden}
        self.working = min(model.experts, batch * model.chosen)
        self.expert_rows = ceil_div(batch * model.chosen, self.working)

    def embed(self) -> str:
        """Gather a row per sequence."""
        build, model = self.build, self.model
        tokens = build.resident("tokens", self.batch, dtype="int32")
        table = build.streamed("embedding.weight", model.vocabulary, model.hidden)
        build.resident("rope.cos", model.rotary_dim)
        build.resident("rope.sin", model.rotary_dim)
        return build.operator(
            "embedding",
            OperatorKind.GATHER,
            self.wide,
            (access(tokens, "m"), access(table, "m", "n")),
            ("m", "n"),
            GATHER_PASSES,
        )

    def attention(self, x: str) -> tuple[str, str]:
        """Return the residual stream after attention, and the new cache entry."""
        model, build = self.model, self.build
        normed = self.norm("attention_norm", x, model.hidden)
        low = self.project("q_down", normed, model.hidden, model.query_rank)
        low = self.norm("q_norm", low, model.query_rank)
        width = model.heads * (model.plain_dim + model.rotary_dim)
        q = self.project("q_up", low, model.query_rank, width)
        entry_width = model.cached_rank + model.rotary_dim
        new = self.project("kv_down", normed, model.hidden, entry_width)
        entry = build.resident(build.scoped("entry"), self.batch, entry_width)
        self.norm("kv_norm", new, model.cached_rank, part_of=entry)
        self.rope("rope_k", new, entry)
        mixed = self.attend(q)
        up = build.streamed(
            build.scoped("v_up.weight"), model.heads, model.cached_rank, model.value_dim
        )
        values = build.operator(
            "v_up",
            OperatorKind.BATCHED_MATMUL,
            {
                "h": model.heads,
                "m": self.batch,
                "n": model.value_dim,
                "k": model.cached_rank,
            },
            (access(mixed, "m", "h", "k"), access(up, "h", "k", "n")),
            ("m", "h", "n"),
            MATMUL_PASSES,
        )
        value_width = model.heads * model.value_dim
        out = self.project("o", values, value_width, model.hidden)
        return build.add("attention_add", x, out, self.wide), entry

    def attend(self, q: str) -> str:
        """Append absorbed queries, scores, softmax and their product with the cache."""
        model, build = self.model, self.build
        width = model.cached_rank + model.rotary_dim
        full = build.resident(
            build.scoped("absorbed_q"), self.batch, model.heads, width
        )
        absorb = build.streamed(
            build.scoped("k_up.weight"), model.heads, model.plain_dim, model.cached_rank
        )
        build.operator(
            "k_up",
            OperatorKind.BATCHED_MATMUL,
            {
                "h": model.heads,
                "m": self.batch,
                "n": model.cached_rank,
                "k": model.plain_dim,
            },
            (access(q, "m", "h", "k"), access(absorb, "h", "k", "n")),
            ("m", "h", "n"),
            MATMUL_PASSES,
            part_of=full,
        )
        self.rope("rope_q", q, full, heads=model.heads)
        cache = build.streamed(build.scoped("kv_cache"), self.batch, self.cached, width)
        rows = {"b": self.batch, "m": model.heads}
        scores = build.operator(
            "scores",
            OperatorKind.BATCHED_MATMUL,
            {**rows, "n": self.cached, "k": width},
            (access(full, "b", "m", "k"), access(cache, "b", "n", "k")),
            (*rows, "n"),
            MATMUL_PASSES,
        )
        weights = build.operator(
            "softmax",
            OperatorKind.SOFTMAX,
            {**rows, "n": self.cached},
            (access(scores, *rows, "n"),),
            (*rows, "n"),
            SOFTMAX_PASSES,
            rows=("n",),
            rounds=SOFTMAX_ROUNDS,
        )
        return build.operator(
            "attention",
            OperatorKind.BATCHED_MATMUL,
            {**rows, "n": model.cached_rank, "k": self.cached},
            (access(weights, *rows, "k"), access(cache, "b", "k", "n")),
            (*rows, "n"),
            MATMUL_PASSES,
        )

    def rope(self, name: str, x: str, target: str, *, heads: int = 0) -> None:
        """Append the rotation of the rotary part of x into its place in a tensor."""
        sizes = {"b": self.batch, "k": self.model.rotary_dim}
        if heads:
            sizes = {"b": self.batch, "h": heads, "k": self.model.rotary_dim}
        self.build.operator(
            name,
            OperatorKind.ROPE,
            sizes,
            (access(x, *sizes), access("rope.cos", "k"), access("rope.sin", "k")),
            tuple(sizes),
            ROPE_PASSES,
            part_of=target,
        )

    def feed_forward(self, x: str, *, routed: bool) -> str:
        """Return the residual stream after the dense network or the experts."""
        model, build = self.model, self.build
        normed = self.norm("ffn_norm", x, model.hidden)
        if not routed:
            out = self.network("", normed, model.dense_ffn)
            return build.add("ffn_add", x, out, self.wide)
        out = self.network("shared_", normed, model.expert_ffn)
        total = build.add("shared_add", out, self.experts(normed), self.wide)
        return build.add("ffn_add", x, total, self.wide)

    def network(self, prefix: str, x: str, width: int) -> str:
        """Append a gated network that serves every token."""
        hidden = self.model.hidden
        gate = self.project(f"{prefix}gate", x, hidden, width)
        up = self.project(f"{prefix}up", x, hidden, width)
        inner = self.build.activate(
            f"{prefix}activation",
            (gate, up),
            {"m": self.batch, "n": width},
            Activation.SILU,
        )
        return self.project(f"{prefix}down", inner, width, hidden)

    def experts(self, x: str) -> str:
        """Append routing, the generic expert, and the weighted sum of its outputs."""
        model, build = self.model, self.build
        shares = self.route(x)
        made = build.resident(
            build.scoped("experts"), self.working, self.expert_rows, model.hidden
        )
        for number, first in enumerate(range(0, self.working, self.group)):
            size = min(self.group, self.working - first)
            self.expert_group(f"group{number}", size, x, shares, made)
        return build.operator(
            "combine",
            OperatorKind.REDUCE,
            {"m": self.batch, "n": model.hidden, "c": model.chosen},
            (access(made, "m", "c", "n"), access(shares, "m", "c")),
            ("m", "n"),
            (Pass.REDUCE, Pass.REDUCE),  # · share, sum
        )

    def route(self, x: str) -> str:
        """Append scores of all experts and the choice: a maximum for each chosen."""
        model, build = self.model, self.build
        scoped = build.scoped("router")
        weight = build.streamed(f"{scoped}.weight", model.hidden, model.experts)
        bias = build.streamed(f"{scoped}.bias", model.experts)
        scores = build.operator(
            "router",
            OperatorKind.MATMUL,
            {"m": self.batch, "n": model.experts, "k": model.hidden},
            (access(x, "m", "k"), access(weight, "k", "n"), access(bias, "n")),
            ("m", "n"),
            (*MATMUL_PASSES, Pass.UNARY, Pass.ELEMENTWISE),  # sigmoid, + bias
        )
        return build.operator(
            "choose",
            OperatorKind.REDUCE,
            {"m": self.batch, "c": model.chosen, "n": model.experts},
            (access(scores, "m", "n"),),
            ("m", "c"),
            (Pass.REDUCE,),
        )

    def expert_group(
        self, name: str, size: int, x: str, shares: str, made: str
    ) -> None:
        """Append `size` experts, from their tokens to their part of the outputs."""
        model = self.model
        spread = {"e": size, "m": self.expert_rows}
        given = self.build.operator(
            f"{name}.dispatch",
            OperatorKind.GATHER,
            {**spread, "n": model.hidden},
            (access(shares, "e", "m"), access(x, "e", "m", "n")),
            (*spread, "n"),
            GATHER_PASSES,
        )
        into = {**spread, "n": model.expert_ffn, "k": model.hidden}
        out = {**spread, "n": model.hidden, "k": model.expert_ffn}
        sides = [self.expert(name, side, given, into) for side in ("gate", "up")]
        inner = self.build.activate(
            f"{name}.activation",
            sides,
            {**spread, "n": model.expert_ffn},
            Activation.SILU,
        )
        self.expert(name, "down", inner, out, part_of=made)

    def expert(
        self,
        group: str,
        side: str,
        x: str,
        sizes: dict[str, int],
        part_of: str = "",
    ) -> str:
        """Append x[e, m, k] · weight[e, k, n] of a group's experts."""
        weight = self.build.streamed(
            self.build.scoped(f"expert_{side}.weight"),
            self.model.experts,
            sizes["k"],
            sizes["n"],
        )
        return self.build.operator(
            f"{group}.{side}",
            OperatorKind.BATCHED_MATMUL,
            sizes,
            (access(x, "e", "m", "k"), access(weight, "e", "k", "n")),
            ("e", "m", "n"),
            MATMUL_PASSES,
            part_of=part_of,
        )

    def project(self, name: str, x: str, k: int, n: int) -> str:
        """Append a projection from width k to width n."""
        return self.build.projection(
            name, x, {"m": self.batch, "n": n, "k": k}, bias=False
        )

    def norm(self, name: str, x: str, width: int, part_of: str = "") -> str:
        """Append a normalisation of the first `width` numbers of every row."""
        sizes = {"m": self.batch, "n": width}
        return self.build.norm(name, x, sizes, Norm.RMS, part_of=part_of)
