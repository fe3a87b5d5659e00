"""Bytes and cycles of execute plans, a split and a rotation each, in bulk."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from elkhound.model.chip import Chip
from elkhound.model.options.rates import exchange_cycles, port_cycles
from elkhound.model.options.rotation import Rotations, exchanges
from elkhound.model.options.shape import Shape
from elkhound.model.tile_cost import TileCost, TileKind, einsum_cycles
from elkhound.model.tile_cost.tile import (
    Integers,
    ceil_divide,
    touched,
    volume,
)

SYNCS_PER_TRANSFER = 2
STATISTIC_BYTES = 4


@dataclass(frozen=True, slots=True)
class ExecutePlans:
    """What each plan costs but its distribute phase; entry i belongs to plan i.

    Parameters
    ----------
    execute_bytes : array
        Bytes per core: pieces of the inputs (two where they rotate) and the output.
    compute_cycles, exchange_cycles : array
        Cycles of the two phases, synchronisations in the second.
    exchange_bytes, syncs, steps, cores_used : array
        What the phases consist of.
    pieces : tuple of array
        Bytes of the piece of each input that a core holds at a time.
    """

    execute_bytes: Integers
    compute_cycles: Integers
    exchange_cycles: Integers
    exchange_bytes: Integers
    syncs: Integers
    steps: Integers
    cores_used: Integers
    pieces: tuple[Integers, ...]


@dataclass(frozen=True, slots=True)
class TileWork:
    """What a pass over one tile takes, inputs and their first fetch left out.

    Parameters
    ----------
    pieces : tuple of array
        Bytes of the piece of each input that a core holds at a time.
    output_bytes : array
        Bytes the output takes while it is computed.
    compute_cycles : array
        All steps, and the addition of partial sums received.
    exchange_bytes, syncs : array
        Rotations, partial sums and statistics of rows.
    steps : array
        Compute-shift steps.
    """

    pieces: tuple[Integers, ...]
    output_bytes: Integers
    compute_cycles: Integers
    exchange_bytes: Integers
    syncs: Integers
    steps: Integers


@dataclass(frozen=True, slots=True)
class _Exchange:
    size_bytes: Integers
    syncs: Integers

    def __add__(self, other: _Exchange) -> _Exchange:
        return _Exchange(self.size_bytes + other.size_bytes, self.syncs + other.syncs)


def execute_plans(
    shape: Shape, chip: Chip, cost: TileCost, splits: Integers, plans: Rotations
) -> ExecutePlans:
    """Return bytes and cycles of every plan."""
    split = _by_name(shape, splits[plans.split])
    sizes = shape.einsum.sizes
    tile = {
        name: ceil_divide(np.full_like(cut, sizes[name]), cut)
        for name, cut in split.items()
    }
    work = tile_work(shape, chip, cost, split, tile, plans)
    fetched = _fetch(shape, plans, work.pieces)
    moved = fetched + work.exchange_bytes
    used = splits[plans.split].prod(axis=1, dtype=np.int64)
    return ExecutePlans(
        execute_bytes=_held(plans, work.pieces) + work.output_bytes,
        compute_cycles=work.compute_cycles,
        exchange_cycles=exchange_cycles(chip, moved, used)
        + work.syncs * chip.links.sync_cycles,
        exchange_bytes=moved,
        syncs=work.syncs,
        steps=work.steps,
        cores_used=used,
        pieces=work.pieces,
    )


def tile_work(
    shape: Shape,
    chip: Chip,
    cost: TileCost,
    split: dict[str, Integers],
    tile: dict[str, Integers],
    plans: Rotations,
) -> TileWork:
    """Return what each plan does once its inputs are there.

    Parameters
    ----------
    split, tile : dict of str to array
        Into how many parts each dimension is cut, and the extent of a part, by plan.
    """
    pieces = _pieces(shape, tile, plans)
    steps = {name: plans.steps(name) for name in tile}
    reduced = volume(split, shape.einsum.reduced)
    output = touched(shape.einsum.output, tile)
    exchange = (
        _rotate(plans, pieces)
        + _reduce_scatter(shape, output, reduced)
        + _share_statistics(shape, split, tile)
    )
    return TileWork(
        pieces=tuple(pieces),
        output_bytes=_output_bytes(shape, output, reduced, steps),
        compute_cycles=_compute_cycles(shape, chip, cost, tile, steps, plans)
        + np.where(reduced > 1, _addition(cost, output), 0),
        exchange_bytes=exchange.size_bytes,
        syncs=exchange.syncs,
        steps=_product(plans, steps),
    )


def _pieces(
    shape: Shape, tile: dict[str, Integers], plans: Rotations
) -> list[Integers]:
    """Return tile_T / f_T in bytes: the tile with extents ⌈t_d / f_{T,d}⌉.

    Ceilings, because a buffer must hold the largest piece; where an axis has a halo,
    every piece has it.
    """
    pieces = []
    for tensor, access in enumerate(shape.einsum.inputs):
        part = {
            name: ceil_divide(t, plans.factor(tensor, name)) for name, t in tile.items()
        }
        elements = touched(access, part)
        pieces.append(ceil_divide(elements * shape.input_bits[tensor], 8))
    return pieces


def _held(plans: Rotations, pieces: tuple[Integers, ...]) -> Integers:
    """Return the bytes of all inputs, those that rotate double-buffered."""
    total = np.zeros_like(plans.split)
    for tensor, piece in enumerate(pieces):
        total = total + piece * np.where(plans.total(tensor) > 1, 2, 1)
    return total


def _output_bytes(
    shape: Shape, output: Integers, reduced: Integers, steps: dict[str, Integers]
) -> Integers:
    """Return tile_O at stored width, at accumulator type where it holds partial sums.

    Once where only steps cut a reduced dimension, twice (own sums and those received)
    where cores do.
    """
    stored = ceil_divide(output * shape.output_bits, 8)
    partial = output * shape.accumulator_bytes
    over_time = np.zeros_like(reduced, dtype=np.bool_)
    for name in shape.einsum.reduced:
        over_time |= steps[name] > 1
    return np.where(reduced > 1, 2 * partial, np.where(over_time, partial, stored))


def _fetch(shape: Shape, plans: Rotations, pieces: tuple[Integers, ...]) -> Integers:
    """Resident inputs come from the cores that hold them, first piece by piece.

    The start of an execute is a synchronisation already.
    """
    total = np.zeros_like(plans.split)
    for piece, streamed in zip(pieces, shape.streamed, strict=True):
        if not streamed:
            total = total + piece
    return total


def _rotate(plans: Rotations, pieces: list[Integers]) -> _Exchange:
    """Every exchange of a rotating input moves one piece between two syncs."""
    total = np.zeros_like(plans.split)
    syncs = np.zeros_like(total)
    for count, piece in zip(exchanges(plans, pieces), pieces, strict=True):
        total = total + count * piece
        syncs = syncs + SYNCS_PER_TRANSFER * count
    return _Exchange(total, syncs)


def _reduce_scatter(shape: Shape, output: Integers, reduced: Integers) -> _Exchange:
    """Move ⌈(s−1)/s · tile_O⌉ bytes of partial sums where s cores share a sum."""
    partial = output * shape.accumulator_bytes
    return _Exchange(
        ceil_divide((reduced - 1) * partial, reduced),
        np.where(reduced > 1, SYNCS_PER_TRANSFER, 0),
    )


def _share_statistics(
    shape: Shape, split: dict[str, Integers], tile: dict[str, Integers]
) -> _Exchange:
    """All-reduce one fp32 value per row, where s cores share the tile's rows.

    Each round is a reduce-scatter and an all-gather: 2·⌈(s−1)/s · rows · 4⌉ bytes and
    four synchronisations.
    """
    rounds = shape.einsum.statistics_rounds
    cut = volume(split, shape.einsum.row_dimensions)
    rows = [
        name
        for name in shape.names
        if name in shape.einsum.output.dimensions
        and name not in shape.einsum.row_dimensions
    ]
    values = volume(tile, rows) * STATISTIC_BYTES
    return _Exchange(
        2 * rounds * ceil_divide((cut - 1) * values, cut),
        np.where(cut > 1, 2 * rounds * SYNCS_PER_TRANSFER, 0),
    )


def _compute_cycles(
    shape: Shape,
    chip: Chip,
    cost: TileCost,
    tile: dict[str, Integers],
    steps: dict[str, Integers],
    plans: Rotations,
) -> Integers:
    """Return steps · cost(⌈t_d / max_T f_{T,d}⌉), each at least its port time."""
    part = {name: ceil_divide(t, steps[name]) for name, t in tile.items()}
    moved = ceil_divide(touched(shape.einsum.output, part) * shape.output_bits, 8)
    for access, bits in zip(shape.einsum.inputs, shape.input_bits, strict=True):
        moved = moved + ceil_divide(touched(access, part) * bits, 8)
    cycles = np.maximum(
        einsum_cycles(cost, shape.einsum, part), port_cycles(chip, moved)
    )
    return cycles * _product(plans, steps)


def _addition(cost: TileCost, output: Integers) -> Integers:
    """Return the cycles in which partial sums received are added to own ones."""
    return cost.tile_cycles(TileKind.ELEMENTWISE, (output,))


def _product(plans: Rotations, steps: dict[str, Integers]) -> Integers:
    result = _ones(plans)
    for count in steps.values():
        result = result * count
    return result


def _by_name(shape: Shape, columns: Integers) -> dict[str, Integers]:
    return {name: columns[:, i] for i, name in enumerate(shape.names)}


def _ones(plans: Rotations) -> Integers:
    return np.ones_like(plans.split)
