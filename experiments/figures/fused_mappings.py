"""Fused mappings that figures look at: found, costed twice, and taken apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from elkhound.experiments.figures.figure import Line
from elkhound.model.fusion import LoopTree, parse_mapping
from elkhound.model.fusion.workload import FusionWorkload

JOIN, TRANSFUSION = "pareto-join", "transfusion"
TOKENS = "bind.new_tokens"
_MOST_SECONDS = 3600.0  # no limit in practice


def pieces_on_edge(quick: bool) -> list[dict[str, Any]]:
    """Return both mappers at every number of tokens; quick: three, up to 4,096."""
    return [
        {
            "workload": "gpt-3-6.7b",
            "bind": {"batch": 1, "new_tokens": tokens, "bits": 16},
            "accelerator": "edge",
            "objective": "edp",
            "method": method,
        }
        for tokens in (
            (256, 1024, 4096) if quick else (256, 512, 1024, 2048, 4096, 8192, 16384)
        )
        for method in (JOIN, TRANSFUSION)
    ]


def mapped(
    workload: str,
    bind: Mapping[str, int],
    accelerator: str,
    objective: str,
    method: str,
) -> Iterator[Line]:
    """Yield the line of one method's best mapping.

    ``part.*`` is the energy of every part, ``main.*`` that of main memory by tensor,
    ``place.*`` where a tensor is first held; `mapping` is the LoopTree as text. Without
    a mapping all of them are left out.

    Raises
    ------
    ContradictionError
        The referee computes another cost, or the mapping breaks a rule.
    """
    from elkhound.experiments.fusion_evaluation import evaluate_mapping
    from elkhound.experiments.fusion_methods import FUSION
    from elkhound.experiments.fusion_plots import energy_by_part, places
    from elkhound.experiments.methods import variant
    from elkhound.model.errors import ContradictionError
    from elkhound.model.fusion import mapping_text
    from elkhound.model.fusion.mapspace import Objective
    from elkhound.model.fusion.problem import FusionProblem
    from elkhound.model.io import load_accelerator, load_fusion_workload
    from elkhound.model.limits import Limits

    problem = FusionProblem(
        load_fusion_workload(workload, dict(bind)),
        load_accelerator(accelerator),
        Objective(objective),
    )
    result = variant(method, FUSION).build().solve(problem, Limits(_MOST_SECONDS))
    line: dict[str, Any] = {
        "workload": workload,
        **{f"bind.{name}": value for name, value in bind.items()},
        "accelerator": accelerator,
        "objective": objective,
        "method": method,
        "status": str(result.status),
        "cpu_seconds": result.cpu_seconds,
    }
    if result.plan is None:
        yield line
        return
    tree = result.plan.tree
    judged = evaluate_mapping(problem.accelerator, problem.workload, tree)
    if judged.violations:
        raise ContradictionError("; ".join(judged.violations), where=method)
    cost, main = judged.cost, problem.accelerator.memories[0].name
    parts = energy_by_part(problem, {method: tree})[method]
    yield line | {
        "energy": cost.energy,
        "latency": cost.latency,
        "edp": cost.edp,
        "main_memory": main,
        **{f"part.{part}": energy for part, energy in parts.items()},
        **{
            f"main.{tensor}": energy
            for (part, tensor), energy in cost.energy_by_tensor.items()
            if part == main and tensor is not None
        },
        **{f"place.{tensor}": memory for tensor, memory in places(tree).items()},
        "mapping": mapping_text(tree),
    }


def workload_of(line: Line) -> FusionWorkload:
    """Return the workload that a line is about."""
    from elkhound.model.io import load_fusion_workload

    return load_fusion_workload(line["workload"], given(line, "bind."))


def tree_of(line: Line) -> LoopTree:
    """Return the mapping of a line."""
    return parse_mapping(line["mapping"], line["method"])


def given(line: Line, prefix: str) -> dict[str, Any]:
    """Return what a line has under names with this prefix, without it.

    Examples
    --------
    >>> given({"part.MAC": 2.0, "part.Register": None, "energy": 3.0}, "part.")
    {'MAC': 2.0}
    """
    return {
        name.removeprefix(prefix): value
        for name, value in line.items()
        if name.startswith(prefix) and value is not None
    }


def by_tokens(lines: Sequence[Line]) -> dict[int, dict[str, Line]]:
    """Return the lines that have a mapping by number of tokens, then by method."""
    found: dict[int, dict[str, Line]] = {}
    for line in sorted(lines, key=lambda line: line[TOKENS]):
        if line.get("energy") is not None:
            found.setdefault(line[TOKENS], {})[line["method"]] = line
    return found


def pairs(lines: Sequence[Line]) -> dict[int, tuple[Line, Line]]:
    """Return the join's and TransFusion's lines where both have a mapping."""
    return {
        tokens: (own[JOIN], own[TRANSFUSION])
        for tokens, own in by_tokens(lines).items()
        if JOIN in own and TRANSFUSION in own
    }
