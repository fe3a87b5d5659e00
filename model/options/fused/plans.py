"""What a member of a group costs in each of its plans: the partial mappings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from elkhound.model.chip import Chip
from elkhound.model.options.execute_plan import (
    SYNCS_PER_TRANSFER,
    TileWork,
    tile_work,
)
from elkhound.model.options.fused.rows import Rows
from elkhound.model.options.fused.shape import GroupShape
from elkhound.model.options.rates import exchange_cycles
from elkhound.model.options.rotation import (
    Rotations,
    rotation_counts,
    rotations,
    sharing,
)
from elkhound.model.options.search import slices_of
from elkhound.model.tile_cost import TileCost
from elkhound.model.tile_cost.tile import Integers, ceil_divide, touched


@dataclass(frozen=True, slots=True)
class MemberPlans:
    """Plans of one member, ascending by row; entry i of every array belongs to plan i.

    Two members' plans are compatible if they have the same row: then the same core
    holds the same tile of what one hands to the other.

    Parameters
    ----------
    row : array
        Which tiles.
    held_bytes : array
        What it needs from the group's start to its end.
    peak_bytes : array
        What lies in SRAM besides while it runs; of `member_plans` without what
        earlier members made, `live_bytes`, which is the same for all plans of a row.
    compute_cycles, exchange_cycles : array
        All chunks together; synchronisations in the second.
    streamed : array
        Bytes and holders of what waits of each streamed input, in pairs.
    work : array
        exchange_bytes and syncs of all chunks, steps of one.
    factors : array
        f_{T,d} by input and dimension.
    """

    row: Integers
    held_bytes: Integers
    peak_bytes: Integers
    compute_cycles: Integers
    exchange_cycles: Integers
    streamed: Integers
    work: Integers
    factors: Integers

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.row)

    def take(self, chosen: Integers) -> MemberPlans:
        """Return some of the plans."""
        return MemberPlans(*(column[chosen] for column in self.columns))

    @property
    def columns(self) -> tuple[Integers, ...]:
        """All arrays, in order."""
        return (
            self.row,
            self.held_bytes,
            self.peak_bytes,
            self.compute_cycles,
            self.exchange_cycles,
            self.streamed,
            self.work,
            self.factors,
        )


Keep = Callable[[MemberPlans], Integers]
"""Which plans of a member need to be kept; of equal rows all are handed in at once."""


def member_plans(
    shape: GroupShape,
    member: int,
    chip: Chip,
    cost: TileCost,
    rows: Rows,
    keep: Keep | None = None,
) -> MemberPlans:
    """Return every rotation of a member on every row.

    Parameters
    ----------
    keep : callable or None
        Sieve of the plans, some rows at a time; None keeps all.
    """
    parts = [
        found if keep is None else found.take(keep(found))
        for found in _some_rows(shape, member, chip, cost, rows)
    ]
    columns = zip(*(part.columns for part in parts), strict=True)
    return MemberPlans(*(np.concatenate(column) for column in columns))


def _some_rows(
    shape: GroupShape, member: int, chip: Chip, cost: TileCost, rows: Rows
) -> Iterator[MemberPlans]:
    own = shape.members[member]
    splits = _columns([rows.splits[name] for name in own.names], len(rows))
    tiles = _columns([rows.extents[name] for name in own.names], len(rows))
    for part in slices_of(rotation_counts(own, splits, tiles)):
        plans = rotations(own, splits[part], tiles[part])
        chunk = rows.take(part)
        work = tile_work(
            own,
            chip,
            cost,
            {name: chunk.splits[name][plans.split] for name in own.names},
            {name: chunk.extents[name][plans.split] for name in own.names},
            plans,
        )
        holders = [
            shared[plans.split] // plans.total(i)
            for i, shared in enumerate(sharing(own, splits[part]))
        ]
        found = _priced(shape, member, chip, chunk, plans, work, holders)
        yield MemberPlans(plans.split + part.start, *found.columns[1:])


def _priced(
    shape: GroupShape,
    member: int,
    chip: Chip,
    rows: Rows,
    plans: Rotations,
    work: TileWork,
    holders: list[Integers],
) -> MemberPlans:
    """Put together what the member holds, computes and exchanges in all chunks."""
    own = shape.members[member]
    chunks, loop = rows.chunks[plans.split], rows.loop[plans.split]
    once = np.zeros_like(chunks)  # bytes fetched before the first chunk
    each = work.exchange_bytes  # bytes exchanged in every chunk
    held, peak = once, work.output_bytes
    fetches_again = np.zeros_like(chunks, dtype=np.bool_)
    waiting = []
    for place, access in enumerate(own.einsum.inputs):
        if shape.sources[member][place] is not None:
            continue  # it lies where it was made
        piece = work.pieces[place]
        indexed = np.isin(loop, [int(name) for name in access.dimensions])
        double = piece * (plans.total(place) > 1)
        if own.streamed[place]:
            waits = np.where(indexed, chunks * piece, piece)
            held, peak = held + waits, peak + double
            waiting += [waits, holders[place]]
            continue
        stays = (chunks > 1) & ~indexed
        held = held + np.where(stays, piece, 0)
        peak = peak + np.where(stays, 0, piece) + double
        once = once + np.where(stays, piece, 0)
        each = each + np.where(stays, 0, piece)
        fetches_again |= indexed
    if member == len(shape.members) - 1:
        held = held + (chunks - 1) * stored_bytes(shape, member, rows)[plans.split]
    size_bytes = once + chunks * each
    syncs = chunks * work.syncs + SYNCS_PER_TRANSFER * (chunks - 1) * fetches_again
    used = rows.cores_used[plans.split]
    factors = [factor for mine in plans.factors for factor in mine.values()]
    return MemberPlans(
        row=plans.split,
        held_bytes=held,
        peak_bytes=peak,
        compute_cycles=chunks * work.compute_cycles,
        exchange_cycles=exchange_cycles(chip, size_bytes, used)
        + syncs * chip.links.sync_cycles,
        streamed=_columns(waiting, len(chunks)),
        work=_columns([size_bytes, syncs, work.steps], len(chunks)),
        factors=_columns(factors, len(chunks)),
    )


def live_bytes(shape: GroupShape, member: int, rows: Rows) -> Integers:
    """Return, by row, the bytes of all intermediates there while a member runs.

    Its own output is not among them; what it reads is, each once.
    """
    total = np.zeros_like(rows.loop)
    for writer in range(member):
        if shape.last_reader(writer) >= member:
            total = total + stored_bytes(shape, writer, rows)
    return total


def stored_bytes(shape: GroupShape, member: int, rows: Rows) -> Integers:
    """Return, by row, a member's output tile of one chunk, at stored width."""
    own = shape.members[member]
    tile = {name: rows.extents[name] for name in own.names}
    return ceil_divide(touched(own.einsum.output, tile) * own.output_bits, 8)


def _columns(arrays: list[Integers], rows: int) -> Integers:
    if not arrays:
        return np.zeros((rows, 0), dtype=np.int64)
    return np.column_stack(arrays)
