"""From a graph whose groups are fused to the schedule problem."""

from __future__ import annotations

from dataclasses import dataclass

from elkhound.model.chip import Chip
from elkhound.model.graph import Graph
from elkhound.model.options.fused.options import fused_options
from elkhound.model.options.fused.partition import Fused, fuse, held_beside
from elkhound.model.options.fused.table import Join
from elkhound.model.options.problem import Step, problem_of
from elkhound.model.options.search import operator_options
from elkhound.model.options.spill import Spilled, spill_beside
from elkhound.model.placement import Buffer
from elkhound.model.schedule import Contention, ScheduleOption, ScheduleProblem
from elkhound.model.tile_cost import TileCost


@dataclass(frozen=True, slots=True)
class FusedProblem:
    """A schedule problem some of whose operators are groups.

    Parameters
    ----------
    problem : ScheduleProblem
        An operator per step.
    steps : tuple of Fused
        What each operator of the problem runs.
    held : tuple of Buffer
        The activations behind its resident bytes.
    graph : Graph
        The operators, with tensors where they ended up.
    spilled : tuple of Spilled
        What moved out to HBM.
    """

    problem: ScheduleProblem
    steps: tuple[Fused, ...]
    held: tuple[Buffer, ...]
    graph: Graph
    spilled: tuple[Spilled, ...] = ()


def fused_steps(
    graph: Graph,
    chip: Chip,
    join: Join,
    *,
    spills: bool = False,
    tile_cost: TileCost | None = None,
) -> tuple[Fused, ...]:
    """Return the graph's steps: operators, and the groups that are faster as one.

    Parameters
    ----------
    spills : bool
        Whether activations may move out to HBM. Steps are chosen beside all that is
        held first; only where one of them then fits in no option, as if nothing were.
    """
    steps = fuse(graph, chip, join, tile_cost=tile_cost)
    if spills and any(step.best_cycles is None for step in steps):
        return fuse(graph, chip, join, spills=True, tile_cost=tile_cost)
    return steps


def fused_problem(
    graph: Graph,
    chip: Chip,
    join: Join,
    steps: tuple[Fused, ...],
    *,
    spills: bool = False,
    contention: Contention = Contention.STRETCH,
    max_outstanding: int | None = None,
    tile_cost: TileCost | None = None,
    known: dict[object, tuple[ScheduleOption, ...]] | None = None,
) -> FusedProblem:
    """Return the schedule problem of a graph's steps.

    Parameters
    ----------
    join : Join
        How members' plans are put together.
    steps : tuple of Fused
        As `fused_steps` gives them; groups may have been parted again.
    spills : bool
        Whether activations held past a step move out to HBM until every step fits.
        What stays inside a group never needs to.
    contention, max_outstanding, tile_cost
        As for `schedule_problem`.
    known : dict or None
        Options of steps met before, of the same graph, chip and join; grows. None:
        none are known.

    Raises
    ------
    InfeasibleError
        If a step has no option that fits.
    """
    known = {} if known is None else known
    held = held_beside(graph, chip.cores, steps)
    moved: tuple[Spilled, ...] = ()
    if spills:
        needed = [step.least_bytes for step in steps]
        graph, moved = spill_beside(graph, chip, needed, held)
        held = held_beside(graph, chip.cores, steps)
    resident = [
        sum(b.size_bytes for b in held if b.start_step <= k < b.end_step)
        for k in range(len(steps))
    ]
    away = tuple(tensor.tensor for tensor in moved)
    for step in steps:
        place = (step.first, step.last, away)
        if place not in known:
            known[place] = _options(graph, chip, join, tile_cost, step)
    problem = problem_of(
        graph.name,
        [
            Step(
                step.name,
                known[step.first, step.last, away],
                beside,
                graph.operators[step.first].layer,
            )
            for step, beside in zip(steps, resident, strict=True)
        ],
        chip,
        contention=contention,
        max_outstanding=max_outstanding,
    )
    return FusedProblem(problem, steps, held, graph, moved)


def _options(
    graph: Graph, chip: Chip, join: Join, tile_cost: TileCost | None, step: Fused
) -> tuple[ScheduleOption, ...]:
    """Return a step's options, transfers of what moved out included."""
    if step.group is not None:
        return fused_options(graph, step.group, chip, join, tile_cost=tile_cost)
    operator = graph.operators[step.first]
    return operator_options(graph, operator, chip, tile_cost=tile_cost)
