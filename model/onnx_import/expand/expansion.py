"""A composite node, and the plain nodes that an expansion writes for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from elkhound.model.dtype import DTYPES, DType
from elkhound.model.onnx_import.source import Data, Node, Value

if TYPE_CHECKING:
    from elkhound.model.onnx_import.resolve import Resolver


class Expansion:
    """Writes nodes in place of one; what it writes has its values at once.

    Parameters
    ----------
    node : Node
        The composite node.
    inputs : sequence of Value or None
        Its inputs; None for an absent optional.
    resolver : Resolver
        Takes what is written.
    """

    def __init__(
        self, node: Node, inputs: Sequence[Value | None], resolver: Resolver
    ) -> None:
        self.node = node
        self.inputs = inputs
        self._resolver = resolver

    def given(self, index: int) -> str:
        """Return the name of an input, empty where it is absent."""
        return self.node.input(index)

    def name(self, index: int) -> str:
        """Return the name of an input that must be there."""
        if not self.node.input(index):
            raise ValueError(f"input {index} is missing")
        return self.node.input(index)

    def value(self, name: str) -> Value:
        """Return what is known of a value."""
        return self._resolver.values[name]

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the extents of a value."""
        return self._resolver.values[name].shape

    def output(self, index: int) -> str:
        """Return the name of an output, empty where nobody asks for it."""
        outputs = self.node.outputs
        return outputs[index] if index < len(outputs) else ""

    def emit(
        self,
        op: str,
        inputs: Sequence[str],
        suffix: str,
        attributes: Mapping[str, object] | None = None,
        *,
        outputs: Sequence[str] = (),
        dtype: DType | None = None,
        version: int = 18,
    ) -> str:
        """Write a node and return its first output.

        Parameters
        ----------
        op : str
            Operator type, standard or internal (``elkhound::``).
        inputs : sequence of str
            Value names.
        suffix : str
            Told from other nodes of this expansion by it; empty for the main one.
        attributes : mapping or None
            Of the node.
        outputs : sequence of str
            Given names, where the node makes outputs of the composite one.
        dtype : DType or None
            Element type of the outputs, where it is not that of the first input.
        version : int
            Opset whose rules the node follows.
        """
        name = f"{self.node.name}.{suffix}" if suffix else self.node.name
        made = tuple(outputs) or (self._resolver.fresh(name),)
        plain = dict(attributes or {})
        if dtype is not None:
            plain["result_type"] = dtype.name
        self._resolver.take(Node(name, op, tuple(inputs), made, plain, version))
        return made[0]

    def constant(self, suffix: str, data: object, dtype: str = "int64") -> str:
        """Write a constant with elements and return its name."""
        array: Data = np.asarray(data)
        return self.parameter(
            suffix, Value(DTYPES[dtype], array.shape, constant=True, data=array)
        )

    def parameter(self, suffix: str, value: Value) -> str:
        """Write a value that no node makes and return its name."""
        name = self._resolver.fresh(f"{self.node.name}.{suffix}")
        self._resolver.values[name] = value
        return name

    def declare(self, name: str, value: Value) -> None:
        """State what an output is, where no rule can tell."""
        self._resolver.values[name] = value

    def note(self, text: str) -> None:
        """Tell the user what the plan leaves out of this node."""
        self._resolver.note(f"node {self.node.name} ({self.node.op}): {text}")

    def fresh(self, suffix: str) -> str:
        """Return an unused value name."""
        return self._resolver.fresh(f"{self.node.name}.{suffix}")

    def reshape(
        self, name: str, shape: Sequence[int], suffix: str, **named: str
    ) -> str:
        """Write a Reshape."""
        target = self.constant(f"{suffix}.shape", list(shape))
        outputs = [named["output"]] if named.get("output") else []
        return self.emit("Reshape", [name, target], suffix, outputs=outputs)

    def transpose(
        self, name: str, perm: Sequence[int], suffix: str, **named: str
    ) -> str:
        """Write a Transpose."""
        outputs = [named["output"]] if named.get("output") else []
        return self.emit(
            "Transpose", [name], suffix, {"perm": list(perm)}, outputs=outputs
        )

    def split(
        self, name: str, extents: Sequence[int], axis: int, suffix: str
    ) -> list[str]:
        """Write a Split and return its parts."""
        parts = [self.fresh(f"{suffix}{index}") for index in range(len(extents))]
        sizes = self.constant(f"{suffix}.sizes", list(extents))
        self.emit("Split", [name, sizes], suffix, {"axis": axis}, outputs=parts)
        return parts
