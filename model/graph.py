"""The graph: tensors and operators in execution order, each an einsum."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum

from elkhound.model.dtype import DType


class Home(StrEnum):
    """Where a tensor is before the operator that reads it runs."""

    CHIP = "chip"  # resident: on chip from its producer to its last consumer
    HBM = "hbm"  # streamed: preloaded from HBM for each operator that reads it
    SPILLED = "spilled"  # in HBM from its producer's execute to each reader's execute


class OperatorKind(StrEnum):
    """What an operator is, for tables, pattern reports and cost."""

    MATMUL = "matmul"
    BATCHED_MATMUL = "batched-matmul"
    CONV = "conv"
    POOL = "pool"
    ELEMENTWISE = "elementwise"
    ACTIVATION = "activation"
    REDUCE = "reduce"
    SOFTMAX = "softmax"
    NORM = "norm"
    ROPE = "rope"
    GATHER = "gather"
    COPY = "copy"


class Pass(StrEnum):
    """One sweep of the device over a tile; an operator's cost is their sum.

    MATMUL counts the tile's multiply-accumulates (convolutions included, lowered as
    a matmul), REDUCE the tile's whole iteration space, ROW_UNARY one element per
    reduced row, DECODE the tile's elements of the second input, the others the tile's
    output elements.
    """

    MATMUL = "matmul"
    ELEMENTWISE = "elementwise"  # two operands
    UNARY = "unary"  # one operand
    ROW_UNARY = "row-unary"  # one operand, once per row (rsqrt of a variance)
    DECODE = "decode"  # one operand: weights of few bits brought to numbers
    REDUCE = "reduce"
    SLICE = "slice"  # copy
    GATHER = "gather"


@dataclass(frozen=True, slots=True)
class Tensor:
    """Data with a shape. Views (reshape, transpose) share their root's tensor.

    Parameters
    ----------
    name : str
        Unique in the graph.
    shape : tuple of int
        Extents, row-major; empty for a scalar.
    dtype : DType
        Element type, at stored width.
    home : Home
        Resident on chip, streamed from HBM, or moved out to HBM and back.
    """

    name: str
    shape: tuple[int, ...]
    dtype: DType
    home: Home

    def __post_init__(self) -> None:
        if any(extent <= 0 for extent in self.shape):
            raise ValueError(
                f"tensor {self.name}: shape {list(self.shape)} has an extent below 1"
            )

    @property
    def size_bytes(self) -> int:
        """Bytes of all elements."""
        return self.dtype.size_bytes(math.prod(self.shape))


@dataclass(frozen=True, slots=True)
class Dimension:
    """A named rank of an einsum's iteration space."""

    name: str
    size: int

    def __post_init__(self) -> None:
        if self.size <= 0:
            raise ValueError(f"dimension {self.name}: size {self.size}, must be ≥ 1")


@dataclass(frozen=True, slots=True)
class Axis:
    """Position along one tensor axis: Σ coefficient · dimension.

    A tile with extents tₓ covers 1 + Σ coefficient · (tₓ − 1) positions: a plain
    index is ((d, 1),); a convolution's halo axis is ((oh, stride), (kh, dilation)).
    """

    terms: tuple[tuple[str, int], ...]

    @property
    def plain(self) -> bool:
        """Whether one dimension is the position: tiles neither overlap nor gap."""
        return len(self.terms) == 1 and self.terms[0][1] == 1

    def extent(self, tile: dict[str, int]) -> int:
        """Return how many positions a tile covers on this axis."""
        return 1 + sum(
            coefficient * (tile[name] - 1) for name, coefficient in self.terms
        )


@dataclass(frozen=True, slots=True)
class Access:
    """How an einsum reads or writes one tensor.

    Parameters
    ----------
    tensor : str
        Name of the tensor (of its root, for a view).
    axes : tuple of Axis
        One per axis of the accessed view.
    parts : tuple of tuple of (int, int)
        Where the view is no re-cut of the storage in order, a reshape behind a
        transpose: storage stride and extent of what every axis runs through,
        outermost first; stride 0 where no strides tell. Empty: row-major.
    """

    tensor: str
    axes: tuple[Axis, ...]
    parts: tuple[tuple[tuple[int, int], ...], ...] = ()

    @property
    def dimensions(self) -> frozenset[str]:
        """Names of the dimensions that index the tensor."""
        return frozenset(name for axis in self.axes for name, _ in axis.terms)

    def elements(self, tile: dict[str, int]) -> int:
        """Return the elements a tile of the iteration space touches."""
        return math.prod(axis.extent(tile) for axis in self.axes)


@dataclass(frozen=True, slots=True)
class Einsum:
    """An iteration space and how tensors are indexed in it.

    Parameters
    ----------
    dimensions : tuple of Dimension
        The iteration space.
    inputs : tuple of Access
        What is read; the first is the activation where there is one.
    output : Access
        What is written. Dimensions absent from it are reduced.
    passes : tuple of Pass
        What the device does to a tile, in order.
    row_dimensions : tuple of str
        Dimensions that softmax and norms reduce over *and* keep; a cut of one costs
        `statistics_rounds` all-reduces of one fp32 value per row of the tile.
    statistics_rounds : int
        2 for softmax and layer norm, 1 for RMS norm, 0 for others.
    """

    dimensions: tuple[Dimension, ...]
    inputs: tuple[Access, ...]
    output: Access
    passes: tuple[Pass, ...]
    row_dimensions: tuple[str, ...] = ()
    statistics_rounds: int = 0

    @property
    def sizes(self) -> dict[str, int]:
        """Extent of each dimension, by name."""
        return {dimension.name: dimension.size for dimension in self.dimensions}

    @property
    def reduced(self) -> tuple[str, ...]:
        """Dimensions that do not index the output, in order."""
        kept = self.output.dimensions
        return tuple(d.name for d in self.dimensions if d.name not in kept)

    @property
    def macs(self) -> int:
        """Multiply-accumulates of the whole operator; 0 where there are none."""
        if Pass.MATMUL not in self.passes:
            return 0
        return math.prod(dimension.size for dimension in self.dimensions)


@dataclass(frozen=True, slots=True)
class Operator:
    """One step of the program.

    Parameters
    ----------
    name : str
        Unique in the graph.
    kind : OperatorKind
        What it is.
    einsum : Einsum
        What it computes.
    layer : int or None
        Index of the repeated layer it belongs to.
    """

    name: str
    kind: OperatorKind
    einsum: Einsum
    layer: int | None = None


@dataclass(frozen=True, slots=True)
class Graph:
    """Operators in execution order over tensors.

    Parameters
    ----------
    name : str
        Name shown in reports.
    tensors : tuple of Tensor
        Every tensor that an operator reads or writes.
    operators : tuple of Operator
        Execution order: a resident tensor is written before it is read.
    outputs : tuple of str
        Tensors that leave the chip; the transfer is reported, not scheduled.
    """

    name: str
    tensors: tuple[Tensor, ...]
    operators: tuple[Operator, ...]
    outputs: tuple[str, ...] = ()
    _by_name: dict[str, Tensor] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        self._by_name.update((tensor.name, tensor) for tensor in self.tensors)
        if not self.operators:
            raise ValueError(f"graph {self.name}: has no operators")
        names = [operator.name for operator in self.operators]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"graph {self.name}: two operators are called {twice}")
        known = {tensor.name for tensor in self.tensors}
        if len(known) < len(self.tensors):
            raise ValueError(f"graph {self.name}: two tensors share a name")
        for operator in self.operators:
            for access in (*operator.einsum.inputs, operator.einsum.output):
                if access.tensor not in known:
                    raise ValueError(
                        f"operator {operator.name}: unknown tensor {access.tensor}"
                    )

    @property
    def tensor(self) -> dict[str, Tensor]:
        """The tensors by name; made once, and not to be changed."""
        return self._by_name

    @property
    def macs(self) -> int:
        """Multiply-accumulates of all operators."""
        return sum(operator.einsum.macs for operator in self.operators)

    def streamed_bytes(self, operator: Operator) -> int:
        """Return true bytes that HBM delivers for one operator, never padded.

        A tensor read twice by one operator counts once; an operator that touches
        part of a tensor (gather) streams that part.
        """
        return sum(self._touched(operator.einsum.inputs, operator, Home.HBM).values())

    def spilled_bytes(
        self, operator: Operator
    ) -> tuple[dict[str, int], dict[str, int]]:
        """Return the bytes an operator reads and writes of every spilled tensor."""
        einsum = operator.einsum
        return (
            self._touched(einsum.inputs, operator, Home.SPILLED),
            self._touched((einsum.output,), operator, Home.SPILLED),
        )

    def _touched(
        self, accesses: tuple[Access, ...], operator: Operator, home: Home
    ) -> dict[str, int]:
        """Return the bytes that accesses touch of every tensor with a home."""
        tensors = self.tensor
        sizes = operator.einsum.sizes
        touched: dict[str, int] = {}
        for access in accesses:
            tensor = tensors[access.tensor]
            if tensor.home is home:
                size = tensor.dtype.size_bytes(access.elements(sizes))
                touched[tensor.name] = max(
                    touched.get(tensor.name, 0), min(size, tensor.size_bytes)
                )
        return touched

    def held_bytes(self, cores: int) -> tuple[int, ...]:
        """Return r_i: bytes per core held past their neighbour during each step.

        A resident tensor written at step p (−1 for a graph input) and last read at
        step c is held at every step p < i < c, spread over all cores; at p and at c
        it is part of the operator's own execute space. One written in parts (concat)
        is held whole from its first part.
        """
        resident = {t.name: t for t in self.tensors if t.home is Home.CHIP}
        producer = dict.fromkeys(resident, -1)
        last = dict.fromkeys(resident, -1)
        for step, operator in enumerate(self.operators):
            if producer.get(operator.einsum.output.tensor) == -1:
                producer[operator.einsum.output.tensor] = step
            for access in operator.einsum.inputs:
                if access.tensor in resident:
                    last[access.tensor] = step
        held = [0] * len(self.operators)
        for name, tensor in resident.items():
            share = -(-tensor.size_bytes // cores)
            for step in range(producer[name] + 1, last[name]):
                held[step] += share
        return tuple(held)
