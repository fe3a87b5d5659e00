"""Joins the ranks' choices of one template, one group of ranks at a time.

After each group: what cannot fit even with the smallest tiles of the missing groups is
dropped, what cannot become competitive even with their least counts, and of rows with
equal fused loops and equal use of limited fan-outs, those that another row beats in
every finished sum and every open product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from elkhound.model.fusion.accelerator import Accelerator
from elkhound.model.fusion.pmappings.counts import Column, Costs, Weights, costs_of
from elkhound.model.fusion.pmappings.pareto import pareto
from elkhound.model.fusion.pmappings.shape import EinsumShape
from elkhound.model.fusion.pmappings.templates import Template
from elkhound.model.fusion.pmappings.tiles import (
    GroupTiles,
    Multipliers,
    group_tiles,
    rank_groups,
)

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

_CHUNK = 1 << 20  # pairs held at once
_TOLERANCE = 1e-9  # relative; what differs by less counts as equal


@dataclass(frozen=True, eq=False)
class Candidates:
    """Partial mappings of one template.

    Parameters
    ----------
    template : Template
        Where storage and loops stand.
    groups : tuple of GroupTiles
        The choices of every group of ranks.
    picks : array of rows × groups
        Which choice each row takes.
    energy, latency : array of rows
        In the accelerator's units.
    node_bits : array of rows × nodes
        Tile of every node of the template; 0 in memories without capacity.
    """

    template: Template
    groups: tuple[GroupTiles, ...]
    picks: Ints
    energy: Floats
    latency: Floats
    node_bits: Floats


@dataclass(frozen=True, slots=True)
class Aim:
    """What rows are worth keeping.

    Parameters
    ----------
    criteria : tuple of str
        Of ``energy`` and ``latency``; empty: keep all rows.
    ceilings : array of points × criteria
        Drop rows that are no better than one of these points.
    """

    criteria: tuple[str, ...]
    ceilings: Floats

    def worse(self, energy: Floats, latency: Floats) -> Mask:
        """Return which (lower bounds of) costs a ceiling makes useless."""
        costs = {"energy": energy, "latency": latency}
        values = [costs[name] for name in self.criteria]
        useless = np.zeros(energy.shape, bool)
        for point in self.ceilings:
            beaten = np.ones(energy.shape, bool)
            strictly = np.zeros(energy.shape, bool)
            for value, limit in zip(values, point, strict=True):
                beaten &= value >= limit
                strictly |= value > limit * (1 + _TOLERANCE)
            useless |= beaten & strictly
        return useless


@dataclass(frozen=True, eq=False)
class _Partial:
    """Rows over some groups of ranks; arrays have one column per row.

    Parameters
    ----------
    picks : array of groups × rows
        Choices taken.
    key : array of rows
        Equal for equal loops in fused blocks.
    counts, nodes, use : array
        Products over the groups: factors of counts, of limited nodes' tiles, and units
        used of every fan-out.
    """

    picks: Ints
    key: Ints
    counts: Floats
    nodes: Floats
    use: Ints

    def __len__(self) -> int:
        return len(self.key)

    def taken(self, rows: npt.NDArray[np.intp] | Mask) -> _Partial:
        """Return some rows."""
        return _Partial(
            self.picks[:, rows],
            self.key[rows],
            self.counts[:, rows],
            self.nodes[:, rows],
            self.use[:, rows],
        )

    def times(
        self, other: _Partial, mine: npt.NDArray[np.intp], its: npt.NDArray[np.intp]
    ) -> _Partial:
        """Return pairs of rows."""
        return _Partial(
            np.concatenate([self.picks[:, mine], other.picks[:, its]]),
            self.key[mine] * (other.key.max() + 1) + other.key[its],
            self.counts[:, mine] * other.counts[:, its],
            self.nodes[:, mine] * other.nodes[:, its],
            self.use[:, mine] * other.use[:, its],
        )


@dataclass(frozen=True, eq=False)
class _Missing:
    """What groups that are still to come multiply at least and at most."""

    least_counts: Floats
    most_counts: Floats
    least_nodes: Floats
    most_use: Ints

    @classmethod
    def of(cls, groups: Sequence[_Partial], like: _Partial) -> _Missing:
        counts = np.ones((2, len(like.counts)))
        nodes, use = np.ones(len(like.nodes)), np.ones(len(like.use), np.int64)
        for group in groups:
            counts[0] *= group.counts.min(axis=1)
            counts[1] *= group.counts.max(axis=1)
            nodes *= group.nodes.min(axis=1)
            use *= group.use.max(axis=1)
        return cls(counts[0], counts[1], nodes, use)


class Combination:
    """One template of a shape on an accelerator, ready to be searched.

    Parameters
    ----------
    least_use : dict of str to int
        Units of a fan-out that must be used, by label.
    aim : Aim
        What is worth keeping.
    most_fused_per_rank : int
        Most loops with iterations in fused blocks over one rank.
    """

    def __init__(
        self,
        accelerator: Accelerator,
        shape: EinsumShape,
        template: Template,
        least_use: dict[str, int],
        aim: Aim,
        most_fused_per_rank: int,
    ) -> None:
        self.accelerator = accelerator
        self.shape = shape
        self.template = template
        self.aim = aim
        self.most_fused_per_rank = most_fused_per_rank
        self.costs: Costs = costs_of(accelerator, shape, template)
        weights = (self.costs.energy, *self.costs.ports)
        self.columns = tuple(dict.fromkeys(c for w in weights for c in w))
        self.weights = np.array([_vector(w, self.columns) for w in weights])
        self.fan_slots = [i for i, s in enumerate(template.slots) if s.fan_out]
        fans = [s.fan_out for s in template.slots if s.fan_out]
        self.least = np.array([least_use[f.label] for f in fans], np.int64)
        self.most = np.array([f.size for f in fans], np.int64)
        self.limited = [
            node
            for node, (level, _) in enumerate(template.nodes, start=1)
            if accelerator.memories[level].size_bits is not None
        ]
        tensors = [template.nodes[node - 1][1] for node in self.limited]
        self.node_scale = np.array([shape.bits[t] for t in tensors], float)

    @cached_property
    def capacities(self) -> list[tuple[int, list[int]]]:
        """For every limited memory, its capacity and its nodes among the limited."""
        found = []
        for level, memory in enumerate(self.accelerator.memories):
            own = [
                i for i, n in enumerate(self.limited) if self.template.level(n) == level
            ]
            if own and memory.size_bits is not None:
                found.append((memory.size_bits, own))
        return found

    @cached_property
    def functions(self) -> list[int]:
        """Rows of the weights that the criteria depend on: 0 energy, then ports."""
        ports = list(range(1, len(self.weights)))
        if self.aim.criteria == ("energy",) and self.costs.leak == 0:
            return [0]
        return ports if self.aim.criteria == ("latency",) else [0, *ports]

    @cached_property
    def saves(self) -> Mask:
        """Columns of which more is better: first touches of outputs."""
        return np.asarray((self.weights < 0).any(axis=0))

    def search(self) -> Candidates | None:
        """Return what the aim keeps, None if nothing fits."""
        tiles = [
            group_tiles(self.shape, self.template, group, self.most_fused_per_rank)
            for group in rank_groups(self.shape)
        ]
        if any(len(group) == 0 for group in tiles):
            return None
        groups = self._reduced([self._partial(group) for group in tiles])
        if groups is None:
            return None
        order = sorted(range(len(groups)), key=lambda index: len(groups[index]))
        rows = groups[order[0]]
        for done, index in enumerate(order[1:], start=2):
            missing = [groups[later] for later in order[done:]]
            rows = self._joined(rows, groups[index], missing)
            if not len(rows):
                return None
        rows = rows.taken(self._proper([tiles[index] for index in order], rows))
        if not len(rows):
            return None
        return self._candidates(tuple(tiles[index] for index in order), rows)

    def _partial(self, tiles: GroupTiles) -> _Partial:
        template = self.template
        shares = tuple(
            (s.fan_out.multicast, s.fan_out.reduction) if s.fan_out else (False, False)
            for s in template.slots
        )
        multipliers = Multipliers(self.shape, template, shares)
        tensors = [template.nodes[node - 1][1] for node in self.limited]
        counts = [multipliers.column(tiles, column) for column in self.columns]
        nodes = [
            multipliers.tile(tiles, tensor, node)
            for tensor, node in zip(tensors, self.limited, strict=True)
        ]
        return _Partial(
            np.arange(len(tiles))[None, :],
            tiles.fused_code,
            np.array(counts).reshape(len(counts), len(tiles)),
            np.array(nodes).reshape(len(nodes), len(tiles)),
            tiles.factors[:, :, self.fan_slots].prod(axis=1).T,
        )

    def _reduced(self, groups: list[_Partial]) -> list[_Partial] | None:
        """Drop choices that no other groups' choices can make fit, and beaten ones."""
        for index, group in enumerate(groups):
            others = _Missing.of(groups[:index] + groups[index + 1 :], group)
            groups[index] = group.taken(self._possible(group, others))
            if not len(groups[index]):
                return None
        if self.aim.criteria:
            groups = [group.taken(self._front(group, None)) for group in groups]
        return groups

    def _possible(self, rows: _Partial, missing: _Missing) -> Mask:
        """Return which rows may fit and may be worth keeping in the end."""
        kept = self._fits(rows, missing)
        if len(self.aim.ceilings):
            kept[kept] = ~self._worse(rows.counts[:, kept], missing)
        return kept

    def _fits(self, rows: _Partial, missing: _Missing) -> Mask:
        fits = np.asarray((rows.use <= self.most[:, None]).all(axis=0))
        reach = rows.use * missing.most_use[:, None]
        fits &= np.asarray((reach >= self.least[:, None]).all(axis=0))
        scale = self.node_scale * missing.least_nodes
        for capacity, nodes in self.capacities:
            fits &= scale[nodes] @ rows.nodes[nodes] <= capacity
        return fits

    def _worse(self, counts: Floats, missing: _Missing) -> Mask:
        """Compare the least cost that rows may end with to the ceilings."""
        rest = np.where(self.saves, missing.most_counts, missing.least_counts)
        timed = self.costs.leak > 0 or "latency" in self.aim.criteria
        weights = (self.weights if timed else self.weights[:1]) * rest
        return self.aim.worse(*self._costs(weights, counts))

    def _costs(self, weights: Floats, counts: Floats) -> tuple[Floats, Floats]:
        latency = np.full(counts.shape[1], self.costs.fixed_latency)
        for port in weights[1:]:
            latency = np.maximum(latency, port @ counts)
        energy = weights[0] @ counts + self.costs.fixed_energy
        return energy + self.costs.leak * latency, latency

    def _joined(
        self, rows: _Partial, group: _Partial, missing: Sequence[_Partial]
    ) -> _Partial:
        """Return pairs of rows and a group's choices that are worth keeping."""
        rest = _Missing.of(missing, group)
        step = max(1, _CHUNK // len(group))
        parts = []
        for at in range(0, len(rows), step):
            part = rows.taken(np.arange(at, min(at + step, len(rows))))
            mine, its = self._pairs(part, group, rest)
            joined = part.times(group, mine, its)
            if len(self.aim.ceilings) and len(joined):
                joined = joined.taken(~self._worse(joined.counts, rest))
            if missing and self.aim.criteria:
                joined = joined.taken(self._front(joined, missing))
            parts.append(joined)
        result = _concatenated(parts)
        if len(parts) > 1 and missing and self.aim.criteria:
            result = result.taken(self._front(result, missing))
        return result

    def _pairs(
        self, rows: _Partial, group: _Partial, missing: _Missing
    ) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """Return the pairs that fan-outs and memories allow."""
        fits = np.ones((len(rows), len(group)), bool)
        for mine, its, most, least, rest in zip(
            rows.use, group.use, self.most, self.least, missing.most_use, strict=True
        ):
            if mine.max() * its.max() > most:
                fits &= mine[:, None] * its <= most
            if mine.min() * its.min() * rest < least:
                fits &= mine[:, None] * (its * rest) >= least
        scale = self.node_scale * missing.least_nodes
        for capacity, nodes in self.capacities:
            bits = (rows.nodes[nodes].T * scale[nodes]) @ group.nodes[nodes]
            fits &= bits <= capacity
        found = np.nonzero(fits)
        return found[0], found[1]

    def _front(
        self, rows: _Partial, missing: Sequence[_Partial] | None
    ) -> npt.NDArray[np.intp]:
        """Return the rows that may still become part of a best mapping.

        Parameters
        ----------
        missing : sequence of _Partial or None
            Groups to come; None: the rows are a single group's, all others to come.
        """
        tight = self.least > 1
        keys = [rows.key, *rows.use[tight]]
        weights = self.weights[self.functions]
        criteria = []
        if missing is None:
            criteria += [*(rows.counts * np.where(self.saves, -1.0, 1.0)[:, None])]
        else:
            closed = np.ones(len(self.columns), bool)
            for group in missing:
                closed &= np.ptp(group.counts, axis=1) == 0
            criteria += [*(weights[:, closed] @ rows.counts[closed])]
            for column in np.flatnonzero(~closed):
                values = rows.counts[column]
                criteria.append(-values if self.saves[column] else values)
        criteria += [*rows.nodes, *rows.use[~tight].astype(float)]
        varying = [values for values in criteria if len(values) and np.ptp(values) > 0]
        values = np.array(varying).reshape(len(varying), len(rows)).T
        return pareto(_packed(keys), values)

    def _proper(self, tiles: Sequence[GroupTiles], rows: _Partial) -> Mask:
        """Drop rows in which a node would sink further than the template says."""
        proper = np.ones(len(rows), bool)
        for node in self.template.sinkable - self.template.sunk:
            timed = next(
                i
                for i, s in enumerate(self.template.slots)
                if s.block == node and s.fan_out is None
            )
            looped = np.zeros(len(rows), bool)
            for group, pick in zip(tiles, rows.picks, strict=True):
                iterates = np.any(group.factors[:, :, timed] > 1, axis=1)
                looped |= np.asarray(iterates)[pick]
            proper &= looped
        return proper

    def _candidates(self, tiles: tuple[GroupTiles, ...], rows: _Partial) -> Candidates:
        energy, latency = self._costs(self.weights, rows.counts)
        node_bits = np.zeros((len(rows), len(self.template.nodes)))
        for index, node in enumerate(self.limited):
            node_bits[:, node - 1] = rows.nodes[index] * self.node_scale[index]
        return Candidates(
            self.template, tiles, rows.picks.T, energy, latency, node_bits
        )


def _concatenated(parts: Sequence[_Partial]) -> _Partial:
    return _Partial(
        np.concatenate([part.picks for part in parts], axis=1),
        np.concatenate([part.key for part in parts]),
        np.concatenate([part.counts for part in parts], axis=1),
        np.concatenate([part.nodes for part in parts], axis=1),
        np.concatenate([part.use for part in parts], axis=1),
    )


def _vector(weights: Weights, columns: tuple[Column, ...]) -> list[float]:
    return [weights.get(column, 0.0) for column in columns]


def _packed(keys: Sequence[Ints]) -> Ints:
    """Return one integer per row, equal where all keys are equal."""
    packed = np.zeros(len(keys[0]), np.int64)
    for key in keys:
        values, index = np.unique(key, return_inverse=True)
        packed = packed * len(values) + index
    return packed
