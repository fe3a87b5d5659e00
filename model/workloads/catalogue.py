"""Shapes of the built-in transformers, from their public configurations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum


class Norm(StrEnum):
    """Kind of normalisation."""

    RMS = "rms"
    LAYER = "layer"


class Activation(StrEnum):
    """Non-linearity between the two sides of the feed-forward network."""

    RELU = "relu"
    GELU = "gelu"
    SILU = "silu"


@dataclass(frozen=True, slots=True)
class Transformer:
    """A dense decoder-only transformer.

    Parameters
    ----------
    layers, hidden : int
        Depth and width.
    heads, kv_heads, head_dim : int
        Query heads, the groups that share K and V, and the width of each;
        heads · head_dim need not equal hidden.
    ffn : int
        Width of the feed-forward network.
    vocabulary : int
        Rows of the embedding.
    activation : Activation
        Applied to the gate if `gated`, else to the only side.
    norm : Norm
        Kind of every normalisation.
    gated : bool
        Whether the feed-forward network multiplies by a second projection.
    bias : bool
        Whether every projection but the head adds a bias.
    tied_head : bool
        Whether the head reads the embedding.
    post_norms : bool
        Whether attention and feed-forward outputs are normalised too.
    learned_positions : int
        Rows of a learned position table; 0: rotary positions.
    window : int or None
        Cached tokens that even layers attend to; None: all of them.
    soft_capping : bool
        Whether scores and logits go through c · tanh(x / c).
    dtype : str
        Type of weights, caches and activations.
    chips : int
        Chips that share every layer; above 1, this is the part of one of them.
    """

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    vocabulary: int
    activation: Activation
    norm: Norm = Norm.RMS
    gated: bool = True
    bias: bool = False
    tied_head: bool = False
    post_norms: bool = False
    learned_positions: int = 0
    window: int | None = None
    soft_capping: bool = False
    dtype: str = "bfloat16"
    chips: int = 1

    def on_chips(self, chips: int) -> Transformer:
        """Return one chip's part of a tensor-parallel split over `chips`.

        Heads, feed-forward columns and the head's columns are split, the embedding is
        not; the last chips have less of a vocabulary that does not divide.
        """
        return replace(
            self,
            heads=self.heads // chips,
            kv_heads=self.kv_heads // chips,
            ffn=self.ffn // chips,
            chips=chips,
        )


@dataclass(frozen=True, slots=True)
class DiffusionTransformer:
    """A diffusion transformer with adaLN-Zero blocks.

    Parameters
    ----------
    layers, hidden, heads, ffn : int
        Depth, width, attention heads and width of the feed-forward network.
    patch : int
        Numbers in one patch of the latent image, its channels included.
    predicted : int
        Numbers predicted for each patch: noise and variance.
    classes : int
        Rows of the label table, the one for "no label" included.
    frequencies : int
        Sinusoidal features of the timestep.
    dtype : str
        Type of weights and activations.
    """

    layers: int
    hidden: int
    heads: int
    ffn: int
    patch: int
    predicted: int
    classes: int
    frequencies: int
    dtype: str = "float16"


@dataclass(frozen=True, slots=True)
class LatentMixture:
    """A decoder with multi-head latent attention and a mixture of experts.

    Parameters
    ----------
    layers, dense_layers : int
        Depth; the first layers that have a plain feed-forward network.
    hidden, heads : int
        Width and query heads.
    query_rank, cached_rank : int
        Widths of the compressed queries, and of the compressed K and V in the cache.
    plain_dim, rotary_dim, value_dim : int
        Width of a head's query without and with position, and of its value.
    dense_ffn, expert_ffn : int
        Widths of the plain network and of one expert.
    experts, chosen : int
        Routed experts, and how many of them a token takes; one more serves all.
    vocabulary : int
        Rows of the embedding.
    dtype : str
        Type of weights, caches and activations.
    """

    layers: int
    dense_layers: int
    hidden: int
    heads: int
    query_rank: int
    cached_rank: int
    plain_dim: int
    rotary_dim: int
    value_dim: int
    dense_ffn: int
    expert_ffn: int
    experts: int
    chosen: int
    vocabulary: int
    dtype: str = "bfloat16"


def _llama(
    layers: int, hidden: int, kv_heads: int, ffn: int, vocabulary: int = 32_000
) -> Transformer:
    return Transformer(
        layers=layers,
        hidden=hidden,
        heads=hidden // 128,
        kv_heads=kv_heads,
        head_dim=128,
        ffn=ffn,
        vocabulary=vocabulary,
        activation=Activation.SILU,
    )


def _gpt(
    layers: int, hidden: int, activation: Activation, vocabulary: int, positions: int
) -> Transformer:
    return Transformer(
        layers=layers,
        hidden=hidden,
        heads=hidden // 128,
        kv_heads=hidden // 128,
        head_dim=128,
        ffn=4 * hidden,
        vocabulary=vocabulary,
        activation=activation,
        norm=Norm.LAYER,
        gated=False,
        bias=True,
        tied_head=True,
        learned_positions=positions,
        dtype="float16",
    )


Model = Transformer | DiffusionTransformer | LatentMixture

CATALOGUE: dict[str, Model] = {
    "llama-2-7b": _llama(layers=32, hidden=4096, kv_heads=32, ffn=11_008),
    "llama-2-13b": _llama(layers=40, hidden=5120, kv_heads=40, ffn=13_824),
    "llama-2-70b": _llama(layers=80, hidden=8192, kv_heads=8, ffn=28_672),
    "llama-3-8b": _llama(
        layers=32, hidden=4096, kv_heads=8, ffn=14_336, vocabulary=128_256
    ),
    "gemma-2-27b": Transformer(
        layers=46,
        hidden=4608,
        heads=32,
        kv_heads=16,
        head_dim=128,
        ffn=36_864,
        vocabulary=256_000,
        activation=Activation.GELU,
        tied_head=True,
        post_norms=True,
        window=4096,
        soft_capping=True,
    ),
    "opt-30b": _gpt(48, 7168, Activation.RELU, vocabulary=50_272, positions=2050),
    "gpt-3-6.7b": _gpt(32, 4096, Activation.GELU, vocabulary=50_257, positions=2048),
    "gpt-3-175b": _gpt(96, 12_288, Activation.GELU, vocabulary=50_257, positions=2048),
    "dit-xl-2": DiffusionTransformer(
        layers=28,
        hidden=1152,
        heads=16,
        ffn=4608,
        patch=2 * 2 * 4,
        predicted=2 * 2 * 8,
        classes=1001,
        frequencies=256,
    ),
    "deepseek-v3": LatentMixture(
        layers=61,
        dense_layers=3,
        hidden=7168,
        heads=128,
        query_rank=1536,
        cached_rank=512,
        plain_dim=128,
        rotary_dim=64,
        value_dim=128,
        dense_ffn=18_432,
        expert_ffn=2048,
        experts=256,
        chosen=8,
        vocabulary=129_280,
    ),
}
