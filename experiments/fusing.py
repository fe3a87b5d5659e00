"""Operators that run as one, joined as ``--fuse`` says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from elkhound.experiments.source import ModelFlags, ReadGraph, Source, spill_lines
from elkhound.model.chip import Chip
from elkhound.model.options.fused import Fused, FusedProblem, Join, fused_problem
from elkhound.model.schedule import Contention
from elkhound.model.tile_cost import TileCost

JOINS = ("pareto-join", "exact")


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
    found = fused_problem(
        read.graph,
        chip,
        join_of(flags.fuse or JOINS[0]),
        spills=flags.spill == "auto",
        contention=Contention(flags.contention or Contention.STRETCH),
        max_outstanding=flags.max_outstanding,
        tile_cost=tile_cost,
    )
    moved = replace(read, graph=found.graph, spilled=found.spilled)
    return Source(
        name,
        found.problem,
        chip,
        read.warnings,
        spilled=spill_lines(moved),
        fused=fused_lines(found),
        held=found.held,
        graph=found.graph,
        tile_cost=about_cost,
    )


def fused_lines(found: FusedProblem) -> tuple[str, ...]:
    """Return what was fused: one line for groups of the same members and cycles."""
    alike: dict[tuple[str, int | None, int | None], list[Fused]] = {}
    for step in found.steps:
        if step.group is not None:
            parts = (m.name.rpartition(".")[2] for m in step.group.members)
            key = ("+".join(parts), step.best_cycles, step.members_cycles)
            alike.setdefault(key, []).append(step)
    lines = [
        f"fused {steps[0].name}{_more(len(steps) - 1)}: {best} cycles alone, "
        + (
            "one by one a member fits in no option"
            if apart is None
            else f"{apart} apart"
        )
        for (_, best, apart), steps in alike.items()
    ]
    return tuple(lines) or ("fused nothing: no group is faster than its members",)


def _more(count: int) -> str:
    return f" and {count} like it" if count else ""
