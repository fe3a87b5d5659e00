"""onnx_import."""
