"""The nodes of a graph by what they make and read, for matching patterns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from elkhound.model.onnx_import.source import Node, Value


@dataclass(frozen=True, slots=True)
class Match:
    """Nodes that one node stands for.

    Parameters
    ----------
    pattern : str
        What was recognised.
    members : tuple of Node
        The nodes replaced; the last one makes the result.
    fused : Node
        What replaces them.
    """

    pattern: str
    members: tuple[Node, ...]
    fused: Node


class Net:
    """Producers and readers of every value; what patterns ask of it.

    Parameters
    ----------
    nodes : sequence of Node
        Execution order.
    values : dict of str to Value
        Types, shapes, known constants; patterns add what they make.
    outputs : sequence of str
        Values that leave the graph.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        values: dict[str, Value],
        outputs: Sequence[str],
    ) -> None:
        self.values = values
        self.outputs = frozenset(outputs)
        self.made = {name: n for n in nodes for name in n.outputs if name}
        self.readers: dict[str, list[Node]] = defaultdict(list)
        for node in nodes:
            for name in dict.fromkeys(node.inputs):
                self.readers[name].append(node)

    def maker(self, name: str, *ops: str) -> Node | None:
        """Return the node that makes a value, if it is one of these operators."""
        node = self.made.get(name)
        return node if node is not None and node.op in ops else None

    def make(self, name: str, value: Value) -> str:
        """Add a value that a pattern needs, under a name of its own; return it."""
        candidate, number = name, 2
        while candidate in self.values:
            candidate, number = f"{name}#{number}", number + 1
        self.values[candidate] = value
        return candidate

    def only_reader(self, name: str, *ops: str) -> Node | None:
        """Return the one node that reads a value, if it is one of these operators."""
        readers = self.readers.get(name, [])
        if len(readers) != 1 or name in self.outputs or readers[0].op not in ops:
            return None
        return readers[0]

    def scalar(self, name: str) -> float | None:
        """Return the number that a constant of one element holds, if it is known."""
        value = self.values.get(name)
        if value is None or value.data is None or value.elements != 1:
            return None
        return float(value.data.reshape(-1)[0])

    def is_scalar(self, name: str) -> bool:
        """Tell whether a value is a constant of one element, known or not."""
        value = self.values.get(name)
        return value is not None and value.constant and value.elements == 1

    def is_number(self, name: str, number: float) -> bool:
        """Tell whether a value is a known constant, up to its type's rounding."""
        found = self.scalar(name)
        return found is not None and abs(found - number) <= 4e-3 * abs(number)

    def is_parameter(self, name: str) -> bool:
        """Tell whether a value is a constant or an input: nothing computes it."""
        value = self.values.get(name)
        return value is not None and (value.constant or name not in self.made)

    def before_cast(self, name: str) -> tuple[str, tuple[Node, ...]]:
        """Return the value behind a Cast, and the Cast."""
        cast = self.maker(name, "Cast")
        return (cast.inputs[0], (cast,)) if cast is not None else (name, ())

    def other(self, node: Node, name: str) -> str | None:
        """Return the other operand of a binary node that reads a value."""
        if len(node.inputs) != 2 or name not in node.inputs:
            return None
        return node.inputs[1 if node.inputs[0] == name else 0]

    def closed(self, members: Iterable[Node], result: str) -> bool:
        """Tell whether nothing outside reads what the members make, but the result."""
        inside = {node.name for node in members}
        made = [name for node in members for name in node.outputs if name]
        return all(
            name == result
            or (
                name not in self.outputs
                and all(reader.name in inside for reader in self.readers[name])
            )
            for name in made
        )
