"""A diffusion transformer: one denoising step of `batch` latent images.

The timestep's sinusoidal features, the labels and the patches are inputs. SiLU of the
condition, which every block applies to the same vector, is computed once.
"""

from __future__ import annotations

from elkhound.model.graph import Access, Graph, OperatorKind
from elkhound.model.passes import (
    ADD_PASSES,
    GATHER_PASSES,
    LAYER_NORM_PASSES,
    LAYER_NORM_ROUNDS,
    MATMUL_PASSES,
    SOFTMAX_PASSES,
    SOFTMAX_ROUNDS,
)
from elkhound.model.workloads.builder import WHOLE, GraphBuilder, access
from elkhound.model.workloads.catalogue import Activation, DiffusionTransformer


def denoising_step(
    name: str, model: DiffusionTransformer, *, batch: int, tokens: int, layers: int
) -> Graph:
    """Return the graph of one denoising step.

    Parameters
    ----------
    name : str
        Name of the graph.
    model : DiffusionTransformer
        Its shape.
    batch : int
        Images.
    tokens : int
        Patches of each; 256 for images of 256 × 256 pixels.
    layers : int
        Blocks between patch embedding and prediction.
    """
    parts = DenoisingParts(model, batch, tokens)
    return parts.build.graph(name, (parts.all(layers),))


class DenoisingParts:
    """The parts of the step, each appended to one graph.

    Dimensions: b image, s patch, m rows of either, n columns, k reduced, h head.
    """

    def __init__(self, model: DiffusionTransformer, batch: int, tokens: int) -> None:
        self.model = model
        self.batch = batch
        self.rows = batch * tokens
        self.build = GraphBuilder(model.dtype)
        self.wide = {"b": batch, "s": tokens, "n": model.hidden}

    def all(self, layers: int) -> str:
        """Append everything and return what is predicted."""
        x = self.embed()
        condition = self.condition()
        for layer in range(layers):
            self.build.layer = layer
            x = self.block(x, condition)
        self.build.layer = None
        return self.predict(x, condition)

    def embed(self) -> str:
        """Project every patch and add its position."""
        patches = self.build.resident("patches", self.rows, self.model.patch)
        x = self.project("patch", patches, self.model.patch, self.model.hidden)
        table = self.build.streamed(
            "position.weight", self.wide["s"], self.model.hidden
        )
        return self.build.operator(
            "position",
            OperatorKind.ELEMENTWISE,
            self.wide,
            (access(x, *self.wide), access(table, "s", "n")),
            tuple(self.wide),
            ADD_PASSES,
        )

    def condition(self) -> str:
        """Return SiLU(timestep embedding + label embedding), a row per image."""
        model, build = self.model, self.build
        sizes = {"m": self.batch, "n": model.hidden}
        features = build.resident("timestep_features", self.batch, model.frequencies)
        time = self.project(
            "timestep_up", features, model.frequencies, model.hidden, rows=self.batch
        )
        time = build.activate("timestep_activation", (time,), sizes, Activation.SILU)
        time = self.project(
            "timestep_down", time, model.hidden, model.hidden, rows=self.batch
        )
        labels = build.resident("labels", self.batch, dtype="int32")
        table = build.streamed("label.weight", model.classes, model.hidden)
        label = build.operator(
            "label",
            OperatorKind.GATHER,
            sizes,
            (access(labels, "m"), access(table, "m", "n")),
            ("m", "n"),
            GATHER_PASSES,
        )
        total = build.add("condition_add", time, label, sizes)
        return build.activate("condition", (total,), sizes, Activation.SILU)

    def block(self, x: str, condition: str) -> str:
        """Return the residual stream after attention and feed-forward network."""
        model, build = self.model, self.build
        shift, scale, gate, ffn_shift, ffn_scale, ffn_gate = self.modulation(
            condition, ("shift", "scale", "gate", "ffn_shift", "ffn_scale", "ffn_gate")
        )
        normed = self.norm("attention_norm", x, scale, shift)
        q, k, v = (
            self.project(name, normed, model.hidden, model.hidden)
            for name in ("q", "k", "v")
        )
        out = self.project("o", self.attend(q, k, v), model.hidden, model.hidden)
        x = self.gated_add("attention", x, out, gate)
        normed = self.norm("ffn_norm", x, ffn_scale, ffn_shift)
        up = self.project("up", normed, model.hidden, model.ffn)
        sizes = {"m": self.rows, "n": model.ffn}
        inner = build.activate("activation", (up,), sizes, Activation.GELU)
        out = self.project("down", inner, model.ffn, model.hidden)
        return self.gated_add("ffn", x, out, ffn_gate)

    def predict(self, x: str, condition: str) -> str:
        """Return noise and variance of every patch."""
        shift, scale = self.modulation(condition, ("shift", "scale"))
        normed = self.norm("final_norm", x, scale, shift)
        return self.project("head", normed, self.model.hidden, self.model.predicted)

    def modulation(self, condition: str, parts: tuple[str, ...]) -> list[str]:
        """Append the Linear that modulates a block, and a copy for each of its parts.

        A scale is 1 more than published: the bias holds the 1.
        """
        build, hidden, count = self.build, self.model.hidden, len(parts)
        whole = self.project(
            "modulation", condition, hidden, count * hidden, rows=self.batch
        )
        part = Access(whole, (*access("", "m").axes, WHOLE, *access("", "n").axes))
        sizes = {"m": self.batch, "n": hidden}
        return [build.copy(f"modulation.{name}", part, sizes) for name in parts]

    def norm(self, name: str, x: str, scale: str, shift: str) -> str:
        """Append a LayerNorm with scale and shift of the row's image."""
        return self.build.operator(
            name,
            OperatorKind.NORM,
            self.wide,
            (access(x, *self.wide), access(scale, "b", "n"), access(shift, "b", "n")),
            tuple(self.wide),
            LAYER_NORM_PASSES,
            rows=("n",),
            rounds=LAYER_NORM_ROUNDS,
        )

    def gated_add(self, name: str, x: str, y: str, gate: str) -> str:
        """Append x + gate of the row's image · y."""
        gated = self.build.operator(
            f"{name}_gate",
            OperatorKind.ELEMENTWISE,
            self.wide,
            (access(y, *self.wide), access(gate, "b", "n")),
            tuple(self.wide),
            ADD_PASSES,
        )
        sizes = {"m": self.rows, "n": self.model.hidden}
        return self.build.add(f"{name}_add", x, gated, sizes)

    def attend(self, q: str, k: str, v: str) -> str:
        """Append scores, softmax and their product with V: every patch sees all."""
        model, build = self.model, self.build
        tokens = self.wide["s"]
        width = model.hidden // model.heads
        rows = {"b": self.batch, "h": model.heads, "s": tokens}
        scores = build.operator(
            "scores",
            OperatorKind.BATCHED_MATMUL,
            {**rows, "n": tokens, "k": width},
            (access(q, "b", "s", "h", "k"), access(k, "b", "n", "h", "k")),
            (*rows, "n"),
            MATMUL_PASSES,
        )
        weights = build.operator(
            "softmax",
            OperatorKind.SOFTMAX,
            {**rows, "n": tokens},
            (access(scores, *rows, "n"),),
            (*rows, "n"),
            SOFTMAX_PASSES,
            rows=("n",),
            rounds=SOFTMAX_ROUNDS,
        )
        return build.operator(
            "attention",
            OperatorKind.BATCHED_MATMUL,
            {**rows, "n": width, "k": tokens},
            (access(weights, *rows, "k"), access(v, "b", "k", "h", "n")),
            ("b", "s", "h", "n"),
            MATMUL_PASSES,
        )

    def project(self, name: str, x: str, k: int, n: int, *, rows: int = 0) -> str:
        """Append a projection with bias; of every patch unless `rows` says else."""
        sizes = {"m": rows or self.rows, "n": n, "k": k}
        return self.build.projection(name, x, sizes, bias=True)
