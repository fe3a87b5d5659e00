"""What a template costs as weighted sums of transfer counts.

A *column* counts the elements of one tensor that cross between a holder and the next
one in; it is a product of one factor per group of ranks. Energy, and the time of every
port, is a weighted sum of columns (the reference rules of `model/fusion/actions.py`
rearranged); latency is the largest port time.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise

from elkhound.model.fusion.accelerator import Accelerator, Memory
from elkhound.model.fusion.pmappings.shape import EinsumShape
from elkhound.model.fusion.pmappings.templates import Template

OPERATIONS = -1


@dataclass(frozen=True, slots=True)
class Column:
    """A count of elements, or of operations of one compute unit.

    Parameters
    ----------
    tensor : int
        Which tensor; `OPERATIONS` for compute.
    node, parent : int
        The holder that is filled, and the one it is filled from.
    first : bool
        Count first touches only: temporal loops that do not index the tensor count
        once.
    unit : int
        Spatial loops above this node count once; 0: all units together.
    """

    tensor: int
    node: int
    parent: int
    first: bool
    unit: int


Weights = dict[Column, float]


@dataclass(frozen=True, slots=True)
class Costs:
    """Energy and port times of a template as functions of its columns.

    Parameters
    ----------
    energy : dict of Column to float
        Weights of the energy of reads and writes.
    fixed_energy : float
        Energy that no loop changes.
    leak : float
        Energy per unit of latency.
    ports : tuple of dict of Column to float
        Weights of every port's time.
    fixed_latency : float
        Latency that no loop changes, at least.
    """

    energy: Weights
    fixed_energy: float
    leak: float
    ports: tuple[Weights, ...]
    fixed_latency: float = 0.0


def costs_of(accelerator: Accelerator, shape: EinsumShape, template: Template) -> Costs:
    """Return the cost functions of a template."""
    leak = sum(part.leak for part in accelerator.parts)
    leak *= accelerator.energy_scale / accelerator.cycle_time
    if shape.copy:
        return _copy_costs(accelerator, shape, template, leak)
    energy: Weights = defaultdict(float)
    moved: dict[int, tuple[Weights, Weights]] = {}
    for tensor in shape.tensors:
        holders = template.holders(tensor)
        for parent, node in pairwise(holders):
            _book_energy(accelerator, shape, template, energy, tensor, parent, node)
            _book_traffic(shape, template, moved, tensor, parent, node)
    unit = accelerator.unit(template.unit)
    operations = 1
    for size in shape.sizes:
        operations *= size
    ports = []
    for level, (read, write) in sorted(moved.items()):
        ports += _ports(accelerator.memories[level], read, write)
    compute = Column(OPERATIONS, len(template.nodes) + 1, 0, False, 0)
    ports.append({compute: unit.cycles(1)})
    return Costs(
        dict(energy),
        operations * unit.energy * accelerator.energy_scale,
        leak,
        tuple(
            {column: weight * accelerator.cycle_time for column, weight in port.items()}
            for port in ports
            if any(port.values())
        ),
    )


def _book_energy(
    accelerator: Accelerator,
    shape: EinsumShape,
    template: Template,
    energy: Weights,
    tensor: int,
    parent: int,
    node: int,
) -> None:
    """Add reads(parent), writes(node), and for outputs the way back."""
    above = accelerator.memories[template.level(parent)]
    down, up = above.read_energy, above.write_energy
    if node <= len(template.nodes):
        below = accelerator.memories[template.level(node)]
        down, up = down + below.write_energy, up + below.read_energy
    scale = shape.bits[tensor] * accelerator.energy_scale
    output = tensor == shape.output
    column = Column(tensor, node, parent, False, 0)
    energy[column] += scale * (down + up if output else down)
    if output:
        energy[Column(tensor, node, parent, True, 0)] -= scale * down


def _book_traffic(
    shape: EinsumShape,
    template: Template,
    moved: dict[int, tuple[Weights, Weights]],
    tensor: int,
    parent: int,
    node: int,
) -> None:
    """Add bits that one unit of both memories reads and writes."""
    bits = shape.bits[tensor]
    for unit, inward in ((parent, True), (node, False)):
        if unit > len(template.nodes):
            continue
        empty: tuple[Weights, Weights] = (defaultdict(float), defaultdict(float))
        read, write = moved.setdefault(template.level(unit), empty)
        every = Column(tensor, node, parent, False, unit)
        down, up = (read, write) if inward else (write, read)
        down[every] += bits
        if tensor == shape.output:
            up[every] += bits
            down[Column(tensor, node, parent, True, unit)] -= bits


def _ports(memory: Memory, read: Weights, write: Weights) -> list[Weights]:
    if memory.bits_per_cycle is not None:
        together: Weights = defaultdict(float)
        for weights in (read, write):
            for column, bits in weights.items():
                together[column] += bits / memory.bits_per_cycle
        return [together]
    rates = (memory.read_bits_per_cycle, memory.write_bits_per_cycle)
    return [
        {column: bits / rate for column, bits in weights.items()}
        for weights, rate in zip((read, write), rates, strict=True)
        if rate is not None
    ]


def _copy_costs(
    accelerator: Accelerator, shape: EinsumShape, template: Template, leak: float
) -> Costs:
    """Read and write the tensor once, or nothing within one memory."""
    levels = [template.level(template.holders(t)[0]) for t in shape.tensors]
    source, copy = (accelerator.memories[level] for level in levels)
    if source is copy:
        return Costs({}, 0.0, leak, ())
    bits = shape.bits[0] * shape.elements(0)
    cycles = max(source.cycles(bits, 0), copy.cycles(0, bits))
    return Costs(
        {},
        bits * (source.read_energy + copy.write_energy) * accelerator.energy_scale,
        leak,
        (),
        cycles * accelerator.cycle_time,
    )
