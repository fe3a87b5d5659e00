"""Partition search: the options of one operator, exact on two fronts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from elkhound.model.chip import Chip, Hbm
from elkhound.model.errors import BadInputError
from elkhound.model.graph import Graph, Operator
from elkhound.model.io.array_cache import load_arrays, store_arrays
from elkhound.model.options.execute_plan import execute_plans
from elkhound.model.options.front import first_of_equal, pareto_rows
from elkhound.model.options.preload_state import PreloadStates, preload_states
from elkhound.model.options.rotation import (
    Rotations,
    rotation_counts,
    rotations,
    sharing,
)
from elkhound.model.options.shape import Shape, canonical
from elkhound.model.options.spatial import spatial_splits
from elkhound.model.options.spill_cost import spill_cycles
from elkhound.model.options.table import OptionTable, Searched, options_of
from elkhound.model.schedule import ScheduleOption
from elkhound.model.tile_cost import Device, TileCost
from elkhound.model.tile_cost.tile import Integers, ceil_divide

ROWS_AT_ONCE = 250_000
TABLES_KEPT = 1024
KEPT_IN = "options"


@dataclass(frozen=True, slots=True)
class Candidates:
    """Execute plans with all that their options need; one row each.

    Parameters
    ----------
    objectives : array
        execute_bytes, time after distribute, exchange_cycles: the execute front.
    sharing : array
        Cores used, then pieces and holders of each streamed input: with them a plan's
        preload states are fixed.
    splits, factors : array
        Spatial splits by dimension; f_{T,d} by input and dimension.
    costs : array
        compute_cycles, exchange_bytes, syncs, steps.
    """

    objectives: Integers
    sharing: Integers
    splits: Integers
    factors: Integers
    costs: Integers

    def take(self, rows: Integers) -> Candidates:
        """Return the plans at the given rows."""
        return Candidates(*(column[rows] for column in self._columns))

    def join(self, other: Candidates) -> Candidates:
        """Return these plans, then the others."""
        pairs = zip(self._columns, other._columns, strict=True)
        return Candidates(*(np.concatenate(pair) for pair in pairs))

    @property
    def _columns(self) -> tuple[Integers, ...]:
        return (self.objectives, self.sharing, self.splits, self.factors, self.costs)


@dataclass(frozen=True, slots=True)
class Question:
    """Everything an option table depends on."""

    shape: Shape
    chip: Chip  # its name and HBM replaced: tables know neither
    cost: TileCost
    use_permille: int
    padding_permille: int


def operator_options(
    graph: Graph,
    operator: Operator,
    chip: Chip,
    *,
    use: float = 0.9,
    padding: float = 1.1,
    tile_cost: TileCost | None = None,
) -> tuple[ScheduleOption, ...]:
    """Return an operator's options: execute plans × preload states, both fronts exact.

    Options are ordered by execute plan (by execute_bytes, then time, then exchange),
    then by preload_bytes. Answers are kept by canonical shape, in memory and on disk.

    Parameters
    ----------
    use : float
        Least share of the cores a split uses where the shape allows it, in (0, 1];
        counted in permille.
    padding : float
        Largest Π split · tile over Π size, at least 1; counted in permille.
    tile_cost : TileCost or None
        Cycles of tiles; None for the formulas of the chip's core.
    """
    shape, names = canonical(graph, operator)
    table = _table(shape, chip, use, padding, tile_cost)
    return options_of(table, shape, names, chip, spill_cycles(graph, operator, chip))


def least_bytes(
    graph: Graph,
    operator: Operator,
    chip: Chip,
    *,
    use: float = 0.9,
    padding: float = 1.1,
    tile_cost: TileCost | None = None,
) -> int:
    """Return the least own bytes of `operator_options`, without making them."""
    shape, _ = canonical(graph, operator)
    table = _table(shape, chip, use, padding, tile_cost)
    execute_bytes, preload_bytes = table.execute[table.plan, 0], table.preload[:, 0]
    return int(np.maximum(execute_bytes, preload_bytes).min())


def searched(
    graph: Graph,
    operator: Operator,
    chip: Chip,
    *,
    use: float = 0.9,
    padding: float = 1.1,
    tile_cost: TileCost | None = None,
) -> Searched:
    """Return how much `operator_options` looked at for these options."""
    shape, _ = canonical(graph, operator)
    table = _table(shape, chip, use, padding, tile_cost)
    splits, plans = table.searched.tolist()
    return Searched(splits, plans)


def _table(
    shape: Shape, chip: Chip, use: float, padding: float, tile_cost: TileCost | None
) -> OptionTable:
    """Return the table of a shape, from memory, from disk or by a search."""
    if not 0 < use <= 1:
        raise BadInputError(f"use is {use}, must be in (0, 1]", code="bad-use")
    if not 1 <= padding <= 1000:
        raise BadInputError(
            f"padding is {padding}, must be in [1, 1000]", code="bad-padding"
        )
    question = Question(
        shape=shape,
        chip=replace(chip, name="", hbm=Hbm(1, 0, 1)),
        cost=Device.of(chip.core) if tile_cost is None else tile_cost,
        use_permille=round(use * 1000),
        padding_permille=round(padding * 1000),
    )
    return _answer(question)


def forget_tables() -> None:
    """Forget the tables kept in memory."""
    _answer.cache_clear()


@lru_cache(maxsize=TABLES_KEPT)
def _answer(question: Question) -> OptionTable:
    key = repr(question)
    kept = load_arrays(KEPT_IN, key)
    if kept is not None:
        return OptionTable(**kept)
    table = option_table(question)
    store_arrays(KEPT_IN, key, table.arrays())
    return table


def option_table(question: Question) -> OptionTable:
    """Search all splits, rotations and preload states of a shape."""
    shape, chip = question.shape, question.chip
    splits = spatial_splits(
        tuple(dimension.size for dimension in shape.einsum.dimensions),
        chip.cores,
        question.use_permille,
        question.padding_permille,
    )
    front, plans = execute_front(shape, chip, question.cost, splits)
    states = [_states(shape, chip, row) for row in front.sharing.tolist()]
    rows = useful_ties(front.objectives, states)
    front = front.take(rows)
    return OptionTable.of(
        splits=front.splits,
        factors=front.factors,
        execute=_execute_columns(front),
        states=[states[row] for row in rows],
        searched=(len(splits), plans),
    )


def execute_front(
    shape: Shape, chip: Chip, cost: TileCost, splits: Integers
) -> tuple[Candidates, int]:
    """Return the exact front over (execute_bytes, time after distribute, exchange).

    Plans equal in all three stay if their preload states can differ: the first of
    every set with equal pieces, holders and cores of the streamed inputs. The number
    of all plans looked at comes with it.
    """
    front: Candidates | None = None
    looked_at = 0
    tiles = _tiles(shape, splits)
    for rows in slices_of(rotation_counts(shape, splits, tiles)):
        plans = rotations(shape, splits[rows], tiles[rows])
        looked_at += len(plans.split)
        found = _candidates(shape, chip, cost, splits[rows], plans)
        front = _best(found if front is None else front.join(found))
    if front is None:
        raise ValueError("no split to search")
    return front, looked_at


def _candidates(
    shape: Shape, chip: Chip, tile_cost: TileCost, splits: Integers, plans: Rotations
) -> Candidates:
    """Return the execute front of some splits."""
    cost = execute_plans(shape, chip, tile_cost, splits, plans)
    compute, exchange = cost.compute_cycles, cost.exchange_cycles
    core = (
        np.maximum(compute, exchange) if chip.overlap_exchange else compute + exchange
    )
    objectives = np.column_stack([cost.execute_bytes, core, exchange])
    rows = pareto_rows(objectives)
    kept = plans.take(rows)
    streamed = [t for t, from_hbm in enumerate(shape.streamed) if from_hbm]
    shared = sharing(shape, splits)
    columns = [cost.cores_used[rows]]
    for tensor in streamed:
        columns.append(cost.pieces[tensor][rows])
        columns.append(shared[tensor][kept.split] // kept.total(tensor))
    factors = [factor for own in kept.factors for factor in own.values()]
    return Candidates(
        objectives=objectives[rows],
        sharing=np.column_stack(columns),
        splits=splits[kept.split],
        factors=_columns(factors, len(rows)),
        costs=np.column_stack(
            [
                compute[rows],
                cost.exchange_bytes[rows],
                cost.syncs[rows],
                cost.steps[rows],
            ]
        ),
    )


def _best(found: Candidates) -> Candidates:
    """Return the candidates' front, one of each set that no later step tells apart."""
    found = found.take(pareto_rows(found.objectives))
    return found.take(
        first_of_equal(np.column_stack([found.objectives, found.sharing]))
    )


def _tiles(shape: Shape, splits: Integers) -> Integers:
    sizes = np.array([d.size for d in shape.einsum.dimensions], dtype=np.int64)
    return ceil_divide(np.broadcast_to(sizes, splits.shape), splits)


def _states(shape: Shape, chip: Chip, shared: list[int]) -> PreloadStates:
    """Return the preload states of a plan from its row of `Candidates.sharing`."""
    cores_used, *rest = shared
    pieces, holders = iter(rest[::2]), iter(rest[1::2])
    return preload_states(
        chip,
        pieces=tuple(next(pieces) if s else 0 for s in shape.streamed),
        holders=tuple(next(holders) if s else 1 for s in shape.streamed),
        cores_used=cores_used,
    )


def useful_ties(objectives: Integers, states: list[PreloadStates]) -> Integers:
    """Return the plans without those that a tie makes superfluous.

    Of plans equal on the execute front, those stay that own a point of the ties'
    common front of preload states (the first owner of each point). Rows are ordered
    by objectives, so ties stand together.
    """
    owner = np.repeat(np.arange(len(states)), [len(s.shares) for s in states])
    points = np.concatenate(
        [np.column_stack([s.preload_bytes, s.distribute_cycles]) for s in states]
    )
    tie = np.cumsum((np.diff(objectives, axis=0, prepend=-1) != 0).any(axis=1))[owner]
    useful: set[int] = set()
    for group in np.split(np.arange(len(owner)), np.flatnonzero(np.diff(tie)) + 1):
        front = group[pareto_rows(points[group])]
        useful.update(owner[front[first_of_equal(points[front])]].tolist())
    return np.array(sorted(useful), dtype=np.int64)


def _execute_columns(front: Candidates) -> Integers:
    """Return the `OptionTable.execute` columns."""
    compute, exchange_bytes, syncs, steps = front.costs.T
    return np.column_stack(
        [
            front.objectives[:, 0],
            compute,
            front.objectives[:, 2],
            exchange_bytes,
            syncs,
            steps,
            front.sharing[:, 0],
        ]
    )


def slices_of(counts: Integers) -> Iterator[slice]:
    """Cut rows so that their counts sum to about `ROWS_AT_ONCE` in each slice."""
    part = (np.cumsum(counts) - counts) // ROWS_AT_ONCE
    starts = np.flatnonzero(np.diff(part, prepend=-1))
    for start, end in zip(starts, [*starts[1:], len(counts)], strict=True):
        yield slice(int(start), int(end))


def _columns(arrays: list[Integers], rows: int) -> Integers:
    if not arrays:
        return np.zeros((rows, 0), dtype=np.int64)
    return np.column_stack(arrays)
