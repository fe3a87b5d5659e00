"""Joins the ranks' choices of one template, one group of ranks at a time.

After each group: what cannot fit even with the smallest tiles of the missing groups is
dropped, and of rows with equal fused loops and equal use of limited fan-outs, those
that another row beats in every finished sum and every open product.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

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

_CHUNK = 1 << 20  # rows of a product held at once


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


@dataclass(frozen=True, eq=False)
class _Factors:
    """A group's choices as numbers.

    Parameters
    ----------
    key : array of choices
        Equal for equal fused loops and equal use of fan-outs with a least use.
    columns : array of choices × columns
        Factors of the counts.
    tiles : array of choices × nodes
        Factors of the limited nodes' tiles.
    use : array of choices × fan-outs
        Units used.
    """

    tiles: GroupTiles
    fused: Ints
    columns: Floats
    nodes: Floats
    use: Ints

    def taken(self, rows: Ints) -> _Factors:
        return _Factors(
            self.tiles.taken(rows),
            self.fused[rows],
            self.columns[rows],
            self.nodes[rows],
            self.use[rows],
        )


class Combination:
    """One template of a shape on an accelerator, ready to be searched.

    Parameters
    ----------
    least_use : dict of str to int
        Units of a fan-out that must be used, by label.
    criteria : tuple of str
        Of ``energy`` and ``latency``, what the pruning keeps; empty: prune nothing.
    """

    def __init__(
        self,
        accelerator: Accelerator,
        shape: EinsumShape,
        template: Template,
        least_use: dict[str, int],
        criteria: tuple[str, ...],
        most_fused_per_rank: int,
    ) -> None:
        self.accelerator = accelerator
        self.shape = shape
        self.template = template
        self.criteria = criteria
        self.costs: Costs = costs_of(accelerator, shape, template)
        weights = (self.costs.energy, *self.costs.ports)
        self.columns = tuple(dict.fromkeys(c for w in weights for c in w))
        self.weights = np.array([_vector(w, self.columns) for w in weights])
        self.fans = tuple(
            slot.fan_out for slot in template.slots if slot.fan_out is not None
        )
        self.fan_slots = [
            i for i, slot in enumerate(template.slots) if slot.fan_out is not None
        ]
        self.least = np.array([least_use[f.label] for f in self.fans], np.int64)
        self.most = np.array([f.size for f in self.fans], np.int64)
        self.limited = [
            node
            for node, (level, _) in enumerate(template.nodes, start=1)
            if accelerator.memories[level].size_bits is not None
        ]
        self.node_scale = np.array(
            [shape.bits[template.nodes[node - 1][1]] for node in self.limited], float
        )
        self.memberships = self._memberships()
        self.groups = [
            self._factors(group_tiles(shape, template, group, most_fused_per_rank))
            for group in rank_groups(shape)
        ]

    def _memberships(self) -> list[tuple[int, npt.NDArray[np.intp]]]:
        """Return, for every limited memory, its capacity and its nodes' columns."""
        found = []
        for level, memory in enumerate(self.accelerator.memories):
            own = [
                i
                for i, node in enumerate(self.limited)
                if self.template.level(node) == level
            ]
            if own and memory.size_bits is not None:
                found.append((memory.size_bits, np.array(own)))
        return found

    def _factors(self, tiles: GroupTiles) -> _Factors:
        shares = tuple(
            (s.fan_out.multicast, s.fan_out.reduction) if s.fan_out else (False, False)
            for s in self.template.slots
        )
        multipliers = Multipliers(self.shape, self.template, shares)
        tensors = [self.template.nodes[node - 1][1] for node in self.limited]
        fused = [
            i
            for i, slot in enumerate(self.template.slots)
            if slot.block < self.template.fused_blocks
        ]
        patterns = tiles.factors[:, :, fused].reshape(
            len(tiles), len(fused) * len(tiles.ranks)
        )
        code = np.zeros(len(tiles), np.int64)
        if patterns.shape[1]:
            code = np.unique(patterns, axis=0, return_inverse=True)[1].reshape(-1)
        return _Factors(
            tiles,
            code,
            _stacked([multipliers.column(tiles, c) for c in self.columns], len(tiles)),
            _stacked(
                [
                    multipliers.tile(tiles, tensor, node)
                    for tensor, node in zip(tensors, self.limited, strict=True)
                ],
                len(tiles),
            ),
            tiles.factors[:, :, self.fan_slots].prod(axis=1),
        )

    def search(self) -> Candidates | None:
        """Return what the criteria keep, None if nothing fits."""
        groups = [self._pruned_group(group) for group in self.groups]
        groups.sort(key=lambda group: len(group.fused))
        if any(len(group.fused) == 0 for group in groups):
            return None
        picks = np.zeros((1, 0), np.int64)
        for done in range(len(groups)):
            picks = self._extended(groups, picks, done)
            if not len(picks):
                return None
        picks = picks[self._proper(groups, picks)]
        return self._candidates(groups, picks) if len(picks) else None

    def _pruned_group(self, group: _Factors) -> _Factors:
        fits = (group.use <= self.most).all(axis=1)
        group = group.taken(np.flatnonzero(fits))
        if not self.criteria or not len(group.fused):
            return group
        keys = _packed([group.fused, *self._constrained(group.use).T])
        criteria = [
            group.columns * self._signs(),
            group.nodes,
            self._open_use(group.use),
        ]
        return group.taken(pareto(keys, _varying(np.concatenate(criteria, axis=1))))

    def _signs(self) -> Floats:
        """Return −1 for columns that save: the more of them, the better."""
        return np.where((self.weights < 0).any(axis=0), -1.0, 1.0)

    def _constrained(self, use: Ints) -> Ints:
        return use[:, self.least > 1]

    def _open_use(self, use: Ints) -> Floats:
        return use[:, self.least <= 1].astype(float)

    def _extended(self, groups: list[_Factors], picks: Ints, done: int) -> Ints:
        """Add a group to the rows so far, and drop what need not be kept."""
        own = len(groups[done].fused)
        step = max(1, _CHUNK // own)
        kept = []
        for at in range(0, len(picks), step):
            part = picks[at : at + step]
            rows = np.concatenate(
                [
                    np.repeat(part, own, axis=0),
                    np.tile(np.arange(own), len(part))[:, None],
                ],
                axis=1,
            )
            rows = rows[self._may_fit(groups, rows)]
            if done < len(groups) - 1:
                rows = rows[self._front(groups, rows)]
            kept.append(rows)
        joined = np.concatenate(kept)
        if len(kept) > 1 and done < len(groups) - 1:
            joined = joined[self._front(groups, joined)]
        return joined

    def _may_fit(self, groups: list[_Factors], rows: Ints) -> npt.NDArray[np.bool_]:
        """Test capacity with the missing groups' smallest tiles, and fan-outs."""
        missing = groups[rows.shape[1] :]
        fits = np.ones(len(rows), bool)
        if self.fans:
            use = _product_over(groups, rows, lambda group: group.use)
            fits &= (use <= self.most).all(axis=1)
            for group in missing:
                use = use * group.use.max(axis=0)
            fits &= (use >= self.least).all(axis=1)
        if self.limited:
            bits = self.node_scale * _product_over(groups, rows, lambda g: g.nodes)
            for group in missing:
                bits = bits * group.nodes.min(axis=0)
            for capacity, nodes in self.memberships:
                fits &= bits[:, nodes].sum(axis=1) <= capacity
        return fits

    def _front(self, groups: list[_Factors], rows: Ints) -> Ints:
        """Return the rows that may still become part of a best mapping."""
        if not self.criteria:
            return np.arange(len(rows))
        done, missing = groups[: rows.shape[1]], groups[rows.shape[1] :]
        keys = [group.fused[pick] for group, pick in zip(done, rows.T, strict=True)]
        use = _product_over(groups, rows, lambda group: group.use)
        keys += list(self._constrained(use).T)
        counts = _product_over(groups, rows, lambda group: group.columns)
        closed = np.ones(len(self.columns), bool)
        for group in missing:
            closed &= np.ptp(group.columns, axis=0) == 0
        for group in missing:
            counts = counts * np.where(closed, group.columns[0], 1.0)
        sums = counts[:, closed] @ self.weights[self._functions()][:, closed].T
        opened = counts[:, ~closed] * self._signs()[~closed]
        tiles = _product_over(groups, rows, lambda group: group.nodes)
        criteria = [sums, opened, tiles, self._open_use(use)]
        values = _varying(np.concatenate(criteria, axis=1))
        return pareto(_packed(keys), values)

    def _functions(self) -> list[int]:
        """Return which of energy and port times the criteria depend on."""
        ports = list(range(1, len(self.weights)))
        if self.criteria == ("energy",) and self.costs.leak == 0:
            return [0]
        return ports if self.criteria == ("latency",) else [0, *ports]

    def _proper(self, groups: list[_Factors], rows: Ints) -> npt.NDArray[np.bool_]:
        """Drop rows in which a node would sink further than the template says."""
        proper = np.ones(len(rows), bool)
        for node in self.template.sinkable:
            if node in self.template.sunk:
                continue
            timed = next(
                i
                for i, s in enumerate(self.template.slots)
                if s.block == node and s.fan_out is None
            )
            looped = np.zeros(len(rows), bool)
            for group, pick in zip(groups, rows.T, strict=True):
                iterates = np.any(group.tiles.factors[:, :, timed] > 1, axis=1)
                looped |= np.asarray(iterates)[pick]
            proper &= looped
        return proper

    def _candidates(self, groups: list[_Factors], rows: Ints) -> Candidates:
        counts = _product_over(groups, rows, lambda group: group.columns)
        functions = (
            counts @ self.weights.T if len(self.columns) else np.zeros((len(rows), 1))
        )
        latency = np.full(len(rows), self.costs.fixed_latency)
        for port in functions.T[1:]:
            latency = np.maximum(latency, port)
        energy = functions[:, 0] + self.costs.fixed_energy + self.costs.leak * latency
        node_bits = np.zeros((len(rows), len(self.template.nodes)))
        if self.limited:
            bits = self.node_scale * _product_over(groups, rows, lambda g: g.nodes)
            node_bits[:, np.array(self.limited) - 1] = bits
        return Candidates(
            self.template,
            tuple(group.tiles for group in groups),
            rows,
            energy,
            latency,
            node_bits,
        )


def _product_over(
    groups: list[_Factors], rows: Ints, part: Callable[[_Factors], npt.NDArray[Any]]
) -> npt.NDArray[Any]:
    """Multiply a part of the picked choices over the groups so far."""
    total: npt.NDArray[Any] | None = None
    for group, pick in zip(groups, rows.T, strict=False):
        values = part(group)[pick]
        total = values if total is None else total * values
    return np.ones((len(rows), 0)) if total is None else total


def _vector(weights: Weights, columns: tuple[Column, ...]) -> list[float]:
    return [weights.get(column, 0.0) for column in columns]


def _stacked(columns: list[Floats], count: int) -> Floats:
    return np.stack(columns, axis=1) if columns else np.ones((count, 0))


def _varying(criteria: Floats) -> Floats:
    """Leave out criteria that are equal in all rows."""
    return criteria[:, np.ptp(criteria, axis=0) > 0] if len(criteria) else criteria


def _packed(keys: list[Ints]) -> Ints:
    """Return one integer per row, equal where all keys are equal."""
    packed = np.zeros(len(keys[0]), np.int64)
    for key in keys:
        values, index = np.unique(key, return_inverse=True)
        packed = packed * len(values) + index
    return packed
