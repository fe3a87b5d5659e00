"""If, Loop and Scan: one branch taken, iterations written out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from elkhound.model.dtype import DTYPES
from elkhound.model.errors import BadInputError
from elkhound.model.onnx_import.order import live, named, topological
from elkhound.model.onnx_import.source import Node, Subgraph, Value

if TYPE_CHECKING:
    from elkhound.model.onnx_import.resolve import Resolver

CONTROL = frozenset({"If", "Loop", "Scan"})


def inline(resolver: Resolver, node: Node) -> None:
    """Put what a control flow node runs in its place."""
    try:
        {"If": _branch, "Loop": _loop, "Scan": _scan}[node.op](resolver, node)
    except ValueError as error:
        raise BadInputError(
            f"node {node.name} ({node.op}): {error}", code="bad-node"
        ) from error


def size(graph: Subgraph) -> int:
    """Return the nodes of a subgraph, those inside its nodes included."""
    return sum(1 + sum(map(size, node.subgraphs.values())) for node in graph.nodes)


def _branch(resolver: Resolver, node: Node) -> None:
    """Take the branch that the condition, the user, or else the size decides."""
    graphs = {name: _subgraph(node, f"{name}_branch") for name in ("then", "else")}
    condition = _scalar(resolver, node.input(0), "condition")
    if condition is not None:
        taken = "then" if condition else "else"
    else:
        sizes = {name: size(graph) for name, graph in graphs.items()}
        larger = "then" if sizes["then"] >= sizes["else"] else "else"
        taken = resolver.choices.branch(node.name) or larger
        other = "else" if taken == "then" else "then"
        resolver.note(
            f"If {node.name} is decided at run time: takes its {taken} branch "
            f"({sizes[taken]} nodes; {sizes[other]} in the other, "
            f"--branch {node.name}={other})"
        )
    results = _run(resolver, node, graphs[taken], {}, "", len(node.outputs))
    for outer, inner in zip(node.outputs, results, strict=False):
        if outer:
            resolver.take(Node(outer, "Identity", (inner,), (outer,)))


def _loop(resolver: Resolver, node: Node) -> None:
    """Write out the iterations of a Loop; the count bounds those that may end early."""
    body = _subgraph(node, "body")
    state = [name for name in node.inputs[2:] if name]
    trips = _trips(resolver, node)
    resolver.unroll(node, trips)
    stacked: list[list[str]] = [[] for _ in node.outputs[len(state) :]]
    yes = _constant(resolver, f"{node.name}.continues", "bool", True)
    for trip in range(trips):
        number = _constant(resolver, f"{node.name}.iteration@{trip}", "int64", trip)
        fed = dict(zip(body.inputs, (number, yes, *state), strict=False))
        results = _run(
            resolver, node, body, fed, f"@{trip}", 1 + len(state) + len(stacked)
        )
        state = results[1 : 1 + len(state)]
        for parts, part in zip(stacked, results[1 + len(state) :], strict=False):
            parts.append(part)
    _finish(resolver, node, state, stacked, [0] * len(stacked))


def _trips(resolver: Resolver, node: Node) -> int:
    """Return how often a Loop runs: the constant count, or what the user says."""
    if _scalar(resolver, node.input(1), "condition") == 0:
        return 0
    count = _scalar(resolver, node.input(0), "trip count")
    if count is not None and count < 2**31:  # the largest of all stands for no bound
        return max(0, int(count))
    chosen = resolver.choices.trip(node.name)
    if chosen is None:
        raise BadInputError(
            f"cannot plan operator Loop (node {node.name}): its trip count is known "
            f"only at run time",
            code="unbounded-loop",
            hint=f"--trip {node.name}=N plans N iterations",
        )
    resolver.note(
        f"Loop {node.name} runs as long as its inputs say: {chosen} iterations planned"
    )
    return chosen


def _scalar(resolver: Resolver, name: str, what: str) -> float | None:
    """Return the one element of a constant; None where it is no constant."""
    data = resolver.values[name].data if name else None
    if data is None:
        return None
    if data.size != 1:
        raise ValueError(f"its {what} has {data.size} elements, must have 1")
    return float(data.item()) if data.dtype.kind == "f" else int(data.item())


def _scan(resolver: Resolver, node: Node) -> None:
    """Write out the iterations of a Scan: one per slice of what it scans."""
    if node.version < 9:
        raise ValueError("Scan before opset 9 has a batch axis")
    body = _subgraph(node, "body")
    scanned = node.integer("num_scan_inputs", 1)
    if len(body.inputs) != len(node.inputs) or scanned > len(node.inputs):
        raise ValueError(
            f"has {len(node.inputs)} inputs, {scanned} of them scanned, and its body "
            f"takes {len(body.inputs)}"
        )
    state = list(node.inputs[: len(node.inputs) - scanned])
    inputs = node.inputs[len(state) :]
    outputs = node.outputs[len(state) :]
    axes = _per_value(node, "scan_input_axes", scanned)
    backwards = _per_value(node, "scan_input_directions", scanned)
    extents = {
        _extent(resolver, name, axis) for name, axis in zip(inputs, axes, strict=True)
    }
    if len(extents) != 1:
        raise ValueError(f"scanned axes of {sorted(extents)} elements")
    trips = extents.pop()
    resolver.unroll(node, trips)
    stacked: list[list[str]] = [[] for _ in outputs]
    for trip in range(trips):
        slices = [
            _slice(resolver, node, name, axis, trips - 1 - trip if back else trip)
            for name, axis, back in zip(inputs, axes, backwards, strict=True)
        ]
        fed = dict(zip(body.inputs, (*state, *slices), strict=True))
        results = _run(resolver, node, body, fed, f"@{trip}", len(state) + len(stacked))
        state = results[: len(state)]
        for parts, part in zip(stacked, results[len(state) :], strict=True):
            parts.append(part)
    reverse = _per_value(node, "scan_output_directions", len(outputs))
    stacked = [
        parts[::-1] if back else parts
        for parts, back in zip(stacked, reverse, strict=True)
    ]
    out_axes = _per_value(node, "scan_output_axes", len(outputs))
    _finish(resolver, node, state, stacked, out_axes)


def _per_value(node: Node, attribute: str, count: int) -> tuple[int, ...]:
    """Return an attribute with an entry for every scanned value, all 0 if absent."""
    entries = node.integers(attribute) or (0,) * count
    if len(entries) != count:
        raise ValueError(f"{attribute} has {len(entries)} entries for {count} values")
    return entries


def _extent(resolver: Resolver, name: str, axis: int) -> int:
    shape = resolver.values[name].shape
    if not -len(shape) <= axis < len(shape):
        raise ValueError(f"scans axis {axis} of {name}, which has {len(shape)} axes")
    return shape[axis]


def _slice(resolver: Resolver, node: Node, name: str, axis: int, index: int) -> str:
    position = _constant(resolver, f"{node.name}.at@{index}", "int64", index)
    part = resolver.fresh(f"{name}@{index}")
    resolver.take(Node(part, "Gather", (name, position), (part,), {"axis": axis}))
    return part


def _finish(
    resolver: Resolver,
    node: Node,
    state: Sequence[str],
    stacked: Sequence[Sequence[str]],
    axes: Sequence[int],
) -> None:
    """Name the final state, and stack what every iteration gave."""
    for outer, inner in zip(node.outputs, state, strict=False):
        if outer:
            resolver.take(Node(outer, "Identity", (inner,), (outer,)))
    outputs = node.outputs[len(state) :]
    for outer, parts, axis in zip(outputs, stacked, axes, strict=False):
        if not outer:
            continue
        if not parts:
            raise ValueError(f"output {outer} of no iterations is empty")
        places = _constant(resolver, f"{outer}.axis", "int64", [axis])
        rows = []
        for part in parts:
            row = resolver.fresh(f"{part}.row")
            resolver.take(Node(row, "Unsqueeze", (part, places), (row,)))
            rows.append(row)
        resolver.take(Node(outer, "Concat", tuple(rows), (outer,), {"axis": axis}))


def _run(
    resolver: Resolver,
    node: Node,
    graph: Subgraph,
    fed: Mapping[str, str],
    suffix: str,
    count: int,
) -> list[str]:
    """Take a subgraph's nodes under names of their own; return its first outputs."""
    outputs = graph.outputs[:count]
    inner = topological(live(named(graph.nodes), outputs))
    names = dict(fed)
    for name, value in graph.constants.items():
        names[name] = resolver.constant(name, value)
    for name, error in graph.unplannable.items():
        names[name] = resolver.refuse(name, error)
    for made in (name for n in inner for name in n.outputs):
        if made:
            names[made] = resolver.fresh(f"{made}{suffix}")
    for n in inner:
        resolver.take(_renamed(replace(n, name=f"{n.name}{suffix}"), names))
    results = [names.get(name, name) for name in outputs]
    if len(results) < count:
        raise ValueError(f"its subgraph has {len(results)} outputs, not {count}")
    return results


def _renamed(node: Node, names: Mapping[str, str]) -> Node:
    """Return a node with other value names, in its subgraphs too."""
    return replace(
        node,
        inputs=tuple(names.get(name, name) for name in node.inputs),
        outputs=tuple(names.get(name, name) for name in node.outputs),
        captured=tuple(names.get(name, name) for name in node.captured),
        subgraphs={
            key: _with_outer_names(graph, names)
            for key, graph in node.subgraphs.items()
        },
    )


def _with_outer_names(graph: Subgraph, names: Mapping[str, str]) -> Subgraph:
    inside = {*graph.inputs, *graph.constants, *graph.unplannable}
    inside.update(name for node in graph.nodes for name in node.outputs)
    outer = {name: new for name, new in names.items() if name not in inside}
    return replace(
        graph,
        nodes=tuple(_renamed(node, outer) for node in graph.nodes),
        outputs=tuple(outer.get(name, name) for name in graph.outputs),
    )


def _constant(resolver: Resolver, name: str, dtype: str, data: object) -> str:
    name = resolver.fresh(name)
    array = np.asarray(data)
    resolver.values[name] = Value(DTYPES[dtype], array.shape, constant=True, data=array)
    return name


def _subgraph(node: Node, attribute: str) -> Subgraph:
    if attribute not in node.subgraphs:
        raise ValueError(f"has no {attribute}")
    return node.subgraphs[attribute]
