"""Operators written as primitives, recognised: one operator, one cost."""

from elkhound.model.onnx_import.patterns.recognise import recognise

__all__ = ["recognise"]
