"""Types and shapes of every value: onnx's where it knows them, else our own rules."""

from elkhound.model.onnx_import.shapes.infer import infer_values

__all__ = ["infer_values"]
