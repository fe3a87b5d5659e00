"""Bits that a mapping reserves in each memory: the most that is live at once.

A storage node sinks through loops that index its tensor and follow it directly, except
where tiles overlap (a halo is held whole and fetched once). A backing store stays.
A node with no loop between it and the split is live from its first to its last user; a
node above a shared loop is live in all branches under that loop. Memories that stand
several times are counted per unit.
"""

from __future__ import annotations

from dataclasses import dataclass

from elkhound.model.fusion.mapping import Loop, LoopTree, Node, Split, Store, computed
from elkhound.model.fusion.nest import Nest, nests, without_null_loops
from elkhound.model.fusion.physics import REFERENCE, Physics
from elkhound.model.fusion.workload import FusionWorkload
from elkhound.model.graph import Access


@dataclass(frozen=True, slots=True)
class Reservation:
    """Bits held for one storage node, and the einsums during which it is live.

    Parameters
    ----------
    memory, tensor : str
        What is held where.
    size_bits : int
        Its largest tile, in one unit of the memory; twice that in a double buffer.
    einsums : tuple of str
        In order of running.
    """

    memory: str
    tensor: str
    size_bits: int
    einsums: tuple[str, ...]


def reservations(
    workload: FusionWorkload, tree: LoopTree, physics: Physics = REFERENCE
) -> tuple[Reservation, ...]:
    """Return one reservation per storage node, from outer to inner."""
    nest_of = {nest.einsum.name: nest for nest in nests(workload, tree)}
    nodes = without_null_loops(workload, tree).nodes
    found: list[Reservation] = []
    _collect(workload, nest_of, nodes, (), found, 1 + physics.double_buffer)
    return tuple(found)


def occupancy_bits(reserved: tuple[Reservation, ...]) -> dict[str, int]:
    """Return the most bits reserved at once in every memory that holds something."""
    during: dict[str, dict[str, int]] = {}
    for reservation in reserved:
        in_memory = during.setdefault(reservation.memory, {})
        for einsum in reservation.einsums:
            in_memory[einsum] = in_memory.get(einsum, 0) + reservation.size_bits
    return {memory: max(bits.values()) for memory, bits in during.items()}


def _collect(
    workload: FusionWorkload,
    nest_of: dict[str, Nest],
    nodes: tuple[Node, ...],
    above: tuple[Node, ...],
    found: list[Reservation],
    replaced_tiles: int,
) -> None:
    bits = dict(workload.bits)
    for index, node in enumerate(nodes):
        if isinstance(node, Split):
            for branch in node.branches:
                path = (*above, *nodes[:-1])
                _collect(workload, nest_of, branch, path, found, replaced_tiles)
        if not isinstance(node, Store):
            continue
        tensor = node.tensor
        user = next(e for e in computed(nodes) if e in workload.users(tensor))
        nest, access = nest_of[user], workload.einsum(user).access(tensor)
        backing = nest.holders(tensor)[0] == len(above) + index
        end = index + 1 if backing else _sunk(nodes, index, user, _apart(access))
        elements = access.elements(nest.tile(len(above) + end))
        if nest.loops_above(len(above) + end):
            elements *= replaced_tiles
        live = _live(workload, nodes[end:], tensor)
        if backing and tensor in workload.persistent:
            live = computed(nodes)
        found.append(Reservation(node.memory, tensor, elements * bits[tensor], live))


def _sunk(nodes: tuple[Node, ...], index: int, user: str, apart: frozenset[str]) -> int:
    """Return the position that a storage node sinks to, past loops that part T."""
    end = index + 1
    while isinstance(loop := nodes[end], Loop) and loop.rank_of(user) in apart:
        end += 1
    return end


def _apart(access: Access) -> frozenset[str]:
    """Return the rank variables whose tiles of a tensor neither overlap nor gap."""
    return frozenset(axis.terms[0][0] for axis in access.axes if axis.plain)


def _live(
    workload: FusionWorkload, below: tuple[Node, ...], tensor: str
) -> tuple[str, ...]:
    """Return the einsums from the first to the last part below that uses a tensor."""
    parts = parts_of(below)
    users = workload.users(tensor)
    using = [i for i, part in enumerate(parts) if any(name in users for name in part)]
    return tuple(name for part in parts[using[0] : using[-1] + 1] for name in part)


def parts_of(nodes: tuple[Node, ...]) -> list[tuple[str, ...]]:
    """Return the einsums of a node list by part: all under a loop, or one."""
    last = nodes[-1]
    looped = any(isinstance(node, Loop) for node in nodes)
    if looped or not isinstance(last, Split):
        return [computed(nodes)]
    return [part for branch in last.branches for part in parts_of(branch)]
