"""Output shapes of com.microsoft operators, where onnx's own inference stops."""

from __future__ import annotations

from collections.abc import Mapping

from elkhound.model.onnx_import.shapes import standard
from elkhound.model.onnx_import.shapes.standard import Rule

RULES: Mapping[str, Rule] = {
    "com.microsoft::BiasGelu": standard.first_only,
    "com.microsoft::FastGelu": standard.first_only,
    "com.microsoft::Gelu": standard.first_only,
    "com.microsoft::QuickGelu": standard.first_only,
    "com.microsoft::RotaryEmbedding": standard.first_only,
}
