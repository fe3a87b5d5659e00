"""ONNX file → Graph: shapes and types only, no weights."""

from elkhound.model.onnx_import.homes import InputHome
from elkhound.model.onnx_import.importer import import_onnx
from elkhound.model.onnx_import.report import ImportReport, PatternMatch
from elkhound.model.onnx_import.symbols import Symbol

__all__ = ["ImportReport", "InputHome", "PatternMatch", "Symbol", "import_onnx"]
