"""One partial mapping per einsum: the choice that the exact methods model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from elkhound.model.fusion.pmappings import Pick, Pmappings
from elkhound.solvers.fusion.stages import Arc, Stage, stages

_TOLERANCE = 1e-9  # relative; sums of floats in different orders


@dataclass(frozen=True, slots=True)
class Option:
    """A row of an einsum's table in one class.

    Parameters
    ----------
    pick : Pick
        Row and class.
    energy, latency : float
        In the accelerator's units.
    private_bits : tuple of int
        By memory, while the einsum runs.
    held_bits : tuple of tuple of int
        By memory and d: private nodes directly under d − 1 fused loops; d = 0 for those
        that persist.
    """

    pick: Pick
    energy: float
    latency: float
    private_bits: tuple[int, ...]
    held_bits: tuple[tuple[int, ...], ...]

    def cost(self, criterion: str) -> float:
        """Return energy or latency."""
        return self.energy if criterion == "energy" else self.latency


@dataclass(frozen=True, slots=True)
class Choice:
    """Stages with the options of each.

    Parameters
    ----------
    stages : tuple of Stage
        See `stages`.
    options : tuple of tuple of Option
        Per stage.
    capacity_bits : tuple of int
        By memory.
    """

    stages: tuple[Stage, ...]
    options: tuple[tuple[Option, ...], ...]
    capacity_bits: tuple[int, ...]

    @classmethod
    def of(cls, pmappings: Pmappings) -> Choice:
        """Return the choice among partial mappings."""
        accelerator = pmappings.accelerator
        found = stages(pmappings)
        return cls(
            found,
            tuple(
                tuple(_options(pmappings, index, stage))
                for index, stage in enumerate(found)
            ),
            tuple(
                accelerator.memory(name).size_bits or 0
                for name in pmappings.tables[0].memories
            ),
        )

    @property
    def is_empty(self) -> bool:
        """Whether no choice of classes fits together, or an einsum has no option."""
        has_arcs = all(stage.arcs for stage in self.stages)
        return not (has_arcs and all(self.options))

    def fits(self, taken: Sequence[Option], arcs: Sequence[Arc]) -> bool:
        """Whether every memory holds what is taken, while every einsum runs."""
        return all(
            self._need_bits(taken, arcs, einsum, memory) <= capacity
            for einsum in range(len(taken))
            for memory, capacity in enumerate(self.capacity_bits)
        )

    def _need_bits(
        self, taken: Sequence[Option], arcs: Sequence[Arc], einsum: int, memory: int
    ) -> int:
        """Return H_e of `stages`, summed over pairs of einsums."""
        bits = taken[einsum].private_bits[memory] + arcs[einsum].held.live[memory]
        for other, (option, arc) in enumerate(zip(taken, arcs, strict=True)):
            if other == einsum:
                continue
            between = range(min(other, einsum), max(other, einsum))
            both = min(self.stages[i].open_loops[arcs[i].head] for i in between)
            known = arc.held.opened if other > einsum else arc.held.retired
            bits += sum(option.held_bits[memory][: both + 1])
            first = 0 if other > einsum else 1  # what persists is live by then
            bits += sum(known[memory][first : both + 1])
        return bits

    @property
    def deepest(self) -> int:
        """Most loops that two einsums share."""
        return max(max(s.open_loops[a.head] for a in s.arcs) for s in self.stages)

    def least(self, criterion: str) -> float:
        """Return what no choice is below: every einsum's least cost."""
        return sum(min(o.cost(criterion) for o in own) for own in self.options)

    def within(self, criterion: str, most: float) -> Choice:
        """Leave out options that are in no choice of this cost or less."""
        slack = most - self.least(criterion) + _TOLERANCE * abs(most)
        kept = []
        for own in self.options:
            least = min(option.cost(criterion) for option in own)
            kept.append(tuple(o for o in own if o.cost(criterion) <= least + slack))
        return Choice(self.stages, tuple(kept), self.capacity_bits)


def at(bits: Sequence[int], depth: int) -> int:
    """Return an entry of bits by depth; there is nothing below the last."""
    return bits[depth] if depth < len(bits) else 0


def _options(pmappings: Pmappings, index: int, stage: Stage) -> Iterator[Option]:
    table = pmappings.tables[index]
    energy, latency = table.energy.tolist(), table.latency.tolist()
    private = table.private_bits.astype(int).tolist()
    above = table.above_bits.astype(int).tolist()
    for group in sorted({arc.group for arc in stage.arcs}):
        for row in table.members[group].tolist():
            yield Option(
                Pick(row, group),
                energy[row],
                latency[row],
                tuple(private[row]),
                tuple(
                    (own[0], *(b - a for a, b in pairwise(own))) for own in above[row]
                ),
            )
