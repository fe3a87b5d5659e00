"""One pass over the nodes: values for all of them, composite ones taken apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from elkhound.model.dtype import DTYPES
from elkhound.model.errors import BadInputError, nearest
from elkhound.model.onnx_import.attributes import check_attributes
from elkhound.model.onnx_import.choices import Choices
from elkhound.model.onnx_import.constants import fold
from elkhound.model.onnx_import.control import CONTROL, inline
from elkhound.model.onnx_import.expand import EXPANSIONS, Expansion
from elkhound.model.onnx_import.expand.legacy import LEGACY
from elkhound.model.onnx_import.order import legible
from elkhound.model.onnx_import.shapes.infer import input_values, node_values
from elkhound.model.onnx_import.source import Node, Source, Value
from elkhound.model.onnx_import.supported import SUPPORTED, refuse_unsupported
from elkhound.model.onnx_import.user_operators import OperatorCall, StandIn

MOST_NODES = 50_000  # after unrolling; beyond, planning is hopeless anyway


@dataclass(slots=True)
class Resolver:
    """Takes nodes in execution order; knows every value made so far.

    Parameters
    ----------
    source : Source
        The file.
    choices : Choices
        What the user decided about branches, loops and unknown operators.
    values : dict of str to Value
        Types, shapes, constness and known elements of everything so far.
    unplannable : dict of str to BadInputError
        Constants that nothing may read.
    nodes : list of Node
        What was taken: plain operators only.
    notes : list of str
        What was decided that the user should know of.
    names : set of str
        Names of the nodes.
    unknown : dict of str to int
        Unknown operator types that went through, and how many nodes of each.
    iterations : int
        Iterations of loops that were written out, empty ones too.
    """

    source: Source
    choices: Choices
    values: dict[str, Value]
    unplannable: dict[str, BadInputError]
    nodes: list[Node] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    unknown: dict[str, int] = field(default_factory=dict)
    iterations: int = 0
    _constants: dict[int, str] = field(default_factory=dict)

    def take(self, node: Node) -> None:
        """Take one node, or what it stands for."""
        for name in node.reads:
            if name in self.unplannable:
                raise self.unplannable[name]
            if name not in self.values:
                raise BadInputError(
                    f"node {node.name} ({node.op}) reads {name}, which nothing makes",
                    code="missing-value",
                )
        refuse_unsupported([node], self.choices.unknown)
        if node.op in SUPPORTED and not node.op.startswith("elkhound::"):
            check_attributes(node)
        node = self._modern(node)
        if node.op not in SUPPORTED:
            self._take_unknown(node)
        elif node.op in CONTROL:
            inline(self, node)
        elif node.op in EXPANSIONS:
            self._expand(node)
        else:
            self.values.update(node_values(self.source, node, self.values))
            self._append(node)

    def take_all(self, nodes: Iterable[Node]) -> None:
        """Take nodes in execution order."""
        for node in nodes:
            self.take(node)

    def fresh(self, name: str) -> str:
        """Return a value name that nothing has yet, close to the given one."""
        candidate, number = name, 2
        while candidate in self.values or candidate in self.unplannable:
            candidate, number = f"{name}#{number}", number + 1
        return candidate

    def constant(self, name: str, value: Value) -> str:
        """Return a subgraph's constant: one tensor, however often the graph runs."""
        if id(value) not in self._constants:  # the source keeps it alive
            self._constants[id(value)] = self.fresh(name)
            self.values[self._constants[id(value)]] = value
        return self._constants[id(value)]

    def refuse(self, name: str, error: BadInputError) -> str:
        """Return the name of a subgraph's constant that nothing may read."""
        name = self.fresh(name)
        self.unplannable[name] = error
        return name

    def unroll(self, node: Node, iterations: int) -> None:
        """Count a loop's iterations before they are written: bodies may be empty."""
        self.iterations += iterations
        if self.iterations > MOST_NODES:
            raise BadInputError(
                f"node {node.name} ({node.op}): more than {MOST_NODES} iterations "
                f"to write out",
                code="too-many-nodes",
            )

    def note(self, text: str) -> None:
        """Tell the user something, once."""
        if text not in self.notes:
            self.notes.append(text)

    def _modern(self, node: Node) -> Node:
        """Return a node of an old opset as the next one that is plain says it."""
        until, rewrite = LEGACY.get(node.op, (0, None))
        if rewrite is None or node.version >= until:
            return node
        inputs = [self.values[name] if name else None for name in node.inputs]
        try:
            return replace(rewrite(Expansion(node, inputs, self)), version=until)
        except (ValueError, IndexError) as error:
            raise BadInputError(
                f"node {node.name} ({node.op} of opset {node.version}): {error}",
                code="bad-shape",
                hint=f"nearest supported: {node.op} of opset {until}",
            ) from error

    def _append(self, node: Node) -> None:
        base = legible(node.name)
        name, number = base, 2
        while name in self.names:
            name, number = f"{base}#{number}", number + 1
        self.names.add(name)
        if len(self.nodes) >= MOST_NODES:
            raise BadInputError(
                f"node {node.name}: more than {MOST_NODES} nodes, unrolled",
                code="too-many-nodes",
            )
        self.nodes.append(node if name == node.name else replace(node, name=name))

    def _take_unknown(self, node: Node) -> None:
        """Take an operator as the user or a package describes it, or for nothing."""
        self.unknown[node.op] = self.unknown.get(node.op, 0) + 1
        user = self.choices.unknown.description(node.op)
        if user is None:
            self.take(replace(node, op="elkhound::Free", subgraphs={}, captured=()))
            return
        answer = user.answer(self._call(node))
        if isinstance(answer, StandIn):
            self._take_stand_in(node, answer, user.origin)
            return
        inputs = [self.values[name] for name in node.inputs if name]
        constant = all(value.constant for value in inputs)
        for name, cost in zip(node.outputs, answer, strict=True):
            if name:
                self.values[name] = Value(DTYPES[cost.dtype], cost.shape, constant)
        self._append(
            replace(node, op="elkhound::User", attributes={"costs": list(answer)})
        )

    def _call(self, node: Node) -> OperatorCall:
        inputs = [self.values[name] if name else None for name in node.inputs]
        return OperatorCall(
            node.op,
            node.name,
            tuple(None if value is None else value.shape for value in inputs),
            tuple(None if value is None else value.dtype.name for value in inputs),
            node.attributes,
            len(node.outputs),
        )

    def _take_stand_in(self, node: Node, known: StandIn, origin: str) -> None:
        if known.op not in SUPPORTED or known.op.startswith("elkhound::"):
            raise BadInputError(
                f"operator {node.op} stands for {known.op}, which is not known",
                code="unsupported-operator",
                where=origin,
                hint=nearest(
                    known.op, [op for op in SUPPORTED if "elkhound" not in op]
                ),
            )
        places = range(len(node.inputs)) if known.inputs is None else known.inputs
        self.take(
            replace(
                node,
                op=known.op,
                inputs=tuple(node.input(place) for place in places),
                attributes={**node.attributes, **known.attributes},
                version=21,
                misfit="",
            )
        )

    def _expand(self, node: Node) -> None:
        inputs = [self.values[name] if name else None for name in node.inputs]
        folded = fold(node, inputs)
        if folded is not None:
            self.values.update(node_values(self.source, node, self.values))
            self._append(node)
            return
        try:
            EXPANSIONS[node.op](Expansion(node, inputs, self))
        except (ValueError, IndexError, ZeroDivisionError) as error:
            raise BadInputError(
                f"node {node.name} ({node.op}): its shapes and attributes do not fit "
                f"({error})",
                code="bad-node",
            ) from error


def resolve(
    source: Source, nodes: Sequence[Node], bind: Mapping[str, int], choices: Choices
) -> Resolver:
    """Return the plain nodes behind a file's nodes, with every value they touch.

    Parameters
    ----------
    source : Source
        Inputs, constants, and what onnx inferred.
    nodes : sequence of Node
        Live nodes in execution order.
    bind : mapping of str to int
        Extents of the symbols.
    choices : Choices
        What the user decided about branches, loops and unknown operators.
    """
    read = frozenset(name for node in nodes for name in node.reads)
    values = input_values(source, read, bind)
    resolver = Resolver(source, choices, values, dict(source.unplannable))
    resolver.take_all(nodes)
    choices.refuse_unused()
    return resolver
