"""Operands of a node, seen through the views that lie before them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from elkhound.model.errors import BadInputError
from elkhound.model.graph import (
    Access,
    Axis,
    Dimension,
    Einsum,
    Operator,
    OperatorKind,
    Pass,
)
from elkhound.model.onnx_import.operators import VIEWS
from elkhound.model.onnx_import.source import Node, Value

UNINDEXED = Axis(())  # an axis of extent 1: broadcast, or reduced and kept
Parts = tuple[tuple[int, int], ...]  # storage stride and extent, outermost first


def indexed(dimension: str) -> Axis:
    """Return the axis that one dimension indexes directly."""
    return Axis(((dimension, 1),))


@dataclass(frozen=True, slots=True)
class Scale:
    """Scales of a weight: one per place of a storage axis, or several per block.

    Parameters
    ----------
    root : str
        Their tensor.
    axis : int or None
        The weight's storage axis they index; None for blocks, on all axes.
    """

    root: str
    axis: int | None


@dataclass(frozen=True, slots=True)
class Operand:
    """A value as one operator sees it.

    Parameters
    ----------
    root : str
        The tensor whose storage it shares.
    shape : tuple of int
        Extents as seen.
    order : tuple of int
        Storage axis behind each seen axis, since the last reshape.
    folded : bool
        A constant of one element: part of the operator, not a tensor.
    scales : tuple of Scale
        Scales and zero points of a weight that is stored quantised; whoever reads it
        reads them too.
    decoded : bool
        Whether it is such a weight.
    parts : tuple of Parts
        What each seen axis runs through, if a reshape came behind a transpose; empty
        where the view, in storage order, is row-major.
    """

    root: str
    shape: tuple[int, ...]
    order: tuple[int, ...]
    folded: bool = False
    scales: tuple[Scale, ...] = ()
    decoded: bool = False
    parts: tuple[Parts, ...] = ()

    def split(self, axis: int, extents: tuple[int, ...]) -> Operand:
        """Return the operand with one axis seen as several, the outermost first."""
        place, more = self.order[axis], len(extents) - 1
        moved = tuple(p + more if p > place else p for p in self.order)
        parts = self.parts
        if parts:
            cut = _cut(parts[axis], extents)
            parts = (*parts[:axis], *cut, *parts[axis + 1 :])
        return Operand(
            self.root,
            (*self.shape[:axis], *extents, *self.shape[axis + 1 :]),
            (*moved[:axis], *range(place, place + more + 1), *moved[axis + 1 :]),
            self.folded,
            parts=parts,
        )

    def reshaped(self, shape: tuple[int, ...]) -> Operand:
        """Return the operand seen with other extents, row-major over the seen axes."""
        seen = self.parts or self._seen_parts()
        parts = _cut(tuple(part for axis in seen for part in axis), shape)
        if _is_row_major(tuple(part for axis in parts for part in axis)):
            parts = ()
        order = tuple(range(len(shape)))
        kept = self.scales if len(order) == len(self.order) else ()
        return replace(self, shape=shape, order=order, scales=kept, parts=parts)

    def transposed(self, perm: Sequence[int]) -> Operand:
        """Return the operand with its axes in another order."""
        return replace(
            self,
            shape=tuple(self.shape[axis] for axis in perm),
            order=tuple(self.order[axis] for axis in perm),
            parts=tuple(self.parts[axis] for axis in perm) if self.parts else (),
        )

    def access(self, axes: Sequence[Axis]) -> Access:
        """Return the access with the given axis per seen axis, in storage order."""
        stored = dict(zip(self.order, axes, strict=True))
        parts = dict(zip(self.order, self.parts, strict=True)) if self.parts else {}
        return Access(
            self.root,
            tuple(stored[axis] for axis in sorted(stored)),
            tuple(parts[axis] for axis in sorted(parts)),
        )

    def _seen_parts(self) -> tuple[Parts, ...]:
        """Return stride and extent of each seen axis of a row-major view."""
        stored = dict(zip(self.order, self.shape, strict=True))
        stride, strides = 1, dict[int, int]()
        for axis in sorted(stored, reverse=True):
            strides[axis] = stride
            stride *= stored[axis]
        return tuple(
            ((strides[axis], extent),)
            for axis, extent in zip(self.order, self.shape, strict=True)
        )


def _cut(parts: Parts, extents: Sequence[int]) -> tuple[Parts, ...]:
    """Return parts in a row as those of axes with the given extents.

    Stride 0 stands where an extent cuts across parts that no strides tell apart.
    """
    left: list[tuple[int, int]] = []
    for stride, extent in parts:
        if left and left[-1][0] == stride * extent:  # one run of the storage
            left[-1] = (stride, left[-1][1] * extent)
        elif extent > 1:
            left.append((stride, extent))
    axes: list[Parts] = []
    for extent in extents:
        own: list[tuple[int, int]] = []
        need = extent
        while need > 1:
            stride, whole = left.pop(0) if left else (0, need)
            if need % whole and whole % need:
                return tuple(((0, each),) for each in extents)
            taken = min(need, whole)
            rest = whole // taken
            own.append((stride * rest, taken))
            if rest > 1:
                left.insert(0, (stride, rest))
            need //= taken
        axes.append(tuple(own))
    return tuple(axes)


def _is_row_major(parts: Parts) -> bool:
    """Tell whether parts in a row run through the storage in order."""
    stride = 1
    for own, extent in reversed(parts):
        if own != stride:
            return False
        stride *= extent
    return True


@dataclass(frozen=True, slots=True)
class Call:
    """A node with its operands."""

    node: Node
    inputs: tuple[Operand | None, ...]
    outputs: tuple[Operand | None, ...]

    def input(self, index: int) -> Operand | None:
        """Return an input, None where it is absent."""
        return self.inputs[index] if index < len(self.inputs) else None

    @property
    def first(self) -> Operand:
        """The first input."""
        return _present(self.input(0), self.node)

    @property
    def second(self) -> Operand:
        """The second input."""
        return _present(self.input(1), self.node)

    @property
    def output(self) -> Operand:
        """The first output."""
        return _present(next(iter(self.outputs), None), self.node)

    def operator(
        self,
        kind: OperatorKind,
        sizes: Mapping[str, int],
        inputs: Iterable[Access | None],
        output: Access,
        passes: tuple[Pass, ...],
        *,
        rows: tuple[str, ...] = (),
        rounds: int = 0,
    ) -> Operator:
        """Return the node as one operator; operands read alike count once."""
        distinct = dict.fromkeys(access for access in inputs if access is not None)
        return Operator(
            name=self.node.name,
            kind=kind,
            einsum=Einsum(
                dimensions=tuple(Dimension(n, size) for n, size in sizes.items()),
                inputs=tuple(distinct),
                output=output,
                passes=passes,
                row_dimensions=rows,
                statistics_rounds=rounds if rows else 0,
            ),
        )


def _present(operand: Operand | None, node: Node) -> Operand:
    if operand is None:
        raise BadInputError(
            f"node {node.name} ({node.op}): an operand is missing", code="bad-node"
        )
    return operand


def grid(shape: Sequence[int], prefix: str = "d") -> tuple[dict[str, int], list[Axis]]:
    """Return a dimension per axis longer than 1, and the axis each shape axis has."""
    sizes = {f"{prefix}{i}": extent for i, extent in enumerate(shape) if extent > 1}
    axes = [
        indexed(f"{prefix}{i}") if extent > 1 else UNINDEXED
        for i, extent in enumerate(shape)
    ]
    return sizes, axes


def broadcast_access(operand: Operand, axes: Sequence[Axis]) -> Access:
    """Return how an operand is read when numpy broadcasting spreads it over `axes`."""
    last = axes[len(axes) - len(operand.shape) :]
    return operand.access(
        [
            axis if extent > 1 else UNINDEXED
            for axis, extent in zip(last, operand.shape, strict=True)
        ]
    )


def is_view(node: Node, values: Mapping[str, Value]) -> bool:
    """Tell whether a node moves no data: its output shares its input's storage."""
    if node.op in VIEWS:
        return True
    if node.op == "DequantizeLinear":  # a weight stays as narrow as it is stored
        return values[node.inputs[0]].constant
    if node.op not in ("Cast", "Expand"):
        return False
    source, result = values[node.inputs[0]], values[node.outputs[0]]
    return source.dtype == result.dtype and source.shape == result.shape


def operands(nodes: Iterable[Node], values: Mapping[str, Value]) -> dict[str, Operand]:
    """Return every value as an operand: views name the root they share.

    Parameters
    ----------
    nodes : iterable of Node
        Execution order.
    values : mapping of str to Value
        Types and shapes.
    """
    seen = {
        name: Operand(
            root=name,
            shape=value.shape,
            order=tuple(range(len(value.shape))),
            folded=value.constant and value.elements == 1,
        )
        for name, value in values.items()
    }
    for node in nodes:
        if is_view(node, values):
            shape = values[node.outputs[0]].shape
            whole = seen[node.inputs[0]]
            if node.op == "DequantizeLinear":
                scales = [seen[name] for name in node.inputs[1:] if name]
                seen[node.outputs[0]] = _decoded(node, whole, scales)
            else:
                seen[node.outputs[0]] = _view(node, whole, shape)
    return seen


def _decoded(node: Node, whole: Operand, scales: Iterable[Operand]) -> Operand:
    rank = len(whole.shape)
    axis = node.integer("axis", 1)
    place = whole.order[axis % rank] if rank else 0
    several = tuple(
        Scale(s.root, place if len(s.shape) == 1 else None)
        for s in scales
        if not s.folded and len(s.shape) in (1, rank)
    )
    return replace(whole, scales=several, decoded=True)


def _view(node: Node, whole: Operand, shape: tuple[int, ...]) -> Operand:
    if node.op == "Transpose":
        rank = len(shape)
        return whole.transposed(node.integers("perm") or range(rank)[::-1])
    return whole if shape == whole.shape else whole.reshaped(shape)
