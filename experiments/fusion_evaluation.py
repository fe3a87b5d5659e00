"""What a fusion mapping costs, computed twice, for people and for programs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from elkhound.model.errors import ContradictionError
from elkhound.model.fusion import (
    Accelerator,
    FusionCost,
    FusionWorkload,
    LoopTree,
    cost_of,
)
from elkhound.model.fusion.physics import REFERENCE, Physics

if TYPE_CHECKING:
    from rich.console import Console

_TOLERANCE = 1e-9  # both sum floats, in different orders


@dataclass(frozen=True, slots=True)
class FusionEvaluation:
    """A mapping with its cost and what the referee says of it.

    Parameters
    ----------
    violations : tuple of str
        The referee's; empty if the mapping is legal and fits.
    physics : Physics
        What was switched on, on top of the reference rules.
    """

    accelerator: Accelerator
    workload: FusionWorkload
    tree: LoopTree
    cost: FusionCost
    violations: tuple[str, ...]
    physics: Physics = REFERENCE


def evaluate_mapping(
    accelerator: Accelerator,
    workload: FusionWorkload,
    tree: LoopTree,
    physics: Physics = REFERENCE,
) -> FusionEvaluation:
    """Cost a mapping, and hold the cost against the referee's.

    Raises
    ------
    BadInputError
        The mapping is none of this workload on this accelerator.
    ContradictionError
        Cost and referee disagree.
    """
    from elkhound.model.referee import judge_fusion

    cost = cost_of(accelerator, workload, tree, physics)
    verdict = judge_fusion(accelerator, workload, tree, physics)
    for name, mine, other in (
        ("energy", cost.energy, verdict.energy),
        ("latency", cost.latency, verdict.latency),
    ):
        if other is not None and not math.isclose(mine, other, rel_tol=_TOLERANCE):
            raise ContradictionError(
                f"{name} is {mine!r}, the referee computes {other!r}", where=tree.name
            )
    if verdict.feasible != (not cost.overflows):
        raise ContradictionError(
            "the cost and the referee disagree on whether the mapping fits",
            where=tree.name,
        )
    return FusionEvaluation(
        accelerator, workload, tree, cost, verdict.violations, physics
    )


def evaluation_document(evaluation: FusionEvaluation) -> dict[str, Any]:
    """Return the object that `--json` prints (stable)."""
    cost = evaluation.cost
    energy_unit, latency_unit = evaluation.accelerator.units
    return {
        "kind": "fusion",
        "accelerator": evaluation.accelerator.name,
        "workload": evaluation.workload.name,
        "mapping": evaluation.tree.name,
        "physics": list(evaluation.physics.names),
        "energy": cost.energy,
        "latency": cost.latency,
        "edp": cost.edp,
        "energy_unit": energy_unit or None,
        "latency_unit": latency_unit,
        "verified": not evaluation.violations,
        "violations": list(evaluation.violations),
        "occupancy_bits": cost.occupancy_bits,
        "einsums": [
            {
                "einsum": einsum,
                "energy": cost.energy_by_einsum[einsum],
                "latency": latency,
                "latency_by_component": {
                    component: value
                    for (name, component), value in cost.latency_by_component.items()
                    if name == einsum
                },
            }
            for einsum, latency in cost.latency_by_einsum.items()
        ],
        "energy_by_component": [
            {"component": component, "action": kind, "energy": energy}
            for (component, kind), energy in cost.energy_by_action.items()
        ],
        "actions": [
            {
                "einsum": action.einsum,
                "component": action.component,
                "tensor": action.tensor,
                "action": action.kind,
                "count": action.count,
            }
            for action in cost.actions
        ],
    }


def print_evaluation(console: Console, evaluation: FusionEvaluation) -> None:
    """Print totals, einsums and memories for a person."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    cost = evaluation.cost
    energy_unit, latency_unit = evaluation.accelerator.units
    energy = f"energy {_number(cost.energy)} {energy_unit}".rstrip()
    title = (
        f"{evaluation.workload.name} on {evaluation.accelerator.name}: {energy}, "
        f"latency {_number(cost.latency)} {latency_unit}"
    )
    console.print(Text(title), soft_wrap=True)
    if evaluation.physics.names:
        physics = f"physics: {', '.join(evaluation.physics.names)}"
        console.print(Text(physics), soft_wrap=True)
    grid = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    grid.add_column("einsum")
    for heading in ("energy", "latency"):
        grid.add_column(heading, justify="right")
    grid.add_column("slowest")
    for einsum, latency in cost.latency_by_einsum.items():
        grid.add_row(
            Text(einsum),
            _number(cost.energy_by_einsum[einsum]),
            _number(latency),
            Text(_slowest(cost, einsum)),
        )
    console.print(grid)
    for memory in evaluation.accelerator.memories:
        bits = cost.occupancy_bits.get(memory.name)
        if bits is not None:
            size = "" if memory.size_bits is None else f" of {memory.size_bits}"
            console.print(Text(f"{memory.name}: {bits}{size} bits"), soft_wrap=True)


def _slowest(cost: FusionCost, einsum: str) -> str:
    """Return the part that sets an einsum's latency; a dash where it takes none."""
    latency = cost.latency_by_einsum[einsum]
    parts = [
        component
        for (name, component), value in cost.latency_by_component.items()
        if name == einsum and value == latency > 0
    ]
    return parts[0] if parts else "–"


def _number(value: float) -> str:
    return f"{value:.0f}" if value.is_integer() else f"{value:.9g}"
