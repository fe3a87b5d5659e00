"""Options of a fused operator, under the names of its members."""

from __future__ import annotations

from dataclasses import dataclass, replace

from elkhound.model.chip import Chip, Hbm
from elkhound.model.errors import BadInputError
from elkhound.model.graph import Graph
from elkhound.model.options.fused.group import Group
from elkhound.model.options.fused.payload import fused_payload
from elkhound.model.options.fused.shape import (
    GroupNames,
    GroupShape,
    canonical_group,
)
from elkhound.model.options.fused.table import Join, Table, group_table, least_cycles
from elkhound.model.options.spill_cost import spill_cycles
from elkhound.model.schedule import ScheduleOption
from elkhound.model.tile_cost import Device, TileCost


@dataclass(frozen=True, slots=True)
class GroupFronts:
    """A group's fronts, and how its members call what they are about.

    Parameters
    ----------
    table : Table
        Execute plans and preload states.
    shape : GroupShape
        What the table is about.
    names : GroupNames
        The way back.
    spill_cycles : int
        What transfers between chip and HBM add to every option.
    """

    table: Table
    shape: GroupShape
    names: GroupNames
    spill_cycles: int

    def best_cycles(self, room: int) -> int | None:
        """Return the least execute cycles in `room` bytes; None if nothing fits."""
        best = self.table.best_cycles(room)
        return None if best is None else best + self.spill_cycles

    @property
    def least_bytes(self) -> int:
        """SRAM of the smallest option; there has to be one."""
        return int(self.table.execute_bytes.min())


def group_fronts(
    graph: Graph,
    group: Group,
    chip: Chip,
    join: Join,
    *,
    use: float = 0.9,
    padding: float = 1.1,
    tile_cost: TileCost | None = None,
    worth_cycles: int | None = None,
) -> GroupFronts | None:
    """Return the fronts of a group that runs as one operator; None if it cannot.

    Parameters
    ----------
    join : Join
        How plans of members are put together.
    use, padding, tile_cost
        As for `operator_options`.
    worth_cycles : int or None
        A group is not looked at further where it cannot be faster than this: then
        None is returned too. None: look at all.

    Raises
    ------
    BadInputError
        On a chip that computes and exchanges at once: members would have to overlap
        each by itself, which the phases of one option cannot say.
    """
    if chip.overlap_exchange:
        raise BadInputError(
            f"has no effect on chip {chip.name}, which overlaps exchange and compute",
            code="no-effect",
            where="--fuse",
        )
    found = canonical_group(graph, group)
    if found is None or not found[0].free:
        return None
    shape, names = found
    cost = Device.of(chip.core) if tile_cost is None else tile_cost
    bare = replace(chip, name="", hbm=Hbm(1, 0, 1))
    question = (shape, bare, cost, join, round(use * 1000), round(padding * 1000))
    spilled = sum(spill_cycles(graph, member, chip) for member in group.members)
    if worth_cycles is not None:
        least = least_cycles(question)
        if least is None or least + spilled >= worth_cycles:
            return None
    table = group_table(question)
    return GroupFronts(table, shape, names, spilled)


def fused_options(
    graph: Graph,
    group: Group,
    chip: Chip,
    join: Join,
    *,
    use: float = 0.9,
    padding: float = 1.1,
    tile_cost: TileCost | None = None,
) -> tuple[ScheduleOption, ...]:
    """Return the options of a group that runs as one operator; empty if it has none.

    Only options that fit the usable SRAM are there. Ordered as those of an operator;
    parameters and refusals are those of `group_fronts`.
    """
    fronts = group_fronts(
        graph, group, chip, join, use=use, padding=padding, tile_cost=tile_cost
    )
    return () if fronts is None else _named(fronts, group, chip)


def _named(fronts: GroupFronts, group: Group, chip: Chip) -> tuple[ScheduleOption, ...]:
    """Return the table's options under the operators' names and the chip's HBM."""
    table, shape = fronts.table, fronts.shape
    hbm = chip.hbm_cycles(sum(member.hbm_bytes for member in shape.members))
    options = []
    for plan, (states, size) in enumerate(
        zip(table.states, table.execute_bytes.tolist(), strict=True)
    ):
        compute = sum(int(m.compute_cycles[plan]) for m in table.members)
        exchange = sum(int(m.exchange_cycles[plan]) for m in table.members)
        for state in range(len(states.shares)):
            preload_bytes = int(states.preload_bytes[state])
            distribute = int(states.distribute_cycles[state]) + fronts.spill_cycles
            inbound = chip.inbound_cycles(preload_bytes)
            options.append(
                ScheduleOption(
                    execute_plan=plan,
                    execute_bytes=size,
                    preload_bytes=preload_bytes,
                    preload_cycles=max(hbm, inbound),
                    preload_link_cycles=inbound,
                    execute_cycles=distribute + compute + exchange,
                    execute_link_cycles=distribute + exchange,
                    distribute_cycles=distribute,
                    compute_cycles=compute,
                    exchange_cycles=exchange,
                    payload=fused_payload(
                        shape,
                        fronts.names,
                        group,
                        table.rows,
                        table.members,
                        plan,
                        states.shares[state].tolist(),
                    ),
                )
            )
    return tuple(options)
