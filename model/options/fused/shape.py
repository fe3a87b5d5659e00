"""The canonical shape of a group: all that its options depend on, without names."""

from __future__ import annotations

import math
from dataclasses import dataclass

from elkhound.model.graph import Dimension, Graph, Operator, Pass
from elkhound.model.options.fused.group import Group, axes_of
from elkhound.model.options.shape import Shape, place_of, shape_of

Place = tuple[int, str]
"""A member, and one of its dimensions."""


@dataclass(frozen=True, slots=True)
class GroupShape:
    """Members whose dimensions have one numbering: equal where intermediates tie them.

    Parameters
    ----------
    members : tuple of Shape
        In execution order; dimension ``3`` of one is dimension ``3`` of another.
    sources : tuple of tuple of (int or None)
        By member and input: the member that wrote it; None: it comes from outside.
    free : tuple of str
        Dimensions that may be cut: all that index every intermediate.
    loops : tuple of str
        Of those, the ones that may be run in chunks: they index the result too, and
        no member gathers statistics along them.
    """

    members: tuple[Shape, ...]
    sources: tuple[tuple[int | None, ...], ...]
    free: tuple[str, ...]
    loops: tuple[str, ...]

    @property
    def sizes(self) -> dict[str, int]:
        """Extent of every dimension, by name."""
        return {
            dimension.name: dimension.size
            for member in self.members
            for dimension in member.einsum.dimensions
        }

    def last_reader(self, member: int) -> int:
        """Return the last member that reads an intermediate, by its writer."""
        return max(j for j, source in enumerate(self.sources) if member in source)


@dataclass(frozen=True, slots=True)
class GroupNames:
    """What the operators call the parts of the canonical shape.

    Parameters
    ----------
    dimensions : tuple of dict of str to str
        By member: canonical name to the operator's; merged ones are joined by ``*``.
    whole : tuple of tuple of str
        By member: dimensions of size 1.
    inputs : tuple of tuple of str
        By member: tensor behind each input.
    """

    dimensions: tuple[dict[str, str], ...]
    whole: tuple[tuple[str, ...], ...]
    inputs: tuple[tuple[str, ...], ...]


def canonical_group(graph: Graph, group: Group) -> tuple[GroupShape, GroupNames] | None:
    """Return a group's canonical shape, and the way back to its names.

    Dimensions of two members are one where both index the same axis of an
    intermediate. Dimensions that are twins in every member that has them become one
    of the product of their sizes, as in a single operator. None if an intermediate
    ties two dimensions of one member together, which then cannot be cut as one.
    """
    tied = _tied(group)
    if any(len({m for m, _ in places}) < len(places) for places in tied):
        return None
    merged = _merged(group, tied)
    members, names = [], []
    for place, operator in enumerate(group.members):
        own, called = _member(graph, operator, place, merged)
        members.append(own)
        names.append(called)
    sources = _sources(group)
    free = _free(members, sources)
    rows = {name for member in members for name in member.einsum.row_dimensions}
    result = members[-1].einsum.output.dimensions
    shape = GroupShape(
        members=tuple(members),
        sources=sources,
        free=free,
        loops=tuple(name for name in free if name in result and name not in rows),
    )
    return shape, GroupNames(
        dimensions=tuple(names),
        whole=tuple(
            tuple(d.name for d in member.einsum.dimensions if d.size == 1)
            for member in group.members
        ),
        inputs=tuple(
            tuple(a.tensor for a in dict.fromkeys(member.einsum.inputs))
            for member in group.members
        ),
    )


def _tied(group: Group) -> list[list[Place]]:
    """Return the dimensions above size 1, those that intermediates tie together."""
    classes: dict[Place, list[Place]] = {}
    for member, operator in enumerate(group.members):
        for dimension in operator.einsum.dimensions:
            if dimension.size > 1:
                place = (member, dimension.name)
                classes[place] = [place]
    for writer, producer in enumerate(group.members[:-1]):
        written = producer.einsum.output
        axes = axes_of(producer, written) or []
        for reader in range(writer + 1, len(group.members)):
            operator = group.members[reader]
            for access in operator.einsum.inputs:
                if access.tensor != written.tensor:
                    continue
                for mine, theirs in zip(
                    axes, axes_of(operator, access) or [], strict=True
                ):
                    one, other = classes[writer, mine], classes[reader, theirs]
                    if one is not other:
                        one += other
                        for place in other:
                            classes[place] = one
    return list({id(places): sorted(places) for places in classes.values()}.values())


def _merged(group: Group, tied: list[list[Place]]) -> list[list[list[Place]]]:
    """Return the dimensions by number; each the twins that are one, with its places."""
    twins: dict[object, list[list[Place]]] = {}
    for number, places in enumerate(tied):
        key: list[object] = []
        for member, name in places:
            einsum = group.members[member].einsum
            accesses = (*dict.fromkeys(einsum.inputs), einsum.output)
            where = [place_of(access, name, einsum.sizes) for access in accesses]
            if None in where or Pass.GATHER in einsum.passes:
                key = [number]
                break
            key.append((member, tuple(where), name in einsum.row_dimensions))
        twins.setdefault(tuple(key), []).append(places)
    return list(twins.values())


def _member(
    graph: Graph, operator: Operator, member: int, merged: list[list[list[Place]]]
) -> tuple[Shape, dict[str, str]]:
    """Return a member's shape in the group's numbering, and its names."""
    sizes = operator.einsum.sizes
    dimensions, number, called = [], {}, {}
    for i, twins in enumerate(merged):
        own = [name for places in twins for m, name in places if m == member]
        if own:
            dimensions.append(Dimension(str(i), math.prod(sizes[n] for n in own)))
            number[own[0]] = str(i)
            called[str(i)] = "*".join(own)
    return shape_of(graph, operator, tuple(dimensions), number), called


def _sources(group: Group) -> tuple[tuple[int | None, ...], ...]:
    """Return which member wrote each input."""
    writer = {name: member for member, name in enumerate(group.intermediates)}
    return tuple(
        tuple(writer.get(a.tensor) for a in dict.fromkeys(member.einsum.inputs))
        for member in group.members
    )


def _free(
    members: list[Shape], sources: tuple[tuple[int | None, ...], ...]
) -> tuple[str, ...]:
    """Return the dimensions that index every intermediate, at both its ends."""
    indexing = [member.einsum.output.dimensions for member in members[:-1]]
    for member, source in zip(members, sources, strict=True):
        for access, writer in zip(member.einsum.inputs, source, strict=True):
            if writer is not None:
                indexing.append(access.dimensions)
    common = frozenset.intersection(*indexing)
    return tuple(name for name in members[0].names if name in common)
