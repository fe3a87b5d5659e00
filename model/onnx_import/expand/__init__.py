"""Composite operators written out as plain ones, so that both cost the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from elkhound.model.onnx_import.expand import (
    attention,
    experts,
    fused,
    gradients,
    layers,
    moves,
    quantised,
    recurrent,
    selection,
)
from elkhound.model.onnx_import.expand.expansion import Expansion

EXPANSIONS: Mapping[str, Callable[[Expansion], None]] = {
    **attention.EXPANSIONS,
    **experts.EXPANSIONS,
    **fused.EXPANSIONS,
    **gradients.EXPANSIONS,
    **layers.EXPANSIONS,
    **moves.EXPANSIONS,
    **quantised.EXPANSIONS,
    **recurrent.EXPANSIONS,
    **selection.EXPANSIONS,
}

__all__ = ["EXPANSIONS", "Expansion"]
