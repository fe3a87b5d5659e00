"""Operators of a graph as steps of at most two operands, which einsums can be."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from elkhound.model.dtype import DType
from elkhound.model.errors import BadInputError
from elkhound.model.graph import Access, Graph, Home, Operator, OperatorKind, Pass

_OF_ONE = {OperatorKind.NORM, OperatorKind.SOFTMAX, OperatorKind.ROPE}
"""Kinds whose first operand is the tensor, and the others parameters."""


@dataclass(frozen=True, slots=True)
class Step:
    """One einsum to be, in the graph's own dimensions.

    Parameters
    ----------
    name : str
        The operator's, or that name with a number.
    operator : Operator
        Whose step it is.
    sizes : dict of str to int
        Dimensions above 1.
    inputs : tuple of Access
        One or two.
    output : Access
        What it writes.
    """

    name: str
    operator: Operator
    sizes: dict[str, int]
    inputs: tuple[Access, ...]
    output: Access

    @property
    def accesses(self) -> tuple[Access, ...]:
        """Inputs, then the output."""
        return (*self.inputs, self.output)


@dataclass(frozen=True, slots=True)
class Stored:
    """A tensor as it is stored."""

    shape: tuple[int, ...]
    dtype: DType

    @property
    def elements(self) -> int:
        """How many values it has."""
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True)
class Steps:
    """All steps of a graph in order, the tensors between them, and what was folded."""

    steps: tuple[Step, ...]
    tensors: dict[str, Stored]
    folded: tuple[str, ...]


def refused(operator: Operator, why: str) -> BadInputError:
    """Return the refusal of an operator that is no einsum."""
    return BadInputError(
        f"operator {operator.name} ({operator.kind}) is no einsum: {why}",
        code="no-einsum",
    )


def steps_of(graph: Graph) -> Steps:
    """Return the steps of every operator.

    A product keeps its two factors; a residual added to it is a step of its own. Norms,
    softmax and rotations keep their tensor, other operators what is as large as their
    output, two at a time. Other operands, such as biases, scales of norms, angles and
    masks, are folded: they stay at the unit and their traffic is not counted.

    Raises
    ------
    BadInputError
        An operator is no einsum; named, with the reason.
    """
    tensors = {t.name: Stored(t.shape, t.dtype) for t in graph.tensors}
    steps: list[Step] = []
    folded: list[str] = []
    for operator in graph.operators:
        kept, small = _operands(graph, operator)
        folded += [f"operator {operator.name}: folds {a.tensor} in" for a in small]
        for step in _chained(operator, kept):
            tensors.setdefault(step.output.tensor, _between(step, graph))
            steps.append(_without_units(step))
    _require_one_writer(steps)
    used = {access.tensor for step in steps for access in step.accesses}
    kept_tensors = {name: stored for name, stored in tensors.items() if name in used}
    return Steps(tuple(steps), kept_tensors, tuple(folded))


def _operands(graph: Graph, operator: Operator) -> tuple[list[Access], list[Access]]:
    """Return what an operator's steps read, and what is folded."""
    einsum = operator.einsum
    if operator.kind is OperatorKind.GATHER:
        raise refused(operator, "its data tell which elements it reads")
    names = [access.tensor for access in (*einsum.inputs, einsum.output)]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise refused(operator, f"it uses {twice} twice, in different ways")
    whole = {d.name for d in einsum.dimensions if d.size > 1}
    product = Pass.MATMUL in einsum.passes
    if operator.kind in _OF_ONE:
        return list(einsum.inputs[:1]), list(einsum.inputs[1:])
    kept = list(einsum.inputs[:2]) if product else []
    others = einsum.inputs[len(kept) :]
    needed = einsum.output.dimensions & whole
    large = [
        access
        for access in others
        if access.dimensions >= needed
        and not (product and graph.tensor[access.tensor].home is Home.HBM)
    ]
    kept += large or ([] if product else others)
    return kept, [access for access in others if access not in kept]


def _chained(operator: Operator, operands: list[Access]) -> Iterator[Step]:
    """Yield steps of two operands; each goes on from what the last one wrote."""
    einsum = operator.einsum
    sizes = {d.name: d.size for d in einsum.dimensions if d.size > 1}
    last = max(1, len(operands) - 1)
    inputs = tuple(operands[:2])
    for number in range(1, last + 1):
        name = operator.name if number == last else f"{operator.name}.{number}"
        output = einsum.output
        if number < last:
            output = Access(name, output.axes)
        yield Step(name, operator, sizes, inputs, output)
        if number < last:
            sizes = {n: s for n, s in sizes.items() if n in output.dimensions}
            inputs = (output, operands[number + 1])


def _between(step: Step, graph: Graph) -> Stored:
    """Return the tensor between two steps of an operator."""
    written = step.operator.einsum.output
    sizes = step.operator.einsum.sizes
    shape = tuple(axis.extent(sizes) for axis in written.axes)
    return Stored(shape, graph.tensor[written.tensor].dtype)


def _require_one_writer(steps: list[Step]) -> None:
    writer: dict[str, Step] = {}
    for step in steps:
        tensor = step.output.tensor
        if tensor in writer:
            raise refused(
                step.operator,
                f"it writes a part of {tensor}, as {writer[tensor].name} does",
            )
        writer[tensor] = step


def _without_units(step: Step) -> Step:
    """Return a step whose accesses name no dimension of extent 1."""

    def plain(access: Access) -> Access:
        axes = tuple(
            replace(axis, terms=tuple(t for t in axis.terms if t[0] in step.sizes))
            for axis in access.axes
        )
        return replace(access, axes=axes)

    inputs = tuple(plain(access) for access in step.inputs)
    return replace(step, inputs=inputs, output=plain(step.output))
