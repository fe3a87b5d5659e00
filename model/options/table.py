"""The option table of a canonical shape, and the options it stands for."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from elkhound.model.chip import Chip
from elkhound.model.options.preload_state import PreloadStates
from elkhound.model.options.shape import Names, Shape
from elkhound.model.schedule import OptionPayload, ScheduleOption, TensorSplit
from elkhound.model.tile_cost.tile import Integers


@dataclass(frozen=True, slots=True)
class Searched:
    """How much a partition search looked at.

    Parameters
    ----------
    splits : int
        Legal spatial splits.
    plans : int
        Splits with every legal rotation of each.
    """

    splits: int
    plans: int


@dataclass(frozen=True, slots=True)
class OptionTable:
    """Options as arrays, free of names and of HBM; `plan` points from (ii) to (i).

    Parameters
    ----------
    splits, factors : array
        By execute plan: spatial split of every dimension; f_{T,d} of every input on
        each of its dimensions.
    execute : array
        By execute plan: execute_bytes, compute_cycles, exchange_cycles,
        exchange_bytes, syncs, steps, cores used.
    plan, shares : array
        By option: its execute plan, and g of every input.
    preload : array
        By option: preload_bytes, distribute_bytes, distribute_cycles.
    searched : array
        How many spatial splits, and how many plans, the search looked at.
    """

    splits: Integers
    factors: Integers
    execute: Integers
    plan: Integers
    shares: Integers
    preload: Integers
    searched: Integers

    @classmethod
    def of(
        cls,
        splits: Integers,
        factors: Integers,
        execute: Integers,
        states: list[PreloadStates],
        searched: tuple[int, int],
    ) -> OptionTable:
        """Return the table of execute plans and the preload states of each."""
        counts = [len(state.shares) for state in states]
        return cls(
            splits=splits,
            factors=factors,
            execute=execute,
            plan=np.repeat(np.arange(len(states), dtype=np.int64), counts),
            shares=np.concatenate([state.shares for state in states]),
            preload=np.concatenate(
                [
                    np.column_stack(
                        [s.preload_bytes, s.distribute_bytes, s.distribute_cycles]
                    )
                    for s in states
                ]
            ),
            searched=np.array(searched, dtype=np.int64),
        )

    def arrays(self) -> dict[str, Integers]:
        """Return all columns by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def options_of(
    table: OptionTable, shape: Shape, names: Names, chip: Chip, spill_cycles: int = 0
) -> tuple[ScheduleOption, ...]:
    """Return a table's options under an operator's names and a chip's HBM.

    `spill_cycles` of transfers between chip and HBM are part of the distribute phase.
    """
    hbm = chip.hbm_cycles(shape.hbm_bytes)
    execute = table.execute.tolist()
    cut = [names.dimensions[name] for name in shape.names]
    whole = tuple((name, 1) for name in names.whole)
    splits = [(*zip(cut, row, strict=True), *whole) for row in table.splits.tolist()]
    extents = [dimension.size for dimension in shape.einsum.dimensions]
    sizes = (*zip(cut, extents, strict=True), *whole)
    rotated = _rotated(shape, names)
    rotations = [_rotations(rotated, row) for row in table.factors.tolist()]
    options = []
    for plan, shares, preload in zip(
        table.plan.tolist(), table.shares.tolist(), table.preload.tolist(), strict=True
    ):
        size, compute, exchange, exchange_bytes, syncs, steps, cores = execute[plan]
        preload_bytes, distribute_bytes, distribute = preload
        distribute += spill_cycles
        inbound = chip.inbound_cycles(preload_bytes)
        core = max(compute, exchange) if chip.overlap_exchange else compute + exchange
        payload = OptionPayload(
            splits=splits[plan],
            tensors=tuple(
                TensorSplit(tensor, rotation, share)
                for tensor, rotation, share in zip(
                    names.inputs, rotations[plan], shares, strict=True
                )
            ),
            cores_used=cores,
            steps=steps,
            syncs=syncs,
            hbm_bytes=shape.hbm_bytes,
            exchange_bytes=exchange_bytes,
            distribute_bytes=distribute_bytes,
            sizes=sizes,
        )
        options.append(
            ScheduleOption(
                execute_plan=plan,
                execute_bytes=size,
                preload_bytes=preload_bytes,
                preload_cycles=max(hbm, inbound),
                preload_link_cycles=inbound,
                execute_cycles=distribute + core,
                execute_link_cycles=distribute + exchange,
                distribute_cycles=distribute,
                compute_cycles=compute,
                exchange_cycles=exchange,
                payload=payload,
            )
        )
    return tuple(options)


def _rotated(shape: Shape, names: Names) -> list[list[str]]:
    """Return, by input, the operator's names of the dimensions it can rotate on."""
    return [
        [names.dimensions[name] for name in shape.names if name in indexed]
        for indexed in (access.dimensions for access in shape.einsum.inputs)
    ]


def _rotations(
    rotated: list[list[str]], row: list[int]
) -> list[tuple[tuple[str, int], ...]]:
    """Return the rotation factors above 1 of every input."""
    factors = iter(row)
    return [
        tuple((name, factor) for name in own if (factor := next(factors)) > 1)
        for own in rotated
    ]
