"""From a graph and a chip to the schedule problem."""

from __future__ import annotations

from elkhound.model.chip import Chip
from elkhound.model.errors import BadInputError, InfeasibleError
from elkhound.model.graph import Graph
from elkhound.model.io.fields import LARGEST, LONGEST_NAME
from elkhound.model.options.search import operator_options
from elkhound.model.schedule import (
    Contention,
    ScheduleOperator,
    ScheduleOption,
    ScheduleProblem,
)
from elkhound.model.tile_cost import TileCost
from elkhound.model.units import ceil_div, in_kib

MOST_LISTED = 8  # operators in one message


def schedule_problem(
    graph: Graph,
    chip: Chip,
    *,
    contention: Contention = Contention.STRETCH,
    max_outstanding: int | None = None,
    use: float = 0.9,
    padding: float = 1.1,
    tile_cost: TileCost | None = None,
) -> ScheduleProblem:
    """Return the schedule problem of a graph on a chip.

    Options that no plan can use, because beside the resident activations they exceed
    the SRAM alone, are left out.

    Parameters
    ----------
    contention, max_outstanding
        Passed to the problem.
    use, padding, tile_cost
        Passed to the partition search.

    Raises
    ------
    InfeasibleError
        If an operator has no option that fits; it names the operator that needs most.
    """
    resident = graph.held_bytes(chip.cores)
    options = [
        operator_options(
            graph,
            operator,
            chip,
            use=use,
            padding=padding,
            tile_cost=tile_cost,
        )
        for operator in graph.operators
    ]
    available = chip.core.usable_bytes
    _require_room(graph, options, resident, available)
    _require_countable(graph, chip, options)
    return ScheduleProblem(
        sram_bytes=available,
        operators=tuple(
            ScheduleOperator(
                name=operator.name,
                options=tuple(o for o in choices if o.own_bytes + held <= available),
                resident_bytes=held,
                layer=operator.layer,
            )
            for operator, choices, held in zip(
                graph.operators, options, resident, strict=True
            )
        ),
        contention=contention,
        link_stretch_permille=chip.link_stretch_permille,
        max_outstanding=max_outstanding,
        name=f"{graph.name} on {chip.name}"[:LONGEST_NAME],
    )


def _require_room(
    graph: Graph,
    options: list[tuple[ScheduleOption, ...]],
    resident: tuple[int, ...],
    available: int,
) -> None:
    """Refuse a model with max_i (min_o own_bytes + r_i) above the usable SRAM.

    That maximum is also enough: with every preload gated at its own execute nothing
    else is in SRAM.
    """
    least = [
        min(option.own_bytes for option in choices) + held
        for choices, held in zip(options, resident, strict=True)
    ]
    needed = max(least)
    if needed <= available:
        return
    worst = least.index(needed)
    raise InfeasibleError(
        f"the smallest option needs {needed} bytes per core, {resident[worst]} of "
        f"them activations held for later operators; "
        f"{available}{in_kib(available)} are usable; "
        f"{_shortages(graph, least, available)}",
        code="sram-too-small",
        where=f"operator {graph.operators[worst].name}",
        hint=f"the smallest usable SRAM that works is {needed} bytes, "
        f"{ceil_div(needed, 1024)} KiB per core",
        needed_bytes=needed,
        available_bytes=available,
        smallest_capacity_bytes=needed,
    )


def _require_countable(
    graph: Graph, chip: Chip, options: list[tuple[ScheduleOption, ...]]
) -> None:
    """Refuse cycles that no file holds, before anything is planned with them."""
    for operator, choices in zip(graph.operators, options, strict=True):
        longest = max(max(o.preload_cycles, o.execute_cycles) for o in choices)
        if longest > LARGEST:
            raise BadInputError(
                f"an option takes {longest} cycles of chip {chip.name}, must be at "
                "most 10^15: a rate of the chip is too low, or its clock too fast",
                code="too-many-cycles",
                where=f"operator {operator.name}",
            )


def _shortages(graph: Graph, least: list[int], available: int) -> str:
    """Return how many operators fit, and the shortage of each that does not."""
    short = {
        operator.name: needed - available
        for operator, needed in zip(graph.operators, least, strict=True)
        if needed > available
    }
    listed = [f"{name} by {ceil_div(size, 1024)} KiB" for name, size in short.items()]
    more = f" and {len(listed) - MOST_LISTED} more" if len(listed) > MOST_LISTED else ""
    return (
        f"{len(least) - len(short)} of {len(least)} operators fit, short are "
        f"{', '.join(listed[:MOST_LISTED])}{more}"
    )
