"""What an ONNX file says, without weights: nodes, values, symbols."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from elkhound.model.dtype import DType
from elkhound.model.errors import BadInputError

Data = NDArray[np.generic]

KINDS = {  # what attributes may be, as ONNX calls it and in words
    "INT": "an integer",
    "FLOAT": "a number",
    "STRING": "a text",
    "INTS": "a list of integers",
    "FLOATS": "a list of numbers",
    "STRINGS": "a list of texts",
    "TENSOR": "a tensor",
}


@dataclass(frozen=True, slots=True)
class Node:
    """One operator of the file, or a recognised pattern of several.

    Parameters
    ----------
    name : str
        Unique; the file's name, or that of the first output where it has none.
    op : str
        Operator type, with its domain (``com.microsoft::FastGelu``) unless standard.
    inputs, outputs : tuple of str
        Value names; an empty one is an absent optional.
    attributes : mapping
        Plain values: int, float, str, lists of them; constants are `Value`, others
        `Unread`.
    version : int
        Opset of the operator's domain.
    misfit, misfit_code : str
        How it differs from its operator's schema, empty if it does not; the code of
        its refusal.
    subgraphs : mapping of str to Subgraph
        Branches of an If, body of a Loop or Scan, by attribute.
    captured : tuple of str
        Values around the node that its subgraphs read.
    """

    name: str
    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, object] = field(default_factory=dict)
    version: int = 13
    misfit: str = ""
    misfit_code: str = "bad-node"
    subgraphs: Mapping[str, Subgraph] = field(default_factory=dict)
    captured: tuple[str, ...] = ()

    @property
    def reads(self) -> tuple[str, ...]:
        """All that has to be there before: inputs, and what subgraphs capture."""
        return (*filter(None, self.inputs), *self.captured)

    def attribute(self, name: str, wanted: str) -> object:
        """Return an attribute of a type such as ``INTS``; None where it is absent.

        Every attribute is read here: one of another type is refused, not left out.
        """
        value = self.attributes.get(name)
        if value is None or _is(value, wanted):
            return value
        raise BadInputError(
            f"node {self.name} ({self.op}): attribute {name} is {_shown(value)}, "
            f"must be {KINDS[wanted]} ({wanted})",
            code="bad-attribute",
        )

    def integer(self, name: str, default: int) -> int:
        """Return an integer attribute."""
        value = self.attribute(name, "INT")
        return value if isinstance(value, int) else default

    def number(self, name: str, default: float) -> float:
        """Return a float attribute."""
        value = self.attribute(name, "FLOAT")
        return float(value) if isinstance(value, (int, float)) else default

    def text(self, name: str, default: str) -> str:
        """Return a string attribute."""
        value = self.attribute(name, "STRING")
        return value if isinstance(value, str) else default

    def integers(self, name: str) -> tuple[int, ...] | None:
        """Return a list of integers, or None where it is absent."""
        value = self.attribute(name, "INTS")
        return tuple(value) if isinstance(value, (list, tuple)) else None

    def numbers(self, name: str) -> tuple[float, ...] | None:
        """Return a list of numbers, or None where it is absent."""
        value = self.attribute(name, "FLOATS")
        return tuple(map(float, value)) if isinstance(value, (list, tuple)) else None

    def tensor(self, name: str) -> Value | None:
        """Return a constant attribute, or None where it is absent."""
        value = self.attribute(name, "TENSOR")
        return value if isinstance(value, Value) else None

    def input(self, index: int) -> str:
        """Return an input's name, empty where it is absent."""
        return self.inputs[index] if index < len(self.inputs) else ""


@dataclass(frozen=True, slots=True)
class Subgraph:
    """A graph inside a node: a branch or a loop's body.

    Parameters
    ----------
    nodes : tuple of Node
        In file order.
    inputs, outputs : tuple of str
        What the node around it feeds, and what it takes back.
    constants : mapping of str to Value
        Initializers and Constant nodes.
    unplannable : mapping of str to BadInputError
        Those of texts and the like: what to say of whatever reads one.
    """

    nodes: tuple[Node, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    constants: Mapping[str, Value]
    unplannable: Mapping[str, BadInputError] = field(default_factory=dict)


def captured(subgraphs: Iterable[Subgraph]) -> tuple[str, ...]:
    """Return the values that subgraphs read and that nothing in them makes."""
    found: dict[str, None] = {}
    for graph in subgraphs:
        made = {*graph.inputs, *graph.constants, *graph.unplannable}
        made.update(name for node in graph.nodes for name in node.outputs)
        read = [name for node in graph.nodes for name in node.reads]
        found.update(dict.fromkeys(n for n in (*read, *graph.outputs) if n not in made))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Value:
    """A tensor of the file.

    Parameters
    ----------
    dtype : DType
        Element type.
    shape : tuple of int
        Extents, all known.
    constant : bool
        True where no input of the graph can change it: a weight, or a fold of some.
    data : array or None
        Elements, where they are few and in the file.
    """

    dtype: DType
    shape: tuple[int, ...]
    constant: bool = False
    data: Data | None = None

    @property
    def elements(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True)
class Declared:
    """Type and shape as a file or onnx states them, possibly with gaps.

    Parameters
    ----------
    name : str
        Value name.
    dtype : str or None
        onnx's name of the element type.
    dims : tuple of int, str or None, or None
        Number, symbol or unknown of each axis; None where even the rank is unknown.
    """

    name: str
    dtype: str | None
    dims: tuple[int | str | None, ...] | None

    @property
    def shape(self) -> tuple[int, ...] | None:
        """The extents, if every one is a number."""
        if self.dims is None:
            return None
        known = tuple(dim for dim in self.dims if isinstance(dim, int))
        return known if len(known) == len(self.dims) else None


@dataclass(frozen=True, slots=True)
class Unread:
    """An attribute of which no plan needs the value.

    Parameters
    ----------
    kind : str
        ONNX's name of its type, or what it is otherwise.
    """

    kind: str


SCALARS: Mapping[str, type | tuple[type, ...]] = {  # a whole number is a number too
    "INT": int,
    "FLOAT": (int, float),
    "STRING": str,
    "TENSOR": Value,
}


def _is(value: object, wanted: str) -> bool:
    """Tell whether an attribute is of a type; an empty list is of any list's."""
    if wanted in SCALARS:
        return isinstance(value, SCALARS[wanted])
    return isinstance(value, (list, tuple)) and all(_is(v, wanted[:-1]) for v in value)


def _shown(value: object) -> str:
    """Return an attribute's value and type as a few characters of a message."""
    if isinstance(value, Unread):
        return value.kind
    if isinstance(value, Value):
        return "a TENSOR"
    found = next((kind for kind in KINDS if _is(value, kind)), "of no known type")
    text = repr(value[:9] if isinstance(value, list) else value)
    return f"{text if len(text) <= 60 else text[:57] + '...'} ({found})"


@dataclass(frozen=True, slots=True)
class Source:
    """One file, read.

    Parameters
    ----------
    name : str
        Name of the file, without its ending: graphs are called torch_jit or main.
    nodes : tuple of Node
        In file order; local functions inlined, Constant nodes moved to `constants`.
    inputs : tuple of Declared
        What must be fed: inputs that are not also initializers.
    outputs : tuple of str
        Values that leave the graph.
    constants : mapping of str to Value
        Initializers and Constant nodes.
    inferred, declared : mapping of str to Declared
        What onnx infers once the symbols are bound; what the file states.
    unplannable : mapping of str to BadInputError
        Constants of texts and the like: what to say of whatever reads one.
    warnings : tuple of str
        What was odd about the file.
    spilled : tuple of str
        Values that whatever makes them sends to HBM, as the file's metadata says.
    """

    name: str
    nodes: tuple[Node, ...]
    inputs: tuple[Declared, ...]
    outputs: tuple[str, ...]
    constants: Mapping[str, Value]
    inferred: Mapping[str, Declared]
    declared: Mapping[str, Declared]
    unplannable: Mapping[str, BadInputError] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    spilled: tuple[str, ...] = ()
