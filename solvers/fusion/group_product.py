"""Every combination of members' plans: the oracle of the Pareto join."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from elkhound.model.errors import BadInputError
from elkhound.model.options.front import pareto_rows
from elkhound.model.options.fused.plans import MemberPlans
from elkhound.model.tile_cost.tile import Integers

MOST_COMBINATIONS = 50_000_000


@dataclass(frozen=True, slots=True)
class Product:
    """Looks at every combination of one plan per member; prunes none on the way."""

    name: str = "exact"

    def keep(self, plans: MemberPlans) -> Integers:
        """Return all plans."""
        return np.arange(len(plans), dtype=np.int64)

    def combine(self, members: Sequence[MemberPlans], capacity_bytes: int) -> Integers:
        """Return the combinations on the front; see `Join`."""
        rows = np.unique(members[0].row)
        starts = [np.searchsorted(m.row, rows, side="left") for m in members]
        ends = [np.searchsorted(m.row, rows, side="right") for m in members]
        _require_few(starts, ends)
        objectives = np.zeros((0, 3), dtype=np.int64)
        plans = np.zeros((0, len(members)), dtype=np.int64)
        for k in range(len(rows)):
            ranges = [
                np.arange(start[k], end[k])
                for start, end in zip(starts, ends, strict=True)
            ]
            grid = np.meshgrid(*ranges, indexing="ij")
            chosen = np.column_stack([indices.ravel() for indices in grid])
            found = _objectives(members, chosen)
            fits = found[:, 0] <= capacity_bytes
            objectives = np.concatenate([objectives, found[fits]])
            plans = np.concatenate([plans, chosen[fits]])
            front = pareto_rows(objectives)
            objectives, plans = objectives[front], plans[front]
        return plans


def _objectives(members: Sequence[MemberPlans], chosen: Integers) -> Integers:
    """Return Σ held + max peak, Σ compute + Σ exchange, and Σ exchange."""
    taken = [
        [
            column[chosen[:, k]]
            for column in (
                member.held_bytes,
                member.peak_bytes,
                member.compute_cycles,
                member.exchange_cycles,
            )
        ]
        for k, member in enumerate(members)
    ]
    held, peak, compute, exchange = (
        np.array(values) for values in zip(*taken, strict=True)
    )
    exchanged = exchange.sum(axis=0)
    return np.column_stack(
        [
            held.sum(axis=0) + peak.max(axis=0),
            compute.sum(axis=0) + exchanged,
            exchanged,
        ]
    )


def _require_few(starts: list[Integers], ends: list[Integers]) -> None:
    """Refuse what would not end: more combinations than `MOST_COMBINATIONS`."""
    counts = [end - start for start, end in zip(starts, ends, strict=True)]
    product = np.ones(len(counts[0]))
    for count in counts:
        product = product * count
    total = int(product.sum())
    if total > MOST_COMBINATIONS:
        raise BadInputError(
            f"exact has {total} combinations of {len(counts)} operators' plans to look "
            f"at, at most {MOST_COMBINATIONS}",
            code="too-many-combinations",
            where="--fuse",
            hint="pareto-join",
        )
