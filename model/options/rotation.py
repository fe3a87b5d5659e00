"""Rotation (compute-shift of T10): which inputs pass round the cores that share one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from elkhound.model.options.divisors import divisors_up_to
from elkhound.model.options.shape import Shape
from elkhound.model.options.spatial import expand
from elkhound.model.tile_cost.tile import Integers


@dataclass(frozen=True, slots=True)
class Rotations:
    """Rotation plans in bulk; entry i of every array belongs to plan i.

    Parameters
    ----------
    split : array
        Row of the spatial splits that each plan belongs to.
    factors : tuple of dict of str to array
        f_{T,d} of each input T on each of its dimensions d.
    """

    split: Integers
    factors: tuple[dict[str, Integers], ...]

    def factor(self, tensor: int, dimension: str) -> Integers:
        """Return f_{T,d}, 1 where d does not index T."""
        chosen = self.factors[tensor].get(dimension)
        return np.ones_like(self.split) if chosen is None else chosen

    def total(self, tensor: int) -> Integers:
        """Return f_T = Π_d f_{T,d}."""
        result = np.ones_like(self.split)
        for factor in self.factors[tensor].values():
            result = result * factor
        return result

    def steps(self, dimension: str) -> Integers:
        """Return max_T f_{T,d}: into how many steps dimension d is cut."""
        result = np.ones_like(self.split)
        for tensor in range(len(self.factors)):
            result = np.maximum(result, self.factor(tensor, dimension))
        return result

    def take(self, rows: Integers) -> Rotations:
        """Return the plans at the given rows."""
        return Rotations(
            self.split[rows],
            tuple({d: f[rows] for d, f in own.items()} for own in self.factors),
        )


def sharing(shape: Shape, splits: Integers) -> list[Integers]:
    """Return R_T of each input: how many cores need the same tile of it."""
    result = []
    for access in shape.einsum.inputs:
        outside = [
            i for i, name in enumerate(shape.names) if name not in access.dimensions
        ]
        result.append(splits[:, outside].prod(axis=1, dtype=np.int64))
    return result


def rotation_counts(shape: Shape, splits: Integers, tiles: Integers) -> Integers:
    """Return an upper limit on the rotation plans of each split."""
    counts = np.ones(len(splits), dtype=np.int64)
    table = divisors_up_to(int(splits.prod(axis=1).max(initial=1)))
    for access, shared in zip(shape.einsum.inputs, sharing(shape, splits), strict=True):
        apart = np.ones_like(counts)
        for place, name in enumerate(shape.names):
            if name in access.dimensions:
                apart *= np.minimum(table.count[shared], tiles[:, place])
        together = table.tuples(len(access.dimensions))[shared]
        counts = counts * np.minimum(apart, together)
    return counts


def rotations(shape: Shape, splits: Integers, tiles: Integers) -> Rotations:
    """Return every rotation plan of every split.

    For each input T, f_T = Π_d f_{T,d} divides R_T; f_{T,d} ≤ extent of the tile (no
    empty piece); of two inputs' factors on one dimension one divides the other.
    Output tensors do not rotate.
    """
    plans = Rotations(np.arange(len(splits), dtype=np.int64), ())
    for access, shared in zip(shape.einsum.inputs, sharing(shape, splits), strict=True):
        rest = shared[plans.split]
        plans = Rotations(plans.split, (*plans.factors, {}))
        for place, name in enumerate(shape.names):
            if name in access.dimensions:
                plans, rest = _cut(plans, name, tiles[:, place], rest)
    return plans


def _cut(
    plans: Rotations, name: str, tiles: Integers, rest: Integers
) -> tuple[Rotations, Integers]:
    """Choose the last input's factor on a dimension; return what is left of R_T / f.

    Parameters
    ----------
    tiles : array
        The dimension's tile extent, by split.
    rest : array
        R_T over the factors chosen so far, by plan.
    """
    table = divisors_up_to(int(rest.max()))
    parent, position = expand(table.count[rest])
    factor = table.values[table.start[rest[parent]] + position]
    legal = factor <= tiles[plans.split[parent]]
    for own in plans.factors[:-1]:
        if name in own:
            chosen = own[name][parent]
            legal &= np.maximum(chosen, factor) % np.minimum(chosen, factor) == 0
    parent, factor = parent[legal], factor[legal]
    plans = plans.take(parent)
    *others, own = plans.factors
    plans = Rotations(plans.split, (*others, {**own, name: factor}))
    return plans, rest[parent] // factor


def exchanges(plans: Rotations, pieces: list[Integers]) -> list[Integers]:
    """Return how often a core receives a piece of each input while it rotates.

    f_T − 1 times (no return), once more for every step of the rotations outside T on
    dimensions that T does not rotate on. Outermost is the input that moves most,
    (f_T − 1)·piece bytes; the earlier input on ties.
    """
    totals = [plans.total(tensor) for tensor in range(len(pieces))]
    moved = [(f - 1) * piece for f, piece in zip(totals, pieces, strict=True)]
    names = sorted({name for own in plans.factors for name in own})
    result = []
    for inner, total in enumerate(totals):
        repeats = np.ones_like(total)
        for name in names:
            steps = np.ones_like(total)
            for outer in range(len(pieces)):
                if outer == inner or name not in plans.factors[outer]:
                    continue
                outside = moved[outer] > moved[inner]
                if outer < inner:
                    outside |= moved[outer] == moved[inner]
                factor = plans.factors[outer][name]
                steps = np.maximum(steps, np.where(outside, factor, 1))
            repeats *= np.where(plans.factor(inner, name) == 1, steps, 1)
        result.append((total - 1) * repeats)
    return result
