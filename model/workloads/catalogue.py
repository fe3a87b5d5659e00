"""Shapes of the built-in transformers, from their public configurations."""

from __future__ import annotations

from dataclasses import dataclass
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


CATALOGUE: dict[str, Transformer] = {
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
}
