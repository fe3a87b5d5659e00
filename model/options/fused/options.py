"""Options of a fused operator: plans joined, then their preload states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol

import numpy as np

from elkhound.model.chip import Chip, Hbm
from elkhound.model.errors import BadInputError
from elkhound.model.graph import Graph
from elkhound.model.options.front import first_of_equal
from elkhound.model.options.fused.group import Group
from elkhound.model.options.fused.payload import fused_payload
from elkhound.model.options.fused.plans import MemberPlans, member_plans
from elkhound.model.options.fused.rows import Rows, rows_of
from elkhound.model.options.fused.shape import (
    GroupNames,
    GroupShape,
    canonical_group,
)
from elkhound.model.options.preload_state import PreloadStates, preload_states
from elkhound.model.options.search import useful_ties
from elkhound.model.options.spill_cost import spill_cycles
from elkhound.model.schedule import ScheduleOption
from elkhound.model.tile_cost import Device, TileCost
from elkhound.model.tile_cost.tile import Integers

TABLES_KEPT = 1024


class Join(Protocol):
    """Puts members' plans together; hashable, as answers are kept under it."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    def keep(self, plans: MemberPlans) -> Integers:
        """Return which plans of a member can matter, of all plans of some rows."""
        ...

    def combine(self, members: Sequence[MemberPlans], capacity_bytes: int) -> Integers:
        """Return the combinations on the front, a column of plan indices per member.

        Over (Σ held + max peak, Σ compute + Σ exchange, Σ exchange), of all
        combinations of one plan per member in the same row whose first objective is
        at most `capacity_bytes`. Of combinations equal in all three one is enough.
        """
        ...

    def __hash__(self) -> int:
        """Tell joins apart."""
        ...


@dataclass(frozen=True, slots=True)
class Table:
    """A group's fronts, free of names and of HBM.

    Parameters
    ----------
    rows : Rows
        Tiles, one row per execute plan.
    members : tuple of MemberPlans
        By member, one plan per execute plan.
    states : tuple of PreloadStates
        By execute plan.
    """

    rows: Rows
    members: tuple[MemberPlans, ...]
    states: tuple[PreloadStates, ...]

    @property
    def execute_bytes(self) -> Integers:
        """By execute plan: what waits or stays, and the most that lies beside it."""
        held = sum(member.held_bytes for member in self.members)
        peak = np.maximum.reduce([member.peak_bytes for member in self.members])
        return np.asarray(held + peak, dtype=np.int64)


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

    Only options that fit the usable SRAM are there. Ordered as those of an operator.

    Parameters
    ----------
    join : Join
        How plans of members are put together.
    use, padding, tile_cost
        As for `operator_options`.

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
        return ()
    shape, names = found
    cost = Device.of(chip.core) if tile_cost is None else tile_cost
    bare = replace(chip, name="", hbm=Hbm(1, 0, 1))
    table = _table(shape, bare, cost, join, round(use * 1000), round(padding * 1000))
    spilled = sum(spill_cycles(graph, member, chip) for member in group.members)
    return _named(table, shape, names, group, chip, spilled)


@lru_cache(maxsize=TABLES_KEPT)
def _table(
    shape: GroupShape,
    chip: Chip,
    cost: TileCost,
    join: Join,
    use_permille: int,
    padding_permille: int,
) -> Table:
    rows = rows_of(shape, chip.cores, use_permille, padding_permille)
    plans = []
    for member in range(len(shape.members)):
        plans.append(member_plans(shape, member, chip, cost, rows, join.keep))
    chosen = join.combine(plans, chip.core.usable_bytes)
    members = tuple(p.take(chosen[:, k]) for k, p in enumerate(plans))
    table = Table(rows.take(members[0].row), members, ())
    return _with_states(table, chip)


def _with_states(table: Table, chip: Chip) -> Table:
    """Return the table in order, with the preload states of every plan.

    Of plans equal in all objectives those stay that own a point of their common front
    of preload states.
    """
    compute = sum(member.compute_cycles for member in table.members)
    exchange = np.asarray(sum(member.exchange_cycles for member in table.members))
    objectives = np.column_stack([table.execute_bytes, compute + exchange, exchange])
    streamed = np.column_stack([member.streamed for member in table.members])
    used = table.rows.cores_used
    order = first_of_equal(np.column_stack([objectives, used, streamed]))
    states = [
        preload_states(chip, tuple(row[::2]), tuple(row[1::2]), int(used[plan]))
        for plan, row in zip(order, streamed[order].tolist(), strict=True)
    ]
    kept = useful_ties(objectives[order], states) if len(order) else order
    order = order[kept]
    return Table(
        table.rows.take(order),
        tuple(member.take(order) for member in table.members),
        tuple(states[k] for k in kept),
    )


def _named(
    table: Table,
    shape: GroupShape,
    names: GroupNames,
    group: Group,
    chip: Chip,
    spilled: int,
) -> tuple[ScheduleOption, ...]:
    """Return the table's options under the operators' names and the chip's HBM."""
    hbm = chip.hbm_cycles(sum(member.hbm_bytes for member in shape.members))
    options = []
    for plan, (states, size) in enumerate(
        zip(table.states, table.execute_bytes.tolist(), strict=True)
    ):
        compute = sum(int(m.compute_cycles[plan]) for m in table.members)
        exchange = sum(int(m.exchange_cycles[plan]) for m in table.members)
        for state in range(len(states.shares)):
            preload_bytes = int(states.preload_bytes[state])
            distribute = int(states.distribute_cycles[state]) + spilled
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
                        names,
                        group,
                        table.rows,
                        table.members,
                        plan,
                        states.shares[state].tolist(),
                    ),
                )
            )
    return tuple(options)
