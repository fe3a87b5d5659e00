"""What WORKLOAD on the command line stands for: built in, YAML or JSON, or ONNX."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from elkhound.experiments.source import Source
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


def read_fusion_source(
    name: str,
    bind: Mapping[str, int],
    accelerator: str,
    objective: str,
    *,
    fuse: bool = True,
    max_fused_loops: int | None = None,
    max_fused_loops_per_rank: int = 1,
    ordered_loops: bool = False,
) -> Source:
    """Return the problem of mapping a workload onto an accelerator.

    Parameters
    ----------
    name, bind, accelerator, objective
        As the command line has them.
    fuse, max_fused_loops, max_fused_loops_per_rank, ordered_loops
        See `Mapspace`.
    """
    from elkhound.model.fusion.mapspace import Mapspace, Objective
    from elkhound.model.fusion.problem import FusionProblem
    from elkhound.model.io import load_accelerator

    onto = load_accelerator(accelerator)
    workload, warnings = read_fusion_workload(name, bind)
    problem = FusionProblem(
        workload,
        onto,
        Objective(objective),
        Mapspace(fuse, max_fused_loops, max_fused_loops_per_rank, ordered_loops),
    )
    return Source(f"{workload.name}-{onto.name}", problem, None, warnings)
