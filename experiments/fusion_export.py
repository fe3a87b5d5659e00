"""Fusion mappings as loop nests, and workloads as the files they can be read from."""

from __future__ import annotations

from elkhound.experiments.fusion_source import read_fusion_workload
from elkhound.experiments.source import ModelFlags

Exported = tuple[str, tuple[str, ...]]
"""Text, and warnings of the import."""


def nest_text(
    mapping: str, workload: str, flags: ModelFlags, accelerator: str
) -> Exported:
    """Return the NumPy loop nest of a mapping that is one of its workload.

    Raises
    ------
    BadInputError
        It is none, or a file has a fault.
    """
    from elkhound.model.fusion.legality import require_legal
    from elkhound.model.fusion.numpy_nest import numpy_nest
    from elkhound.model.io import load_accelerator, load_mapping

    read, warnings = read_fusion_workload(workload, flags)
    tree = load_mapping(mapping)
    require_legal(load_accelerator(accelerator), read, tree)
    return numpy_nest(read, tree), warnings


def workload_text(workload: str, flags: ModelFlags) -> Exported:
    """Return the file form of a workload: built in, or of an ONNX file."""
    from elkhound.model.io import fusion_workload_document
    from elkhound.model.io.text import as_text

    read, warnings = read_fusion_workload(workload, flags)
    return as_text(fusion_workload_document(read)), warnings
