"""Generates the partial mappings of every einsum of a workload."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from elkhound.model.errors import InfeasibleError
from elkhound.model.fusion.accelerator import Accelerator, FanOut
from elkhound.model.fusion.mapspace import WHOLE_SPACE, Mapspace
from elkhound.model.fusion.pmappings.ceilings import Moves, moves_around
from elkhound.model.fusion.pmappings.classes import (
    FusedPart,
    Visible,
    exchanges_of,
    fused_parts,
)
from elkhound.model.fusion.pmappings.combine import Aim, Candidates, Combination
from elkhound.model.fusion.pmappings.pareto import pareto
from elkhound.model.fusion.pmappings.shape import EinsumShape, shape_of
from elkhound.model.fusion.pmappings.table import PmappingTable
from elkhound.model.fusion.pmappings.templates import Template, templates
from elkhound.model.fusion.pmappings.tiles import divisors
from elkhound.model.fusion.workload import FusionWorkload

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Pmappings:
    """The partial mappings of a workload.

    Parameters
    ----------
    accelerator, workload, mapspace
        What they map, onto what, within what.
    criteria : tuple of str
        Of ``energy`` and ``latency``, what the pruning kept; empty: all rows are here.
    tables : tuple of PmappingTable
        One per einsum, in order.
    """

    accelerator: Accelerator
    workload: FusionWorkload
    mapspace: Mapspace
    criteria: tuple[str, ...]
    tables: tuple[PmappingTable, ...]


def generate(
    workload: FusionWorkload,
    accelerator: Accelerator,
    mapspace: Mapspace = WHOLE_SPACE,
    criteria: tuple[str, ...] = ("energy", "latency"),
    *,
    competitive: bool = False,
) -> Pmappings:
    """Return the partial mappings of every einsum.

    Parameters
    ----------
    mapspace : Mapspace
        The whole space if left out.
    criteria : tuple of str
        Keep a row unless another of its class is at most equal in these and in every
        reservation; of equal rows one is kept. Empty: keep every row.
    competitive : bool
        Also leave out rows that no optimum needs, because moving what they share
        through main memory costs no more (see `ceilings`).

    Raises
    ------
    InfeasibleError
        An einsum has none; names the memory, what it needs and what there is.
    """
    known: dict[tuple[EinsumShape, Moves | None], _ShapeTable] = {}
    tables = []
    for index, einsum in enumerate(workload.einsums):
        shape = shape_of(workload, einsum)
        moves = moves_around(accelerator, workload, index) if competitive else None
        if (shape, moves) not in known:
            search = _Search(accelerator, shape, mapspace, criteria, moves)
            known[shape, moves] = search.table()
        own = known[shape, moves]
        if not len(own.energy):
            raise _infeasible(accelerator, shape, mapspace, einsum.name)
        tables.append(
            PmappingTable(
                einsum.name,
                own.energy,
                own.latency,
                tuple(accelerator.memories[level].name for level in own.levels),
                own.private_bits,
                own.above_bits,
                tuple(c.named(accelerator, shape, einsum) for c in own.classes),
                own.members,
                own.sources,
                own.origin,
            )
        )
    return Pmappings(accelerator, workload, mapspace, criteria, tuple(tables))


@dataclass(frozen=True, eq=False)
class _ShapeTable:
    """A `PmappingTable` without names."""

    energy: Floats
    latency: Floats
    levels: tuple[int, ...]
    private_bits: Floats
    above_bits: Floats
    classes: tuple[Visible, ...]
    members: tuple[Ints, ...]
    sources: tuple[Candidates, ...]
    origin: Ints


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


class _Search:
    """Goes through the templates of a shape, those without fusion first."""

    def __init__(
        self,
        accelerator: Accelerator,
        shape: EinsumShape,
        mapspace: Mapspace,
        criteria: tuple[str, ...],
        moves: Moves | None,
    ) -> None:
        self.accelerator = accelerator
        self.shape = shape
        self.mapspace = mapspace
        self.criteria = criteria
        self.moves = moves
        self.least_use = _least_use(accelerator, shape)
        self.unfused = np.empty((0, len(criteria)))  # the best so far

    def table(self) -> _ShapeTable:
        """Return the rows worth keeping."""
        rows = _Rows(self.accelerator, self.shape)
        fused = []
        for template in templates(
            self.accelerator, self.shape, fuse=self.mapspace.fuse
        ):
            if self.moves is not None and self._is_fused(template):
                fused.append(template)
            else:
                self._add(rows, template)
        for template in fused:
            self._add(rows, template)
        return rows.table(self.criteria)

    def _is_fused(self, template: Template) -> bool:
        return any(self.shape.shared[tensor] for tensor, _ in template.exchanges)

    def _add(self, rows: _Rows, template: Template) -> None:
        found = Combination(
            self.accelerator,
            self.shape,
            template,
            self.least_use,
            Aim(self.criteria, self._ceilings(template)),
            self.mapspace.max_fused_loops_per_rank,
        ).search()
        if found is None:
            return
        if self.moves is not None and not self._is_fused(template):
            costs = {"energy": found.energy, "latency": found.latency}
            points = np.column_stack([costs[name] for name in self.criteria])
            points = np.concatenate([self.unfused, points])
            front = pareto(np.zeros(len(points), np.int64), points)
            self.unfused = points[front]
        rows.add(found, self.mapspace.max_fused_loops)

    def _ceilings(self, template: Template) -> Floats:
        if self.moves is None:
            return self.unfused
        energy, latency = self.moves.of(self.shape, template)
        costs = {"energy": energy, "latency": latency}
        return self.unfused + np.array([costs[name] for name in self.criteria])


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


class _Rows:
    """Collects candidates of many templates by class."""

    def __init__(self, accelerator: Accelerator, shape: EinsumShape) -> None:
        self.accelerator = accelerator
        self.shape = shape
        self.levels = shared_levels(accelerator)
        self.sources: list[Candidates] = []
        self.origin: list[Ints] = []
        self.private: list[Floats] = []
        self.above: list[Floats] = []  # prefix sums of a part, padded when joined
        self.of_class: dict[Visible, list[Ints]] = {}
        self.count = 0

    def add(self, candidates: Candidates, most_loops: int | None) -> None:
        """Add what one template has."""
        source = len(self.sources)
        self.sources.append(candidates)
        for part in fused_parts(self.shape, candidates, most_loops):
            exchanges = exchanges_of(self.shape, candidates, part)
            rows = np.arange(self.count, self.count + len(part.rows))
            self.count += len(part.rows)
            self.origin.append(
                np.stack([np.full(len(rows), source), part.rows], axis=1)
            )
            private, above = self._reservations(candidates, part)
            self.private.append(private)
            self.above.append(above)
            for loops in part.orders():
                self.of_class.setdefault(Visible(loops, exchanges), []).append(rows)

    def _reservations(
        self, candidates: Candidates, part: FusedPart
    ) -> tuple[Floats, Floats]:
        """Return private bits by memory, and prefix sums by number of loops above."""
        template, bits = candidates.template, candidates.node_bits[part.rows]
        depth = part.depth(template.fused_blocks)
        above = np.zeros((len(bits), len(self.levels), depth + 1))
        private = np.zeros((len(bits), len(self.levels)))
        for node, (level, tensor) in enumerate(template.nodes, start=1):
            backing = template.is_backing(node)
            if level not in self.levels or (backing and self.shape.shared[tensor]):
                continue
            memory, own = self.levels.index(level), bits[:, node - 1]
            private[:, memory] += own
            held = 0 if backing and self.shape.persistent[tensor] else None
            first = part.depth(node) + 1 if held is None else 0
            above[:, memory, first:] += own[:, None]
        return private, above

    def table(self, criteria: tuple[str, ...]) -> _ShapeTable:
        """Return the rows that their classes keep."""
        width = max((above.shape[2] for above in self.above), default=1)
        none = np.zeros((0, len(self.levels)))
        private = np.concatenate([none, *self.private])
        above = np.concatenate(
            [none[:, :, None].repeat(width, axis=2)]
            + [
                np.concatenate(
                    [a, np.repeat(a[:, :, -1:], width - a.shape[2], axis=2)], axis=2
                )
                for a in self.above
            ]
        )
        origin = np.concatenate([np.zeros((0, 2), np.int64), *self.origin])
        energy = np.empty(len(origin))
        latency = np.empty(len(origin))
        for source, candidates in enumerate(self.sources):
            mine = origin[:, 0] == source
            energy[mine] = candidates.energy[origin[mine, 1]]
            latency[mine] = candidates.latency[origin[mine, 1]]
        objectives = {"energy": energy, "latency": latency}
        columns = [objectives[name] for name in criteria]
        reserved = np.concatenate([private, above.reshape(len(above), -1)], axis=1)
        members = []
        for parts in self.of_class.values():
            rows = np.concatenate(parts)
            if criteria:
                values = np.column_stack([*(c[rows] for c in columns), reserved[rows]])
                rows = rows[pareto(np.zeros(len(rows), np.int64), values)]
            members.append(rows)
        used = np.unique(np.concatenate([np.zeros(0, np.int64), *members]))
        renumbered = np.full(len(origin), -1)
        renumbered[used] = np.arange(len(used))
        return _ShapeTable(
            energy[used],
            latency[used],
            self.levels,
            private[used],
            above[used],
            tuple(self.of_class),
            tuple(renumbered[rows] for rows in members),
            tuple(self.sources),
            origin[used],
        )


def _infeasible(
    accelerator: Accelerator, shape: EinsumShape, space: Mapspace, einsum: str
) -> InfeasibleError:
    """Say which memory is too small for any partial mapping of an einsum."""
    needs: dict[int, int] = {}
    for template in templates(accelerator, shape, fuse=space.fuse):
        for level, bits in _least_bits(shape, template).items():
            size = accelerator.memories[level].size_bits
            if size is not None and bits > size:
                needs[level] = min(needs.get(level, bits), bits)
                break
    if not needs:
        return InfeasibleError(
            f"einsum {einsum}: no tiles use as many units of the fan-outs as min_usage "
            "asks for and fit into the memories"
        )
    level, need = max(needs.items())
    memory = accelerator.memories[level]
    return InfeasibleError(
        f"einsum {einsum}: memory {memory.name} needs at least {need} bits, has "
        f"{memory.size_bits}"
    )


def _least_bits(shape: EinsumShape, template: Template) -> dict[int, int]:
    """Return what each memory holds at least: one value per node."""
    least: dict[int, int] = {}
    for level, tensor in template.nodes:
        least[level] = least.get(level, 0) + shape.bits[tensor]
    return least
