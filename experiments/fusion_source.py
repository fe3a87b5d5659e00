"""What WORKLOAD on the command line stands for: built in, YAML or JSON, or ONNX."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from elkhound.model.fusion import FusionWorkload


def read_fusion_workload(
    name: str, bind: Mapping[str, int]
) -> tuple[FusionWorkload, tuple[str, ...]]:
    """Return a workload, and what the import of an ONNX file had to say.

    Raises
    ------
    BadInputError
        There is no such workload, its file has a fault, or an operator is no einsum.
    """
    if Path(name).suffix.lower() != ".onnx":
        from elkhound.model.io import load_fusion_workload

        return load_fusion_workload(name, bind), ()
    from elkhound.experiments.source import ModelFlags, read_graph
    from elkhound.model.fusion.graph_workload import graph_workload

    read = read_graph(name, ModelFlags(bind=bind))
    found = graph_workload(read.graph)
    return found.workload, (*read.warnings, *found.folded)
