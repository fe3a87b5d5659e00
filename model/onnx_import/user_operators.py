"""Operators that users describe: their shapes, and what they cost.

A description is a function from an `OperatorCall` to what stands for it: a known
operator, or one `OutputCost` per output. A file of ``--unknown`` is read into such
functions; a package offers its own by an entry point of `ENTRY_POINTS`, named after
the operator type.
"""

from __future__ import annotations

import importlib.metadata
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from elkhound.model.dtype import DTYPES
from elkhound.model.errors import BadInputError, nearest
from elkhound.model.graph import Pass
from elkhound.model.onnx_import.labels import labels_of

ENTRY_POINTS = "elkhound.operators"
LARGEST_EXTENT = 10**15
SWEEPS = tuple(p for p in Pass if p not in (Pass.ROW_UNARY, Pass.DECODE))

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class OperatorCall:
    """One node of a type that is not known.

    Parameters
    ----------
    op, name : str
        Type with domain, and name of the node.
    shapes : tuple of tuple of int or None
        Shape of each input; None for an absent optional.
    dtypes : tuple of str or None
        Element type of each input, such as ``float16``.
    attributes : mapping
        Integers, floats, texts and lists of them.
    outputs : int
        How many outputs the node has.
    """

    op: str
    name: str
    shapes: tuple[Shape | None, ...]
    dtypes: tuple[str | None, ...]
    attributes: Mapping[str, object]
    outputs: int


@dataclass(frozen=True, slots=True)
class OutputCost:
    """One output of an operator, and the work that makes it.

    Parameters
    ----------
    shape : tuple of int
        Its extents.
    dtype : str
        Its element type.
    passes : tuple of Pass
        Sweeps over a tile, in order: a matmul over the whole iteration space, a
        reduce over all that is read, the others over the output.
    reads : tuple of int or None
        Inputs that it reads, in this order; None for all that are there.
    equation : str
        Which elements meet, such as ``bmk,nk->bmn``, an operand per input read. Empty:
        each is read once, and its elements are spread over those of the output.
    views : tuple of tuple of int or None
        Shape in which the equation sees each input read; None, or nothing, for its own.
    result : tuple of int or None
        Shape in which the equation sees the output; None for its own.
    """

    shape: Shape
    dtype: str
    passes: tuple[Pass, ...]
    reads: tuple[int, ...] | None = None
    equation: str = ""
    views: tuple[Shape | None, ...] = ()
    result: Shape | None = None

    def places(self, shapes: Sequence[Shape | None]) -> list[int]:
        """Return the inputs that it reads."""
        if self.reads is None:
            return [i for i, shape in enumerate(shapes) if shape is not None]
        for index in self.reads:
            if not 0 <= index < len(shapes) or shapes[index] is None:
                raise ValueError(f"reads input {index}, which is not there")
        return list(self.reads)


@dataclass(frozen=True, slots=True)
class StandIn:
    """A known operator with the shapes and the cost of an unknown one.

    Parameters
    ----------
    op : str
        Its type.
    inputs : tuple of int or None
        Which inputs of the node it has, in its order; None for all.
    attributes : mapping
        Attributes to set beside those of the node.
    """

    op: str
    inputs: tuple[int, ...] | None = None
    attributes: Mapping[str, object] = field(default_factory=dict)


Description = Callable[[OperatorCall], "StandIn | Sequence[OutputCost]"]


@dataclass(frozen=True, slots=True)
class UserOperator:
    """A description, and who gives it: a file and line, or a package."""

    describe: Description
    origin: str

    def answer(self, call: OperatorCall) -> StandIn | tuple[OutputCost, ...]:
        """Return what stands for a node, refusing descriptions that cannot be."""
        try:
            answer = self.describe(call)
            if isinstance(answer, StandIn):
                return _checked_stand_in(answer)
            return _checked(call, tuple(answer))
        except Exception as error:  # code of others: anything may go wrong in it
            raise BadInputError(
                f"node {call.name} ({call.op}): {_said(error)}",
                code="bad-description",
                where=self.origin,
            ) from error


def installed(op: str) -> UserOperator | None:
    """Return what an installed package says of an operator type, if one does."""
    found = [
        entry
        for entry in importlib.metadata.entry_points(group=ENTRY_POINTS)
        if entry.name == op
    ]
    if not found:
        return None
    origins = [f"{_package(entry)} ({entry.value})" for entry in found]
    if len(found) > 1:
        raise BadInputError(
            f"operator {op} is described by several packages: {', '.join(origins)}",
            code="bad-description",
            hint="uninstall all but one",
        )
    try:
        describe = found[0].load()
    except Exception as error:  # code of others: anything may go wrong in it
        raise BadInputError(
            f"its description of operator {op} cannot be loaded: {_said(error)}",
            code="bad-description",
            where=origins[0],
        ) from error
    return UserOperator(describe, origins[0])


def _said(error: Exception) -> str:
    """Return what an error says, and its type where that does not speak for itself."""
    said = " ".join(str(error).split())
    if isinstance(error, (ValueError, ImportError)) and said:
        return said
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


def _checked_stand_in(known: StandIn) -> StandIn:
    places = known.inputs or ()
    if not isinstance(known.op, str):
        raise TypeError(f"stands for {known.op!r}, must be the name of an operator")
    if any(type(place) is not int or place < 0 for place in places):
        raise ValueError(f"inputs are {list(places)}, must be numbers from 0")
    if not isinstance(known.attributes, Mapping):
        raise TypeError(f"attributes are {known.attributes!r}, must be a mapping")
    return known


def _package(entry: importlib.metadata.EntryPoint) -> str:
    return "a package" if entry.dist is None else f"package {entry.dist.name}"


def _checked(
    call: OperatorCall, answer: tuple[OutputCost, ...]
) -> tuple[OutputCost, ...]:
    if len(answer) != call.outputs:
        raise ValueError(
            f"{len(answer)} outputs are described, the node has {call.outputs}"
        )
    for cost in answer:
        if not isinstance(cost, OutputCost):
            raise TypeError(f"{cost!r} is not an OutputCost")
        _refuse_extents("shape", cost.shape)
        if cost.dtype not in DTYPES:
            near = nearest(cost.dtype, list(DTYPES))
            raise ValueError(f"no element type {cost.dtype} ({near})")
        if not cost.passes or any(sweep not in SWEEPS for sweep in cost.passes):
            legal = ", ".join(SWEEPS)
            raise ValueError(f"passes are {list(cost.passes)}, must be some of {legal}")
        cost.places(call.shapes)
        if cost.equation:
            letters(cost, call.shapes)
        elif Pass.MATMUL in cost.passes:
            raise ValueError("a matmul pass needs an equation of two operands")
    return answer


def letters(
    cost: OutputCost, shapes: Sequence[Shape | None]
) -> tuple[list[str], str, dict[str, int]]:
    """Return the letters of each input read and of the output, and their extents.

    Parameters
    ----------
    cost : OutputCost
        Has an equation.
    shapes : sequence of tuple of int or None
        Of the node's inputs.
    """
    seen = viewed(cost, shapes)
    operands, out = labels_of(cost.equation, [len(shape) for shape in seen])
    extents: dict[str, int] = {}
    for operand, shape in zip(operands, seen, strict=True):
        for letter, extent in zip(operand, shape, strict=True):
            if 1 not in (extent, extents.get(letter, 1)) and extent != extents[letter]:
                raise ValueError(
                    f"{letter} of {cost.equation} is {extents[letter]} and {extent}"
                )
            extents[letter] = max(extent, extents.get(letter, 1))
    result = tuple(extents[letter] for letter in out)
    stated = cost.shape if cost.result is None else cost.result
    if result != stated or math.prod(result) != math.prod(cost.shape):
        raise ValueError(
            f"{cost.equation} gives {list(result)}, not {list(stated)} of shape "
            f"{list(cost.shape)}"
        )
    if Pass.MATMUL in cost.passes and (len(seen) < 2 or set(extents) == set(out)):
        raise ValueError(f"{cost.equation} is no product of two operands")
    return operands, out, extents


def viewed(cost: OutputCost, shapes: Sequence[Shape | None]) -> list[Shape]:
    """Return the shape in which the equation sees each input read."""
    seen = []
    for number, index in enumerate(cost.places(shapes)):
        own = shapes[index] or ()
        view = cost.views[number] if number < len(cost.views) else None
        if view is not None:
            _refuse_extents(f"view of input {index}", view)
            if math.prod(view) != math.prod(own):
                raise ValueError(
                    f"input {index} of shape {list(own)} cannot be seen as {list(view)}"
                )
        seen.append(own if view is None else view)
    return seen


def _refuse_extents(what: str, shape: Shape) -> None:
    for extent in shape:
        if type(extent) is not int or not 1 <= extent <= LARGEST_EXTENT:
            raise ValueError(
                f"{what} is {list(shape)}; extents must be from 1 to 10^15"
            )
