"""Where each input starts: streamed from HBM, or resident on chip."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto

from elkhound.model.errors import BadInputError, nearest
from elkhound.model.graph import Home
from elkhound.model.onnx_import.lower.operand import operands
from elkhound.model.onnx_import.source import Declared, Node, Source, Value
from elkhound.model.onnx_import.symbols import is_symbolic


@dataclass(frozen=True, slots=True)
class InputHome:
    """The choice made for one graph input, and why.

    Parameters
    ----------
    input : str
        Name of the input, or of a constant that the user named.
    home : Home
        Where it starts.
    reason : str
        Why, in words.
    cache : bool
        Whether it is read as keys and values are: in HBM it is no weight.
    """

    input: str
    home: Home
    reason: str
    cache: bool = False


class Role(Enum):
    """How an operator reads an operand."""

    WEIGHT = auto()  # second operand of MatMul or Gemm, kernel, table, scale, bias
    CACHE = auto()  # second operand of a MatMul with a batch of matrices
    ACTIVATION = auto()  # anything else


PARAMETERS: Mapping[str, tuple[int, ...]] = {  # input positions that hold weights
    "BatchNormalization": (1, 2, 3, 4),
    "Conv": (1, 2),
    "Gather": (0,),
    "Gemm": (1, 2),
    "LayerNormalization": (1, 2),
    "MatMul": (1, 2),
    "RMSNormalization": (1,),
    "SimplifiedLayerNormalization": (1,),
    "com.microsoft::SimplifiedLayerNormalization": (1,),
    "elkhound::BlockedMatMul": (1, 2, 3),
    "elkhound::Columns": (1, 2),
    "elkhound::Einsum": (1,),
    "elkhound::Fold": (1,),
    "elkhound::GroupNorm": (1, 2),
    "elkhound::Load": (0,),
}
CACHES = (1, 2, 3, 4)  # keys, values and their caches, of elkhound::Attention
PARTING = frozenset({"Expand", "Gather", "Slice", "Split"})  # of a cache, a cache


def choose_homes(
    source: Source,
    nodes: Sequence[Node],
    values: Mapping[str, Value],
    weights: Sequence[str],
    activations: Sequence[str],
) -> tuple[dict[str, Home], tuple[InputHome, ...]]:
    """Return the home of every input and constant, and the choices to report.

    Parameters
    ----------
    source : Source
        Inputs as the file declares them, symbols included.
    nodes : sequence of Node
        Live nodes in execution order, patterns applied.
    values : mapping of str to Value
        Types and shapes.
    weights, activations : sequence of str
        Inputs or constants that the user puts in HBM, or on chip.

    Notes
    -----
    The first rule that fits decides:

    1. what the user says;
    2. a constant streams;
    3. an input read only in weight positions streams, unless its first axis is
       symbolic (a batch of activations);
    4. an input read only as the second operand of MatMuls over a batch of matrices
       streams, symbolic or not: that is how a KV cache is read, directly, through
       views, through what takes keys and values out of it, or through the Concat that
       appends to it;
    5. every other input is resident.
    """
    roles = _roles(nodes, values)
    constants = [name for name, value in values.items() if value.constant]
    legal = [*(value.name for value in source.inputs), *constants]
    named = _overrides(weights, activations, legal)
    homes = dict.fromkeys(constants, Home.HBM)
    report = []
    for declared in source.inputs:
        choice = _choice(declared, roles.get(declared.name, frozenset()))
        if declared.name in named:
            home = named[declared.name]
            choice = replace(choice, home=home, reason="named by the user")
        homes[declared.name] = choice.home
        report.append(choice)
    for name in constants:
        if name in named:
            homes[name] = named[name]
            report.append(InputHome(name, named[name], "named by the user"))
    return homes, tuple(report)


def _choice(declared: Declared, roles: frozenset[Role]) -> InputHome:
    name = declared.name
    if not roles:
        return InputHome(name, Home.CHIP, "not read")
    if roles == {Role.CACHE}:
        reason = "read only as the second operand of batched matmuls: cache"
        return InputHome(name, Home.HBM, reason, cache=True)
    if Role.ACTIVATION in roles:
        return InputHome(name, Home.CHIP, "read as an activation")
    if is_symbolic(declared, 0):
        return InputHome(name, Home.CHIP, "weight position, but a symbolic batch axis")
    return InputHome(name, Home.HBM, "weight position")


def _overrides(
    weights: Sequence[str], activations: Sequence[str], legal: list[str]
) -> dict[str, Home]:
    named: dict[str, Home] = {}
    for flag, names, home in (
        ("--weight", weights, Home.HBM),
        ("--activation", activations, Home.CHIP),
    ):
        for name in names:
            if name not in legal:
                raise BadInputError(
                    f"the model has no input or constant {name}",
                    code="unknown-input",
                    where=flag,
                    hint=nearest(name, legal),
                )
            if named.get(name, home) is not home:
                raise BadInputError(
                    f"{name} is named both as a weight and as an activation",
                    code="contradictory-home",
                    where=flag,
                )
            named[name] = home
    return named


def _roles(
    nodes: Sequence[Node], values: Mapping[str, Value]
) -> dict[str, frozenset[Role]]:
    """Return how each root tensor is read, looking through views and moves."""
    seen = operands(nodes, values)
    views = {name for name, operand in seen.items() if operand.root != name}
    roles: dict[str, set[Role]] = defaultdict(set)
    for node in reversed(nodes):  # readers first
        if any(output in views for output in node.outputs):
            continue
        results = [roles[seen[name].root] for name in node.outputs if name in seen]
        made = frozenset[Role]().union(*results)
        for position, name in enumerate(node.inputs):
            if name:
                read = _read(node, position, values[name], made)
                roles[seen[name].root] |= read
    return {root: frozenset(found) for root, found in roles.items()}


def _read(
    node: Node, position: int, value: Value, made: frozenset[Role]
) -> frozenset[Role]:
    """Return how a node reads an input, of whose results it is known how they are."""
    if node.op == "Concat":
        return made
    if node.op in PARTING and position == 0 and made == {Role.CACHE}:
        return made
    return frozenset({_role(node, position, value)})


def _role(node: Node, position: int, value: Value) -> Role:
    if node.op == "MatMul" and position == 1 and len(value.shape) > 2:
        return Role.CACHE if any(e > 1 for e in value.shape[:-2]) else Role.WEIGHT
    if node.op == "elkhound::Attention" and position in CACHES:
        return Role.CACHE
    if position in PARAMETERS.get(node.op, ()):
        return Role.WEIGHT
    return Role.ACTIVATION
