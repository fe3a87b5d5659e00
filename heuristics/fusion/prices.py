"""What a choice of partial mappings costs, and whether the memories hold it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate

from elkhound.heuristics.fusion.choices import Arc, Choice
from elkhound.model.fusion.pmappings import Held, Pmappings

Bits = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Price:
    """Cost of a choice.

    Parameters
    ----------
    energy, latency : float
        In the accelerator's units.
    fits : bool
        Whether no memory overflows; filling one exactly fits.
    """

    energy: float
    latency: float
    fits: bool


@dataclass(frozen=True, slots=True)
class _Row:
    """A partial mapping; bits by memory, `above` by number of loops too."""

    energy: float
    latency: float
    private: Bits
    above: tuple[Bits, ...]


class Prices:
    """Prices choices by the rules that `model/fusion/pmappings` states."""

    def __init__(self, pmappings: Pmappings) -> None:
        self.memories = pmappings.tables[0].memories
        self.capacity = tuple(
            pmappings.accelerator.memory(name).size_bits or 0 for name in self.memories
        )
        self.rows = [
            [
                _Row(energy, latency, tuple(private), tuple(map(tuple, above)))
                for energy, latency, private, above in zip(
                    table.energy.tolist(),
                    table.latency.tolist(),
                    table.private_bits.tolist(),
                    table.above_bits.tolist(),
                    strict=True,
                )
            ]
            for table in pmappings.tables
        ]
        self.persistent = frozenset(pmappings.workload.persistent)
        self.shared: dict[Arc, Held] = {}

    def of(self, choice: Choice) -> Price:
        """Price a choice."""
        rows = [
            of_einsum[arc.rows[place]]
            for of_einsum, arc, place in zip(
                self.rows, choice.arcs, choice.places, strict=True
            )
        ]
        return Price(
            sum(row.energy for row in rows),
            sum(row.latency for row in rows),
            self._fits(choice, rows),
        )

    def _fits(self, choice: Choice, rows: list[_Row]) -> bool:
        common = [len(arc.following.interface.cuts) for arc in choice.arcs]
        tensors = [self._around(arc) for arc in choice.arcs]
        return all(
            self._most(memory, common, rows, tensors) <= capacity
            for memory, capacity in enumerate(self.capacity)
        )

    def _most(
        self, m: int, common: list[int], rows: list[_Row], tensors: list[Held]
    ) -> float:
        """Return the most that a memory holds while some einsum runs.

        Einsum e holds its private nodes and the live tensors; of every other einsum
        what it holds throughout, and of one that shares j loops with e also what it
        holds under less than j loops.
        """
        throughout = sum(row.above[m][0] for row in rows)
        not_yet_live = sum(own.opened[m][0] for own in tensors)
        most = 0.0
        for e, row in enumerate(rows):
            not_yet_live -= tensors[e].opened[m][0]
            bits = row.private[m] + tensors[e].live[m] + not_yet_live
            bits += throughout - row.above[m][0]
            for distance, loops in _beside(common[:e][::-1]):
                past = e - distance
                bits += _added(rows[past].above[m], loops)
                bits += _under(tensors[past].retired[m], loops)
            for distance, loops in _beside(common[e:-1]):
                coming = e + distance
                bits += _added(rows[coming].above[m], loops)
                bits += _added(tensors[coming].opened[m], loops)
            most = max(most, bits)
        return most

    def _around(self, arc: Arc) -> Held:
        """Return what an arc holds, opened and retired summed under less than d loops.

        What persists is held throughout, as if under less than 0.
        """
        if arc not in self.shared:
            before, after = arc.before.interface, arc.following.interface
            held = Held.between(before, arc.own, after, self.memories, self.persistent)
            opened, retired = _summed(held.opened), _summed(held.retired)
            self.shared[arc] = Held(held.live, opened, retired)
        return self.shared[arc]


def _summed(by_depth: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(accumulate(bits)) for bits in by_depth)


def _beside(common: list[int]) -> Iterable[tuple[int, int]]:
    """Yield distance and number of common loops of neighbours, until there are none."""
    least: int | None = None
    for distance, loops in enumerate(common, start=1):
        least = loops if least is None else min(least, loops)
        if least == 0:
            return
        yield distance, least


def _under(by_depth: Bits, loops: int) -> float:
    return by_depth[min(loops, len(by_depth) - 1)]


def _added(by_depth: Bits, loops: int) -> float:
    """Return what common loops add to what is held throughout."""
    return _under(by_depth, loops) - by_depth[0]
