"""Stages of a fusion choice: the network of classes, with the bits that its arcs hold.

While einsum e runs, a memory holds e's private nodes, every live shared tensor, and of
every other einsum f what it holds under loops that both share. f shares a loop of depth
d with e if all interfaces between them keep d loops or more open, so that

    H_e = private_e + live_e + Σ_f Σ_d [f and e share d loops] · h_fd ≤ capacity

with h_fd what f holds directly under d − 1 loops: its private nodes there and shared
tensors that only f knows by then, those it opened (seen from before) or was the last to
use (seen from after). h_f0, what persists, counts throughout.
"""

from __future__ import annotations

from dataclasses import dataclass

from elkhound.model.fusion.pmappings import Held, Pmappings, network


@dataclass(frozen=True, slots=True)
class Arc:
    """An einsum in one class, between two interfaces.

    Parameters
    ----------
    group : int
        The class.
    tail, head : int
        Interfaces before and after the einsum.
    held : Held
        Bits of the shared tensors.
    """

    group: int
    tail: int
    head: int
    held: Held


@dataclass(frozen=True, slots=True)
class Stage:
    """One einsum.

    Parameters
    ----------
    einsum : str
        Its name.
    arcs : tuple of Arc
        Those that lie on a path through all einsums.
    open_loops : tuple of int
        Loops that stay open at every interface after it.
    """

    einsum: str
    arcs: tuple[Arc, ...]
    open_loops: tuple[int, ...]


def stages(pmappings: Pmappings) -> tuple[Stage, ...]:
    """Return a stage per einsum; without a path, stages without arcs."""
    persistent = frozenset(pmappings.workload.persistent)
    memories = pmappings.tables[0].memories
    found = []
    for stage in network(pmappings):
        arcs = []
        for step in stage.steps:
            before, after = stage.before[step.tail], stage.after[step.head]
            held = Held.between(before, step.own, after, memories, persistent)
            arcs.append(Arc(step.group, step.tail, step.head, held))
        open_loops = tuple(len(interface.cuts) for interface in stage.after)
        found.append(Stage(stage.einsum, tuple(arcs), open_loops))
    return tuple(found)
