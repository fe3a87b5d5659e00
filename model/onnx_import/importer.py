"""The import of an ONNX file, step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from elkhound.model.errors import BadInputError
from elkhound.model.graph import Graph, Home
from elkhound.model.io.text import printable
from elkhound.model.onnx_import.choices import Choices
from elkhound.model.onnx_import.homes import choose_homes
from elkhound.model.onnx_import.layers import with_layers
from elkhound.model.onnx_import.lower import lower_graph
from elkhound.model.onnx_import.lower.operand import Operand, is_view, operands
from elkhound.model.onnx_import.order import (
    live,
    named,
    refuse_written_twice,
    topological,
)
from elkhound.model.onnx_import.patterns import recognise
from elkhound.model.onnx_import.reader import read_source
from elkhound.model.onnx_import.report import ImportReport, PatternMatch
from elkhound.model.onnx_import.resolve import resolve
from elkhound.model.onnx_import.source import Node, Source, Value
from elkhound.model.onnx_import.supported import (
    refuse_known,
    refuse_unsupported,
    unmatched,
)
from elkhound.model.onnx_import.symbols import bound_symbols, check_bind
from elkhound.model.onnx_import.unknown import Unknown, unknown_of

READING_SECONDS = 24.0  # a command starts up, too, and may take 30 s
NOTHING: Mapping[str, Any] = MappingProxyType({})


def import_onnx(
    path: str | Path,
    *,
    bind: Mapping[str, int] = NOTHING,
    weights: Sequence[str] = (),
    activations: Sequence[str] = (),
    patterns: bool = True,
    branches: Mapping[str, str] = NOTHING,
    trips: Mapping[str, int] = NOTHING,
    unknown: str | Path = "error",
    strict: bool = False,
    time_limit_seconds: float = READING_SECONDS,
) -> ImportReport:
    """Read an ONNX file as a graph to plan; weights are never read.

    Parameters
    ----------
    path : str or Path
        The file; external data may be missing, initializers may be empty.
    bind : mapping of str to int
        Extent of each symbolic dimension, by its name or as ``input[axis]``.
    weights, activations : sequence of str
        Inputs or constants to stream from HBM, or to keep on chip, against the rule.
    patterns : bool
        Recognise norms, softmax, GELU, SiLU, SwiGLU, biases and scales written as
        primitive operators.
    branches : mapping of str to str
        ``then`` or ``else`` for an If whose condition is known only at run time, by
        its name; the larger branch where nothing is said.
    trips : mapping of str to int
        Iterations of a Loop whose count is known only at run time, by its name.
    unknown : str or Path
        What becomes of operators that are not known: ``error`` refuses the file,
        ``zero`` lets them cost nothing and warns, a YAML file describes them.
    strict : bool
        Refuse a file that gives any warning.
    time_limit_seconds : float
        Limit on reading, which runs in a process of its own, from the call until that
        process is gone.

    Raises
    ------
    BadInputError
        The file cannot be read or planned, or a symbol is not bound.
    """
    path = Path(path)
    check_bind(bind)
    choices = Choices(branches, trips, unknown_of(unknown))
    refuse_known(choices.unknown)
    try:
        source = read_source(path, bind, time_limit_seconds)
        report = _planned(source, bind, weights, activations, patterns, choices)
        if strict and report.warnings:
            count = len(report.warnings)
            raise BadInputError(
                f"{count} warning{'s' * (count > 1)}, and none is allowed: "
                f"{'; '.join(report.warnings)}",
                code="strict",
            )
        return report
    except BadInputError as error:
        error.where = error.where or printable(path)
        raise


def _planned(
    source: Source,
    bind: Mapping[str, int],
    weights: Sequence[str],
    activations: Sequence[str],
    patterns: bool,
    decided: Choices,
) -> ImportReport:
    every = named(source.nodes)
    given = {*source.constants, *source.unplannable}
    given.update(value.name for value in source.inputs)
    refuse_written_twice(every, given)
    _refuse_unmade(source, every, given, decided.unknown)
    nodes = topological(live(every, source.outputs))
    refuse_unsupported(nodes, decided.unknown)
    read = frozenset(name for node in nodes for name in node.reads)
    symbols = bound_symbols(source.inputs, read, bind)
    resolved = resolve(source, nodes, bind, decided)
    values = resolved.values
    computed = _computed(resolved.nodes, values, source.outputs)
    matches: tuple[PatternMatch, ...] = ()
    if patterns:
        computed, matches = recognise(
            computed, values, source.outputs, _zeros(resolved.nodes)
        )
        computed = live(computed, source.outputs)
    homes, choices = choose_homes(source, computed, values, weights, activations)
    homes |= {
        name: Home.CHIP
        for n in computed
        if n.op == "elkhound::Free"
        for name in n.outputs
    }
    homes |= _spilled(source, operands(computed, values))
    graph = lower_graph(source.name, computed, values, homes, source.outputs)
    reached = {node.name for node in nodes}
    dead = [node.name for node in every if node.name not in reached]
    left_out = f"nodes that reach no output are left out: {', '.join(dead)}"
    return ImportReport(
        graph=with_layers(graph),
        homes=choices,
        symbols=symbols,
        patterns=matches,
        unsupported=tuple(sorted(resolved.unknown)),
        warnings=(
            *source.warnings,
            *resolved.notes,
            *_about_unknown(resolved.unknown, decided.unknown),
            *unmatched(source.nodes, decided.unknown),
            *_unplanned(graph, computed, values, source),
            *([left_out] if dead else []),
        ),
    )


def _unplanned(
    graph: Graph, nodes: Sequence[Node], values: Mapping[str, Value], source: Source
) -> list[str]:
    """Warn of optional outputs (indices, masks, statistics) that no operator writes."""
    seen = operands(nodes, values)
    there = {operator.einsum.output.tensor for operator in graph.operators}
    there.update(value.name for value in source.inputs)
    there.update(name for name, value in values.items() if value.constant)
    there.update(
        n for node in nodes if node.op == "elkhound::Free" for n in node.outputs
    )
    return [
        f"graph output {name} is an optional one that is not planned"
        for name in source.outputs
        if name not in seen or seen[name].root not in there
    ]


def _zeros(nodes: Sequence[Node]) -> frozenset[str]:
    """Return the values that are zeros of any size."""
    fills = {
        node.outputs[0]: node.tensor("value")
        for node in nodes
        if node.op == "ConstantOfShape"
    }
    return frozenset(
        name
        for name, fill in fills.items()
        if fill is None or (fill.data is not None and not fill.data.any())
    )


def _spilled(source: Source, seen: Mapping[str, Operand]) -> dict[str, Home]:
    """Return the tensors that the file itself sends to HBM."""
    return {seen[n].root: Home.SPILLED for n in source.spilled if n in seen}


def _about_unknown(found: Mapping[str, int], unknown: Unknown) -> list[str]:
    """Return a warning per unknown operator type that went through."""
    return [
        f"operator {op} is not known: its "
        + (f"{count} nodes cost " if count > 1 else "1 node costs ")
        + (
            "nothing"
            if (user := unknown.description(op)) is None
            else f"what {user.origin} says"
        )
        for op, count in sorted(found.items())
    ]


def _refuse_unmade(
    source: Source, nodes: Sequence[Node], given: set[str], unknown: Unknown
) -> None:
    """Refuse outputs that nothing makes; unknown operators first."""
    made = given.union(*(node.outputs for node in nodes))
    for name in source.outputs:
        if name in source.unplannable:
            raise source.unplannable[name]
        if name not in made:
            refuse_unsupported(nodes, unknown)
            raise BadInputError(
                f"graph output {name}: nothing makes it", code="missing-value"
            )


def _computed(
    nodes: Sequence[Node], values: Mapping[str, Value], outputs: Sequence[str]
) -> tuple[Node, ...]:
    """Return the nodes that must run: constants are folded, but keep their views.

    A view of a weight shares the weight's storage, so it is not a weight of its own.
    """
    folded = frozenset(
        name
        for node in nodes
        if not is_view(node, values)
        for name in node.outputs
        if name in values and values[name].constant
    )
    running = [n for n in nodes if not folded.issuperset(filter(None, n.outputs))]
    return live(running, outputs, folded)
