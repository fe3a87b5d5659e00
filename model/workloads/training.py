"""One training step: forward, backward, weight gradients.

The forward pass is that of a prefill without K and V leaving and with the head on every
token, or a denoising step. Backward goes through it operator by operator, last first;
the gradient of an einsum is an einsum over the same dimensions. What backward reads of
the forward pass is kept until then, nothing is computed twice but the statistics of
norms. Gradients of weights are written to HBM by the operator that makes them. The
optimizer is not part of the step.
"""

from __future__ import annotations

from collections.abc import Sequence

from elkhound.model.graph import Graph
from elkhound.model.workloads.backward import Backward, Loss
from elkhound.model.workloads.catalogue import (
    DiffusionTransformer,
    LatentMixture,
    Transformer,
)
from elkhound.model.workloads.decoder import DecoderParts
from elkhound.model.workloads.diffusion import DenoisingParts
from elkhound.model.workloads.mixture import MixtureParts


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
    return _with_backward(name, parts, parts.head(x), layers, Loss.CROSS_ENTROPY)


def mixture_training_step(
    name: str,
    model: LatentMixture,
    *,
    batch: int,
    tokens: int,
    layers: int,
    group: int,
) -> Graph:
    """Return the graph of a step of a mixture of experts.

    Biases of routers have no gradient: they only decide who is picked.
    """
    parts = MixtureParts(model, batch, group, tokens=tokens)
    x, _ = parts.stack(layers)
    return _with_backward(name, parts, parts.head(x), layers, Loss.CROSS_ENTROPY)


def diffusion_training_step(
    name: str, model: DiffusionTransformer, *, batch: int, tokens: int, layers: int
) -> Graph:
    """Return the graph of a step that learns what a denoising step predicts.

    The loss is the squared error, of the predicted variance too.
    """
    parts = DenoisingParts(model, batch, tokens)
    made = parts.all(layers)
    return _with_backward(name, parts, made, layers, Loss.SQUARED_ERROR)


def _with_backward(
    name: str,
    parts: DecoderParts | MixtureParts | DenoisingParts,
    made: str,
    layers: int,
    loss: Loss,
) -> Graph:
    gradients: Sequence[str] = Backward(parts.build, layers).run(made, loss)
    return parts.build.graph(name, gradients)
