"""The fronts of a group's canonical shape: plans joined, then their preload states."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Protocol

import numpy as np

from elkhound.model.chip import Chip
from elkhound.model.io.array_cache import load_arrays, store_arrays
from elkhound.model.options.front import first_of_equal
from elkhound.model.options.fused.plans import (
    MemberPlans,
    live_bytes,
    member_plans,
    stored_bytes,
)
from elkhound.model.options.fused.rows import Rows, rows_of
from elkhound.model.options.fused.shape import GroupShape
from elkhound.model.options.preload_state import PreloadStates, preload_states
from elkhound.model.options.search import useful_ties
from elkhound.model.tile_cost import TileCost
from elkhound.model.tile_cost.tile import Integers

TABLES_KEPT = 1024
KEPT_IN = "fused"


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
    """A group's fronts, free of names and of HBM; all but `states` by execute plan.

    Parameters
    ----------
    rows : Rows
        Tiles.
    members : tuple of MemberPlans
        By member, its plan in each.
    states : tuple of PreloadStates
        Front of each.
    """

    rows: Rows
    members: tuple[MemberPlans, ...]
    states: tuple[PreloadStates, ...]

    @property
    def execute_bytes(self) -> Integers:
        """What waits or stays, and the most that lies beside it."""
        held = sum(member.held_bytes for member in self.members)
        peak = np.maximum.reduce([member.peak_bytes for member in self.members])
        return np.asarray(held + peak, dtype=np.int64)

    @property
    def core_cycles(self) -> Integers:
        """Compute and exchange."""
        return np.asarray(
            sum(m.compute_cycles + m.exchange_cycles for m in self.members)
        )

    def best_cycles(self, room: int) -> int | None:
        """Return the least cycles of a plan that takes at most `room` bytes.

        None if none does. Plans hold what they preload, so that no preload state
        needs more.
        """
        fits = np.flatnonzero(self.execute_bytes <= room)
        core = self.core_cycles
        return min(
            (
                int(core[plan] + self.states[plan].distribute_cycles.min())
                for plan in fits
            ),
            default=None,
        )

    def arrays(self) -> dict[str, Integers]:
        """Return everything by name; `of_arrays` reads it back."""
        found = {f"rows.splits.{n}": c for n, c in self.rows.splits.items()}
        found |= {f"rows.extents.{n}": c for n, c in self.rows.extents.items()}
        found |= {"rows.loop": self.rows.loop, "rows.chunks": self.rows.chunks}
        for k, member in enumerate(self.members):
            for field, column in zip(fields(member), member.columns, strict=True):
                found[f"member.{k}.{field.name}"] = column
        counts = [len(state.shares) for state in self.states]
        found["states"] = np.array(counts, dtype=np.int64)
        for name in _STATE_COLUMNS if self.states else ():
            found[f"state.{name}"] = np.concatenate(
                [getattr(state, name) for state in self.states]
            )
        return found

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, Integers], members: int) -> Table:
        """Return the table that `arrays` came from."""
        rows = Rows(
            splits=_below(arrays, "rows.splits."),
            extents=_below(arrays, "rows.extents."),
            loop=arrays["rows.loop"],
            chunks=arrays["rows.chunks"],
        )
        ends = np.cumsum(arrays["states"])[:-1]
        parts = [
            np.split(arrays[f"state.{name}"], ends)
            for name in _STATE_COLUMNS
            if len(arrays["states"])
        ]
        return cls(
            rows,
            tuple(
                MemberPlans(**_below(arrays, f"member.{k}.")) for k in range(members)
            ),
            tuple(PreloadStates(*columns) for columns in zip(*parts, strict=True)),
        )


Question = tuple[GroupShape, Chip, TileCost, Join, int, int]
"""All that a table depends on but code: the chip has neither name nor HBM, and use and
padding are in permille."""

_STATE_COLUMNS = tuple(field.name for field in fields(PreloadStates))


def _below(arrays: Mapping[str, Integers], prefix: str) -> dict[str, Integers]:
    return {
        name.removeprefix(prefix): column
        for name, column in arrays.items()
        if name.startswith(prefix)
    }


@lru_cache(maxsize=TABLES_KEPT)
def group_table(question: Question) -> Table:
    """Return the fronts of a shape, from memory, from disk or by a search."""
    shape, chip, _, join, _, _ = question
    key = f"{question} {_digest_of(join)}"
    kept = load_arrays(KEPT_IN, key)
    if kept is not None:
        return Table.of_arrays(kept, len(shape.members))
    rows, plans = _searched(question)
    chosen = join.combine(plans, chip.core.usable_bytes)
    members = tuple(p.take(chosen[:, k]) for k, p in enumerate(plans))
    table = _with_states(Table(rows.take(members[0].row), members, ()), chip)
    store_arrays(KEPT_IN, key, table.arrays())
    return table


def least_cycles(question: Question) -> int | None:
    """Return a lower bound on what any option of a group takes; None: nothing fits.

    In every row that may fit, each member at its fastest, whatever the others leave it.
    """
    join = question[3]
    key = f"bound {question} {_digest_of(join)}"
    kept = load_arrays(KEPT_IN, key)
    if kept is None:
        kept = {"least": _fastest(question)}
        store_arrays(KEPT_IN, key, kept)
    least = kept["least"]
    return int(least[0]) if len(least) else None


def _fastest(question: Question) -> Integers:
    """Return the least of `least_cycles` alone, or nothing.

    A plan counts where it fits beside the least that the others hold and need.
    """
    rows, plans = _searched(question)
    room = question[1].core.usable_bytes
    starts = [np.flatnonzero(np.diff(own.row, prepend=-1)) for own in plans]
    held = [
        np.minimum.reduceat(own.held_bytes, start)
        for own, start in zip(plans, starts, strict=True)
    ]
    peak = np.maximum.reduce(
        [
            np.minimum.reduceat(own.peak_bytes, start)
            for own, start in zip(plans, starts, strict=True)
        ]
    )
    all_held = np.sum(held, axis=0)
    never = np.iinfo(np.int64).max // (2 * len(plans))
    cycles = np.zeros_like(rows.loop)
    for own, start, least in zip(plans, starts, held, strict=True):
        beside = (all_held - least)[own.row] + own.held_bytes
        fits = beside + np.maximum(own.peak_bytes, peak[own.row]) <= room
        taken = np.where(fits, own.compute_cycles + own.exchange_cycles, never)
        cycles = cycles + np.minimum.reduceat(taken, start)
    return np.sort(cycles[cycles < never])[:1]


@lru_cache(maxsize=1)
def _searched(question: Question) -> tuple[Rows, list[MemberPlans]]:
    """Return the rows that may fit, and every member's plans on them."""
    shape, chip, cost, join, use_permille, padding_permille = question
    rows = rows_of(shape, chip.cores, use_permille, padding_permille)
    rows = rows.take(_able(shape, rows, chip.core.usable_bytes))
    return rows, _plans(shape, chip, cost, rows, join)


def _digest_of(join: Join) -> str:
    """Return a digest of the join's code, which answers depend on too."""
    source = sys.modules[type(join).__module__].__file__
    return (
        "" if source is None else hashlib.sha256(Path(source).read_bytes()).hexdigest()
    )


def _able(shape: GroupShape, rows: Rows, capacity_bytes: int) -> Integers:
    """Return the rows whose intermediates and outputs alone fit; at least one."""
    last = len(shape.members) - 1
    waits = (rows.chunks - 1) * stored_bytes(shape, last, rows)
    least = np.zeros_like(rows.loop)
    for member in range(last + 1):
        made = live_bytes(shape, member, rows) + stored_bytes(shape, member, rows)
        least = np.maximum(least, made + waits)
    able = np.flatnonzero(least <= capacity_bytes)
    return able if len(able) else np.zeros(1, dtype=np.int64)


def _plans(
    shape: GroupShape, chip: Chip, cost: TileCost, rows: Rows, join: Join
) -> list[MemberPlans]:
    """Return every member's plans; those of members that are alike are found once."""
    known: dict[object, MemberPlans] = {}
    found = []
    last = len(shape.members) - 1
    for member, own in enumerate(shape.members):
        outside = tuple(source is None for source in shape.sources[member])
        alike = (own, outside, member == last)
        if alike not in known:
            known[alike] = member_plans(shape, member, chip, cost, rows, join.keep)
        plans = known[alike]
        live = live_bytes(shape, member, rows)[plans.row]
        found.append(replace(plans, peak_bytes=plans.peak_bytes + live))
    return found


def _with_states(table: Table, chip: Chip) -> Table:
    """Return the table in order, with the preload states of every plan.

    Of plans equal in all objectives those stay that own a point of their common front
    of preload states.
    """
    exchange = np.asarray(sum(member.exchange_cycles for member in table.members))
    objectives = np.column_stack([table.execute_bytes, table.core_cycles, exchange])
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
