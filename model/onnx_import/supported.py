"""Which operators can be planned; the others are refused by name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from elkhound.model.errors import BadInputError, closest
from elkhound.model.onnx_import.control import CONTROL
from elkhound.model.onnx_import.expand import EXPANSIONS
from elkhound.model.onnx_import.lower.graph import LOWERINGS
from elkhound.model.onnx_import.operators import SHAPE_ONLY, VIEWS
from elkhound.model.onnx_import.source import Node
from elkhound.model.onnx_import.unknown import Unknown

SUPPORTED = frozenset({*LOWERINGS, *VIEWS, *SHAPE_ONLY, *CONTROL, *EXPANSIONS})


def refuse_unsupported(nodes: Sequence[Node], policy: Unknown) -> None:
    """Refuse operators that cannot be planned, naming all types, and malformed ones.

    Loop bodies are looked into; of an If only the branch taken counts, later.

    Parameters
    ----------
    nodes : sequence of Node
        Any nodes.
    policy : Unknown
        Which unknown operators go through.
    """
    unknown = [node for node in _unknown(nodes) if not policy.allows(node.op)]
    if unknown:
        first = unknown[0]
        output = next((name for name in first.outputs if name), "nothing")
        types = ", ".join(sorted({node.op for node in unknown}))
        raise BadInputError(
            f"cannot plan operator {first.op} (node {first.name}, output {output}); "
            f"unsupported types in the graph: {types}",
            code="unsupported-operator",
            hint=_near_description(first.op, policy)
            or "--unknown zero, or a file or package that describes them",
        )
    for node in nodes:
        if node.misfit:
            raise BadInputError(
                f"node {node.name} ({node.op}): {node.misfit}", code=node.misfit_code
            )


def refuse_known(policy: Unknown) -> None:
    """Refuse a file that describes an operator which needs no description."""
    for op, user in policy.described.items():
        if op in SUPPORTED:
            raise BadInputError(
                f"operator {op} is known; its description has no effect",
                code="no-effect",
                where=user.origin,
            )


def unmatched(nodes: Iterable[Node], policy: Unknown) -> list[str]:
    """Return a warning per description that is of no operator of the model."""
    types = {node.op for node in _all(nodes)}
    return [
        f"{user.origin}: describes operator {op}, which the model does not have"
        + (f" (did you mean {near}?)" if (near := closest(op, types)) else "")
        for op, user in policy.described.items()
        if op not in types
    ]


def _near_description(op: str, policy: Unknown) -> str:
    """Return where a description stands whose operator is spelt nearly like this."""
    near = closest(op, policy.described)
    if near is None:
        return ""
    return f"{policy.described[near].origin} describes {near}; did you mean {op}?"


def _all(nodes: Iterable[Node]) -> Iterator[Node]:
    """Yield nodes and those of their bodies and branches."""
    for node in nodes:
        yield node
        for body in node.subgraphs.values():
            yield from _all(body.nodes)


def _unknown(nodes: Iterable[Node]) -> Iterable[Node]:
    for node in nodes:
        if node.op not in SUPPORTED and node.op != "Constant":  # malformed ones stay
            yield node
        if node.op in ("Loop", "Scan"):
            for body in node.subgraphs.values():
                yield from _unknown(body.nodes)
