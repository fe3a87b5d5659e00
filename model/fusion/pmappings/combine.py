"""Joins the ranks' choices of one template, one group of ranks at a time.

After each group: what cannot fit even with the smallest tiles of the missing groups is
dropped, what cannot become competitive even with their least counts, and of rows with
equal fused loops and equal use of limited fan-outs, those that another row beats in
every finished sum and every open product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from elkhound.model.fusion.accelerator import Accelerator
from elkhound.model.fusion.mapspace import Mapspace
from elkhound.model.fusion.pmappings.counts import Column, Costs, Weights, costs_of
from elkhound.model.fusion.pmappings.multipliers import Multipliers
from elkhound.model.fusion.pmappings.pareto import pareto
from elkhound.model.fusion.pmappings.partial import (
    Missing,
    Partial,
    concatenated,
    packed,
)
from elkhound.model.fusion.pmappings.shape import EinsumShape
from elkhound.model.fusion.pmappings.templates import Template
from elkhound.model.fusion.pmappings.tiles import (
    GroupTiles,
    fused_tiles,
    private_tiles,
    rank_groups,
    stacked,
)
from elkhound.model.stopwatch import Stopwatch

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.intp]

_CHUNK = 1 << 20  # pairs held at once
_REMEMBERED = 30_000  # factors of one template that are kept between searches
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

    def aimed(self, aim: Aim) -> Candidates | None:
        """Return the rows below an aim's ceilings, None if none is."""
        kept = np.flatnonzero(~aim.worse(self.energy, self.latency))
        if not len(kept):
            return None
        return replace(
            self,
            picks=self.picks[kept],
            energy=self.energy[kept],
            latency=self.latency[kept],
            node_bits=self.node_bits[kept],
        )


@dataclass(frozen=True, slots=True)
class Aim:
    """What rows are worth keeping.

    Parameters
    ----------
    criteria : tuple of str
        Of ``energy`` and ``latency``; empty: keep all rows.
    ceilings : array of points × criteria
        Drop rows that are no better than one of these points.
    alone : bool
        Only the costs matter: rows compete whatever their fused loops.
    """

    criteria: tuple[str, ...]
    ceilings: Floats
    alone: bool = False

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
class _Group:
    """A group's choices: pairs of fused and private ones that may fit.

    Parameters
    ----------
    fused, private : GroupTiles
        Choices in fused blocks and outside.
    pairs : array of 2 × choices
        Which of them go together.
    rows : Partial
        What the choices multiply; its picks are columns of `pairs`.
    """

    fused: GroupTiles
    private: GroupTiles
    pairs: Indices
    rows: Partial

    def tiles(self, chosen: Ints) -> GroupTiles:
        """Return some choices in full."""
        mine, its = self.pairs[:, chosen]
        return self.fused.times(self.private, mine, its)


class Combination:
    """One template of a shape on an accelerator, ready to be searched.

    Parameters
    ----------
    least_use : dict of str to int
        Units of a fan-out that must be used, by label.
    mapspace : Mapspace
        Limits of the fused loops.
    prunes : bool
        Whether the searches will have criteria.
    clock : Stopwatch
        Ends long lists; asked before each million of pairs.
    """

    def __init__(
        self,
        accelerator: Accelerator,
        shape: EinsumShape,
        template: Template,
        least_use: dict[str, int],
        mapspace: Mapspace,
        prunes: bool,
        clock: Stopwatch,
    ) -> None:
        self.accelerator = accelerator
        self.shape = shape
        self.template = template
        self.mapspace = mapspace
        self.prunes = prunes
        self.clock = clock
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

    def _functions(self, criteria: tuple[str, ...]) -> list[int]:
        """Return the weights that criteria depend on: row 0 energy, then ports."""
        ports = list(range(1, len(self.weights)))
        if criteria == ("energy",) and self.costs.leak == 0:
            return [0]
        return ports if criteria == ("latency",) else [0, *ports]

    @cached_property
    def saves(self) -> Mask:
        """Columns of which more is better: first touches of outputs."""
        return np.asarray((self.weights < 0).any(axis=0))

    @cached_property
    def _groups(self) -> list[_Group]:
        """Every group's choices that may fit."""
        groups = [
            self._group(group) for group in rank_groups(self.shape, self.mapspace.tiles)
        ]
        for index, group in enumerate(groups):
            others = [own.rows for i, own in enumerate(groups) if i != index]
            kept = self._fits(group.rows, Missing.of(others, group.rows))
            groups[index] = replace(group, rows=group.rows.taken(kept))
        return groups

    @cached_property
    def is_empty(self) -> bool:
        """Whether nothing can fit."""
        return any(len(group.rows) == 0 for group in self._groups)

    @cached_property
    def least_costs(self) -> dict[str, float]:
        """Lower bounds of energy and latency."""
        none = np.ones((len(self.columns), 1))
        groups = [group.rows for group in self._groups]
        missing = Missing.of(groups, groups[0])
        weights = self.weights * missing.best_counts(self.saves)
        energy, latency = self._costs(weights, none)
        return {"energy": float(energy[0]), "latency": float(latency[0])}

    def forget(self) -> None:
        """Free long lists of choices; a search that needs them forms them again."""
        known = self.__dict__.get("_groups", [])
        if sum(group.rows.counts.size for group in known) > _REMEMBERED:
            del self._groups

    def search(self, aim: Aim) -> Candidates | None:
        """Return what an aim keeps, None if nothing fits."""
        least = [np.array([self.least_costs[name]]) for name in ("energy", "latency")]
        if self.is_empty or aim.worse(*least)[0]:
            return None
        groups = self._reduced([group.rows for group in self._groups], aim)
        if groups is None:
            return None
        order = sorted(range(len(groups)), key=lambda index: len(groups[index]))
        rows = groups[order[0]]
        for done, index in enumerate(order[1:], start=2):
            missing = [groups[later] for later in order[done:]]
            rows = self._joined(rows, groups[index], missing, aim)
            if not len(rows):
                return None
        tiles, picks = [], []
        for index, own in zip(order, rows.picks, strict=True):
            chosen, renumbered = np.unique(own, return_inverse=True)
            tiles.append(self._groups[index].tiles(chosen))
            picks.append(renumbered)
        rows = replace(rows, picks=np.array(picks))
        rows = rows.taken(self._proper(tiles, rows))
        return self._candidates(tuple(tiles), rows) if len(rows) else None

    def _group(self, ranks: tuple[int, ...]) -> _Group:
        """Return a group's choices: fused loops, and private loops of what is left.

        Fused loops multiply the same whatever stands below, so the private ones are
        compared for each size that is left, not under each combination above.
        """
        self.clock.check()
        shape, template = self.shape, self.template
        fused = fused_tiles(shape, template, ranks, self.mapspace)
        left = fused.extents(shape)[:, :, -1]
        rests = left.prod(axis=1, keepdims=True) if fused.plain else left
        choices, code = np.unique(rests, axis=0, return_inverse=True)
        code = code.reshape(-1)
        parts = [
            private_tiles(shape, template, ranks, rest, self.mapspace)
            for rest in choices
        ]
        private = stacked(parts)
        of = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        if not fused.plain:
            mine, its = _pairs_of(code, of)
            whole = self._partial(fused.times(private, mine, its))
            return _Group(fused, private, np.stack([mine, its]), whole)
        below = self._partial(private)
        kept = np.flatnonzero((below.use <= self.most[:, None]).all(axis=0))
        if self.prunes and len(kept):
            below = below.taken(kept)
            below = replace(below, key=of[kept])
            kept = kept[self._front(below, None, Aim((), np.empty(0)))]
        private = private.taken(kept)
        mine, its = _pairs_of(code, of[kept])
        rows = self._partial(fused).times(self._partial(private), mine, its)
        picks = np.arange(len(mine))[None, :]
        rows = replace(rows, picks=picks, key=fused.fused_code[mine])
        return _Group(fused, private, np.stack([mine, its]), rows)

    def _partial(self, tiles: GroupTiles) -> Partial:
        template = self.template
        shares = tuple(
            (s.fan_out.multicast, s.fan_out.reduction) if s.fan_out else (False, False)
            for s in template.slots
        )
        multipliers = Multipliers(self.shape, template, shares)
        tensors = [template.nodes[node - 1][1] for node in self.limited]
        return Partial(
            np.arange(len(tiles))[None, :],
            tiles.fused_code,
            tiles.fused_loops,
            multipliers.counts(tiles, self.columns),
            multipliers.tiles(tiles, self.limited, tensors),
            tiles.factors[:, :, self.fan_slots].prod(axis=1).T,
        )

    def _reduced(self, groups: list[Partial], aim: Aim) -> list[Partial] | None:
        """Drop choices that are too expensive whatever the others are, and beaten."""
        if len(aim.ceilings):
            for index, group in enumerate(groups):
                others = Missing.of(groups[:index] + groups[index + 1 :], group)
                groups[index] = group.taken(~self._worse(group.counts, others, aim))
                if not len(groups[index]):
                    return None
        if aim.criteria:
            groups = [group.taken(self._front(group, None, aim)) for group in groups]
        return groups

    def _fits(self, rows: Partial, missing: Missing) -> Mask:
        fits = np.asarray((rows.use <= self.most[:, None]).all(axis=0))
        if self.mapspace.max_fused_loops is not None:
            fits &= rows.loops <= self.mapspace.max_fused_loops
        reach = rows.use * missing.most_use[:, None]
        fits &= np.asarray((reach >= self.least[:, None]).all(axis=0))
        scale = self.node_scale * missing.least_nodes
        for capacity, nodes in self.capacities:
            fits &= scale[nodes] @ rows.nodes[nodes] <= capacity
        return fits

    def _worse(self, counts: Floats, missing: Missing, aim: Aim) -> Mask:
        """Compare the least cost that rows may end with to the ceilings."""
        timed = self.costs.leak > 0 or "latency" in aim.criteria
        weights = self.weights if timed else self.weights[:1]
        rest = missing.best_counts(self.saves)
        return aim.worse(*self._costs(weights * rest, counts))

    def _costs(self, weights: Floats, counts: Floats) -> tuple[Floats, Floats]:
        latency = np.full(counts.shape[1], self.costs.fixed_latency)
        for port in weights[1:]:
            latency = np.maximum(latency, port @ counts)
        energy = weights[0] @ counts + self.costs.fixed_energy
        return energy + self.costs.leak * latency, latency

    def _joined(
        self, rows: Partial, group: Partial, missing: Sequence[Partial], aim: Aim
    ) -> Partial:
        """Return pairs of rows and a group's choices that are worth keeping."""
        rest = Missing.of(missing, group)
        step = max(1, _CHUNK // len(group))
        parts = []
        for at in range(0, len(rows), step):
            self.clock.check()
            part = rows.taken(np.arange(at, min(at + step, len(rows))))
            mine, its = self._pairs(part, group, rest)
            joined = part.times(group, mine, its)
            if len(aim.ceilings) and len(joined):
                joined = joined.taken(~self._worse(joined.counts, rest, aim))
            if missing and aim.criteria:
                joined = joined.taken(self._front(joined, missing, aim))
            parts.append(joined)
        result = concatenated(parts)
        if len(parts) > 1 and missing and aim.criteria:
            result = result.taken(self._front(result, missing, aim))
        return result

    def _pairs(
        self, rows: Partial, group: Partial, missing: Missing
    ) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """Return the pairs that fan-outs and memories allow."""
        fits = np.ones((len(rows), len(group)), bool)
        if self.mapspace.max_fused_loops is not None:
            fits &= rows.loops[:, None] + group.loops <= self.mapspace.max_fused_loops
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
        self, rows: Partial, missing: Sequence[Partial] | None, aim: Aim
    ) -> npt.NDArray[np.int64]:
        """Return the rows that may still become part of a best mapping.

        Parameters
        ----------
        missing : sequence of Partial or None
            Groups to come; None: the rows are a single group's, all others to come.
        """
        tight = self.least > 1
        keys = [*rows.use[tight]]
        criteria: list[Floats] = []
        if not aim.alone:
            keys.append(rows.key)
        elif self.mapspace.max_fused_loops is not None:
            criteria.append(rows.loops.astype(float))
        if missing is None:
            criteria += [*(rows.counts * np.where(self.saves, -1.0, 1.0)[:, None])]
        else:
            weights = self.weights[self._functions(aim.criteria)]
            closed = np.ones(len(self.columns), bool)
            for group in missing:
                closed &= np.ptp(group.counts, axis=1) == 0
            criteria += [*(weights[:, closed] @ rows.counts[closed])]
            for column in np.flatnonzero(~closed):
                values = rows.counts[column]
                criteria.append(-values if self.saves[column] else values)
        criteria += [*rows.nodes, *rows.use[~tight].astype(float)]
        values = np.array(criteria).reshape(len(criteria), len(rows))
        varying = (values != values[:, :1]).any(axis=1)
        return pareto(packed(keys, len(rows)), values[varying].T)

    def _proper(self, tiles: Sequence[GroupTiles], rows: Partial) -> Mask:
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

    def _candidates(self, tiles: tuple[GroupTiles, ...], rows: Partial) -> Candidates:
        energy, latency = self._costs(self.weights, rows.counts)
        node_bits = np.zeros((len(rows), len(self.template.nodes)))
        for index, node in enumerate(self.limited):
            node_bits[:, node - 1] = rows.nodes[index] * self.node_scale[index]
        return Candidates(
            self.template, tiles, rows.picks.T, energy, latency, node_bits
        )


def _vector(weights: Weights, columns: tuple[Column, ...]) -> list[float]:
    return [weights.get(column, 0.0) for column in columns]


def _pairs_of(mine: Ints, its: Ints) -> tuple[Indices, Indices]:
    """Return all pairs of entries with equal values; `its` is sorted."""
    start = np.searchsorted(its, mine, side="left")
    count = np.searchsorted(its, mine, side="right") - start
    left = np.repeat(np.arange(len(mine)), count)
    offset = np.arange(len(left)) - np.repeat(np.cumsum(count) - count, count)
    return left, np.repeat(start, count) + offset
