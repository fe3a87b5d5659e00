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
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from elkhound.model.fusion.accelerator import Accelerator
from elkhound.model.fusion.mapping import Loop
from elkhound.model.fusion.nest import Nest, transferred
from elkhound.model.fusion.physics import REFERENCE, Physics
from elkhound.model.fusion.workload import FusionWorkload
from elkhound.model.graph import Access


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
    accelerator: Accelerator,
    workload: FusionWorkload,
    nest: Nest,
    physics: Physics = REFERENCE,
) -> Iterator[Action]:
    """Yield every action of one einsum's nest."""
    if nest.einsum.copy:
        yield from _copy(workload, nest)
        return
    for tensor in nest.einsum.tensors:
        yield from _tensor_actions(accelerator, workload, nest, tensor, physics)
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
    accelerator: Accelerator,
    workload: FusionWorkload,
    nest: Nest,
    tensor: str,
    physics: Physics,
) -> Iterator[Action]:
    skipped = _merged if physics.merge_reads else _skipped
    bits = dict(workload.bits)[tensor]
    holders = nest.holders(tensor)
    for index, holder in enumerate(holders[:-1]):
        counts = []
        for unit_of in (None, holder):  # all units, then the busiest one
            own = _fills(accelerator, nest, tensor, index, unit_of, skipped)
            child = _fills(accelerator, nest, tensor, index + 1, unit_of, skipped)
            reads = own.written + child.read - child.skipped
            writes = own.read - own.skipped + child.written
            counts.append((bits * reads, bits * writes))
        (reads, writes), (unit_reads, unit_writes) = counts
        memory = nest.store(holder).memory
        name = nest.einsum.name
        yield Action(name, memory, tensor, "read", reads, unit_reads)
        yield Action(name, memory, tensor, "write", writes, unit_writes)


@dataclass(frozen=True, slots=True)
class _Crossing:
    """Loops above a holder, as they repeat the transfers from the one above it.

    Parameters
    ----------
    accelerator, nest, access
        Whose tensor moves where.
    above, position : int
        Positions of the two holders in the path.
    unit_of : int or None
        The position of a component's node: spatial loops above it count once, and what
        is left concerns one unit of that component. None: all units.
    """

    accelerator: Accelerator
    nest: Nest
    access: Access
    above: int
    position: int
    unit_of: int | None

    @property
    def is_output(self) -> bool:
        """Whether the tensor is what the einsum writes."""
        return self.access is self.nest.einsum.output

    def outside(self, at: int, loop: Loop) -> bool:
        """Whether a loop runs over units of which only one is looked at."""
        return loop.over is not None and self.unit_of is not None and at < self.unit_of

    def indexes(self, loop: Loop) -> bool:
        """Whether a loop steps through the tensor."""
        return loop.rank_of(self.nest.einsum.name) in self.access.dimensions

    def once(self, at: int, loop: Loop) -> bool:
        """Whether one transfer serves all steps: multicast, or a sum on the way up."""
        if self.outside(at, loop):
            return True
        if loop.over is None or at < self.above or self.indexes(loop):
            return False
        fan_out = self.accelerator.fan_out(loop.over)
        return fan_out.reduction if self.is_output else fan_out.multicast

    def elements(self, once: Callable[[int, Loop], bool]) -> int:
        """Return the elements transferred, if these loops count once."""
        return transferred(self.access, self.nest.visits(self.position, once))


def _skipped(crossing: _Crossing) -> int:
    """Return first touches by the reference rules: once in every unit.

    Iterations in time that touch the same tile again are left out.
    """
    return crossing.elements(
        lambda at, loop: (
            crossing.once(at, loop)
            or (loop.over is None and not crossing.indexes(loop))
        )
    )


def _merged(crossing: _Crossing) -> int:
    """Return first touches in physics: once in all units that sum apart.

    The other units merge, and the busiest is taken to be one of them. Where partial
    results are summed on the way up, every unit starts its own.
    """

    def again(loop: Loop) -> bool:
        reduced = loop.over is not None and accelerator.fan_out(loop.over).reduction
        return not crossing.indexes(loop) and not reduced

    accelerator = crossing.accelerator
    loops = crossing.nest.loops_above(crossing.position)
    if any(crossing.outside(at, loop) and again(loop) for at, loop in loops):
        return 0
    return crossing.elements(lambda at, loop: crossing.once(at, loop) or again(loop))


def _fills(
    accelerator: Accelerator,
    nest: Nest,
    tensor: str,
    index: int,
    unit_of: int | None,
    skipped: Callable[[_Crossing], int],
) -> _Fills:
    """Return RP, WP and SK of the holder at an index of the tensor's holders."""
    if index == 0:
        return _Fills()
    above, position = nest.holders(tensor)[index - 1 : index + 1]
    access = nest.einsum.access(tensor)
    crossing = _Crossing(accelerator, nest, access, above, position, unit_of)
    filled = crossing.elements(crossing.once)
    if not crossing.is_output:
        return _Fills(read=filled)
    return _Fills(read=filled, written=filled, skipped=skipped(crossing))
