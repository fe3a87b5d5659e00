"""What a partial mapping may cost at most and still be part of an optimum.

Take a mapping and one einsum e in it. Move every tensor that e shares, and every tensor
that is live across e, to main memory, and leave copies where the others had them: what
the others hold does not grow, and each of them moves the tensor once more between main
memory and the copy. Then give e alone its best unfused mapping. So a partial mapping of
e that costs no less than an unfused one and all those moves is never needed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from elkhound.model.fusion.accelerator import Accelerator, Memory
from elkhound.model.fusion.pmappings.shape import EinsumShape
from elkhound.model.fusion.pmappings.templates import MAIN, Template
from elkhound.model.fusion.workload import FusionWorkload

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Moves:
    """Energy and latency of moving tensors through main memory, at most.

    Parameters
    ----------
    own : tuple of tuple of (float, float)
        For every tensor of the einsum and every level that may have backed it, what the
        einsums that share it pay.
    across : tuple of float
        What all pay for the tensors that are live across the einsum.
    """

    own: tuple[tuple[tuple[float, float], ...], ...]
    across: tuple[float, float]

    def of(self, shape: EinsumShape, template: Template) -> Floats:
        """Return what unfusing a template's einsum costs the others."""
        total = np.array(self.across)
        for tensor, node in template.exchanges:
            if shape.shared[tensor]:
                total = total + np.array(self.own[tensor][template.level(node)])
        return total


def most_of(first: Moves | None, second: Moves | None) -> Moves | None:
    """Return moves that cost at least as much as either; None if one is None."""
    if first is None or second is None:
        return None
    own = np.maximum(first.own, second.own).tolist()
    energy, latency = np.maximum(first.across, second.across).tolist()
    return Moves(
        tuple(tuple((float(e), float(c)) for e, c in tensor) for tensor in own),
        (energy, latency),
    )


def moves_around(
    accelerator: Accelerator, workload: FusionWorkload, index: int
) -> Moves | None:
    """Return the moves that unfuse an einsum, None if some tensor must stay out.

    That is so if main memory may not hold every shared tensor, or a memory may hold one
    only while main memory does not.
    """
    if not _may_always_copy(accelerator):
        return None
    einsum = workload.einsums[index]
    order = {e.name: i for i, e in enumerate(workload.einsums)}
    across = np.zeros(2)
    for tensor in workload.tensors:
        users = [order[name] for name in workload.users(tensor)]
        if tensor not in einsum.tensors and users[0] < index < users[-1]:
            levels = range(1, len(accelerator.memories))
            costs = [_moved(accelerator, workload, tensor, at, None) for at in levels]
            across += np.max(costs, axis=0, initial=0.0)
    own = tuple(
        tuple(
            _moved(accelerator, workload, tensor, level, einsum.name)
            for level in range(len(accelerator.memories))
        )
        for tensor in einsum.tensors
    )
    return Moves(own, (float(across[0]), float(across[1])))


def _may_always_copy(accelerator: Accelerator) -> bool:
    main, *others = accelerator.memories
    return "all" in main.may_keep and all(
        "not-above" not in memory.may_keep or "all" in memory.may_keep
        for memory in others
    )


def _moved(
    accelerator: Accelerator,
    workload: FusionWorkload,
    tensor: str,
    level: int,
    left_out: str | None,
) -> tuple[float, float]:
    """Return what the users of a tensor pay, one of them left out."""
    bits = dict(workload.bits)[tensor] * workload.elements(tensor)
    main, copy = accelerator.memories[MAIN], accelerator.memories[level]
    leak = sum(part.leak for part in accelerator.parts)
    energy = cycles = 0.0
    for name in workload.users(tensor):
        if name == left_out:
            continue
        einsum = workload.einsum(name)
        pairs = [(main, copy)]
        if einsum.output.tensor == tensor:
            pairs = [(copy, main)]
        if einsum.copy:  # may now move between main memory and any other
            pairs = [(a, b) for a in accelerator.memories for b in accelerator.memories]
        each, longest = zip(*(_transfer(bits, *pair) for pair in pairs), strict=True)
        energy += max(each)
        cycles += max(longest)
    return (
        (energy + leak * cycles) * accelerator.energy_scale,
        cycles * accelerator.cycle_time,
    )


def _transfer(bits: int, source: Memory, target: Memory) -> tuple[float, float]:
    """Return energy and cycles of reading bits here and writing them there."""
    energy = bits * (source.read_energy + target.write_energy)
    return energy, max(source.cycles(bits, 0), target.cycles(0, bits))
