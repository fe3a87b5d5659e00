"""Nodes → einsums over tensors; views share their root's storage."""

from elkhound.model.onnx_import.lower.graph import lower_graph

__all__ = ["lower_graph"]
