"""A mapping as a runnable loop nest in Python with NumPy arrays.

Every storage node is an array: one that backs an intermediate is made there, one below
it is a copy of its tile, and tiles of outputs are written back. Compute reads and
writes the innermost arrays alone, so that the nest gives the einsums' result only if
its loops visit every point once and its tiles hold what is needed (paper §9: loop nests
guide compilers). An einsum of one operand is a sum: softmax computes no exponentials.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from elkhound.model.fusion.mapping import (
    ComputeNode,
    Loop,
    LoopTree,
    Node,
    Split,
    Store,
    computed,
)
from elkhound.model.fusion.workload import FusionEinsum, FusionWorkload
from elkhound.model.graph import Access, Axis

_DEEPEST = 15  # Python nests at most 20 blocks in one function
Range = tuple[str, str]
Ranges = dict[str, dict[str, Range]]


@dataclass(frozen=True, slots=True)
class _Array:
    """An array that holds a tile of a tensor.

    Parameters
    ----------
    tensor : str
        Whose tile it is.
    number : int
        How many arrays of the tensor are above it.
    first : tuple of str
        Position of its first element along every axis.
    stored : bool
        Whether a storage node stands for it; outside of the tree none does.
    """

    tensor: str
    number: int
    first: tuple[str, ...]
    stored: bool = True

    @property
    def name(self) -> str:
        """Its name in the nest."""
        return f"{self.tensor}_{self.number}"

    def index(self, ranges: tuple[Range, ...]) -> str:
        """Return how a tile of it is written."""
        slices = (
            f"{_less(low, first)}:{_less(high, first)}"
            for (low, high), first in zip(ranges, self.first, strict=True)
        )
        return f"{self.name}[{', '.join(slices) or '...'}]"

    def element(self, ranges: tuple[Range, ...]) -> str:
        """Return how the first element of a tile of it is written."""
        places = (
            _less(low, first)
            for (low, _), first in zip(ranges, self.first, strict=True)
        )
        return f"{self.name}[{', '.join(places) or '...'}]"


Arrays = dict[str, _Array]


def numpy_nest(workload: FusionWorkload, tree: LoopTree) -> str:
    """Return the source of a function ``run(tensors)`` that executes a legal mapping.

    `tensors` maps the name of every tensor that no einsum writes to its array; what is
    returned maps the name of every tensor that no einsum reads.
    """
    return "\n".join(_Nest(workload, tree).lines()) + "\n"


class _Nest:
    """Writes the tree out, node list by node list."""

    def __init__(self, workload: FusionWorkload, tree: LoopTree) -> None:
        self.workload = workload
        self.tree = tree
        self.producer = {e.output.tensor: e.name for e in workload.einsums}
        self.loops = 0
        self.functions = 0

    def lines(self) -> Iterator[str]:
        """Yield the module."""
        tensors = self.workload.tensors
        inputs = [t for t in tensors if t not in self.producer]
        handed_over = self.workload.intermediates
        outputs = [t for t in tensors if t in self.producer and t not in handed_over]
        yield f'"""Loop nest of {self.workload.name}, mapped by a LoopTree."""'
        yield from ("", "import numpy as np", "", "")
        yield "def run(tensors):"
        yield f'    """Return {", ".join(outputs)} from {", ".join(inputs)}."""'
        arrays: Arrays = {}
        for tensor in (*inputs, *outputs):
            shape = [str(extent) for extent in self.shape(tensor)]
            whole = _Array(tensor, 0, ("0",) * len(shape), stored=False)
            made = f"np.zeros({_tuple(shape)})"
            value = made if tensor in outputs else f'tensors["{tensor}"]'
            yield f"    {whole.name} = {value}"
            arrays[tensor] = whole
        ranges = {
            e.name: {rank: ("0", str(self.workload.size[rank])) for rank in e.ranks}
            for e in self.workload.einsums
        }
        yield from self.block(self.tree.nodes, ranges, arrays, 1, 0)
        returned = ", ".join(f'"{tensor}": {arrays[tensor].name}' for tensor in outputs)
        yield f"    return {{{returned}}}"

    def shape(self, tensor: str) -> tuple[int, ...]:
        """Return a tensor's extents, the border that a halo reads included."""
        users = self.workload.users(tensor)
        axes = [self.workload.einsum(user).access(tensor).axes for user in users]
        size = self.workload.size
        extents = ([axis.extent(size) for axis in of_user] for of_user in axes)
        return tuple(max(axis) for axis in zip(*extents, strict=True))

    def block(
        self,
        nodes: tuple[Node, ...],
        ranges: Ranges,
        arrays: Arrays,
        indent: int,
        depth: int,
    ) -> Iterator[str]:
        """Yield the lines of a node list; `depth` loops of this function are open."""
        node, below, tab = nodes[0], nodes[1:], "    " * indent
        match node:
            case ComputeNode():
                einsum = self.workload.einsum(node.einsum)
                yield tab + _computed(einsum, ranges[node.einsum], arrays)
            case Split():
                for branch in node.branches:
                    yield from self.block(branch, ranges, arrays, indent, depth)
            case Store():
                yield from self.stored(node, below, ranges, arrays, indent, depth)
            case Loop() if depth == _DEEPEST:
                self.functions += 1
                yield f"{tab}def deeper{self.functions}():"
                name = f"{tab}deeper{self.functions}()"
                yield from self.block(nodes, ranges, arrays, indent + 1, 0)
                yield name
            case Loop():
                yield from self.looped(node, below, ranges, arrays, indent, depth)

    def looped(
        self,
        loop: Loop,
        below: tuple[Node, ...],
        ranges: Ranges,
        arrays: Arrays,
        indent: int,
        depth: int,
    ) -> Iterator[str]:
        """Yield a loop and what it holds; the last step takes what remains."""
        self.loops += 1
        at, end = f"{loop.rank}_at{self.loops}", f"{loop.rank}_end{self.loops}"
        names, tile = computed(below), loop.tile_size
        low, high = ranges[names[0]][loop.rank_of(names[0])]
        step = "" if tile == 1 else f", {tile}"
        where = "" if loop.over is None else f"  # at once, over {loop.over}"
        yield f"{'    ' * indent}for {at} in range({low}, {high}{step}):{where}"
        if tile > 1:
            yield f"{'    ' * (indent + 1)}{end} = min({at} + {tile}, {high})"
        inner = dict(ranges)
        for name in names:
            taken = (at, f"{at} + 1" if tile == 1 else end)
            inner[name] = {**ranges[name], loop.rank_of(name): taken}
        yield from self.block(below, inner, arrays, indent + 1, depth + 1)

    def stored(
        self,
        store: Store,
        below: tuple[Node, ...],
        ranges: Ranges,
        arrays: Arrays,
        indent: int,
        depth: int,
    ) -> Iterator[str]:
        """Yield what fills a storage node, what is under it, what it writes back."""
        tensor, names, tab = store.tensor, computed(below), "    " * indent
        comment = f"  # in {store.memory}"
        above = arrays.get(tensor)
        if above is None:
            tile = self.handed_over(tensor, ranges)
            own = _Array(tensor, 0, tuple(low for low, _ in tile))
            extents = [_less(high, low) for low, high in tile]
            yield f"{tab}{own.name} = np.zeros({_tuple(extents)}){comment}"
        elif not above.stored:
            tile = ()
            own = replace(above, stored=True)
            yield f"{tab}# {store.memory} holds {own.name}"
        else:
            user = next(n for n in names if n in self.workload.users(tensor))
            tile = _tile(self.workload.einsum(user).access(tensor), ranges[user])
            own = _Array(tensor, above.number + 1, tuple(low for low, _ in tile))
            yield f"{tab}{own.name} = np.array({above.index(tile)}){comment}"
        inner = {**arrays, tensor: own}
        yield from self.block(below, ranges, inner, indent, depth)
        writes = self.producer.get(tensor) in names
        if writes and above is not None and above.stored:
            yield f"{tab}{above.index(tile)} = {own.name}"

    def handed_over(self, tensor: str, ranges: Ranges) -> tuple[Range, ...]:
        """Return the tile of an intermediate where it is made; a halo's axis whole."""
        users = [self.workload.einsum(user) for user in self.workload.users(tensor)]
        axes = zip(*(user.access(tensor).axes for user in users), strict=True)
        producer = self.workload.einsum(self.producer[tensor])
        own = _tile(producer.output, ranges[producer.name])
        return tuple(
            tile if all(axis.plain for axis in of_users) else ("0", str(extent))
            for tile, of_users, extent in zip(
                own, axes, self.shape(tensor), strict=True
            )
        )


def _computed(einsum: FusionEinsum, ranges: dict[str, Range], arrays: Arrays) -> str:
    """Return one operation; a copy moves all that its loops leave."""
    places = {a.tensor: _tile(a, ranges) for a in einsum.accesses}
    output = einsum.output.tensor
    if einsum.copy:
        (source,) = (arrays[a.tensor].index(places[a.tensor]) for a in einsum.inputs)
        return f"{arrays[output].index(places[output])} = {source}"
    operands = (arrays[a.tensor].element(places[a.tensor]) for a in einsum.inputs)
    return f"{arrays[output].element(places[output])} += {' * '.join(operands)}"


def _tile(access: Access, ranges: dict[str, Range]) -> tuple[Range, ...]:
    """Return what ranges of the rank variables cover, along every axis."""
    return tuple(_span(axis, ranges) for axis in access.axes)


def _span(axis: Axis, ranges: dict[str, Range]) -> Range:
    if axis.plain:
        return ranges[axis.terms[0][0]]
    low = _sum([(c, ranges[rank][0]) for rank, c in axis.terms])
    high = _sum([(c, f"({ranges[rank][1]} - 1)") for rank, c in axis.terms])
    return low, f"{high} + 1"


def _sum(terms: list[tuple[int, str]]) -> str:
    kept = [text if c == 1 else f"{c} * {text}" for c, text in terms if text != "0"]
    return " + ".join(kept) or "0"


def _less(position: str, first: str) -> str:
    """Return a position in an array that starts at `first`."""
    if first == "0":
        return position
    if position == first:
        return "0"
    return f"{position} - ({first})" if " " in first else f"{position} - {first}"


def _tuple(items: Sequence[str]) -> str:
    return f"({', '.join(items)}{',' * (len(items) == 1)})"
