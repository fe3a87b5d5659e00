"""Types and shapes of every value: onnx's where it knows them, else our own rules."""
