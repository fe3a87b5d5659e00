"""Which groups of a graph are fused: those that are faster than their members."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from elkhound.model.chip import Chip
from elkhound.model.graph import Graph
from elkhound.model.lifetimes import held_tensors
from elkhound.model.options.fused.group import Group, possible_groups
from elkhound.model.options.fused.options import group_fronts
from elkhound.model.options.fused.table import Join
from elkhound.model.options.search import operator_options
from elkhound.model.placement import Buffer
from elkhound.model.schedule import ScheduleOption
from elkhound.model.tile_cost import TileCost


@dataclass(frozen=True, slots=True)
class Fused:
    """One step of a graph whose groups are fused.

    Parameters
    ----------
    name : str
        The operator's, or the group's.
    first, last : int
        The operators it runs, by index.
    least_bytes : int
        SRAM of its smallest option.
    best_cycles : int or None
        Its fastest option that fits; None if none does.
    members_cycles : int or None
        The same of its members one by one, added up.
    group : Group or None
        None for one operator.
    members : tuple of Fused
        The group's operators as steps of their own; empty for one operator.
    """

    name: str
    first: int
    last: int
    least_bytes: int
    best_cycles: int | None
    members_cycles: int | None
    group: Group | None = None
    members: tuple[Fused, ...] = ()


def fuse(
    graph: Graph,
    chip: Chip,
    join: Join,
    *,
    spills: bool = False,
    use: float = 0.9,
    padding: float = 1.1,
    tile_cost: TileCost | None = None,
) -> tuple[Fused, ...]:
    """Return the graph's steps, groups among them where that is faster.

    Of all ways to cut the graph into operators and groups, the one in which the
    fewest steps fit in no option, and then the fastest options of the steps add up to
    the least; of equals the one with fewer operators in groups.

    Parameters
    ----------
    join : Join
        How members' plans are put together.
    spills : bool
        Whether activations that are held beside a step may still move out, so that
        only what the step itself takes counts.
    use, padding, tile_cost
        As for `operator_options`.
    """
    search = {"use": use, "padding": padding, "tile_cost": tile_cost}
    held = () if spills else held_tensors(graph, chip.cores)
    room = chip.core.usable_bytes
    singles = []
    for step, operator in enumerate(graph.operators):
        options = operator_options(graph, operator, chip, **search)  # type: ignore[arg-type]
        best = _best(options, room - _beside(held, step, step))
        least = min(option.own_bytes for option in options)
        singles.append(Fused(operator.name, step, step, least, best, best))
    ending: list[list[Fused]] = [[single] for single in singles]
    for group in possible_groups(graph):
        last = group.first + len(group.members) - 1
        alone = [single.best_cycles for single in singles[group.first : last + 1]]
        whole = None if None in alone else sum(c for c in alone if c is not None)
        fronts = group_fronts(
            graph,
            group,
            chip,
            join,
            worth_cycles=whole,
            **search,  # type: ignore[arg-type]
        )
        if fronts is None:
            continue
        best = fronts.best_cycles(room - _beside(held, group.first, last))
        if best is not None:
            ending[last].append(
                Fused(
                    group.name,
                    group.first,
                    last,
                    fronts.least_bytes,
                    best,
                    whole,
                    group,
                    tuple(singles[group.first : last + 1]),
                )
            )
    return _cheapest(ending)


def held_beside(graph: Graph, cores: int, steps: Sequence[Fused]) -> tuple[Buffer, ...]:
    """Return one buffer per activation held past its neighbouring steps.

    A tensor that one step writes and another reads is held strictly between them; what
    stays inside a step is in none.
    """
    step_of = [
        k for k, step in enumerate(steps) for _ in range(step.first, step.last + 1)
    ]
    buffers = []
    for buffer in held_tensors(graph, cores):
        start = 0 if buffer.start_step == 0 else step_of[buffer.start_step - 1] + 1
        end = step_of[buffer.end_step]
        if start < end:
            buffers.append(Buffer(buffer.name, start, end, buffer.size_bytes))
    return tuple(buffers)


def _beside(held: Sequence[Buffer], first: int, last: int) -> int:
    """Return the bytes of what is held from before `first` until after `last`."""
    return sum(
        b.size_bytes for b in held if b.start_step <= first and last < b.end_step
    )


def _best(options: Sequence[ScheduleOption], room: int) -> int | None:
    return min((o.execute_cycles for o in options if o.own_bytes <= room), default=None)


def _cheapest(ending: list[list[Fused]]) -> tuple[Fused, ...]:
    """Return the cut of least (misfits, cycles, fused operators), a shortest path."""
    best: list[tuple[tuple[int, int, int], tuple[Fused, ...]]] = [((0, 0, 0), ())]
    for steps in ending:
        reached = []
        for step in steps:
            (misfits, cycles, fused), before = best[step.first]
            cost = (
                misfits + (step.best_cycles is None),
                cycles + (step.best_cycles or 0),
                fused + step.last - step.first,
            )
            reached.append((cost, (*before, step)))
        best.append(min(reached, key=lambda found: found[0]))
    return best[-1][1]
