"""What a comparison of fused mappings shows: fronts, energies, what is fused."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from elkhound.experiments.table import Table
from elkhound.model.fusion import FusionWorkload, LoopTree, Split, Store, cost_of
from elkhound.model.fusion.mapping import Node
from elkhound.model.fusion.problem import FusionProblem

MOST_TENSORS = 8  # told apart by colour; more are grouped by what they are
MOST_BRANCHES = 24  # of a LoopTree that is still readable


def draw_fusion(folder: Path, table: Table) -> None:
    """Draw fronts, energy by part and tensor, what is fused, and the best LoopTree."""
    from elkhound.experiments import plots

    problem: FusionProblem = table.problem
    verified: dict[str, Any] = {
        o.method: o.result for o in table.outcomes if o.verified
    }
    if not verified:
        return
    fronts = {
        method: [(point.latency, point.energy) for point in result.front]
        for method, result in verified.items()
        if len(result.front) > 1
    }
    energy_unit, latency_unit = problem.accelerator.units
    if fronts:
        plots.plot_fusion_fronts(
            folder / "pareto",
            fronts,
            energy_unit=energy_unit,
            latency_unit=latency_unit,
        )
    trees = {method: result.plan.tree for method, result in verified.items()}
    if problem.accelerator.has_energy:
        plots.plot_fusion_energy(
            folder / "energy",
            energy_by_part(problem, trees),
            main_energy_by_tensor(problem, trees),
            main=problem.accelerator.memories[0].name,
            unit=energy_unit,
        )
    plots.plot_fused(
        folder / "fused",
        [einsum.name for einsum in problem.workload.einsums],
        exchanges(problem.workload),
        {method: places(tree) for method, tree in trees.items()},
        main=problem.accelerator.memories[0].name,
    )
    best = table.best_plan
    if best is not None and len(problem.workload.einsums) <= MOST_BRANCHES:
        plots.plot_looptree(folder / "looptree", problem.workload, best.tree)


def energy_by_part(
    problem: FusionProblem, trees: Mapping[str, LoopTree]
) -> dict[str, dict[str, float]]:
    """Return the energy of every memory and unit that takes some, by method."""
    found: dict[str, dict[str, float]] = {}
    for method, tree in trees.items():
        cost = cost_of(problem.accelerator, problem.workload, tree)
        own = found[method] = {part.name: 0.0 for part in problem.accelerator.parts}
        for (part, _), energy in cost.energy_by_action.items():
            own[part] += energy
    used = {part for own in found.values() for part, energy in own.items() if energy}
    return {
        method: {part: energy for part, energy in own.items() if part in used}
        for method, own in found.items()
    }


def main_energy_by_tensor(
    problem: FusionProblem, trees: Mapping[str, LoopTree]
) -> dict[str, dict[str, float]]:
    """Return the energy of main memory by tensor, or by role where there are many."""
    workload = problem.workload
    main = problem.accelerator.memories[0].name
    tensors = dict.fromkeys(t for e in workload.einsums for t in e.tensors)
    roles = {tensor: tensor for tensor in tensors}
    if len(tensors) > MOST_TENSORS:
        roles = {tensor: _role(workload, tensor) for tensor in tensors}
    found: dict[str, dict[str, float]] = {}
    for method, tree in trees.items():
        cost = cost_of(problem.accelerator, workload, tree)
        own = found[method] = dict.fromkeys(roles.values(), 0.0)
        for (part, tensor), energy in cost.energy_by_tensor.items():
            if part == main and tensor is not None:
                own[roles[tensor]] += energy
    return found


def _role(workload: FusionWorkload, tensor: str) -> str:
    if tensor in workload.intermediates:
        return "intermediates"
    if any(tensor == einsum.output.tensor for einsum in workload.einsums):
        return "outputs"
    first = workload.users(tensor)[0]
    return "inputs" if tensor == workload.einsum(first).tensors[0] else "weights"


def exchanges(workload: FusionWorkload) -> list[tuple[str, int, int]]:
    """Return every intermediate with its producer and one consumer, by position."""
    position = {einsum.name: i for i, einsum in enumerate(workload.einsums)}
    found = []
    for tensor in workload.intermediates:
        first, *others = (position[name] for name in workload.users(tensor))
        found += [(tensor, first, other) for other in others]
    return found


def places(tree: LoopTree) -> dict[str, str]:
    """Return the first memory of every tensor, its backing store."""
    found: dict[str, str] = {}
    _note(tree.nodes, found)
    return found


def _note(nodes: tuple[Node, ...], found: dict[str, str]) -> None:
    for node in nodes:
        if isinstance(node, Store):
            found.setdefault(node.tensor, node.memory)
        elif isinstance(node, Split):
            for branch in node.branches:
                _note(branch, found)
