"""Fused mappings in a comparison: judged, kept as text, fronts held to each other."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from elkhound.experiments import fusion_methods
from elkhound.experiments.kind import Judgement, Kind
from elkhound.model.chip import Chip
from elkhound.model.errors import BadInputError
from elkhound.model.fusion.mapspace import Objective
from elkhound.model.fusion.problem import FusionPlan, FusionProblem, FusionResult
from elkhound.model.placement import Addresses
from elkhound.model.result import Bound, OrderClass, Status

TOLERANCE = 1e-9  # relative; methods and referee add floats in different orders
FRONT_TOLERANCE = 1e-6  # points of a front that are nearer count as one


class FusionKind(Kind[FusionProblem, FusionPlan]):
    """Fused mappings: a LoopTree for the whole workload."""

    name = "fusion"
    registry = fusion_methods.FUSION
    default_methods = fusion_methods.FUSION_DEFAULTS
    plan_suffix = ".txt"

    def require_feasible(self, problem: FusionProblem) -> None:
        """Refuse an objective that is 0 for every mapping.

        Whether a mapping exists is left to the methods: all partial mappings have to
        be tried.
        """
        accelerator, objective = problem.accelerator, problem.objective
        if objective is not Objective.LATENCY and not accelerator.has_energy:
            raise _unmeasured(problem, "energy per action (all are 0)", "latency")
        if objective is not Objective.ENERGY and not accelerator.has_rate:
            raise _unmeasured(problem, "rate (all are unlimited)", "energy")

    def judge(self, problem: FusionProblem, plan: FusionPlan) -> Judgement:
        """Judge legality, capacity, energy and latency of a mapping."""
        from elkhound.model.referee import judge_fusion

        verdict = judge_fusion(problem.accelerator, problem.workload, plan.tree)
        violations = verdict.violations
        objective = None
        if verdict.energy is not None and verdict.latency is not None:
            mine = FusionPlan(plan.tree, verdict.energy, verdict.latency)
            violations = tuple(_differences(plan, mine))
            objective = None if violations else mine.value(problem.objective)

        def belongs_to(order: OrderClass | None) -> bool:
            return True

        return Judgement(objective, violations, belongs_to, tolerance=TOLERANCE)

    def judge_result(self, problem: FusionProblem, result: Any) -> Judgement:
        """Judge every mapping of a front, and its plan."""
        judgement = self.judge(problem, result.plan)
        lines = dict.fromkeys(judgement.violations)
        for number, point in enumerate(result.front):
            for line in self.judge(problem, point).violations:
                lines.setdefault(f"point {number}: {line}")
        if len(lines) == len(judgement.violations):
            return judgement
        return Judgement(None, tuple(lines), judgement.belongs_to, tolerance=TOLERANCE)

    def program(
        self, problem: FusionProblem, plan: FusionPlan, chip: Chip | None
    ) -> None:
        """Return None: a mapping is no program of a chip."""
        return

    def simulated_latency(self, problem: FusionProblem, plan: FusionPlan) -> float:
        """Run the mapping on the simulated accelerator, in the accelerator's unit."""
        from elkhound.simpy_chip.fused import simulate_mapping

        return simulate_mapping(
            problem.accelerator, problem.workload, plan.tree
        ).latency

    def bounds(self, problem: FusionProblem) -> tuple[Bound, ...]:
        """Return none: every bound needs the partial mappings."""
        return ()

    def write_plan(
        self,
        path: Path,
        problem: FusionProblem,
        plan: FusionPlan,
        chip: Chip | None,
        addresses: Addresses | None = None,
    ) -> None:
        """Write the mapping as text, which `evaluate --mapping` reads back."""
        from elkhound.model.fusion import mapping_text
        from elkhound.model.io.text import write_text

        write_text(path, mapping_text(plan.tree))

    def contention(self, problem: FusionProblem) -> str | None:
        """Return None: nothing contends in the reference rules."""
        return None

    def columns(self, problem: FusionProblem, result: Any) -> dict[str, Any]:
        """Return costs, mapping and what it was chosen from."""
        from elkhound.model.fusion import mapping_text

        plan = result.plan
        about: dict[str, Any] = {"pmappings": result.statistics.get("pmappings")}
        if plan is None:
            return about
        return about | {
            "energy": plan.energy,
            "latency": plan.latency,
            "edp": plan.edp,
            "pareto_points": tuple(
                {"energy": point.energy, "latency": point.latency}
                for point in result.front or (plan,)
            ),
            "mapping": mapping_text(plan.tree),
        }

    def exports(self, problem: FusionProblem, result: Any) -> dict[str, str]:
        """Return the mapping as YAML and as a NumPy loop nest; a front's as text."""
        from elkhound.model.fusion import mapping_text
        from elkhound.model.fusion.numpy_nest import numpy_nest
        from elkhound.model.io import mapping_document
        from elkhound.model.io.text import as_text

        tree = result.plan.tree
        points = {
            f"-point-{number}.txt": mapping_text(point.tree)
            for number, point in enumerate(result.front)
        }
        return points | {
            ".yaml": as_text(mapping_document(tree)),
            ".py": numpy_nest(problem.workload, tree),
        }

    def contradictions(self, outcomes: Sequence[Any]) -> tuple[str, ...]:
        """Return verified mappings that a proved front of another method lacks."""
        return tuple(_missing_points(outcomes))


def _unmeasured(problem: FusionProblem, lacks: str, other: str) -> BadInputError:
    return BadInputError(
        f"has no {lacks}, which objective {problem.objective} needs",
        code="no-effect",
        where=f"accelerator {problem.accelerator.name}",
        hint=f"--objective {other} of elkhound fuse needs none",
    )


def _differences(said: FusionPlan, found: FusionPlan) -> Iterator[str]:
    for name in ("energy", "latency"):
        mine, other = getattr(said, name), getattr(found, name)
        if not math.isclose(mine, other, rel_tol=TOLERANCE):
            yield f"{name} is said to be {mine!r}, the referee computes {other!r}"


def _missing_points(outcomes: Sequence[Any]) -> Iterator[str]:
    for outcome in outcomes:
        result = outcome.result
        if not isinstance(result, FusionResult) or result.status is not Status.OPTIMAL:
            continue
        for other in outcomes if result.front else ():
            if other is outcome or not other.verified:
                continue
            for point in other.result.front or (other.plan,):
                if not any(_covers(mine, point) for mine in result.front):
                    yield (
                        f"{outcome.method}: says its front is complete, {other.method} "
                        f"has a verified mapping beyond it (energy {point.energy!r}, "
                        f"latency {point.latency!r})"
                    )


def _covers(mine: FusionPlan, other: FusionPlan) -> bool:
    """Whether a mapping costs no more, in energy and in latency."""
    most = 1 + FRONT_TOLERANCE
    return mine.energy <= other.energy * most and mine.latency <= other.latency * most
