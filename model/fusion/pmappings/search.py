"""Searches the templates of one shape, and keeps the rows by what others can see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from elkhound.model.fusion.accelerator import Accelerator, FanOut
from elkhound.model.fusion.mapspace import Mapspace
from elkhound.model.fusion.pmappings.ceilings import Moves
from elkhound.model.fusion.pmappings.classes import (
    FusedLoops,
    Signature,
    fused_loops,
    signatures,
)
from elkhound.model.fusion.pmappings.combine import Aim, Candidates, Combination
from elkhound.model.fusion.pmappings.pareto import pareto
from elkhound.model.fusion.pmappings.shape import EinsumShape
from elkhound.model.fusion.pmappings.templates import Template, templates
from elkhound.model.fusion.pmappings.tiles import divisors
from elkhound.model.stopwatch import Stopwatch

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_TOLERANCE = 1e-9  # relative


@dataclass(frozen=True, eq=False)
class ShapeRows:
    """The rows of a shape, before their loops are ordered.

    Parameters
    ----------
    energy, latency, private_bits, above_bits, sources, origin
        As in `PmappingTable`.
    levels : tuple of int
        The memories of the reservations.
    parts : dict of Signature to array
        Rows by what others can see.
    """

    energy: Floats
    latency: Floats
    levels: tuple[int, ...]
    private_bits: Floats
    above_bits: Floats
    sources: tuple[Candidates, ...]
    origin: Ints
    parts: dict[Signature, Ints]

    def values(self, rows: Ints, criteria: tuple[str, ...]) -> Floats:
        """Return criteria and reservations of some rows."""
        costs = {"energy": self.energy, "latency": self.latency}
        return np.column_stack(
            [
                *(costs[name][rows] for name in criteria),
                self.private_bits[rows],
                self.above_bits[rows].reshape(len(rows), -1),
            ]
        )

    def front(self, rows: Ints, criteria: tuple[str, ...]) -> Ints:
        """Return the rows that none of the others beats."""
        if not criteria:
            return rows
        values = self.values(rows, criteria)
        return rows[pareto(np.zeros(len(rows), np.int64), values)]


class ShapeSearch:
    """Goes through the templates of a shape.

    Parameters
    ----------
    criteria : tuple of str
        Of ``energy`` and ``latency``; empty: keep all rows.
    moves : Moves or None
        What unfusing costs the others; None: compare with unfused rows in no way.
    clock : Stopwatch
        Raises OutOfTime in the midst of a search.
    """

    def __init__(
        self,
        accelerator: Accelerator,
        shape: EinsumShape,
        mapspace: Mapspace,
        criteria: tuple[str, ...],
        moves: Moves | None,
        clock: Stopwatch,
    ) -> None:
        self.accelerator = accelerator
        self.shape = shape
        self.mapspace = mapspace
        self.criteria = criteria
        self.moves = moves
        self.unfused_rows: dict[Template, Candidates | None] = {}  # while known
        least_use = _least_use(accelerator, shape)
        self.combinations = []
        for template in templates(accelerator, shape, mapspace):
            each = Combination(
                accelerator,
                shape,
                template,
                least_use,
                mapspace,
                bool(criteria),
                clock,
            )
            if not each.is_empty and each.least_costs:
                self.combinations.append(each)
                each.forget()

    @cached_property
    def is_feasible(self) -> bool:
        """Whether there is any row."""
        if self.criteria:
            return bool(self.least)
        none = np.empty((0, 1))
        return any(
            each.search(Aim(("energy",), none, alone=True)) is not None
            for each in self.combinations
        )

    @cached_property
    def least(self) -> dict[str, float]:
        """The least of every criterion over all rows; empty where there are none."""
        if self.moves is not None and not self.mapspace.fuse and len(self.unfused):
            points = self.unfused.min(axis=0).tolist()
            return dict(zip(self.criteria, points, strict=True))
        found = {name: self._least(name) for name in self.criteria}
        return {name: value for name, value in found.items() if value is not None}

    def _least(self, criterion: str) -> float | None:
        best: float | None = None
        for each in sorted(self.combinations, key=lambda c: c.least_costs[criterion]):
            if best is not None and each.least_costs[criterion] >= best:
                break
            ceilings = np.array([] if best is None else [[best]]).reshape(-1, 1)
            rows = each.search(Aim((criterion,), ceilings, alone=True))
            if rows is not None:
                costs = {"energy": rows.energy, "latency": rows.latency}[criterion]
                best = min(float(costs.min()), np.inf if best is None else best)
        return best

    @cached_property
    def unfused(self) -> Floats:
        """The best unfused rows; of none where fusion is not weighed against them."""
        points = np.empty((0, len(self.criteria)))
        if self.moves is None:
            return points
        key = self.criteria[0]
        for each in sorted(self.combinations, key=lambda c: c.least_costs[key]):
            if self._is_fused(each.template):
                continue
            rows = each.search(Aim(self.criteria, points))
            if not any(self.moves.across):  # the same ceilings as for `rows`
                self.unfused_rows[each.template] = rows
            if rows is not None:
                costs = {"energy": rows.energy, "latency": rows.latency}
                new = np.column_stack([costs[name] for name in self.criteria])
                points = np.concatenate([points, new])
                points = points[pareto(np.zeros(len(points), np.int64), points)]
        return points

    def rows(self, slack: Mapping[str, float]) -> ShapeRows:
        """Return the rows worth keeping.

        Parameters
        ----------
        slack : mapping of str to float
            How far above the least a criterion may be, where it is limited.
        """
        collected = _Collected(self.accelerator, self.shape)
        box = self._box(slack)
        for each in self.combinations:
            ceilings = np.concatenate([self._ceilings(each.template), box])
            rows = self._found(each, Aim(self.criteria, ceilings))
            if rows is not None:
                collected.add(rows)
        return collected.rows(self.criteria)

    def _found(self, combination: Combination, aim: Aim) -> Candidates | None:
        if combination.template in self.unfused_rows:
            known = self.unfused_rows[combination.template]
            return None if known is None else known.aimed(aim)
        found = combination.search(aim)
        combination.forget()
        return found

    def _is_fused(self, template: Template) -> bool:
        return any(self.shape.shared[tensor] for tensor, _ in template.exchanges)

    def _ceilings(self, template: Template) -> Floats:
        if self.moves is None:
            return self.unfused
        energy, latency = self.moves.of(self.shape, template)
        costs = {"energy": energy, "latency": latency}
        return np.asarray(self.unfused + [costs[name] for name in self.criteria])

    def _box(self, slack: Mapping[str, float]) -> Floats:
        limits = [name for name in self.criteria if name in slack]
        box = np.full((len(limits), len(self.criteria)), -np.inf)
        for i, name in enumerate(limits):
            most = (self.least.get(name, 0.0) + slack[name]) * (1 + _TOLERANCE)
            box[i, self.criteria.index(name)] = most
        return box


def shared_levels(accelerator: Accelerator) -> tuple[int, ...]:
    """Return memories with a capacity in which tiles of several einsums may lie.

    Nodes below all shared backing stores are never held for another einsum, so memories
    inside the innermost that may back a tensor matter to their einsum alone.
    """
    backing = [i for i, memory in enumerate(accelerator.memories) if memory.backing]
    return tuple(
        level
        for level, memory in enumerate(accelerator.memories)
        if memory.size_bits is not None and 0 < level <= backing[-1]
    )


class _Collected:
    """Collects candidates of many templates."""

    def __init__(self, accelerator: Accelerator, shape: EinsumShape) -> None:
        self.shape = shape
        self.levels = shared_levels(accelerator)
        self.sources: list[Candidates] = []
        self.numbers: dict[Signature, int] = {}
        self.signature: list[Ints] = []  # number of every row
        self.reserved: list[tuple[Floats, Floats]] = []

    def add(self, candidates: Candidates) -> None:
        """Add what one template has."""
        self.sources.append(candidates)
        fused = fused_loops(candidates)
        numbers = [
            self.numbers.setdefault(signature, len(self.numbers))
            for signature in signatures(self.shape, candidates, fused)
        ]
        self.signature.append(np.array(numbers, np.int64)[fused.pattern])
        self.reserved.append(self._reservations(candidates, fused))

    def _reservations(
        self, candidates: Candidates, fused: FusedLoops
    ) -> tuple[Floats, Floats]:
        """Return private bits by memory, and prefix sums by number of loops above."""
        template, bits = candidates.template, candidates.node_bits
        width = int(fused.depth.max(initial=0)) + 1
        above = np.zeros((len(bits), len(self.levels), width))
        private = np.zeros((len(bits), len(self.levels)))
        for node, (level, tensor) in enumerate(template.nodes, start=1):
            backing = template.is_backing(node)
            if level not in self.levels or (backing and self.shape.shared[tensor]):
                continue
            memory, own = self.levels.index(level), bits[:, node - 1]
            private[:, memory] += own
            depth = fused.depth[fused.pattern, node - 1]
            if backing and self.shape.persistent[tensor]:
                depth = np.full(len(own), -1)
            above[:, memory] += own[:, None] * (depth[:, None] < np.arange(width))
        return private, above

    def rows(self, criteria: tuple[str, ...]) -> ShapeRows:
        """Return the rows that no other with the same signature beats."""
        if not self.sources:
            none = np.zeros((0, len(self.levels), 1))
            empty = np.zeros(0)
            origin = np.zeros((0, 2), np.int64)
            return ShapeRows(
                empty, empty, self.levels, none[:, :, 0], none, (), origin, {}
            )
        width = max(above.shape[2] for _, above in self.reserved)
        padded = [
            np.concatenate([a, a[:, :, -1:].repeat(width - a.shape[2], axis=2)], axis=2)
            for _, a in self.reserved
        ]
        sizes = [len(source.energy) for source in self.sources]
        origin = np.column_stack(
            [
                np.repeat(np.arange(len(sizes)), sizes),
                np.concatenate([np.arange(size) for size in sizes]),
            ]
        )
        every = ShapeRows(
            np.concatenate([source.energy for source in self.sources]),
            np.concatenate([source.latency for source in self.sources]),
            self.levels,
            np.concatenate([private for private, _ in self.reserved]),
            np.concatenate(padded),
            tuple(self.sources),
            origin,
            {},
        )
        return self._compared(every, np.concatenate(self.signature), criteria)

    def _compared(
        self, every: ShapeRows, numbers: Ints, criteria: tuple[str, ...]
    ) -> ShapeRows:
        """Compare rows of equal signatures, all signatures at once."""
        rows = np.argsort(numbers, kind="stable")
        if criteria:
            kept = pareto(numbers, every.values(np.arange(len(numbers)), criteria))
            rows = kept[np.argsort(numbers[kept], kind="stable")]
        ends = np.searchsorted(numbers[rows], np.arange(1, len(self.numbers)))
        own = np.split(np.arange(len(rows)), ends)
        return replace(
            every,
            energy=every.energy[rows],
            latency=every.latency[rows],
            private_bits=every.private_bits[rows],
            above_bits=every.above_bits[rows],
            origin=every.origin[rows],
            parts=dict(zip(self.numbers, own, strict=True)),
        )


def _least_use(accelerator: Accelerator, shape: EinsumShape) -> dict[str, int]:
    """Return how many units of each fan-out must be used.

    At least min(u · units, the largest product of divisors that its ranks reach).
    """
    return {
        fan_out.label: _least_of(shape, fan_out) for fan_out, _ in accelerator.fan_outs
    }


def _least_of(shape: EinsumShape, fan_out: FanOut) -> int:
    reached = {1}
    excluded = {
        "not-input": shape.dimensions[0],
        "not-output": shape.dimensions[shape.output],
    }.get(fan_out.ranks, frozenset[int]())
    for rank, size in enumerate(shape.sizes):
        if rank not in excluded:
            reached = {
                use * d
                for use in reached
                for d in divisors(size)
                if use * d <= fan_out.size
            }
    asked = -int(-(fan_out.min_usage * fan_out.size) // 1)
    return max(1, min(asked, max(reached)))
