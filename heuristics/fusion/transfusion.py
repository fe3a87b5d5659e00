"""TransFusion's mappings as the FFM paper describes them: one way of fusing, fixed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from elkhound.heuristics.fusion.anytime import nothing
from elkhound.heuristics.fusion.pareto_join import Joined, join
from elkhound.model.fusion.compatibility import Compatibility
from elkhound.model.fusion.mapspace import Objective
from elkhound.model.fusion.pmappings import (
    Pmappings,
    PmappingTable,
    generate,
    rebuild,
)
from elkhound.model.fusion.problem import (
    FusionPlan,
    FusionProblem,
    FusionResult,
    Improvement,
)
from elkhound.model.fusion.workload import FusionWorkload
from elkhound.model.limits import Limits
from elkhound.model.result import Status, own_version
from elkhound.model.stopwatch import OutOfTime, Stopwatch

Ints = npt.NDArray[np.int64]

_WITHIN = (1.1, 2.0)  # of the sum of least costs; then without bound
_TOLERANCE = 1 + 1e-9  # of sums in different orders


@dataclass(frozen=True, slots=True)
class TransFusion:
    """Everything fused but K and V, intermediates made and used tile by tile (§8).

    K and V, and whatever else is computed to be reused by a product like them, go
    through main memory. All other intermediates stay out of it, under at least one
    loop; nothing else is held over that loop, so that weights, K and V are fetched
    again for every tile. What a copy einsum writes is an input and may lie anywhere.
    Tile sizes and the rest are the best there are within that.
    """

    name: str = "transfusion"

    def solve(self, problem: FusionProblem, limits: Limits[FusionPlan]) -> FusionResult:
        """Map in this way; UNKNOWN where no mapping is like that.

        Raises
        ------
        InfeasibleError
            An einsum has no mapping at all; names the memory, its need and its size.
        """
        clock = Stopwatch(limits.seconds)
        try:
            pmappings = generate(
                problem.workload,
                problem.accelerator,
                problem.mapspace,
                problem.objective.criteria,
                clock,
            )
            clock.check()
        except OutOfTime:
            return nothing(self.name, limits, clock)
        own = _fixed(pmappings)
        plans = [
            FusionPlan(rebuild(own, each.choice), each.energy, each.latency)
            for each in _joined(own, problem.objective)
        ]
        best = min(plans, key=lambda p: p.value(problem.objective), default=None)
        value = None if best is None else best.value(problem.objective)
        left = sum(len(np.unique(_usable(table))) for table in own.tables)
        return FusionResult(
            method=self.name,
            status=Status.UNKNOWN if best is None else Status.FEASIBLE,
            plan=best,
            objective=value,
            seed=limits.seed,
            wall_seconds=clock.wall_seconds,
            cpu_seconds=clock.cpu_seconds,
            version=own_version(),
            statistics={
                "pmappings": sum(len(table) for table in pmappings.tables),
                "evaluations": left,
            },
            curve=()
            if value is None
            else (Improvement(left, clock.cpu_seconds, value),),
        )


def _joined(pmappings: Pmappings, objective: Objective) -> tuple[Joined, ...]:
    """Return the best mappings, found within ever wider bounds of their costs."""
    least = {
        name: sum(_least(table, name) for table in pmappings.tables)
        for name in pmappings.criteria
    }
    for share in _WITHIN:
        most = {name: share * value for name, value in least.items()}
        found = join(pmappings, pmappings.criteria, most)
        if found and len(least) == 1:
            return found
        if found and objective is not Objective.FRONT:
            best = min(each.energy * each.latency for each in found)
            energy, latency = least["energy"], least["latency"]
            if energy and latency:
                most = {"energy": best / latency, "latency": best / energy}
                most = {name: value * _TOLERANCE for name, value in most.items()}
                return join(pmappings, pmappings.criteria, most)
    return join(pmappings, pmappings.criteria)


def _least(table: PmappingTable, criterion: str) -> float:
    rows = _usable(table)
    costs = {"energy": table.energy, "latency": table.latency}[criterion]
    return float(costs[rows].min()) if len(rows) else 0.0


def _usable(table: PmappingTable) -> Ints:
    """Return the rows of all classes; one that is in several comes several times."""
    return np.concatenate([np.empty(0, np.int64), *table.members])


def _fixed(pmappings: Pmappings) -> Pmappings:
    """Return the partial mappings that are like that."""
    main = pmappings.accelerator.memories[0].name
    unfused = reused(pmappings.workload)
    fused = intermediates(pmappings.workload) - unfused
    return replace(
        pmappings,
        tables=tuple(
            _restricted(table, main, fused, unfused) for table in pmappings.tables
        ),
    )


def intermediates(workload: FusionWorkload) -> frozenset[str]:
    """Return tensors that one einsum computes and another one reads."""
    made = {e.output.tensor for e in workload.einsums if not e.copy}
    return frozenset(
        access.tensor
        for einsum in workload.einsums
        for access in einsum.inputs
        if access.tensor in made
    )


def reused(workload: FusionWorkload) -> frozenset[str]:
    """Return intermediates that a product reuses along a rank, as weights are: K and V.

    They are no first operand, and do not have every rank of the output.
    """
    return intermediates(workload) & frozenset(
        access.tensor
        for einsum in workload.einsums
        for access in einsum.inputs[1:]
        if not einsum.output.dimensions <= access.dimensions
    )


def _restricted(
    table: PmappingTable, main: str, fused: frozenset[str], unfused: frozenset[str]
) -> PmappingTable:
    classes, members = [], []
    for own, rows in zip(table.classes, table.members, strict=True):
        if _is_fixed(own, main, fused, unfused):
            kept = rows[_holds_nothing_over_loops(table, len(own.loops), rows)]
            if len(kept):
                classes.append(own)
                members.append(kept)
    return replace(table, classes=tuple(classes), members=tuple(members))


def _is_fixed(
    own: Compatibility, main: str, fused: frozenset[str], unfused: frozenset[str]
) -> bool:
    for exchange in own.exchanges:
        if exchange.tensor in unfused and exchange.memory != main:
            return False
        if exchange.tensor in fused and (exchange.memory == main or not exchange.depth):
            return False
    return True


def _holds_nothing_over_loops(
    table: PmappingTable, loops: int, rows: Ints
) -> npt.NDArray[np.bool_]:
    """Return which rows hold tiles of their own under all fused loops only."""
    depth = min(loops, table.above_bits.shape[2] - 1)
    return np.asarray((table.above_bits[rows, :, depth] == 0).all(axis=1))
