"""An einsum without names: equal shapes share one table of partial mappings."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from elkhound.model.fusion.workload import FusionEinsum, FusionWorkload

Terms = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class EinsumShape:
    """Ranks and tensors by index; inputs first, the output last.

    Parameters
    ----------
    sizes : tuple of int
        Iterations of every rank.
    axes : tuple of tuple of Terms
        For every tensor and axis, (rank, coefficient) pairs.
    bits : tuple of int
        Per value of every tensor.
    shared, intermediate, persistent : tuple of bool
        Whether several einsums use the tensor, one writes and another reads it, and it
        stays in its backing store throughout.
    copy : bool
        As in `FusionEinsum`.
    """

    sizes: tuple[int, ...]
    axes: tuple[tuple[Terms, ...], ...]
    bits: tuple[int, ...]
    shared: tuple[bool, ...]
    intermediate: tuple[bool, ...]
    persistent: tuple[bool, ...]
    copy: bool

    @cached_property
    def dimensions(self) -> tuple[frozenset[int], ...]:
        """Ranks that index each tensor."""
        return tuple(
            frozenset(rank for terms in axes for rank, _ in terms) for axes in self.axes
        )

    @cached_property
    def parting(self) -> tuple[frozenset[int], ...]:
        """Ranks whose tiles of each tensor neither overlap nor leave gaps."""
        return tuple(
            frozenset(
                terms[0][0] for terms in axes if len(terms) == 1 and terms[0][1] == 1
            )
            for axes in self.axes
        )

    @cached_property
    def tensors(self) -> range:
        """Indices of the tensors."""
        return range(len(self.axes))

    @cached_property
    def output(self) -> int:
        """Index of the output."""
        return len(self.axes) - 1

    @cached_property
    def axis_of(self) -> tuple[dict[int, int], ...]:
        """For every tensor, the axis that each rank indexes."""
        return tuple(
            {rank: index for index, terms in enumerate(axes) for rank, _ in terms}
            for axes in self.axes
        )

    def elements(self, tensor: int) -> int:
        """Return how many values a tensor has."""
        count = 1
        for terms in self.axes[tensor]:
            count *= 1 + sum(c * (self.sizes[rank] - 1) for rank, c in terms)
        return count


def shape_of(workload: FusionWorkload, einsum: FusionEinsum) -> EinsumShape:
    """Return an einsum's shape; rank and tensor indices follow the einsum's order."""
    rank_index = {rank: index for index, rank in enumerate(einsum.ranks)}
    bits = dict(workload.bits)
    return EinsumShape(
        sizes=tuple(workload.size[rank] for rank in einsum.ranks),
        axes=tuple(
            tuple(
                tuple((rank_index[name], c) for name, c in axis.terms)
                for axis in access.axes
            )
            for access in einsum.accesses
        ),
        bits=tuple(bits[tensor] for tensor in einsum.tensors),
        shared=tuple(len(workload.users(t)) > 1 for t in einsum.tensors),
        intermediate=tuple(t in workload.intermediates for t in einsum.tensors),
        persistent=tuple(t in workload.persistent for t in einsum.tensors),
        copy=einsum.copy,
    )
