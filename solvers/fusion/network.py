"""Choices of partial mappings as paths: interfaces are nodes, classes are arcs.

A mapping of the workload is a path from the empty interface through one class per
einsum, with a row of each class. Whether classes fit together is then a matter of flow,
which is tight: no pair of einsums needs a constraint of its own.

While einsum e runs, a memory holds e's private nodes, every live shared tensor, and of
every other einsum f what it holds under loops that both share. f shares a loop of depth
d with e if all interfaces between them keep d loops or more open, so that

    H_e = private_e + live_e + Σ_f Σ_d [f and e share d loops] · h_fd ≤ capacity

with h_fd what f holds directly under d − 1 loops: its private nodes there and shared
tensors that only f knows by then, those it opened (seen from before) or was the last to
use (seen from after). h_f0, what persists, counts throughout.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from elkhound.model.fusion.compatibility import (
    Compatibility,
    Exchange,
    Interface,
    Live,
    advanced,
)
from elkhound.model.fusion.pmappings import Pmappings, used_later

Bits = tuple[tuple[int, ...], ...]
"""By memory and depth."""


@dataclass(frozen=True, slots=True)
class Arc:
    """An einsum in one class, between two interfaces.

    Parameters
    ----------
    group : int
        The class.
    tail, head : int
        Interfaces before and after the einsum.
    live_bits : tuple of int
        By memory: live tensors while it runs, its own included.
    opened_bits, retired_bits : tuple of tuple of int
        By memory and d: tensors directly under d − 1 loops that are live from this
        einsum on, and that no later one uses; d = 0 for those that persist.
    """

    group: int
    tail: int
    head: int
    live_bits: tuple[int, ...]
    opened_bits: Bits
    retired_bits: Bits


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


def network(pmappings: Pmappings) -> tuple[Stage, ...]:
    """Return a stage per einsum; without a path, stages without arcs."""
    fronts: list[dict[Interface, int]] = [{Interface(): 0}]
    found: list[list[Arc]] = []
    workload = pmappings.workload
    keeps = frozenset(workload.persistent)
    for index, table in enumerate(pmappings.tables):
        later = used_later(workload, index)
        produced = workload.einsums[index].output.tensor
        after: dict[Interface, int] = {}
        arcs = []
        fitting = _Fitting(table.classes)
        for interface, tail in fronts[-1].items():
            for group in fitting.of(interface):
                own = table.classes[group]
                following = advanced(interface, own, produced, later)
                if following is None:
                    continue
                head = after.setdefault(following, len(after))
                held = _Held.between(interface, own, following)
                arcs.append(
                    Arc(
                        group,
                        tail,
                        head,
                        tuple(held.live(memory) for memory in table.memories),
                        tuple(held.opened(memory, keeps) for memory in table.memories),
                        tuple(held.retired(memory, keeps) for memory in table.memories),
                    )
                )
        fronts.append(after)
        found.append(arcs)
    kept = _reaching_the_end(found)
    return tuple(
        Stage(
            table.einsum,
            tuple(arcs),
            tuple(len(interface.cuts) for interface in after),
        )
        for table, arcs, after in zip(pmappings.tables, kept, fronts[1:], strict=True)
    )


def _reaching_the_end(found: list[list[Arc]]) -> list[list[Arc]]:
    """Drop arcs after which some later einsum has no class that fits."""
    kept: list[list[Arc]] = []
    useful: set[int] | None = None
    for arcs in reversed(found):
        own = [arc for arc in arcs if useful is None or arc.head in useful]
        useful = {arc.tail for arc in own}
        kept.append(own)
    return kept[::-1]


class _Fitting:
    """Classes by where they have the shared tensors that an interface knows."""

    def __init__(self, classes: tuple[Compatibility, ...]) -> None:
        self.classes = classes
        self.tensors = {e.tensor for c in classes[:1] for e in c.exchanges}
        self.known: dict[frozenset[str], dict[object, list[int]]] = {}

    def of(self, interface: Interface) -> Iterable[int]:
        live = [t for t in interface.live if t.tensor in self.tensors]
        used = frozenset(t.tensor for t in live)
        if used not in self.known:
            index: dict[object, list[int]] = defaultdict(list)
            for group, own in enumerate(self.classes):
                met = [e for e in own.exchanges if e.tensor in used]
                index[_place(met)].append(group)
            self.known[used] = index
        return self.known[used].get(_place(live), [])


def _place(held: Iterable[Exchange | Live]) -> object:
    return frozenset((each.tensor, each.memory, each.depth) for each in held)


@dataclass(frozen=True, slots=True)
class _Held:
    """Shared tensors around one einsum: known before, known from it on, known after."""

    before: tuple[Live, ...]
    fresh: tuple[Exchange, ...]
    after: frozenset[str]

    @classmethod
    def between(cls, before: Interface, own: Compatibility, after: Interface) -> _Held:
        known = {live.tensor for live in before.live}
        return cls(
            before.live,
            tuple(e for e in own.exchanges if e.tensor not in known),
            frozenset(live.tensor for live in after.live),
        )

    @property
    def all(self) -> list[Exchange | Live]:
        return [*self.before, *self.fresh]

    def live(self, memory: str) -> int:
        return sum(each.bits for each in self.all if each.memory == memory)

    def opened(self, memory: str, persistent: frozenset[str]) -> tuple[int, ...]:
        return _by_depth(self.fresh, memory, persistent)

    def retired(self, memory: str, persistent: frozenset[str]) -> tuple[int, ...]:
        gone = [each for each in self.all if each.tensor not in self.after]
        return _by_depth(gone, memory, persistent)


def _by_depth(
    held: Iterable[Exchange | Live], memory: str, persistent: frozenset[str]
) -> tuple[int, ...]:
    own = [each for each in held if each.memory == memory]
    bits = [0] * (2 + max((each.depth for each in own), default=0))
    for each in own:
        bits[0 if each.tensor in persistent else each.depth + 1] += each.bits
    return tuple(bits)
