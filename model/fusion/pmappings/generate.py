"""Generates the partial mappings of every einsum of a workload."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from elkhound.model.errors import BadInputError, InfeasibleError
from elkhound.model.fusion.accelerator import Accelerator
from elkhound.model.fusion.mapspace import WHOLE_SPACE, Mapspace
from elkhound.model.fusion.pmappings.ceilings import Moves, most_of, moves_around
from elkhound.model.fusion.pmappings.classes import Signature, Visible
from elkhound.model.fusion.pmappings.ragged import require_small
from elkhound.model.fusion.pmappings.search import ShapeRows, ShapeSearch
from elkhound.model.fusion.pmappings.shape import EinsumShape, shape_of
from elkhound.model.fusion.pmappings.table import PmappingTable
from elkhound.model.fusion.pmappings.templates import Template, templates
from elkhound.model.fusion.workload import FusionWorkload
from elkhound.model.stopwatch import Stopwatch

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
    clock: Stopwatch | None = None,
) -> Pmappings:
    """Return the partial mappings of every einsum.

    Parameters
    ----------
    mapspace : Mapspace
        The whole space if left out.
    criteria : tuple of str
        Keep a row unless another of its class is at most equal in these and in every
        reservation; of equal rows one is kept. Empty: keep every row.
    clock : Stopwatch, optional
        No limit if left out.

    Raises
    ------
    OutOfTime
        The limit was reached.
    InfeasibleError
        An einsum has none; names the memory, what it needs and what there is.
    """
    made = Generator(workload, accelerator, mapspace, criteria, clock=clock)
    return made.pmappings()


class Generator:
    """Generates partial mappings within limits that may be widened later.

    Parameters
    ----------
    criteria : tuple of str
        As in `generate`.
    competitive : bool
        Leave out rows that no optimum needs, because moving what they share through
        main memory costs no more (see `ceilings`).
    clock : Stopwatch, optional
        Heeded by `pmappings` too; no limit if left out.

    Raises
    ------
    OutOfTime
        The limit was reached.
    InfeasibleError
        As in `generate`.
    BadInputError
        Main memory has a size, or a rank more tiles than can be tried.
    """

    def __init__(
        self,
        workload: FusionWorkload,
        accelerator: Accelerator,
        mapspace: Mapspace,
        criteria: tuple[str, ...],
        *,
        competitive: bool = False,
        clock: Stopwatch | None = None,
    ) -> None:
        main = accelerator.memories[0]
        if main.size_bits is not None:
            raise BadInputError(
                f"memory {main.name}: size_bits is {main.size_bits}, but mappers take "
                "main memory as unlimited",
                code="limited-main-memory",
                hint="leave it out",
            )
        require_small(workload.sizes, mapspace.tiles)
        self.workload = workload
        self.accelerator = accelerator
        self.mapspace = mapspace
        self.criteria = criteria
        self.clock = clock or Stopwatch()
        self.shapes = [shape_of(workload, einsum) for einsum in workload.einsums]
        moves: dict[EinsumShape, Moves | None] = {}
        for index, shape in enumerate(self.shapes if competitive else ()):
            own = moves_around(accelerator, workload, index)
            moves[shape] = most_of(moves[shape], own) if shape in moves else own
        self.searches = {
            shape: ShapeSearch(
                accelerator, shape, mapspace, criteria, moves.get(shape), self.clock
            )
            for shape in dict.fromkeys(self.shapes)
        }
        for einsum, shape in zip(workload.einsums, self.shapes, strict=True):
            if not self.searches[shape].is_feasible:
                raise _infeasible(accelerator, shape, mapspace, einsum.name)

    @property
    def least(self) -> dict[str, float]:
        """The sum of every criterion's least values: no mapping is below it."""
        return {
            name: sum(self.searches[shape].least[name] for shape in self.shapes)
            for name in self.criteria
        }

    def pmappings(self, slack: Mapping[str, float] | None = None) -> Pmappings:
        """Return the partial mappings.

        Parameters
        ----------
        slack : mapping of str to float, optional
            Leave out rows whose criterion is further than this above the least of
            their einsum: they are in no mapping that is this close to `least`.
        """
        rows = {
            shape: search.rows(slack or {}) for shape, search in self.searches.items()
        }
        kept = self._consistent(rows)
        known: dict[Hashable, _Classes] = {}
        tables = []
        for einsum, shape, parts in zip(
            self.workload.einsums, self.shapes, kept, strict=True
        ):
            self.clock.check()
            own, key = rows[shape], (shape, tuple(parts))
            if key not in known:
                known[key] = _Classes.of(own, parts, self.criteria)
            classes = known[key]
            tables.append(
                PmappingTable(
                    einsum.name,
                    own.energy,
                    own.latency,
                    tuple(
                        self.accelerator.memories[level].name for level in own.levels
                    ),
                    own.private_bits,
                    own.above_bits,
                    tuple(
                        visible.named(self.accelerator, shape, einsum)
                        for visible in classes.visible
                    ),
                    classes.members,
                    own.sources,
                    own.origin,
                )
            )
        return Pmappings(
            self.accelerator, self.workload, self.mapspace, self.criteria, tuple(tables)
        )

    def _consistent(self, rows: dict[EinsumShape, ShapeRows]) -> list[list[Signature]]:
        """Return signatures whose shared tensors lie where all their users find them.

        Dropping one may make others inconsistent, so it is repeated until none is.
        """
        kept = [list(rows[shape].parts) for shape in self.shapes]
        places = [
            {s: _places(einsum.tensors, shape, s) for s in rows[shape].parts}
            for einsum, shape in zip(self.workload.einsums, self.shapes, strict=True)
        ]
        while True:
            agreed: dict[str, set[Hashable]] = {}
            for own, of in zip(kept, places, strict=True):
                mine: dict[str, set[Hashable]] = {}
                for signature in own:
                    for tensor, place in of[signature]:
                        mine.setdefault(tensor, set()).add(place)
                for tensor, found in mine.items():
                    agreed[tensor] = agreed.get(tensor, found) & found
            left = [
                [s for s in own if all(p in agreed[t] for t, p in of[s])]
                for own, of in zip(kept, places, strict=True)
            ]
            if sum(map(len, left)) == sum(map(len, kept)):
                return left
            kept = left


def _places(
    tensors: tuple[str, ...], shape: EinsumShape, signature: Signature
) -> list[tuple[str, Hashable]]:
    return [
        (tensors[exchange.tensor], signature.place(shape, exchange))
        for exchange in signature.exchanges
    ]


@dataclass(frozen=True, eq=False)
class _Classes:
    """Rows by compatibility."""

    visible: tuple[Visible, ...]
    members: tuple[Ints, ...]

    @classmethod
    def of(
        cls, rows: ShapeRows, parts: list[Signature], criteria: tuple[str, ...]
    ) -> _Classes:
        """Order the loops of signatures in all ways, and compare where they meet."""
        found: dict[Visible, list[Ints]] = {}
        for signature in parts:
            for visible in signature.orders():
                found.setdefault(visible, []).append(rows.parts[signature])
        return cls(
            tuple(found),
            tuple(
                rows.front(np.concatenate(own), criteria) if len(own) > 1 else own[0]
                for own in found.values()
            ),
        )


def _infeasible(
    accelerator: Accelerator, shape: EinsumShape, space: Mapspace, einsum: str
) -> InfeasibleError:
    """Say which memory is too small for any partial mapping of an einsum."""
    tensors = len(shape.bits)
    units = {unit.name: unit.tensors for unit in accelerator.compute}
    if not {None, tensors} & set(units.values()):
        takes = ", ".join(f"{name} takes {number}" for name, number in units.items())
        return InfeasibleError(
            f"einsum {einsum}: has {tensors} tensors, for which there is no compute "
            f"unit ({takes})"
        )
    needs: dict[int, int] = {}
    for template in templates(accelerator, shape, space):
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
