"""Operators that run as one, joined as ``--fuse`` says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from elkhound.experiments.fused_groups import FusedGroup, Fusion
from elkhound.experiments.methods import SCHEDULE, variants
from elkhound.experiments.source import ModelFlags, ReadGraph, Source, spill_lines
from elkhound.model.chip import Chip
from elkhound.model.errors import InfeasibleError
from elkhound.model.limits import Limits
from elkhound.model.options.fused import (
    Fused,
    FusedProblem,
    Join,
    fused_problem,
    fused_steps,
)
from elkhound.model.schedule import Contention, ScheduleOption, ScheduleProblem
from elkhound.model.tile_cost import TileCost

JOINS = ("pareto-join", "exact")
PLANNERS = ("static", "elk-dyn")


def join_of(name: str) -> Join:
    """Return the way to put members' plans together that has a name of `JOINS`."""
    if name == "exact":
        from elkhound.solvers.fusion.group_product import Product

        return Product()
    from elkhound.heuristics.fusion.group_join import ParetoJoin

    return ParetoJoin()


def fused_source(
    name: str,
    read: ReadGraph,
    flags: ModelFlags,
    chip: Chip,
    tile_cost: TileCost,
    about_cost: dict[str, Any],
) -> Source:
    """Return the schedule problem of a graph on a chip, groups of operators fused."""
    known: dict[object, tuple[ScheduleOption, ...]] = {}
    join, spills = join_of(flags.fuse or JOINS[0]), flags.spill == "auto"

    def problem_of(steps: tuple[Fused, ...]) -> FusedProblem:
        return fused_problem(
            read.graph,
            chip,
            join,
            steps,
            spills=spills,
            contention=Contention(flags.contention or Contention.STRETCH),
            max_outstanding=flags.max_outstanding,
            tile_cost=tile_cost,
            known=known,
        )

    steps = fused_steps(read.graph, chip, join, spills=spills, tile_cost=tile_cost)
    found, tried = _parted_where_plans_gain(problem_of, steps)
    parted = [trial.line for trial in tried if not trial.adopted]
    moved = replace(read, graph=found.graph, spilled=found.spilled)
    return Source(
        name,
        found.problem,
        chip,
        read.warnings,
        spilled=spill_lines(moved),
        fused=(*fused_lines(found.steps), *parted),
        groups=_groups(steps, tried),
        held=found.held,
        graph=found.graph,
        tile_cost=about_cost,
    )


@dataclass(frozen=True, slots=True)
class _Trial:
    """A kind of group, and the best plans with all of that kind fused, and parted."""

    groups: list[Fused]
    fused: int | None
    parted: int | None
    adopted: bool

    @property
    def line(self) -> str:
        """Why they are not fused."""
        fused = "none" if self.fused is None else f"{self.fused} cycles"
        return (
            f"not fused {_named(self.groups)}: planned {self.parted} cycles, "
            f"{fused} if fused"
        )


def _parted_where_plans_gain(
    problem_of: Callable[[tuple[Fused, ...]], FusedProblem], steps: tuple[Fused, ...]
) -> tuple[FusedProblem, list[_Trial]]:
    """Return the problem with those groups fused that shorten a plan, and all trials.

    A group waits for what all its members stream, and holds all of it. So every kind
    of group is parted once, and stays parted unless the best plan of `PLANNERS` is
    longer then. Groups that are needed, because a member fits in no option, stay.
    """
    found, tried = problem_of(steps), []
    best = _planned(found.problem)
    for kind, groups in _kinds(steps).items():
        if kind[-1] is None:
            continue
        try:
            other = problem_of(_parted(found.steps, groups))
        except InfeasibleError:
            tried.append(_Trial(groups, best, None, adopted=True))
            continue
        value = _planned(other.problem)
        gains = value is not None and (best is None or value <= best)
        tried.append(_Trial(groups, best, value, adopted=not gains))
        if gains:
            found, best = other, value
    return found, tried


def _groups(steps: tuple[Fused, ...], tried: list[_Trial]) -> Fusion:
    """Return every group that was tried, in execution order."""
    trial_of = {group.name: trial for trial in tried for group in trial.groups}
    return tuple(
        FusedGroup(
            step.name,
            tuple(member.name for member in step.group.members),
            step.best_cycles,
            step.members_cycles,
            trial_of[step.name].adopted,
            trial_of[step.name].fused,
            trial_of[step.name].parted,
        )
        for step in steps
        if step.group is not None
    )


def _planned(problem: ScheduleProblem) -> int | None:
    """Return the length of the best plan of the heuristics, None if there is none."""
    lengths = []
    for chosen in variants(PLANNERS, SCHEDULE):
        result = chosen.build().solve(problem, Limits())
        if result.objective is not None:
            lengths.append(int(result.objective))
    return min(lengths, default=None)


def _parted(steps: tuple[Fused, ...], groups: list[Fused]) -> tuple[Fused, ...]:
    names = {group.name for group in groups}
    return tuple(
        part
        for step in steps
        for part in (step.members if step.name in names else (step,))
    )


Kind = tuple[str, int | None, int | None]
"""Members, cycles as one, cycles apart."""


def _kinds(steps: tuple[Fused, ...]) -> dict[Kind, list[Fused]]:
    """Return the groups, those of the same members and cycles together."""
    alike: dict[Kind, list[Fused]] = {}
    for step in steps:
        if step.group is not None:
            parts = (m.name.rpartition(".")[2] for m in step.group.members)
            key = ("+".join(parts), step.best_cycles, step.members_cycles)
            alike.setdefault(key, []).append(step)
    return alike


def fused_lines(steps: tuple[Fused, ...]) -> tuple[str, ...]:
    """Return what was fused: one line for groups of the same members and cycles."""
    lines = [
        f"fused {_named(groups)}: {best} cycles alone, "
        + (
            "one by one a member fits in no option"
            if apart is None
            else f"{apart} apart"
        )
        for (_, best, apart), groups in _kinds(steps).items()
    ]
    return tuple(lines) or ("fused nothing",)


def _named(groups: list[Fused]) -> str:
    more = f" and {len(groups) - 1} like it" if len(groups) > 1 else ""
    return f"{groups[0].name}{more}"
