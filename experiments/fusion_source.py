"""What WORKLOAD on the command line stands for: built in, YAML or JSON, or ONNX."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from elkhound.experiments.source import (
    ModelFlags,
    Source,
    is_problem_file,
    read_graph,
    read_source,
    refuse_import_flags,
)
from elkhound.model.errors import BadInputError
from elkhound.model.fusion import FusionWorkload
from elkhound.model.fusion.problem import FusionProblem


def read_fusion_workload(
    name: str, flags: ModelFlags
) -> tuple[FusionWorkload, tuple[str, ...]]:
    """Return a workload, and what the import of an ONNX file had to say.

    Raises
    ------
    BadInputError
        There is no such workload, its file has a fault, an operator is no einsum, or
        a flag has no effect.
    """
    if Path(name).suffix.lower() != ".onnx":
        from elkhound.model.io import load_fusion_workload

        refuse_import_flags("a workload of einsums", flags)
        return load_fusion_workload(name, flags.bind), ()
    from elkhound.model.fusion.graph_workload import graph_workload

    read = read_graph(name, flags)
    found = graph_workload(read.graph)
    return found.workload, (*read.warnings, *found.folded)


def read_fusion_source(
    name: str,
    flags: ModelFlags,
    accelerator: str | None,
    objective: str | None,
    *,
    fuse: bool = True,
    max_fused_loops: int | None = None,
    max_fused_loops_per_rank: int = 1,
    ordered_loops: bool = False,
    tiles: str = "divisors",
) -> Source:
    """Return the problem of mapping a workload onto an accelerator.

    Parameters
    ----------
    name, flags, accelerator, objective
        As the command line has them; a problem file needs no accelerator, and an
        objective replaces its own. None: the file's, or energy.
    fuse, max_fused_loops, max_fused_loops_per_rank, ordered_loops, tiles
        See `Mapspace`.
    """
    from elkhound.model.fusion.mapspace import Mapspace, Objective, Tiles
    from elkhound.model.fusion.problem import FusionProblem
    from elkhound.model.io import load_accelerator

    if accelerator is None:
        return _read_problem_file(name, objective)
    onto = load_accelerator(accelerator)
    workload, warnings = read_fusion_workload(name, flags)
    problem = FusionProblem(
        workload,
        onto,
        Objective(objective or Objective.ENERGY),
        Mapspace(
            fuse,
            max_fused_loops,
            max_fused_loops_per_rank,
            ordered_loops,
            Tiles(tiles),
        ),
    )
    return Source(f"{workload.name}-{onto.name}", problem, None, warnings)


def is_fusion_problem(name: str) -> bool:
    """Whether WORKLOAD is a problem file: of JSON or YAML, and it says its kind."""
    if not is_problem_file(name):
        return False
    from elkhound.model.io.document import read_document

    return read_document(name).at(("kind",)) is not None


def _read_problem_file(name: str, objective: str | None) -> Source:
    from elkhound.model.fusion.mapspace import Objective

    source = read_source(name, ModelFlags())
    problem = source.problem
    if not isinstance(problem, FusionProblem):
        raise BadInputError(
            "holds another kind of problem, fuse takes a fusion problem",
            code="wrong-kind",
            where=name,
            hint=f"elkhound compare {name}",
        )
    if objective is None:
        return source
    return replace(source, problem=replace(problem, objective=Objective(objective)))
