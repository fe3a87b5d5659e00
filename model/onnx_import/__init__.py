"""ONNX file → Graph: shapes and types only, no weights."""

from elkhound.model.onnx_import.homes import InputHome
from elkhound.model.onnx_import.importer import import_onnx
from elkhound.model.onnx_import.report import ImportReport, PatternMatch
from elkhound.model.onnx_import.symbols import Symbol
from elkhound.model.onnx_import.user_operators import (
    OperatorCall,
    OutputCost,
    StandIn,
)

__all__ = [
    "ImportReport",
    "InputHome",
    "OperatorCall",
    "OutputCost",
    "PatternMatch",
    "StandIn",
    "Symbol",
    "import_onnx",
]
