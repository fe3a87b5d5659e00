"""Reads, writes and operations of a mapping, under the reference rules.

Every holder b of a tensor T below its backing store is filled through the loops above
it, RP = F · up, and an output is written back as often, WP = RP, except that the first
touch of an output is not read, SK = F · upSK. Then

    reads(b)  = bits · (WP(b) + RP(child) − SK(child))
    writes(b) = bits · (RP(b) − SK(b) + WP(child))

where the child of the innermost holder is compute, and all three are 0 at the backing
store. Reuse comes only from where a storage node sits; accumulation reads, modifies and
writes at the lowest holder.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from elkhound.model.fusion.accelerator import Accelerator
from elkhound.model.fusion.mapping import Loop
from elkhound.model.fusion.nest import Nest, transferred
from elkhound.model.fusion.workload import FusionWorkload


@dataclass(frozen=True, slots=True)
class Action:
    """What one einsum does to one component for one tensor.

    Parameters
    ----------
    einsum, component : str
        Who, where.
    tensor : str or None
        For what; None for compute.
    kind : str
        ``read`` and ``write`` count bits, ``compute`` counts operations.
    count, per_unit : int
        In all units of the component together, and in its busiest unit.
    """

    einsum: str
    component: str
    tensor: str | None
    kind: str
    count: int
    per_unit: int


def actions_of(
    accelerator: Accelerator, workload: FusionWorkload, nest: Nest
) -> Iterator[Action]:
    """Yield every action of one einsum's nest."""
    if nest.einsum.copy:
        yield from _copy(workload, nest)
        return
    for tensor in nest.einsum.tensors:
        yield from _tensor_actions(accelerator, workload, nest, tensor)
    yield _compute(nest)


def _compute(nest: Nest) -> Action:
    """Operations: every point of the iteration space once, spread over the units."""
    per_unit = nest.visits(len(nest.nodes), lambda _, loop: loop.over is not None)
    return Action(
        nest.einsum.name,
        nest.unit,
        None,
        "compute",
        math.prod(nest.size.values()),
        math.prod(visit.total for visit in per_unit.values()),
    )


def _copy(workload: FusionWorkload, nest: Nest) -> Iterator[Action]:
    """Read and write the tensor once between two memories; within one, do nothing.

    Both are booked on the source; nothing is computed.
    """
    source, copy = nest.einsum.tensors
    here, there = (
        nest.store(nest.holders(tensor)[0]).memory for tensor in (source, copy)
    )
    bits = dict(workload.bits)[source] * workload.elements(source)
    if here != there:
        yield Action(nest.einsum.name, here, source, "read", bits, bits)
        yield Action(nest.einsum.name, there, source, "write", bits, bits)


@dataclass(frozen=True, slots=True)
class _Fills:
    """RP, WP and SK of one holder, in elements."""

    read: int = 0
    written: int = 0
    skipped: int = 0


def _tensor_actions(
    accelerator: Accelerator, workload: FusionWorkload, nest: Nest, tensor: str
) -> Iterator[Action]:
    bits = dict(workload.bits)[tensor]
    holders = nest.holders(tensor)
    for index, holder in enumerate(holders[:-1]):
        counts = []
        for unit_of in (None, holder):  # all units, then the busiest one
            own = _fills(accelerator, nest, tensor, index, unit_of)
            child = _fills(accelerator, nest, tensor, index + 1, unit_of)
            reads = own.written + child.read - child.skipped
            writes = own.read - own.skipped + child.written
            counts.append((bits * reads, bits * writes))
        (reads, writes), (unit_reads, unit_writes) = counts
        memory = nest.store(holder).memory
        name = nest.einsum.name
        yield Action(name, memory, tensor, "read", reads, unit_reads)
        yield Action(name, memory, tensor, "write", writes, unit_writes)


def _fills(
    accelerator: Accelerator,
    nest: Nest,
    tensor: str,
    index: int,
    unit_of: int | None,
) -> _Fills:
    """Return RP, WP and SK of the holder at an index of the tensor's holders.

    With `unit_of`, the position of a component's node, spatial loops above it count
    once: what is left concerns one unit of that component.
    """
    if index == 0:
        return _Fills()
    access = nest.einsum.access(tensor)
    is_output = access is nest.einsum.output
    position = nest.holders(tensor)[index]
    above = nest.holders(tensor)[index - 1]

    def is_shared(at: int, loop: Loop) -> bool:
        """Whether one transfer serves all units: multicast, or a sum on the way up."""
        if loop.over is None or at < above:
            return False
        fan_out = accelerator.fan_out(loop.over)
        return fan_out.reduction if is_output else fan_out.multicast

    def once(at: int, loop: Loop) -> bool:
        if loop.over is not None and unit_of is not None and at < unit_of:
            return True
        indexes = loop.rank_of(nest.einsum.name) in access.dimensions
        return not indexes and is_shared(at, loop)

    def once_or_later(at: int, loop: Loop) -> bool:
        """Leave out iterations in time that touch the same tile of T again."""
        indexes = loop.rank_of(nest.einsum.name) in access.dimensions
        return once(at, loop) or (loop.over is None and not indexes)

    filled = transferred(access, nest.visits(position, once))
    if not is_output:
        return _Fills(read=filled)
    first = transferred(access, nest.visits(position, once_or_later))
    return _Fills(read=filled, written=filled, skipped=first)
