"""The canonical shape of an operator: all that its options depend on, without names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from elkhound.model.graph import (
    Access,
    Axis,
    Dimension,
    Einsum,
    Graph,
    Home,
    Operator,
    Pass,
)


@dataclass(frozen=True, slots=True)
class Shape:
    """An einsum with numbered names, and the widths and homes of its operands.

    Parameters
    ----------
    einsum : Einsum
        Dimensions ``0``, ``1``, … of size above 1; tensor ``0``, ``1``, … is input
        0, 1, …, each access once.
    input_bits : tuple of int
        Stored width of each input's elements.
    streamed : tuple of bool
        Whether each input is preloaded from HBM.
    output_bits : int
        Stored width of the output's elements.
    accumulator_bytes : int
        Bytes of one partial sum of the output.
    hbm_bytes : int
        True bytes of the streamed inputs, over all cores.
    """

    einsum: Einsum
    input_bits: tuple[int, ...]
    streamed: tuple[bool, ...]
    output_bits: int
    accumulator_bytes: int
    hbm_bytes: int

    @property
    def names(self) -> tuple[str, ...]:
        """The dimensions' names, in order."""
        return tuple(dimension.name for dimension in self.einsum.dimensions)


@dataclass(frozen=True, slots=True)
class Names:
    """What an operator calls the parts of its canonical shape.

    Parameters
    ----------
    dimensions : dict of str to str
        Canonical name to the operator's; merged dimensions are joined by ``*``.
    whole : tuple of str
        Dimensions of size 1, which are in no canonical shape.
    inputs : tuple of str
        Tensor behind each canonical input.
    """

    dimensions: dict[str, str]
    whole: tuple[str, ...]
    inputs: tuple[str, ...]


def canonical(graph: Graph, operator: Operator) -> tuple[Shape, Names]:
    """Return an operator's canonical shape, and the way back to its names.

    Dimensions of size 1 are dropped. Twin dimensions (each the only index, with
    coefficient 1, of an axis of exactly the same accesses; both reduced over rows or
    neither) become one, of the product of their sizes. This loses no option: splits
    s₁, s₂ of the twins become the split s₁·s₂ of their product, whose tile is
    ⌈N₁N₂ / s₁s₂⌉ ≤ ⌈N₁/s₁⌉·⌈N₂/s₂⌉, and likewise for rotation factors; it adds those
    that cut the product unevenly. A gather keeps its dimensions apart: its cost tells
    rows from columns.
    """
    einsum = operator.einsum
    inputs = tuple(dict.fromkeys(einsum.inputs))
    groups = _twins(einsum, inputs)
    number = {name: str(i) for i, group in enumerate(groups) for name in group[:1]}
    sizes = einsum.sizes
    dimensions = []
    for i, group in enumerate(groups):
        size = 1
        for name in group:
            size *= sizes[name]
        dimensions.append(Dimension(str(i), size))
    shape = shape_of(graph, operator, tuple(dimensions), number)
    names = Names(
        dimensions={str(i): "*".join(group) for i, group in enumerate(groups)},
        whole=tuple(d.name for d in einsum.dimensions if d.size == 1),
        inputs=tuple(access.tensor for access in inputs),
    )
    return shape, names


def shape_of(
    graph: Graph,
    operator: Operator,
    dimensions: tuple[Dimension, ...],
    number: Mapping[str, str],
) -> Shape:
    """Return an operator under other names of its dimensions.

    Parameters
    ----------
    dimensions : tuple of Dimension
        Under the new names.
    number : mapping of str to str
        New name by the operator's; a dimension left out indexes nothing.
    """
    einsum = operator.einsum
    inputs = tuple(dict.fromkeys(einsum.inputs))
    rows = tuple(number[name] for name in einsum.row_dimensions if name in number)
    tensors = graph.tensor
    output = tensors[einsum.output.tensor]
    return Shape(
        einsum=Einsum(
            dimensions=dimensions,
            inputs=tuple(
                _renumbered(access, str(i), number) for i, access in enumerate(inputs)
            ),
            output=_renumbered(einsum.output, "output", number),
            passes=einsum.passes,
            row_dimensions=rows,
            statistics_rounds=einsum.statistics_rounds if rows else 0,
        ),
        input_bits=tuple(tensors[access.tensor].dtype.bits for access in inputs),
        streamed=tuple(tensors[access.tensor].home is Home.HBM for access in inputs),
        output_bits=output.dtype.bits,
        accumulator_bytes=output.dtype.accumulator_bytes,
        hbm_bytes=graph.streamed_bytes(operator),
    )


def distinct_operators(graph: Graph) -> tuple[tuple[Operator, ...], ...]:
    """Return the operators by canonical shape, in order of the first of each.

    Operators of one shape have the same options, but for transfers of tensors that
    are moved out to HBM.
    """
    found: dict[Shape, list[Operator]] = {}
    for operator in graph.operators:
        found.setdefault(canonical(graph, operator)[0], []).append(operator)
    return tuple(map(tuple, found.values()))


def _twins(einsum: Einsum, inputs: tuple[Access, ...]) -> list[list[str]]:
    """Return the dimensions above size 1, twins together, in order."""
    sizes = einsum.sizes
    groups: dict[object, list[str]] = {}
    for dimension in einsum.dimensions:
        name = dimension.name
        if dimension.size == 1:
            continue
        places = [place_of(access, name, sizes) for access in (*inputs, einsum.output)]
        key: object = name
        if None not in places and Pass.GATHER not in einsum.passes:
            key = (tuple(places), name in einsum.row_dimensions)
        groups.setdefault(key, []).append(name)
    return list(groups.values())


def place_of(access: Access, name: str, sizes: dict[str, int]) -> bool | None:
    """Whether a dimension indexes an access; None if not by a plain axis of its own."""
    terms = [
        [(other, c) for other, c in axis.terms if sizes[other] > 1]
        for axis in access.axes
    ]
    mine = [t for t in terms if any(other == name for other, _ in t)]
    if not mine:
        return False
    return True if mine == [[(name, 1)]] else None


def _renumbered(access: Access, tensor: str, number: Mapping[str, str]) -> Access:
    """Return an access by canonical names, its axes in an order that says nothing.

    Axes left without an index are dropped.
    """
    axes = []
    for axis in access.axes:
        terms = tuple((number[n], c) for n, c in axis.terms if n in number)
        if terms:
            axes.append(Axis(terms))
    return Access(tensor, tuple(sorted(axes, key=lambda axis: axis.terms)))
