"""Which consecutive operators may become one: those that hand their results on."""

from __future__ import annotations

from dataclasses import dataclass

from elkhound.model.graph import Access, Graph, Home, Operator
from elkhound.model.io.fields import LONGEST_NAME

MOST_MEMBERS = 4


@dataclass(frozen=True, slots=True)
class Group:
    """Consecutive operators; nobody else reads what all but the last write.

    Parameters
    ----------
    first : int
        Index of the first in the graph.
    members : tuple of Operator
        At least two, in execution order.
    """

    first: int
    members: tuple[Operator, ...]

    @property
    def name(self) -> str:
        """What the one operator is called: the first's name, then the others' ends."""
        first = self.members[0].name
        stem = first.rpartition(".")[0] + "."
        rest = [member.name.removeprefix(stem) for member in self.members[1:]]
        name = "+".join((first, *rest))
        return name if len(name) <= LONGEST_NAME else first

    @property
    def intermediates(self) -> tuple[str, ...]:
        """The tensors that never leave the cores that made them."""
        return tuple(m.einsum.output.tensor for m in self.members[:-1])


def possible_groups(graph: Graph, most_members: int = MOST_MEMBERS) -> list[Group]:
    """Return every group of the graph, by first member and length.

    An intermediate is resident, written whole by one operator, read by later members
    only, and leaves the chip nowhere. Producer and readers run along the same axes of
    it, each indexed by one dimension: then a tile of one is a tile of the other.
    """
    writers: dict[str, int] = {}
    readers: dict[str, list[int]] = {}
    for step, operator in enumerate(graph.operators):
        written = operator.einsum.output.tensor
        writers[written] = writers.get(written, 0) + 1
        for name in {access.tensor for access in operator.einsum.inputs}:
            readers.setdefault(name, []).append(step)
    last_reader = [
        readers[name][-1]
        if writers[name] == 1
        and name in readers
        and _is_handed_on(graph, step, readers)
        else None
        for step, name in enumerate(o.einsum.output.tensor for o in graph.operators)
    ]
    groups = []
    for first in range(len(graph.operators)):
        needed = 0  # no group ends before the last reader of an intermediate
        for last in range(first + 1, len(graph.operators)):
            reader = last_reader[last - 1]
            if last - first >= most_members or reader is None:
                break
            needed = max(needed, reader)
            if needed <= last:
                groups.append(Group(first, graph.operators[first : last + 1]))
    return groups


def _is_handed_on(graph: Graph, step: int, readers: dict[str, list[int]]) -> bool:
    """Whether a result is resident and all its readers index it as its producer."""
    producer = graph.operators[step]
    written = producer.einsum.output
    tensor = graph.tensor[written.tensor]
    if tensor.home is not Home.CHIP or tensor.name in graph.outputs:
        return False
    axes = axes_of(producer, written)
    if axes is None:
        return False
    extents = [producer.einsum.sizes[name] for name in axes]
    elements = 1
    for extent in extents:
        elements *= extent
    if tensor.dtype.size_bytes(elements) != tensor.size_bytes:
        return False
    for reader in readers[tensor.name]:
        operator = graph.operators[reader]
        for access in operator.einsum.inputs:
            if access.tensor != tensor.name:
                continue
            read = axes_of(operator, access)
            if read is None or access.parts != written.parts:
                return False
            if [operator.einsum.sizes[name] for name in read] != extents:
                return False
    return True


def axes_of(operator: Operator, access: Access) -> list[str] | None:
    """Return the dimension of every axis above extent 1, in order.

    None if an axis is no single dimension with coefficient 1.
    """
    sizes = operator.einsum.sizes
    found = []
    for axis in access.axes:
        terms = [(name, c) for name, c in axis.terms if sizes[name] > 1]
        if not terms:
            continue
        if len(terms) > 1 or terms[0][1] != 1:
            return None
        found.append(terms[0][0])
    return found
