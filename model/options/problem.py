"""From a graph and a chip to the schedule problem."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
    steps = [
        Step(
            operator.name,
            operator_options(
                graph,
                operator,
                chip,
                use=use,
                padding=padding,
                tile_cost=tile_cost,
            ),
            held,
            operator.layer,
        )
        for operator, held in zip(
            graph.operators, graph.held_bytes(chip.cores), strict=True
        )
    ]
    return problem_of(
        graph.name, steps, chip, contention=contention, max_outstanding=max_outstanding
    )


@dataclass(frozen=True, slots=True)
class Step:
    """An operator of the schedule problem before options that never fit are left out.

    Parameters
    ----------
    name : str
        Unique in the problem.
    options : tuple of ScheduleOption
        At least one.
    resident_bytes : int
        r_i.
    layer : int or None
        Index of the repeated layer.
    """

    name: str
    options: tuple[ScheduleOption, ...]
    resident_bytes: int
    layer: int | None

    @property
    def least_bytes(self) -> int:
        """SRAM per core without which it cannot run."""
        return min(option.own_bytes for option in self.options) + self.resident_bytes


def problem_of(
    name: str,
    steps: Sequence[Step],
    chip: Chip,
    *,
    contention: Contention,
    max_outstanding: int | None,
) -> ScheduleProblem:
    """Return the schedule problem of steps whose options are known.

    Raises
    ------
    InfeasibleError
        If a step has no option that fits; it names the one that needs most.
    """
    available = chip.core.usable_bytes
    _require_room(steps, available)
    _require_countable(steps, chip)
    return ScheduleProblem(
        sram_bytes=available,
        operators=tuple(
            ScheduleOperator(
                name=step.name,
                options=tuple(
                    o
                    for o in step.options
                    if o.own_bytes + step.resident_bytes <= available
                ),
                resident_bytes=step.resident_bytes,
                layer=step.layer,
            )
            for step in steps
        ),
        contention=contention,
        link_stretch_permille=chip.link_stretch_permille,
        max_outstanding=max_outstanding,
        name=f"{name} on {chip.name}"[:LONGEST_NAME],
    )


def _require_room(steps: Sequence[Step], available: int) -> None:
    """Refuse a model with max_i (min_o own_bytes + r_i) above the usable SRAM.

    That maximum is also enough: with every preload gated at its own execute nothing
    else is in SRAM.
    """
    worst = max(steps, key=lambda step: step.least_bytes)
    needed = worst.least_bytes
    if needed <= available:
        return
    raise InfeasibleError(
        f"the smallest option needs {needed} bytes per core, {worst.resident_bytes} of "
        f"them activations held for later operators; "
        f"{available}{in_kib(available)} are usable; "
        f"{_shortages(steps, available)}",
        code="sram-too-small",
        where=f"operator {worst.name}",
        hint=f"the smallest usable SRAM that works is {needed} bytes, "
        f"{ceil_div(needed, 1024)} KiB per core",
        needed_bytes=needed,
        available_bytes=available,
        smallest_capacity_bytes=needed,
    )


def _require_countable(steps: Sequence[Step], chip: Chip) -> None:
    """Refuse cycles that no file holds, before anything is planned with them."""
    for step in steps:
        longest = max(max(o.preload_cycles, o.execute_cycles) for o in step.options)
        if longest > LARGEST:
            raise BadInputError(
                f"an option takes {longest} cycles of chip {chip.name}, must be at "
                "most 10^15: a rate of the chip is too low, or its clock too fast",
                code="too-many-cycles",
                where=f"operator {step.name}",
            )


def _shortages(steps: Sequence[Step], available: int) -> str:
    """Return how many operators fit, and the shortage of each that does not."""
    short = {
        step.name: step.least_bytes - available
        for step in steps
        if step.least_bytes > available
    }
    listed = [f"{name} by {ceil_div(size, 1024)} KiB" for name, size in short.items()]
    more = f" and {len(listed) - MOST_LISTED} more" if len(listed) > MOST_LISTED else ""
    return (
        f"{len(steps) - len(short)} of {len(steps)} operators fit, short are "
        f"{', '.join(listed[:MOST_LISTED])}{more}"
    )
